//! Regions of interest: parts of one frame, each turned and scaled by a map of its own, to one batch.
//!
//! # What every implementation computes
//!
//! Colour and elements are as in [`crate::preproc`]. In between, the region's map leads from tensor pixels to frame pixels:
//! pixel (i, j) of the tensor has its centre at (i + 0.5, j + 0.5), which is a point p of the frame. Its value is
//! - Nearest: the pixel that holds p.
//! - Bilinear: between the two by two neighbours of p - (0.5, 0.5).
//! - Area: the mean of columns x rows such bilinear samples, evenly spread over the area that the tensor pixel covers, and
//!   turned with it. Their number on an axis is the map's scale there, rounded up (at most 64): each is about a pixel from
//!   the next. Where the scale is whole and the samples meet pixels' centres, that is the exact mean of the pixels; where the
//!   region is enlarged, it is bilinear.
//!
//! Frame pixels beyond the frame's edge have [`PreprocParams::padding`] as their value, also as neighbours: a sample within half
//! a pixel of the edge mixes with the padding. So do OpenCV's `warpAffine` with `BORDER_CONSTANT` and PyTorch's `grid_sample`
//! with zeros (`align_corners=False`); [`super::Preproc`] clamps there.
//!
//! [`Part`]s are the exception: upright, of whole pixels, and each resized like a frame of its own.
//!
//! Positions are computed in fixed point of 2^-32 pixel, so that CPU and GPU agree bit for bit and large frames are as
//! exact as small ones (to 2^-12 pixel at worst); the weights have 24 bits.
//!
//! Maps are affine, or homographies ([`RegionMap`]). The positions of homographies are quotients in float64, with the same operations in the same
//! order on CPU and GPU, cut to that fixed point. With Area, all pixels of a tensor have as many samples as that at the corner where
//! the frame is shrunk most.

mod cpu;
mod cuda;
mod grid;
mod parts;
mod place;
mod tiles;
mod warp;

pub use cuda::{CudaRegionPreproc, CudaRegions};
pub use grid::RegionMap;
pub use parts::{CudaPartPreproc, Part, PartPreproc, part};
pub use place::{Fit, aligned, as_deeplabcut, as_mmpose, as_sleap, region};
pub use tiles::Tiles;
pub use warp::{CudaWarpPreproc, warped};

use self::cpu::Cpu;
use super::filters::Filter;
use super::plan::PreprocPlan;
use super::{PreprocError, PreprocParams, Resize};
use crate::frame::{Frame, FrameFormat};

/// A prepared conversion of regions of interest to a batch: coefficients and buffers are made once.
#[derive(Debug)]
pub struct RegionPreproc {
    plan: PreprocPlan,
    cpu: Cpu,
}

impl RegionPreproc {
    /// Prepares the conversion. [`PreprocParams::resize`] is not used, because the maps define it.
    ///
    /// # Errors
    /// As [`super::Preproc::new`], and Pillow's filters, which do not follow a map that may turn.
    pub fn new(source: FrameFormat, params: PreprocParams) -> Result<Self, PreprocError> {
        let plan = plan(source, params)?;
        Ok(Self { cpu: Cpu::new(&plan), plan })
    }

    /// The dimensions of one region's tensor, in its layout. A batch has one for each region, one after the other:
    /// its first dimension is the number of regions.
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// The size in bytes of one region's tensor.
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Fills `tensor` (of [`RegionPreproc::bytes`] bytes a region, in any alignment, native endianness) from parts of
    /// `frame`: `to_frame[i]` leads from the pixels of row `i` to the frame's. No regions are no work.
    ///
    /// # Errors
    /// A tensor of another length, a frame whose planes are too short for the format given to [`RegionPreproc::new`], a
    /// map that is not finite or leads further than 2^24 pixels from the frame's origin, or a homography that reaches the camera
    /// ([`warped`] makes none).
    pub fn run<M: RegionMap>(
        &mut self,
        frame: &Frame<'_>,
        to_frame: &[M],
        tensor: &mut [u8],
    ) -> Result<(), PreprocError> {
        let bytes = self.plan.bytes;
        let wanted = bytes.saturating_mul(to_frame.len());
        if tensor.len() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.len() });
        }
        frame.check(&self.plan.source)?;
        for (grid, tensor) in grids(&self.plan, to_frame).zip(tensor.chunks_exact_mut(bytes)) {
            self.cpu.run(frame, &grid?, tensor);
        }
        Ok(())
    }
}

/// The plan of `params`, without their way of resizing.
fn plan(source: FrameFormat, params: PreprocParams) -> Result<PreprocPlan, PreprocError> {
    if Filter::of(params.interpolation).is_some() {
        return Err(PreprocError::RegionFilter);
    }
    PreprocPlan::new(source, PreprocParams { resize: Resize::Stretch, ..params })
}

/// The samples of each region.
fn grids<'a, M: RegionMap>(
    plan: &'a PreprocPlan,
    to_frame: &'a [M],
) -> impl Iterator<Item = Result<M::Grid, PreprocError>> + 'a {
    let PreprocParams { width, height, interpolation, .. } = plan.params;
    to_frame
        .iter()
        .enumerate()
        .map(move |(i, map)| map.grid([width, height], interpolation).ok_or(PreprocError::Region(i)))
}
