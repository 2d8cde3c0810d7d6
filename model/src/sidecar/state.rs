//! What a recurrent model remembers from one frame of a stream to the next.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::mistakes;

/// `[state]`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct States {
    /// The number that all elements of the states are at first, where a state has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<f64>,
    /// The states, by the names of the outputs that become inputs.
    #[serde(flatten)]
    pub outputs: BTreeMap<String, State>,
}

/// An output that is an input of the same stream's next run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct State {
    /// The input's name.
    pub input: String,
    /// The number that all its elements are at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<f64>,
    /// Its dimensions at first, where the model leaves them open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<usize>>,
    /// Whether the output is a result as well, which frames carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<bool>,
}

/// `OUTPUT = "INPUT"`, or `OUTPUT = { input = "INPUT", … }`; and the number `initial`.
impl<'de> Deserialize<'de> for States {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut states = Self::default();
        for (name, value) in toml::Table::deserialize(deserializer)? {
            // Only a number: an output may have the name, too.
            let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
            if name == "initial"
                && let Some(number) = number
            {
                states.initial = Some(number);
                continue;
            }
            let state = match value {
                toml::Value::String(input) => State { input, ..State::default() },
                table @ toml::Value::Table(_) => table.try_into().map_err(|e: toml::de::Error| {
                    de::Error::custom(format!("in state.{name}: {}", mistakes::sentence(e.message())))
                })?,
                other => {
                    return Err(de::Error::custom(format!(
                        "state.{name} is {other}, but is the name of an input, as in {name} = \"INPUT\", or a table, as in {name} = \
                         {{ input = \"INPUT\", initial = 1 }}"
                    )));
                }
            };
            states.outputs.insert(name, state);
        }
        Ok(states)
    }
}

impl States {
    /// What makes no sense whatever the model is.
    pub(super) fn check(&self) -> Result<(), String> {
        if let (true, Some(initial)) = (self.outputs.is_empty(), self.initial) {
            return Err(format!(
                "state.initial is {initial}, but no state is named: add OUTPUT = \"INPUT\" to [state], or remove it"
            ));
        }
        let numbers =
            self.outputs.iter().map(|(name, state)| (format!("state.{name}.initial"), state.initial));
        for (name, number) in numbers.chain([("state.initial".to_owned(), self.initial)]) {
            if number.is_some_and(|number| !number.is_finite()) {
                return Err(format!("{name} is not a finite number: write 0, for example"));
            }
        }
        for (name, state) in &self.outputs {
            if state.shape.as_ref().is_some_and(|shape| shape.contains(&0)) {
                return Err(format!(
                    "state.{name}.shape has a dimension of 0, and must have 1 or more in each"
                ));
            }
            let mut others = self.outputs.iter().filter(|(_, other)| other.input == state.input);
            if let Some((other, _)) = others.find(|(other, _)| *other != name) {
                return Err(format!(
                    "state.{name} and state.{other} both become the input '{}': keep one of them",
                    state.input
                ));
            }
        }
        for (name, state) in &self.outputs {
            // No input is named twice, so a chain of names either ends or comes back to where it began.
            let mut next = self.outputs.get(&state.input);
            while let Some(after) = next {
                if after.input == state.input {
                    return Err(format!(
                        "the states that begin with {name} = \"{}\" go in a circle: write the name of an output on the left and that \
                         of an input on the right",
                        state.input
                    ));
                }
                next = self.outputs.get(&after.input);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sidecar;

    fn read(text: &str) -> Result<States, String> {
        let sidecar = toml::from_str::<Sidecar>(&format!("[state]\n{text}")).map_err(|e| e.to_string())?;
        sidecar.check().map(|()| sidecar.state)
    }

    #[test]
    fn an_output_names_its_input_and_the_number_of_all_or_of_one_at_first() {
        let states =
            read("r1o = \"r1i\"\ninitial = 0\nr2o = { input = \"r2i\", initial = 1.5, shape = [1, 4] }")
                .unwrap();
        assert_eq!(states.initial, Some(0.0));
        assert_eq!(states.outputs["r1o"], State { input: "r1i".into(), ..State::default() });
        let other = State { input: "r2i".into(), initial: Some(1.5), shape: Some(vec![1, 4]), result: None };
        assert_eq!(states.outputs["r2o"], other);
        // An output may have the name of the key.
        let named = read("initial = \"before\"").unwrap();
        assert_eq!((named.initial, named.outputs["initial"].input.as_str()), (None, "before"));
    }

    #[test]
    fn what_makes_no_sense_is_a_sentence() {
        for (text, parts) in [
            ("a = 3", &["state.a is 3", "a = \"INPUT\""][..]),
            ("a = { output = \"b\" }", &["in state.a"]),
            ("initial = 1", &["no state is named"]),
            ("initial = nan\na = \"b\"", &["state.initial is not a finite number"]),
            ("a = { input = \"b\", shape = [1, 0] }", &["state.a.shape has a dimension of 0"]),
            ("a = \"c\"\nb = \"c\"", &["state.a and state.b", "'c'", "keep one"]),
            ("a = \"b\"\nb = \"a\"", &["go in a circle"]),
            ("a = \"a\"", &["go in a circle"]),
            ("a = \"b\"\na = \"c\"", &["duplicate key"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
        // A chain that ends.
        read("a = \"b\"\nb = \"c\"").unwrap();
    }
}
