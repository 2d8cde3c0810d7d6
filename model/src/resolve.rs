//! The statements of a model about its input, and the input itself: where they differ, the input's own shape counts.

use std::path::Path;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::{Group, ImageInput, ModelInfo};

impl ModelInfo {
    /// The same without the statements of the model's maker that the input's shape contradicts, and a sentence about each
    /// contradiction. The sidecar's statements stay as they are: a contradiction there is an error elsewhere.
    pub fn resolve(&self, inputs: &[TensorDesc], model: &Path) -> (Self, Vec<String>) {
        let mut info = self.clone();
        let mut warnings = Vec::new();
        let mut contradicted = |info: &Self, group: Group, claim: &str, fact: &str| {
            let origin = info.origin(group).map(ToString::to_string).unwrap_or_default();
            warnings.push(format!(
                "{origin} says that the model's input {claim}, but it {fact}: the input's own shape counts"
            ));
            info.without(&[group])
        };
        let mut input = ImageInput::of(inputs, &info, model);
        if input.is_err() && info.declares(Group::Channels) {
            let without = info.without(&[Group::Channels]);
            input = ImageInput::of(inputs, &without, model);
            if let Ok(input) = &input {
                let claim = if input.channels == 1 { "is in colour" } else { "has one channel" };
                info = contradicted(
                    &info,
                    Group::Channels,
                    claim,
                    &format!("has {} channel(s)", input.channels),
                );
            }
        }
        // Other errors are reported where the image is needed.
        let Ok(input) = input else { return (info, warnings) };
        let size = |side: Option<u32>| side.and_then(|side| usize::try_from(side).ok());
        let claimed = [size(info.input.width), size(info.input.height)];
        let differs =
            |claimed: Option<usize>, fixed: Option<usize>| claimed.zip(fixed).is_some_and(|(a, b)| a != b);
        if info.declares(Group::Size)
            && (differs(claimed[0], input.width) || differs(claimed[1], input.height))
        {
            let words = |[width, height]: [Option<usize>; 2]| {
                [width, height].map(|side| side.map_or("any".to_owned(), |side| side.to_string())).join("x")
            };
            let claim = format!("has {} pixels", words(claimed));
            let fact = format!("has {}", words([input.width, input.height]));
            info = contradicted(&info, Group::Size, &claim, &fact);
        }
        if info.declares(Group::Normalization) {
            let lists = [&info.input.mean, &info.input.std];
            if input.channels == 1 && lists.into_iter().flatten().any(|list| list.len() > 1) {
                info = contradicted(&info, Group::Normalization, "has several channels", "has one");
            } else if matches!(input.ty, TensorType::UInt8 | TensorType::Int8)
                && info.input.scale != Some(1.0)
            {
                let origin = info.origin(Group::Normalization).map(ToString::to_string).unwrap_or_default();
                let note = format!(
                    "scale, mean and std in {origin} are those of a float input; this one is of type {}",
                    input.ty
                );
                info = info.without(&[Group::Normalization]).noting(note);
            }
        }
        (info, warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sidecar;

    /// The part of `words` that holds for an input, and the warnings.
    fn resolved(input: &str, words: &str) -> (ModelInfo, Vec<String>) {
        let words: Sidecar = toml::from_str(words).unwrap();
        ModelInfo::declared(words).resolve(&[input.parse().unwrap()], Path::new("model.onnx"))
    }

    #[test]
    fn what_fits_the_input_is_left_as_it_is() {
        let words =
            "[input]\nwidth = 64\nheight = 32\nchannels = \"bgr\"\nscale = 1.0\nmean = [1.0, 2.0, 3.0]";
        for input in ["images:float32:1x3x32x64", "images:float32:?x3x?x?", "images:float32:?x3x32x?"] {
            let (info, warnings) = resolved(input, words);
            assert!(warnings.is_empty(), "{input}: {warnings:?}");
            assert_eq!((info.input.width, info.input.height), (Some(64), Some(32)), "{input}");
            assert!(info.input.channels.is_some() && info.input.mean.is_some());
        }
    }

    #[test]
    fn the_inputs_own_shape_wins_with_a_sentence() {
        for (input, words, sentence) in [
            ("i:float32:1x3x64x64", "[input]\nwidth = 64\nheight = 32", "has 64x32 pixels, but it has 64x64"),
            ("i:float32:1x3x?x64", "[input]\nwidth = 32\nheight = 32", "has 32x32 pixels, but it has 64xany"),
            ("i:float32:1x1x64x64", "[input]\nchannels = \"rgb\"", "is in colour, but it has 1 channel"),
            ("i:float32:1x3x64x64", "[input]\nchannels = \"gray\"", "has one channel, but it has 3 channel"),
            (
                "i:float32:1x1x64x64",
                "[input]\nscale = 1.0\nstd = [1.0, 2.0, 3.0]",
                "has several channels, but it has one",
            ),
        ] {
            let (info, warnings) = resolved(input, words);
            let [warning] = &warnings[..] else { panic!("{input}: {warnings:?}") };
            assert!(warning.starts_with("the file's metadata (test) says"), "{warning}");
            assert!(warning.contains(sentence), "{warning}");
            assert!(Group::INPUT.iter().all(|group| !group.is_set(&info)), "{input}: {words}");
        }
    }

    #[test]
    fn an_integer_input_is_not_scaled_by_what_a_float_input_would_need() {
        let (info, warnings) = resolved("i:uint8:1x3x64x64", "[input]\nscale = 0.003921569");
        assert!(warnings.is_empty() && info.input.scale.is_none());
        assert!(info.notes()[0].contains("uint8"), "{:?}", info.notes());
    }

    #[test]
    fn an_input_that_takes_no_image_is_somebody_elses_error() {
        let (_, warnings) =
            resolved("i:float32:1x5x64x64", "[input]\nchannels = \"rgb\"\nwidth = 1\nheight = 1");
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}
