//! What a promptable model is asked for, such as SAM's decoder.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Sidecar;

/// `[prompts]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Prompts {
    /// The input that takes the points of a prompt.
    pub points: Option<String>,
    /// The input that takes what each of the points is.
    pub labels: Option<String>,
    /// Whether the object's box is a part of its prompt.
    #[serde(rename = "box")]
    pub has_box: Option<bool>,
    /// The names of the object's keypoints that are a part of its prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keypoints: Vec<String>,
    /// The outputs of the model upstream, by the names of the inputs that take them, where they are called otherwise.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tensors: BTreeMap<String, String>,
}

impl Prompts {
    /// Whether the object's box is a part of its prompt.
    pub fn has_box(&self) -> bool {
        self.has_box.unwrap_or(true)
    }

    /// The points of a prompt: two corners of the box, and the keypoints.
    pub fn count(&self) -> usize {
        2 * usize::from(self.has_box()) + self.keypoints.len()
    }

    /// The output of the model upstream that this input takes.
    pub fn output<'a>(&'a self, input: &'a str) -> &'a str {
        self.tensors.get(input).map_or(input, String::as_str)
    }
}

impl Sidecar {
    /// What makes no sense of prompts whatever the model is.
    pub(super) fn check_prompts(&self) -> Result<(), String> {
        if self.prompts == Prompts::default() {
            return Ok(());
        }
        if self.prompts.count() == 0 {
            return Err("prompts.box is false, and there are no keypoints, so that nothing is asked for: remove box = false, or name the \
                        keypoints that ask, as in keypoints = [\"nose\"]"
                .into());
        }
        let others = [
            ("[state]", !self.state.outputs.is_empty()),
            ("[frames]", self.frames != super::Frames::default()),
            ("[clip]", self.clip.is_some()),
        ];
        match others.iter().find(|(_, is_set)| *is_set) {
            Some((other, _)) => Err(format!("[prompts] and {other} do not go together: remove one of them")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Prompts, String> {
        let sidecar = toml::from_str::<Sidecar>(&format!("[prompts]\n{text}")).map_err(|e| e.to_string())?;
        sidecar.check().map(|()| sidecar.prompts)
    }

    #[test]
    fn a_prompt_is_the_box_unless_it_is_stated_otherwise() {
        let prompts = read("tensors = { image_embeddings = \"embedding\" }").unwrap();
        assert_eq!((prompts.has_box(), prompts.count()), (true, 2));
        assert_eq!([prompts.output("image_embeddings"), prompts.output("other")], ["embedding", "other"]);
        let prompts = read("box = false\nkeypoints = [\"nose\", \"tail\"]").unwrap();
        assert_eq!((prompts.has_box(), prompts.count()), (false, 2));
        assert_eq!(read("keypoints = [\"nose\"]").unwrap().count(), 3);
    }

    #[test]
    fn what_makes_no_sense_is_a_sentence() {
        for (text, parts) in [
            ("box = false", &["nothing is asked for", "keypoints = ["][..]),
            ("points = \"p\"\n[state]\na = \"b\"", &["[prompts] and [state]"]),
            ("points = \"p\"\n[clip]\nframes = 2", &["[prompts] and [clip]"]),
            ("point = \"p\"", &["unknown field `point`"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
