//! How the pictures of several frames lie in one input.

use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::words::Words as _;

use crate::{Clip, ModelInfo};

/// How the pictures of several frames lie in one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// How many frames before the current one each picture is, in the input's order.
    pub ago: Vec<usize>,
    /// The dimension along which they lie, counted with the batch.
    pub axis: usize,
    /// Whether that is the dimension of the channels, and none of its own.
    pub in_channels: bool,
    /// There is a run at every `hop`th frame, once there are all of them; none, if there is one for each frame from the first on.
    pub hop: Option<usize>,
}

impl Joined {
    /// The dimensions of the input for a frame alone; `picture` are those of one picture, which begin with a batch of 1.
    pub fn dims(&self, picture: &[usize]) -> Vec<usize> {
        let mut dims = picture.to_vec();
        if self.in_channels {
            if let Some(channels) = dims.get_mut(self.axis) {
                *channels *= self.ago.len();
            }
        } else {
            dims.insert(self.axis.min(dims.len()), self.ago.len());
        }
        dims
    }

    /// The number of pieces into which each of the pictures, of these dimensions, is cut: those of one after the other lie together.
    pub fn pieces(&self, picture: &[usize]) -> usize {
        picture.iter().take(self.axis).skip(1).product()
    }
}

/// What of an input is one picture: its description, the order of its dimensions where the sidecar says that or the rest makes it
/// clear, and how the pictures lie in the input.
pub(crate) type Part = (TensorDesc, Option<Layout>, Option<Joined>);

/// The part of an input that is one picture.
///
/// # Errors
/// A sentence that goes on after the input's name: why the pictures that the sidecar names do not fit.
pub(crate) fn one_picture(desc: &TensorDesc, info: &ModelInfo) -> Result<Part, String> {
    match (&info.frames.stack, &info.clip) {
        (Some(stack), _) => of_stack(desc, info, stack),
        (None, Some(clip)) => of_clip(desc, info, clip),
        (None, None) => Ok((desc.clone(), info.input.layout, None)),
    }
}

/// The layout of a picture of these dimensions; none where it cannot be one.
fn layout_of(part: &[Option<usize>], info: &ModelInfo) -> Option<Layout> {
    let [_, a, _, c] = part else { return None };
    let may_be = |channels: &Option<usize>| matches!(channels, None | Some(1 | 3));
    match info.input.layout {
        Some(layout) => may_be(if layout == Layout::Nchw { a } else { c }).then_some(layout),
        None if matches!(a, Some(1 | 3)) => Some(Layout::Nchw),
        None if matches!(c, Some(1 | 3)) => Some(Layout::Nhwc),
        None => may_be(a).then_some(Layout::Nchw),
    }
}

fn of_clip(desc: &TensorDesc, info: &ModelInfo, clip: &Clip) -> Result<Part, String> {
    let frames = clip.frames;
    if desc.dims.len() != 5 {
        return Err(format!(
            "it has {} dimensions, and one of a [clip] has 5, [N,C,T,H,W], [N,T,C,H,W] or [N,T,H,W,C]",
            desc.dims.len()
        ));
    }
    let part = |axis: usize| {
        let mut part = desc.clone();
        part.dims.remove(axis);
        part
    };
    let is_long = |axis: usize| desc.dims.get(axis).is_some_and(|dim| dim.is_none_or(|dim| dim == frames));
    let axis = match clip.axis {
        Some(axis) if !(1..5).contains(&axis) => {
            return Err(format!("clip.axis is {axis}, and must be 1 to 4: 0 is the batch"));
        }
        Some(axis) if !is_long(axis) => {
            let dim = desc.dims.get(axis).copied().flatten().unwrap_or(0);
            return Err(format!(
                "its dimension {axis}, which clip.axis names, is {dim} long, and clip.frames is {frames}"
            ));
        }
        Some(axis) => axis,
        None => match [1, 2].map(|axis| is_long(axis) && layout_of(&part(axis).dims, info).is_some()) {
            [true, true] => {
                return Err(
                    "its frames could lie along dimension 1 or 2. Write axis in the sidecar's [clip]".into(),
                );
            }
            [true, false] => 1,
            [false, true] => 2,
            [false, false] => {
                return Err(format!(
                    "neither dimension 1 nor 2 is that of {frames} frames beside pictures of 1 or 3 channels. Correct frames in the sidecar's \
                     [clip], or write axis"
                ));
            }
        },
    };
    let ago = (0..frames).rev().map(|before| before * clip.stride()).collect();
    let joined = Joined { ago, axis, in_channels: false, hop: Some(clip.hop()) };
    let part = part(axis);
    let layout = layout_of(&part.dims, info);
    Ok((part, layout, Some(joined)))
}

fn of_stack(desc: &TensorDesc, info: &ModelInfo, stack: &[i64]) -> Result<Part, String> {
    let (count, rank) = (stack.len(), desc.dims.len());
    let layout = info.input.layout;
    let axis = |layout| rank.checked_sub(if layout == Layout::Nchw { 3 } else { 1 });
    let part = |layout: Layout| {
        let axis = axis(layout)?;
        let channels = (*desc.dims.get(axis)?).filter(|channels| channels.is_multiple_of(count))? / count;
        let mut part = desc.clone();
        *part.dims.get_mut(axis)? = Some(channels);
        // With the batch, where the input has none.
        matches!(channels, 1 | 3).then_some((part, layout, axis + usize::from(rank == 3)))
    };
    let orders = layout.map_or(vec![Layout::Nchw, Layout::Nhwc], |layout| vec![layout]);
    let (part, layout, axis) = orders.into_iter().find_map(part).ok_or_else(|| {
        format!(
            "no dimension that can be its channels{} has 1 or 3 for each of the {count} frames of [frames] stack. Write as many frames \
             as its channels are of",
            layout.map_or_else(String::new, |layout| format!(" as {}", layout.word()))
        )
    })?;
    let ago = stack.iter().map(|frame| usize::try_from(frame.unsigned_abs()).unwrap_or(0)).collect();
    Ok((part, Some(layout), Some(Joined { ago, axis, in_channels: true, hop: None })))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{ImageInput, Sidecar};

    fn image(desc: &str, sidecar: &str) -> Result<ImageInput, String> {
        let sidecar: Sidecar = toml::from_str(sidecar).unwrap();
        ImageInput::of(&[desc.parse().unwrap()], &ModelInfo::of(sidecar), Path::new("m.onnx"))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn pictures_lie_where_the_sidecar_says_or_the_dimensions_do() {
        let stack = "[frames]\nstack = [-2, -1, 0]";
        for (desc, sidecar, picture, input, pieces) in [
            ("i:float32:?x9x4x6", stack, [1, 3, 4, 6], vec![1, 9, 4, 6], 1),
            ("i:float32:1x4x6x9", stack, [1, 4, 6, 3], vec![1, 4, 6, 9], 24),
            ("i:float32:1x3x4x6", stack, [1, 1, 4, 6], vec![1, 3, 4, 6], 1),
            ("i:float32:?x3x2x4x6", "[clip]\nframes = 2", [1, 3, 4, 6], vec![1, 3, 2, 4, 6], 3),
            ("i:float32:?x2x3x4x6", "[clip]\nframes = 2", [1, 3, 4, 6], vec![1, 2, 3, 4, 6], 1),
            ("i:float32:?x2x4x6x3", "[clip]\nframes = 2", [1, 4, 6, 3], vec![1, 2, 4, 6, 3], 1),
            ("i:float32:?x3x?x4x6", "[clip]\nframes = 5", [1, 3, 4, 6], vec![1, 3, 5, 4, 6], 3),
            ("i:float32:?x3x3x4x6", "[clip]\nframes = 3\naxis = 2", [1, 3, 4, 6], vec![1, 3, 3, 4, 6], 3),
        ] {
            let image = image(desc, sidecar).unwrap();
            let joined = image.joined.as_ref().unwrap();
            assert_eq!(image.dims(6, 4), picture, "{desc}");
            assert_eq!((joined.dims(&picture), joined.pieces(&picture)), (input, pieces), "{desc}");
        }
        let clip =
            image("i:float32:?x3x3x4x6", "[clip]\nframes = 3\nstride = 2\naxis = 1").unwrap().joined.unwrap();
        assert_eq!((clip.ago, clip.hop), (vec![4, 2, 0], Some(6)));
    }

    #[test]
    fn dimensions_that_do_not_fit_are_a_sentence() {
        for (desc, sidecar, part) in [
            ("i:float32:?x3x3x4x6", "[clip]\nframes = 3", "dimension 1 or 2. Write axis"),
            ("i:float32:?x3x8x4x6", "[clip]\nframes = 16", "neither dimension 1 nor 2 is that of 16 frames"),
            (
                "i:float32:?x3x8x4x6",
                "[clip]\nframes = 16\naxis = 2",
                "dimension 2, which clip.axis names, is 8 long",
            ),
            ("i:float32:?x3x8x4x6", "[clip]\nframes = 8\naxis = 5", "clip.axis is 5, and must be 1 to 4"),
            ("i:float32:?x3x4x6", "[clip]\nframes = 8", "it has 4 dimensions, and one of a [clip] has 5"),
            ("i:float32:?x3x8x4x6", "", "5 are those of a clip"),
            ("i:float32:?x9x4x8", "[frames]\nstack = [-1, 0]", "1 or 3 for each of the 2 frames"),
        ] {
            let error = image(desc, sidecar).unwrap_err();
            assert!(error.contains(part), "{desc} {sidecar}: {error}");
        }
    }
}
