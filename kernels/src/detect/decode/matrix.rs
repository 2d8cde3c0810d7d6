//! Tensors as matrices, and the check that they are those which were offered.

use std::borrow::Cow;

use crate::tensor::TensorView;

use super::super::offer::{Fit, Offer, Plane, matrix};
use super::super::{DecoderKind, DetectError};

/// An actual tensor, read as a matrix.
pub struct Matrix<'a> {
    pub columns: usize,
    pub data: Cow<'a, [f32]>,
}

/// A tensor's description, wherever its elements are.
pub trait Shaped {
    fn name(&self) -> &str;
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
}

impl Shaped for TensorView<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self) -> &[usize] {
        &self.dims
    }
}

/// Rows and columns of `tensor`, if they are `right`.
pub fn check(
    kind: DecoderKind,
    tensor: &impl Shaped,
    wanted: impl FnOnce() -> String,
    right: impl FnOnce(usize, usize) -> bool,
) -> Result<[usize; 2], DetectError> {
    match tensor.shape() {
        Some([rows, columns]) if right(rows, columns) => Ok([rows, columns]),
        _ => Err(misshapen(kind, tensor, wanted())),
    }
}

/// That `tensor` is a list of that many numbers.
pub fn check_list(kind: DecoderKind, tensor: &impl Shaped, length: usize) -> Result<(), DetectError> {
    let fits = tensor.list() == Some(length);
    if fits { Ok(()) } else { Err(misshapen(kind, tensor, format!("[1, {length}]"))) }
}

/// That `tensor` is not as `wanted`.
pub fn misshapen(kind: DecoderKind, tensor: &impl Shaped, wanted: String) -> DetectError {
    let (name, dims) = (tensor.name().into(), tensor.dims().into());
    let wanted = match tensor.rows() {
        0 | 1 => wanted,
        rows => format!("{wanted} for each of {rows} frames, along the first dimension"),
    };
    DetectError::Shape { kind, name, dims, wanted }
}

/// Reads `view` as a matrix of this shape, which [`check`] has found it to have.
pub fn read<'a>(view: &TensorView<'a>, [_, columns]: [usize; 2]) -> Matrix<'a> {
    Matrix { columns, data: view.to_f32() }
}

/// Whether a transposed reading is believable: more anchors than channels, as far as both are known.
pub fn is_tall(anchors: Option<usize>, channels: Option<usize>) -> bool {
    !matches!((anchors, channels), (Some(anchors), Some(channels)) if anchors <= channels)
}

/// The planes that one-output decoders read.
pub fn single<P>(offer: &Offer<'_>, fit: impl Fn(&Plane) -> Option<Fit<P>>) -> Vec<Fit<P>> {
    offer.planes.iter().filter_map(fit).collect()
}

/// A column's index as a class.
pub fn class_index(column: usize) -> u32 {
    u32::try_from(column).unwrap_or(u32::MAX)
}
