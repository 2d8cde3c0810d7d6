//! A model's outputs for a batch, in device memory.

use crate::detect::DetectError;
use crate::detect::shaped::Shaped;
use crate::device::DeviceTensor;

use super::size::too_large;

/// A model's output for a batch, of which the first `rows` frames are read. There may be more: padding.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// All of it.
    pub tensor: DeviceTensor<'a>,
    /// Frames that are read.
    pub rows: usize,
}

impl Output<'_> {
    /// The output of this index.
    pub fn of(outputs: &[Self], index: usize) -> Result<&Self, DetectError> {
        let given = outputs.len();
        outputs.get(index).ok_or(DetectError::Outputs { given, wanted: index + 1 })
    }

    /// The device address of one of the first frame's elements.
    pub fn address(&self, element: usize) -> Result<u64, DetectError> {
        let bytes = u64::try_from(element * self.tensor.ty.size()).map_err(|_| too_large(element))?;
        Ok(self.tensor.pointer() + bytes)
    }

    /// Bytes from one frame's elements to the next frame's.
    pub fn row_bytes(&self) -> u64 {
        match *self.tensor.dims {
            [batch, ..] if batch > 0 => (self.tensor.bytes() / batch) as u64,
            _ => 0,
        }
    }
}

impl Shaped for Output<'_> {
    fn name(&self) -> &str {
        self.tensor.name
    }

    fn dims(&self) -> &[usize] {
        &self.tensor.dims
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn holds(&self, batch: usize) -> bool {
        batch >= self.rows.max(1)
    }
}
