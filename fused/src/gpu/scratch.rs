//! Memory to try a convolution in: its tensors on noise, with a border around what it writes.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, Memory};
use cudainfer_kernels::tensor::TensorType;

use super::GpuError;
use super::check::Check;
use crate::graph::number::is_byte;
use crate::plan::{BufferId, Content, Plan, Step, View};

/// Of the noise in the memory that is written; the other buffers have theirs by number.
const SEED: usize = 1 << 20;
/// Bytes before and after a tensor that is written, in which nothing may be written.
const BORDER: usize = 4096;

/// The memory of one step's tensors.
#[derive(Debug)]
pub(super) struct Scratch {
    /// By buffer of the step, of those that it only reads.
    tensors: Vec<(BufferId, Memory)>,
    written: Vec<Written>,
    stream: Arc<CudaStream>,
}

/// A buffer that a step writes.
#[derive(Debug)]
struct Written {
    buffer: BufferId,
    ty: TensorType,
    /// What the reference writes, and what a candidate writes; with borders.
    memory: [Memory; 2],
}

impl Scratch {
    /// For a step of a plan, on noise.
    pub fn new(stream: &Arc<CudaStream>, check: &Check, plan: &Plan, step: &Step) -> Result<Self, GpuError> {
        let (reads, writes) = step.views();
        let is_integer = matches!(step, Step::Convolution(step) if is_byte(step.input.ty));
        let mut written: Vec<Written> = Vec::new();
        for View { buffer, ty, .. } in writes {
            if !written.iter().any(|known| known.buffer == *buffer) {
                let bytes = plan.buffers[buffer.0].bytes + 2 * BORDER;
                let memory = [stream.allocate(bytes)?, stream.allocate(bytes)?];
                written.push(Written { buffer: *buffer, ty: *ty, memory });
            }
        }
        let mut tensors: Vec<(BufferId, Memory)> = Vec::new();
        for view in reads {
            let buffer = view.buffer;
            let is_written = written.iter().any(|known| known.buffer == buffer);
            if is_written || tensors.iter().any(|(known, _)| *known == buffer) {
                continue;
            }
            let of = &plan.buffers[buffer.0];
            let memory = stream.allocate(of.bytes)?;
            match &of.content {
                // Sums of integers are not rounded, and their own scales keep the results within what 8 bits hold.
                Content::Constant(bytes) if is_integer => upload(stream, bytes, memory.slice())?,
                // Weights as well: with a model's own, a large bias may hide that sums are rounded.
                _ => check.fill(stream, memory.slice(), view.ty, buffer.0)?,
            }
            tensors.push((buffer, memory));
        }
        Ok(Self { tensors, written, stream: Arc::clone(stream) })
    }

    /// Where a buffer is; one that is written is the reference's (0) or the candidate's (1).
    pub fn address(&self, buffer: BufferId, writer: usize) -> u64 {
        if let Some(written) = self.written.iter().find(|known| known.buffer == buffer) {
            return written.memory[writer].pointer() + BORDER as u64;
        }
        let found = self.tensors.iter().find(|(known, _)| *known == buffer);
        found.map_or(0, |(_, memory)| memory.pointer())
    }

    /// Fills the memory that one of them writes with the same noise for both: what it does not write, or writes beside its tensor, shows,
    /// and what it reads of that memory are numbers.
    pub fn clear(&self, check: &Check, writer: usize) -> Result<(), GpuError> {
        let fill =
            |written: &Written| check.fill(&self.stream, written.memory[writer].slice(), written.ty, SEED);
        self.written.iter().try_for_each(fill)
    }

    /// How far the candidate is off at most, as a share of the numbers' size, and whether it agrees within `share` everywhere.
    pub fn compare(&self, check: &Check, share: f32) -> Result<(f32, bool), GpuError> {
        let mut all = (0.0_f32, true);
        for Written { ty, memory: [expected, found], .. } in &self.written {
            let (far, agrees) = check.compare(&self.stream, expected.slice(), found.slice(), *ty, share)?;
            all = (all.0.max(far), all.1 && agrees);
        }
        Ok(all)
    }
}

/// Copies bytes to the device.
pub(super) fn upload(stream: &CudaStream, bytes: &[u8], to: DeviceSlice<'_>) -> Result<(), GpuError> {
    let mut pinned = stream.pin(bytes.len())?;
    pinned.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
    Ok(stream.upload(&pinned, to)?)
}
