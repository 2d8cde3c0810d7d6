//! Which frames of a stream a model sees besides the current one.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{MOST_FRAMES_BEFORE, Sidecar};

/// `[frames]`
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frames {
    /// The frames that lie in the channels of the picture's input, in its order: 0 is the current one, -1 the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Vec<i64>>,
    /// Further inputs that take a picture, and of which frame: -1 is the one before the current one.
    #[serde(flatten)]
    pub inputs: BTreeMap<String, i64>,
}

/// `stack = [-2, -1, 0]`, and `INPUT = -1`.
impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut frames = Self::default();
        for (name, value) in toml::Table::deserialize(deserializer)? {
            match value {
                toml::Value::Integer(frame) => {
                    frames.inputs.insert(name, frame);
                }
                // An input of that name has a number.
                toml::Value::Array(list) if name == "stack" => {
                    let list = list.iter().map(toml::Value::as_integer).collect::<Option<_>>();
                    let list = list.ok_or_else(|| {
                        de::Error::custom("frames.stack has something else than whole numbers: write -1 for the frame before, and 0 for the current one")
                    })?;
                    frames.stack = Some(list);
                }
                other => {
                    return Err(de::Error::custom(format!(
                        "frames.{name} is {other}, but is a whole number, as in {name} = -1 for the frame before, or a list for stack, as in \
                         stack = [-2, -1, 0]"
                    )));
                }
            }
        }
        Ok(frames)
    }
}

impl Sidecar {
    /// What makes no sense of frames whatever the model is.
    pub(super) fn check_frames(&self) -> Result<(), String> {
        let Frames { stack, inputs } = &self.frames;
        if let Some((name, frame)) = inputs.iter().find(|(_, frame)| **frame >= 0) {
            return Err(format!(
                "frames.{name} is {frame}, but names a frame before the current one: write -1 for the frame before, or -2 for the one \
                 before that"
            ));
        }
        if let Some(frame) = stack.iter().flatten().find(|frame| **frame > 0) {
            return Err(format!(
                "frames.stack has {frame}, a frame that has not come yet: write 0 for the current frame, and -1 for the one before"
            ));
        }
        if let Some(stack) = stack.as_ref().filter(|stack| stack.len() < 2) {
            return Err(format!(
                "frames.stack has {} frames, and a stack has 2 or more: write [-1, 0] for two, or remove it",
                stack.len()
            ));
        }
        let first = inputs.values().chain(stack.iter().flatten()).min();
        if let Some(first) = first.filter(|first| **first < -MOST_FRAMES_BEFORE) {
            return Err(format!(
                "[frames] has {first}, but goes back by {MOST_FRAMES_BEFORE} frames at most: write a later frame"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Frames, String> {
        let sidecar = toml::from_str::<Sidecar>(&format!("[frames]\n{text}")).map_err(|e| e.to_string())?;
        sidecar.check().map(|()| sidecar.frames)
    }

    #[test]
    fn inputs_name_a_frame_before_and_a_stack_several() {
        let frames = read("image1 = -1\nstack = [-2, -1, 0]").unwrap();
        assert_eq!((frames.inputs["image1"], frames.stack), (-1, Some(vec![-2, -1, 0])));
        let named = read("stack = -3").unwrap();
        assert_eq!((named.inputs["stack"], named.stack), (-3, None));
    }

    #[test]
    fn what_makes_no_sense_is_a_sentence() {
        for (text, parts) in [
            ("a = 0", &["frames.a is 0", "write -1"][..]),
            ("a = 2", &["frames.a is 2"]),
            ("a = -5000", &["[frames] has -5000", "4096"]),
            ("a = \"b\"", &["frames.a is \"b\"", "a = -1"]),
            ("stack = [0]", &["frames.stack has 1 frames", "2 or more"]),
            ("stack = [-1, 1]", &["frames.stack has 1, a frame that has not come yet"]),
            ("stack = [-1.5, 0]", &["frames.stack has something else"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
