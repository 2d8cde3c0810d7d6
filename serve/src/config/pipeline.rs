//! `[pipeline.NAME]`: what is between a source and its sink.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Scalar, SourceConfig, keys};

/// The description of a pipeline, as gst-launch-1.0 takes it, and the defaults of its `{key}`s.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pipeline {
    /// The description, without source and sink.
    pub line: String,
    /// Defaults of its keys.
    #[serde(default)]
    pub set: BTreeMap<String, Scalar>,
}

/// A description and the values of its `{key}`s. They are never pasted together: GStreamer parses the description, and the
/// values are set on its elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledDescription {
    /// The description, as the pipeline has it.
    pub text: String,
    /// The values of its keys. `{source}`, `{kind}` and `{stream}` have none: inferpublish fills them in.
    pub values: BTreeMap<String, String>,
}

/// Keys that inferpublish fills in for each message.
const OF_INFERPUBLISH: [&str; 3] = ["source", "kind", "stream"];

impl Pipeline {
    /// A value for which the description has no key.
    pub(super) fn unused<'a>(&self, set: &'a BTreeMap<String, Scalar>) -> Option<&'a str> {
        set.keys().map(String::as_str).find(|key| !self.line.contains(&format!("{{{key}}}")))
    }

    /// The description for a source, with the values of its keys. `{name}` is the source's name.
    ///
    /// # Errors
    /// A sentence: a key has no value, or a value no key.
    pub fn filled_for(&self, source: &SourceConfig) -> Result<FilledDescription, String> {
        if let Some(key) = self.unused(&source.set) {
            return Err(format!(
                "the line of pipeline '{}' has no {{{key}}} that set could fill in",
                source.pipeline
            ));
        }
        let value = |key: &str| match key {
            "name" => Some(source.name.clone()),
            _ => source.set.get(key).or_else(|| self.set.get(key)).map(Scalar::to_string),
        };
        let mut values = BTreeMap::new();
        for key in keys(&self.line).into_iter().filter(|key| !OF_INFERPUBLISH.contains(key)) {
            let value = value(key).ok_or_else(|| {
                format!(
                    "nothing says what {{{key}}} in the line of pipeline '{}' is: give {key} a value in its set, or in that of \
                     the source",
                    source.pipeline
                )
            })?;
            values.insert(key.to_owned(), value);
        }
        Ok(FilledDescription { text: self.line.clone(), values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_sets_keys_above_those_of_the_pipeline() {
        let text = |text: &str| Scalar::Text(text.into());
        let pipeline = Pipeline {
            line: "trtinfer model={model} ! gpunms classes={classes} ! inferpublish topic=a/{source} location={name}".into(),
            set: [("model".into(), text("m.onnx")), ("classes".into(), text("person"))].into(),
        };
        let mut source =
            SourceConfig { name: "door".into(), pipeline: "p".into(), ..SourceConfig::default() };
        source.set.insert("classes".into(), text("person,car"));
        let filled = pipeline.filled_for(&source).unwrap();
        assert_eq!(filled.text, pipeline.line);
        let values = [("classes", "person,car"), ("model", "m.onnx"), ("name", "door")];
        assert_eq!(filled.values, values.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        source.set.insert("clases".into(), text("x"));
        assert!(pipeline.filled_for(&source).unwrap_err().contains("no {clases}"));
        let open = Pipeline { line: "trtinfer model={model}".into(), ..Pipeline::default() };
        assert!(open.filled_for(&SourceConfig::default()).unwrap_err().contains("what {model}"));
    }
}
