//! How a model's outputs are made.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use super::MODEL_GRAPH;
use super::message::{Message, Value, read_file};

/// The last operator that changes more about an output than its type or shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The values are probabilities of classes that exclude each other.
    Softmax,
    /// The values are probabilities, each for itself.
    Sigmoid,
    /// A layer of a network, or logarithms of probabilities: the values are logits.
    Logits,
}

impl Ending {
    fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "Softmax" => Self::Softmax,
            "Sigmoid" => Self::Sigmoid,
            "Gemm" | "MatMul" | "Conv" | "LogSoftmax" => Self::Logits,
            _ => return None,
        })
    }
}

/// Operators whose output has the values of their first input.
const PASSING: [&str; 9] = [
    "Identity",
    "Cast",
    "Reshape",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Dropout",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// Maximum number of operators between an output and its ending, of which each has the same values.
const MOST_PASSING: usize = 32;

/// How the graph's outputs end, by their names; those that end in any other operator are left out, and all if the file
/// cannot be read as ONNX.
pub(crate) fn output_endings(path: &Path) -> BTreeMap<String, Ending> {
    let look = |model: &mut Message<'_>| -> io::Result<_> {
        let (mut makers, mut outputs) = (HashMap::new(), Vec::new());
        while let Some((field, value)) = model.next()? {
            let Value::Message(end) = value else { continue };
            if field == MODEL_GRAPH {
                makers_and_outputs(&mut Message { file: model.file, end }, &mut makers, &mut outputs)?;
            }
            model.skip_to(end)?;
        }
        let ending = |output: &String| {
            let mut value = output;
            for _ in 0..MOST_PASSING {
                let (operator, input): &(String, String) = makers.get(value)?;
                if !PASSING.contains(&operator.as_str()) {
                    return Ending::of(operator);
                }
                value = input;
            }
            None
        };
        Ok(outputs.iter().filter_map(|output| Some((output.clone(), ending(output)?))).collect())
    };
    read_file(path, look).unwrap_or_default()
}

/// Reads which operator makes each value of a graph, and from which first input, and the names of the graph's outputs.
fn makers_and_outputs(
    graph: &mut Message<'_>,
    makers: &mut HashMap<String, (String, String)>,
    outputs: &mut Vec<String>,
) -> io::Result<()> {
    while let Some((field, value)) = graph.next()? {
        let Value::Message(end) = value else { continue };
        let mut inner = Message { file: graph.file, end };
        // A node, and the description of an output.
        if field == 1 {
            let [inputs, values, operators] = inner.strings([1, 2, 4])?;
            let first = |texts: Vec<String>| texts.into_iter().next().unwrap_or_default();
            let maker = (first(operators), first(inputs));
            makers.extend(values.into_iter().next().zip(Some(maker)));
        } else if field == 12 {
            let [names] = inner.strings([1])?;
            outputs.extend(names);
        }
        graph.skip_to(end)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::samples::{field, written};
    use super::*;

    #[test]
    fn an_outputs_ending_is_that_of_the_last_operator_that_changes_its_values() {
        let node = |operator: &str, input: &str, output: &str| {
            let inputs = [field(1, input.as_bytes()), field(1, b"shape")].concat();
            field(
                1,
                &[inputs, field(2, output.as_bytes()), field(3, b"n"), field(4, operator.as_bytes())]
                    .concat(),
            )
        };
        let output = |name: &str| {
            // name, and a type that is skipped; field 12 has a key of one byte.
            field(12, &[field(1, name.as_bytes()), field(2, &[1, 2, 3])].concat())
        };
        let outputs = ["probs", "labels", "logits", "logs", "other", "cycle", "input"];
        let graph = [
            node("Gemm", "features", "logits"),
            node("Softmax", "logits", "soft"),
            node("Cast", "soft", "half"),
            node("Reshape", "half", "probs"),
            node("Sigmoid", "logits", "labels"),
            node("LogSoftmax", "logits", "logs"),
            node("Mul", "soft", "other"),
            node("Identity", "cycle", "cycle"),
            field(5, &field(9, &[0; 100])),
            outputs.iter().flat_map(|name| output(name)).collect(),
        ];
        let graph = graph.concat();
        let length =
            [u8::try_from(graph.len() & 0x7f | 0x80).unwrap(), u8::try_from(graph.len() >> 7).unwrap()];
        let model = [vec![1 << 3, 8, 7 << 3 | 2], length.to_vec(), graph].concat();
        let path = written("endings", &model);
        let wanted = [
            ("labels", Ending::Sigmoid),
            ("logits", Ending::Logits),
            ("logs", Ending::Logits),
            ("probs", Ending::Softmax),
        ];
        let wanted: BTreeMap<_, _> = wanted.map(|(name, ending)| (name.to_owned(), ending)).into();
        assert_eq!(output_endings(&path), wanted);
        std::fs::write(&path, &model[..model.len() - 3]).unwrap();
        assert_eq!(output_endings(&path), BTreeMap::new(), "of a file that is cut off nothing is known");
        std::fs::remove_file(path).unwrap();
        assert_eq!(output_endings(Path::new("/nonexistent")), BTreeMap::new());
    }
}
