//! What a model says about its input, and what its input is: where they differ, the input's own shape counts.

use std::path::Path;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::{Group, ImageInput, ModelInfo};

impl ModelInfo {
    /// The same without what the model's maker says of the input and its shape contradicts, and a sentence about each
    /// contradiction. What the sidecar says is left as it is: it is an error elsewhere.
    pub fn settle(&self, inputs: &[TensorDesc], model: &Path) -> (Self, Vec<String>) {
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
        // What is wrong otherwise is said where the image is needed.
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
