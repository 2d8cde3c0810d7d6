//! Actual tensors by their shapes, wherever their elements are.

use crate::tensor::TensorView;

use super::{DecoderKind, DetectError};

/// A tensor's description, wherever its elements are.
pub(super) trait Shaped {
    /// The model's name for it.
    fn name(&self) -> &str;
    /// Its dimensions, outermost first.
    fn dims(&self) -> &[usize];

    /// Frames that are read of it.
    fn rows(&self) -> usize {
        1
    }

    /// Whether a first dimension of `batch` holds the frames that are read, and no more than may be there.
    fn holds(&self, batch: usize) -> bool {
        batch == 1
    }

    /// Rows and columns of one frame's matrix; none where the tensor holds none, or those of too few or too many frames.
    fn shape(&self) -> Option<[usize; 2]> {
        // A matrix without a dimension for the batch is one frame's.
        let one_frame = self.dims().len() > 2 || self.rows() <= 1;
        one_frame.then(|| matrix(self.dims(), 1, |batch| self.holds(batch)))?
    }

    /// The length of one frame's list, `[N]`, `[1, N]` or `[1, N, 1]`, whose first dimension may be the batch's; none as for
    /// [`Shaped::shape`]. Of one number a frame, the batch may be the only dimension.
    fn list(&self) -> Option<usize> {
        match *self.dims() {
            [] if self.rows() <= 1 => Some(1),
            [batch] if self.rows() > 1 => self.holds(batch).then_some(1),
            [length] => Some(length),
            [batch, length] | [batch, length, 1] if self.holds(batch) => Some(length),
            _ => None,
        }
    }

    /// The dimensions of one frame's maps; none as for [`Shaped::shape`].
    fn maps(&self) -> Option<[usize; 3]> {
        match *self.dims() {
            [batch, a, b, c] if self.holds(batch) => Some([a, b, c]),
            _ => None,
        }
    }

    /// Anchors, points and numbers of one frame's points, `[1, N, points, numbers]` or that without the batch's dimension; none as
    /// for [`Shaped::shape`].
    fn points(&self) -> Option<[usize; 3]> {
        match *self.dims() {
            [count, points, numbers] if self.rows() <= 1 => Some([count, points, numbers]),
            _ => self.maps(),
        }
    }

    /// Whether one frame's dimensions, after that of the batch, are these.
    fn is_batch_of(&self, dims: &[usize]) -> bool {
        matches!(self.dims(), [batch, rest @ ..] if self.holds(*batch) && rest == dims)
    }
}

impl Shaped for TensorView<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self) -> &[usize] {
        &self.dims
    }
}

/// That `tensor` is not as `wanted`.
pub(super) fn misshapen(kind: DecoderKind, tensor: &impl Shaped, wanted: String) -> DetectError {
    let (name, dims) = (tensor.name().into(), tensor.dims().into());
    let wanted = match tensor.rows() {
        0 | 1 => wanted,
        rows => format!("{wanted} for each of {rows} frames, along the first dimension"),
    };
    DetectError::Shape { kind, name, dims, wanted }
}

/// The two dimensions that matter, after a batch dimension and dimensions of 1 are left away. The last one stays.
pub(super) fn matrix<D: Copy + PartialEq>(
    dims: &[D],
    one: D,
    is_single_batch: impl Fn(D) -> bool,
) -> Option<[D; 2]> {
    let dims = match dims {
        [batch, rest @ ..] if dims.len() > 2 => is_single_batch(*batch).then_some(rest)?,
        _ => dims,
    };
    let (columns, before) = dims.split_last()?;
    let mut rows = *before.first()?;
    for &d in &before[1..] {
        match (rows == one, d == one) {
            (_, true) => {}
            (true, false) => rows = d,
            (false, false) => return None,
        }
    }
    Some([rows, *columns])
}
