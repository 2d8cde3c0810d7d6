//! Parts of a frame in whole pixels, each resized like a frame of its own, as by `image[y1:y2, x1:x2]` or Pillow's `crop`
//! followed by a resize. Pixels beyond a part's edge are not read.

use super::super::cpu::Cpu;
use super::super::plan::PreprocPlan;
use super::super::tables::{TableKernels, table};
use super::super::{PreprocError, PreprocParams};
use crate::device::{CudaStream, DeviceFrame, DeviceSlice, Uploads};
use crate::frame::{Frame, FrameFormat};
use crate::geometry::{Affine, Rect};

/// Bytes for the tables of a frame's parts at first.
const ROOM: usize = 1 << 16;

/// A part of a frame, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Columns left of it.
    pub x: usize,
    /// Rows above it.
    pub y: usize,
    /// Its width, at least 1.
    pub width: usize,
    /// Its height, at least 1.
    pub height: usize,
}

/// The part of a frame of `frame` (width, height) pixels that a box covers: its edges, rounded to the nearest pixel (half to
/// even, as NumPy does) and clamped to the frame. The box is `rect`, `padding` times as wide and high.
///
/// None where no pixel is left, and for a box or a padding that is not finite.
pub fn part(rect: Rect, padding: f32, frame: [usize; 2]) -> Option<Part> {
    let [x, y, w, h, padding] = [rect.x, rect.y, rect.w, rect.h, padding].map(f64::from);
    let side = |begin: f64, length: f64, most: usize| {
        let (middle, half) = (begin + 0.5 * length, 0.5 * length * padding);
        let [first, end] = [middle - half, middle + half].map(f64::round_ties_even);
        // Also true for NaN.
        if !(first.is_finite() && end > first) {
            return None;
        }
        // Lossless: between 0 and the frame's side.
        let [first, end] = [first, end].map(|edge| edge.clamp(0.0, most as f64) as usize);
        (end > first).then_some((first, end - first))
    };
    let ((x, width), (y, height)) = (side(x, w, frame[0])?, side(y, h, frame[1])?);
    Some(Part { x, y, width, height })
}

/// The plan of a part of the frames of `plan`.
fn plan_of(plan: &PreprocPlan, index: usize, part: &Part) -> Result<PreprocPlan, PreprocError> {
    let Part { x, y, width, height } = *part;
    let inside = |begin: usize, length: usize, most: usize| {
        length > 0 && begin.checked_add(length).is_some_and(|end| end <= most)
    };
    if !(inside(x, width, plan.source.width) && inside(y, height, plan.source.height)) {
        return Err(PreprocError::Part(index));
    }
    let mut own = PreprocPlan::new(FrameFormat { width, height, ..plan.source }, plan.params.clone())?;
    own.placement = own.placement.moved([x, y]);
    Ok(own)
}

/// The plans of parts.
fn plans(plan: &PreprocPlan, parts: &[Part]) -> Result<Vec<PreprocPlan>, PreprocError> {
    parts.iter().enumerate().map(|(i, part)| plan_of(plan, i, part)).collect()
}

/// A prepared conversion of parts of a frame to a batch, on the CPU.
#[derive(Debug)]
pub struct PartPreproc {
    plan: PreprocPlan,
}

impl PartPreproc {
    /// Prepares the conversion.
    ///
    /// # Errors
    /// As [`crate::preproc::Preproc::new`].
    pub fn new(source: FrameFormat, params: PreprocParams) -> Result<Self, PreprocError> {
        Ok(Self { plan: PreprocPlan::new(source, params)? })
    }

    /// The dimensions of one part's tensor, in its layout. A batch has one for each part, one after the other.
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// The size in bytes of one part's tensor.
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// Where the tensor's pixels of a part lie in the frame.
    ///
    /// # Errors
    /// A part that does not lie in the frame.
    pub fn affine(&self, part: &Part) -> Result<Affine, PreprocError> {
        Ok(plan_of(&self.plan, 0, part)?.placement.affine())
    }

    /// Fills `tensor` (of [`PartPreproc::bytes`] bytes a part, in any alignment, native endianness). No parts are no work.
    ///
    /// # Errors
    /// A tensor of another length, a frame whose planes are too short for the format given to [`PartPreproc::new`], a part
    /// that does not lie in the frame.
    pub fn run(&self, frame: &Frame<'_>, parts: &[Part], tensor: &mut [u8]) -> Result<(), PreprocError> {
        let bytes = self.plan.bytes;
        let wanted = bytes.saturating_mul(parts.len());
        if tensor.len() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.len() });
        }
        frame.check(&self.plan.source)?;
        let plans = plans(&self.plan, parts)?;
        for (plan, tensor) in plans.iter().zip(tensor.chunks_exact_mut(bytes)) {
            Cpu::new(plan).run(frame, tensor);
        }
        Ok(())
    }
}

/// A prepared conversion of parts of a frame to a batch, on a GPU.
#[derive(Debug)]
pub struct CudaPartPreproc {
    plan: PreprocPlan,
    kernels: TableKernels,
    tables: Uploads,
}

impl CudaPartPreproc {
    /// Prepares the conversion for the GPU of `stream`.
    ///
    /// # Errors
    /// As [`PartPreproc::new`], and [`PreprocError::Device`] where the kernels cannot be loaded.
    pub fn new(
        source: FrameFormat,
        params: PreprocParams,
        stream: &CudaStream,
    ) -> Result<Self, PreprocError> {
        let plan = PreprocPlan::new(source, params)?;
        let (kernels, tables) = (TableKernels::load(stream, &plan)?, Uploads::new(stream, ROOM)?);
        Ok(Self { plan, kernels, tables })
    }

    /// As [`PartPreproc::dims`].
    pub fn dims(&self) -> [usize; 4] {
        self.plan.dims()
    }

    /// As [`PartPreproc::bytes`].
    pub fn bytes(&self) -> usize {
        self.plan.bytes
    }

    /// As [`PartPreproc::affine`].
    ///
    /// # Errors
    /// A part that does not lie in the frame.
    pub fn affine(&self, part: &Part) -> Result<Affine, PreprocError> {
        Ok(plan_of(&self.plan, 0, part)?.placement.affine())
    }

    /// Enqueues the filling of `tensor` (of [`CudaPartPreproc::bytes`] bytes a part): an upload of the parts' tables and one
    /// launch. The stream must be of the context given to [`CudaPartPreproc::new`].
    ///
    /// # Errors
    /// As [`PartPreproc::run`]; a tensor that is not aligned to its element type; [`PreprocError::Device`].
    pub fn run(
        &mut self,
        stream: &CudaStream,
        frame: &DeviceFrame<'_>,
        parts: &[Part],
        tensor: DeviceSlice<'_>,
    ) -> Result<(), PreprocError> {
        frame.check(&self.plan.source)?;
        let plans = plans(&self.plan, parts)?;
        let wanted = self.plan.bytes.saturating_mul(parts.len());
        if tensor.bytes() != wanted {
            return Err(PreprocError::Tensor { wanted, given: tensor.bytes() });
        }
        if plans.is_empty() {
            return Ok(());
        }
        let words = table(plans.iter());
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let slot = self.tables.start(stream, bytes.len(), |room, _| room.copy_from_slice(bytes))?;
        let source = (slot.slice(), true);
        let launched = self.kernels.launch(stream, &self.plan, &[*frame], source, parts.len(), tensor);
        slot.done(stream)?;
        launched
    }
}
