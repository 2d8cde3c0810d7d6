//! Colour conversion, resize, normalisation and layout in one pass, from a video frame to the network's input tensor.
//!
//! # What every implementation computes
//!
//! In this order, in floating point and without rounding in between:
//!
//! 1. **Colour.** Every source pixel becomes R'G'B' in 0..255. Y'CbCr goes through the matrix that follows from the
//!    frame's Kr and Kb, after its range has been expanded (luma 16..235 and chroma 16..240 when limited), and is
//!    clamped to 0..255. Chroma that is stored for two pixels, or two by two, is replicated: pixel (x, y) takes sample
//!    (x / 2, y / 2), as OpenCV's `cvtColor` does. Ten-bit samples count as quarters of the 8-bit scale, so limited
//!    luma 64..940 is 16..235; in full range 1023 is 255. Grey frames have their range expanded. RGB formats are taken
//!    as they are; alpha is ignored. [`ChannelOrder::Gray`] is the expanded and clamped luma itself, or
//!    0.299 R + 0.587 G + 0.114 B of an RGB frame, whatever its matrix.
//! 2. **Placement.** `round` gives the nearest integer, half to even; sizes are width and height in turn.
//!    - Stretch: resized = tensor.
//!    - Letterbox: r = min(tensor / frame), resized = max(1, round(frame r)); the left and top bars are
//!      floor((tensor - resized) / 2) wide, which is Ultralytics' round((tensor - resized) / 2 - 0.1).
//!    - Letterbox at the top left: r as above, resized = max(1, floor(frame r)) in float64, as YOLOX's preprocessing has
//!      it; all of the bars is right and below. (mmdetection, with it RTMDet, rounds to the nearest: a pixel more at most.)
//!    - Centre crop: covered = floor(tensor / [`PreprocParams::crop_ratio`]), r = max(covered / frame), resized = frame r, rounded
//!      down for a square tensor (torchvision's `Resize`), else to the nearest (timm's `ResizeKeepRatio`);
//!      round((resized - tensor) / 2) is cut left and top, as by torchvision's `CenterCrop`.
//!    - Pad: resized = frame; the bars are right and below, and what does not fit is cut there.
//!
//!    Sampling and [`Preproc::affine`] use the ratio that results on each axis, s = frame / resized, so that the frame
//!    fills the resized area exactly: frame = s tensor + s (crop - bar).
//! 3. **Interpolation** of pixel v of the resized frame, edges clamped. Positions are computed in integers, because
//!    one that falls on an edge between two pixels may not depend on how a float was rounded.
//!    - Bilinear: between the neighbours of s (v + 0.5) - 0.5.
//!    - Nearest: pixel floor(s (v + 0.5)).
//!    - Area: the mean over [s v, s (v + 1)), each source pixel weighted by its covered part.
//!    - Pillow's filters (triangle, cubic): the pixels under the filter, which is scaled by
//!      max(1, s). These are the exception from the rule that nothing is rounded: frame pixels, resampled rows and the result
//!      are rounded to 8 bits, and calculated in integers, as Pillow does.
//! 4. **Elements**, as [`PreprocParams`] says. The bars hold [`PreprocParams::padding`], which is normalised like a pixel.
//!
//! The CPU implementation works in float32, vectorised by the compiler for the baseline and again for AVX2, which is
//! chosen when it runs; both give the same bits. [`CudaPreproc`] does the same operations in the same order on the GPU
//! and gives the same bits, too, except where a centre crop enlarges the frame to a side beyond 8 million pixels: there
//! its bilinear weights have an error of up to 2^-22.

mod by_points;
mod color;
mod conversion;
mod cpu;
mod cuda;
mod error;
mod filtered;
mod filters;
mod horizontal;
mod limits;
mod params;
mod placement;
mod plan;
mod regions;
mod rows;
mod samples;
mod tables;
mod taps;
#[cfg(test)]
mod tests;
mod writer;

pub use by_points::{ByPoints, Outline};
pub(crate) use color::Color;
pub use cuda::CudaPreproc;
pub(crate) use cuda::reciprocal;
pub use error::PreprocError;
pub use limits::{MAX_BATCH, MAX_SIDE, MIN_CROP_RATIO};
pub use params::{ChannelOrder, Interpolation, Layout, Padding, PreprocParams, Resize};
pub use regions::{
    CudaPartPreproc, CudaRegionPreproc, CudaRegions, CudaWarpPreproc, Fit, Part, PartPreproc, RegionMap,
    RegionPreproc, Tiles, aligned, as_deeplabcut, as_mmpose, as_sleap, part, region, warped,
};
pub(crate) use samples::{Component, components};

use self::cpu::Cpu;
use self::plan::PreprocPlan;
use crate::frame::{Frame, FrameFormat};
use crate::geometry::Affine;

/// A prepared conversion from one frame format to one tensor: index tables, coefficients and buffers are made once.
#[derive(Debug)]
pub struct Preproc {
    plan: PreprocPlan,
    cpu: Cpu,
}

impl Preproc {
    /// Prepares the conversion.
    ///
    /// # Errors
    /// Sides of 0 or beyond [`MAX_SIDE`], a tensor beyond the address space, a factor or divisor that is 0 or not
    /// finite, an element type that is none of the four, a zero point that is not of that type.
    pub fn new(source: FrameFormat, params: PreprocParams) -> Result<Self, PreprocError> {
        let plan = PreprocPlan::new(source, params)?;
        let cpu = Cpu::new(&plan);
        Ok(Self { plan, cpu })
    }

    /// The tensor's dimensions, in its layout.
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// The tensor's size in bytes.
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Where tensor pixels lie in the frame. A letterbox's bars lie outside of it.
    pub fn affine(&self) -> Affine {
        self.plan.placement.affine()
    }

    /// Fills `tensor` (of [`Preproc::bytes`] bytes, in any alignment, native endianness) from `frame`. Allocates
    /// nothing and starts no threads.
    ///
    /// # Errors
    /// A tensor of another length, or a frame whose planes are too short for the format given to [`Preproc::new`].
    pub fn run(&mut self, frame: &Frame<'_>, tensor: &mut [u8]) -> Result<(), PreprocError> {
        let PreprocPlan { source, bytes, .. } = self.plan;
        if tensor.len() != bytes {
            return Err(PreprocError::Tensor { wanted: bytes, given: tensor.len() });
        }
        frame.check(&source)?;
        self.cpu.run(frame, tensor);
        Ok(())
    }
}
