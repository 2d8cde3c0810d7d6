//! How the pictures of several frames lie in one input.

use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::words::Words as _;

use crate::ModelInfo;

/// How the pictures of several frames lie in one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// How many frames before the current one each picture is, in the input's order.
    pub ago: Vec<usize>,
    /// The dimension along which they lie, counted with the batch.
    pub axis: usize,
    /// Whether that is the dimension of the channels, and none of its own.
    pub in_channels: bool,
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
    match &info.frames.stack {
        Some(stack) => of_stack(desc, info, stack),
        None => Ok((desc.clone(), info.input.layout, None)),
    }
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
    Ok((part, Some(layout), Some(Joined { ago, axis, in_channels: true })))
}
