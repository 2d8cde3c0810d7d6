//! Which tensors are maps, and which are pictures.

use super::MapError;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType};

/// The greatest width and height, of maps and video.
pub(super) const MOST: usize = 1 << 15;

/// A tensor's dimensions. One channel is always [`Layout::Nchw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Where the channels are.
    pub layout: Layout,
    /// 1, 2 or 3.
    pub channels: usize,
    /// Cells in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Shape {
    /// Cells, and elements from one cell to the next and from one channel to the next.
    pub(super) fn steps(&self) -> [usize; 2] {
        match self.layout {
            Layout::Nchw => [1, self.width * self.height],
            Layout::Nhwc => [self.channels, 1],
        }
    }
}

/// How a tensor with `channels` numbers a cell, from 1 to 3, is read.
///
/// # Errors
/// [`MapError::Type`], [`MapError::Rank`], [`MapError::Empty`], [`MapError::TooLarge`].
pub fn shape(tensor: &TensorDesc, channels: usize, layout: Option<Layout>) -> Result<Shape, MapError> {
    if !matches!(tensor.ty, TensorType::Float32 | TensorType::Float16 | TensorType::UInt8) {
        return Err(MapError::Type(tensor.to_string()));
    }
    let (wanted, what) = match channels {
        1 => ("1xHxW, 1x1xHxW, 1xHxWx1 or HxW", "map"),
        2 => ("1x2xHxW or 1xHxWx2", "vectors"),
        _ => ("1x3xHxW or 1xHxWx3", "picture"),
    };
    let refused = || MapError::Rank { tensor: tensor.to_string(), wanted, what };
    let dims = tensor.dims.iter().copied().collect::<Option<Vec<usize>>>().ok_or_else(refused)?;
    let [a, b, c] = match dims[..] {
        [1, a, b, c] | [a, b, c] => [a, b, c],
        // A single row is rather a score of each class.
        [h, w] if h != 1 && w != 1 => [1, h, w],
        _ => return Err(refused()),
    };
    let first = (a == channels).then_some((Layout::Nchw, b, c));
    let last = (c == channels).then_some((Layout::Nhwc, a, b));
    let found = match layout {
        Some(Layout::Nchw) => first,
        Some(Layout::Nhwc) => last,
        None => first.or(last),
    };
    let (layout, height, width) = found.ok_or_else(refused)?;
    if [height, width].contains(&0) {
        return Err(MapError::Empty(tensor.to_string()));
    }
    // Elements are numbered by 32 bits on the GPU.
    if height.max(width) > MOST || height * width * channels > 0x7fff_ffff {
        return Err(MapError::TooLarge(tensor.to_string()));
    }
    let layout = if channels == 1 { Layout::Nchw } else { layout };
    Ok(Shape { layout, channels, width, height })
}
