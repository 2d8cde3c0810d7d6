//! TensorRT's optimisation profile: between which sizes a model's open dimensions will be.

use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::TensorDesc;

use crate::model::ModelInfo;

/// The shapes as ONNX Runtime wants them written: `images:1x3x640x640,…`, all inputs with open dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    /// A frame alone.
    pub min: String,
    /// The largest batch.
    pub max: String,
}

impl Profile {
    /// For batches of up to `batch` frames. `None` where no dimension is open, and where one is open that neither the batch nor
    /// the sidecar determines: TensorRT then takes its sizes from the runs.
    pub fn of(inputs: &[TensorDesc], info: &ModelInfo, batch: usize) -> Option<Self> {
        let mut profile = Self::default();
        let open = inputs.iter().filter(|input| input.dims.iter().any(Option::is_none));
        for input in open {
            for (text, batch) in [(&mut profile.min, 1), (&mut profile.max, batch)] {
                let dims = dims(input, info, batch)?;
                let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
                let comma = if text.is_empty() { "" } else { "," };
                *text += &format!("{comma}{}:{}", input.name, dims.join("x"));
            }
        }
        (!profile.min.is_empty()).then_some(profile)
    }
}

fn dims(input: &TensorDesc, info: &ModelInfo, batch: usize) -> Option<Vec<usize>> {
    let sides = match info.input.layout {
        Some(Layout::Nhwc) => [1, 2],
        _ => [2, 3],
    };
    let mut states = info.state.outputs.values();
    let state = states.find(|state| state.input == input.name);
    let stated = |index: usize| match index {
        0 if state.is_some() => Some(batch),
        // A state's sides are none of the image's.
        _ if state.is_some() => state.and_then(|state| state.shape.as_ref()?.get(index).copied()),
        // Three dimensions are an image without a batch, or something unknown.
        0 if input.dims.len() != 3 => Some(batch),
        _ if input.dims.len() != 4 => None,
        _ if index == sides[0] => info.input.height.and_then(|side| usize::try_from(side).ok()),
        _ if index == sides[1] => info.input.width.and_then(|side| usize::try_from(side).ok()),
        _ => None,
    };
    input.dims.iter().enumerate().map(|(index, dim)| dim.or_else(|| stated(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(inputs: &[&str], batch: usize) -> Option<(String, String)> {
        let inputs: Vec<TensorDesc> = inputs.iter().map(|text| text.parse().unwrap()).collect();
        Profile::of(&inputs, &ModelInfo::default(), batch).map(|profile| (profile.min, profile.max))
    }

    #[test]
    fn an_open_batch_goes_from_one_frame_to_all() {
        let profile = of(&["images:float32:?x3x640x640", "size:float32:?x2", "scale:float32:1"], 8);
        let (min, max) = ("images:1x3x640x640,size:1x2", "images:8x3x640x640,size:8x2");
        assert_eq!(profile, Some((min.to_owned(), max.to_owned())));
    }

    #[test]
    fn a_state_has_the_dimensions_that_the_sidecar_states_and_not_the_images() {
        let input: TensorDesc = "r1i:float32:?x16x?x?".parse().unwrap();
        let of = |text: &str| {
            let info = ModelInfo::of(toml::from_str(text).unwrap());
            Profile::of(std::slice::from_ref(&input), &info, 4).map(|profile| profile.max)
        };
        let image = "[input]\nwidth = 64\nheight = 32\n[state]\n";
        let stated = of(&format!("{image}r1o = {{ input = \"r1i\", shape = [1, 16, 8, 12] }}"));
        assert_eq!(stated.as_deref(), Some("r1i:4x16x8x12"));
        assert_eq!(of(&format!("{image}r1o = \"r1i\"")), None);
    }

    #[test]
    fn without_open_dimensions_or_with_unknown_ones_there_is_none() {
        assert_eq!(of(&["images:float32:4x3x640x640"], 4), None);
        assert_eq!(of(&["images:float32:?x3x?x?"], 4), None);
        assert_eq!(of(&["images:float32:?x3x8x8", "more:float32:1x?"], 4), None);
        assert_eq!(of(&["image:float32:?x8x3"], 1), None);
    }
}
