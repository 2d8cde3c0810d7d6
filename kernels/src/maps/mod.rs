//! Maps of numbers, such as depth, anomaly scores and heat-maps, of vectors, such as optical flow, and pictures that a network makes.
//!
//! A map is one number a cell, a picture three: [`MapReader`] summarises a frame's numbers ([`Summary`]), and makes video of
//! them: GRAY16_LE of a map, RGB of a picture. [`CudaMapReader`] does the same on the GPU. Vectors of two numbers become the
//! colours of vectors.rs, on the CPU only.
//!
//! # How a number becomes a sample
//! 1. A map's number is taken as it is. A picture's is `value * std + mean`, by channel, which undoes a network's normalisation.
//! 2. The range's minimum becomes 0 and its maximum the greatest sample, 65535 or 255: linearly, rounded to the nearest.
//!    With [`Range::Frame`] the range is that of the finite numbers that lie in the frame.
//! 3. A number that rounds to less than 0 or more than the greatest sample is *out of range*. It is clamped and counted. NaN and
//!    infinity become 0 and are counted.
//!
//! Where video has another size than the map, numbers are interpolated bilinearly between the cells' centres before they
//! become samples; beyond the outermost cells of the frame theirs are repeated. All is float32 with the same operations in the
//! same order on host and device, so that the samples are the same to the bit.

mod cpu;
mod cuda;
mod error;
mod params;
mod place;
mod plan;
mod shape;
mod summary;
#[cfg(test)]
mod tests;
mod vectors;

pub use cuda::{CudaMapReader, CudaPicture};
pub use error::MapError;
pub use params::{MapParams, Range};
pub use place::{Place, Region};
pub use shape::{Shape, shape};
pub use summary::Summary;

use crate::tensor::{TensorDesc, TensorView};
use plan::MapPlan;

/// Room for video.
#[derive(Debug)]
pub struct Picture<'a> {
    /// Which cells its pixels show.
    pub place: &'a Place,
    /// Its first row's first byte, and so on: 2 bytes a pixel of a map, 3 of vectors and pictures.
    pub out: &'a mut [u8],
    /// Bytes from row to row.
    pub stride: usize,
}

/// Reads one output of a model.
#[derive(Clone, Debug)]
pub struct MapReader {
    plan: MapPlan,
}

impl MapReader {
    /// Prepares for `output`, which is float32, float16 or uint8: a map `[1, H, W]`, `[1, 1, H, W]`, `[1, H, W, 1]` or
    /// `[H, W]`, vectors `[1, 2, H, W]` or `[1, H, W, 2]`, or a picture `[1, 3, H, W]` or `[1, H, W, 3]`, as [`MapParams::channels`] says; one frame's, all dimensions known.
    ///
    /// # Errors
    /// Every [`MapError`] that says what is wrong with `output` or `params`.
    pub fn new(output: &TensorDesc, params: MapParams) -> Result<Self, MapError> {
        Ok(Self { plan: MapPlan::new(output, params)? })
    }

    /// Width and height in cells.
    pub fn size(&self) -> [usize; 2] {
        self.plan.size()
    }

    /// The summary of the numbers of `region`; and video of them, if `picture` has room for it.
    ///
    /// # Errors
    /// [`MapError::Changed`] where `tensor` is not the one announced, [`MapError::Region`] and [`MapError::Room`] where the
    /// sizes do not fit.
    pub fn run(
        &self,
        tensor: &TensorView<'_>,
        region: &Region,
        picture: Option<Picture<'_>>,
    ) -> Result<Summary, MapError> {
        let Self { plan } = self;
        plan.check(tensor.name, tensor.ty, &tensor.dims, region)?;
        let values = tensor.to_f32();
        let mut summary = cpu::measure(plan, &values, region);
        if let Some(Picture { place, out, stride }) = picture {
            plan.check_room(place, out.len(), stride)?;
            if plan.shape.channels == 2 {
                let lengths = vectors::measure(plan, &values, region);
                summary.out_of_range = lengths.beyond;
                vectors::paint(plan, &values, place, &lengths, out, stride);
            } else {
                cpu::paint(plan, &values, place, &plan.levels(&summary), out, stride);
            }
        }
        Ok(summary)
    }
}
