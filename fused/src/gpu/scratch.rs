//! Memory to try a convolution in: its tensors on noise, with a border around what it writes.

use std::sync::Arc;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, Memory};

use super::GpuError;
use super::check::Check;
use crate::plan::{BufferId, Plan, Step, View};

/// Of the noise in the memory that is written; the other buffers have theirs by number.
const SEED: usize = 1 << 20;
/// Bytes before and after a tensor that is written, in which nothing may be written.
const BORDER: usize = 4096;

/// The memory of one step's tensors.
#[derive(Debug)]
pub(super) struct Scratch {
    /// By buffer of the step.
    tensors: Vec<(BufferId, Memory)>,
    output: View,
    /// What the reference writes, and what a candidate writes; with borders.
    written: [Memory; 2],
    stream: Arc<CudaStream>,
}

impl Scratch {
    /// For a step of a plan, on noise.
    pub fn new(stream: &Arc<CudaStream>, check: &Check, plan: &Plan, step: &Step) -> Result<Self, GpuError> {
        let (reads, writes) = step.views();
        let output =
            (*writes.first().ok_or_else(|| GpuError::Compile("a step writes nothing".into()))?).clone();
        let mut tensors: Vec<(BufferId, Memory)> = Vec::new();
        for view in reads {
            let buffer = view.buffer;
            if buffer == output.buffer || tensors.iter().any(|(known, _)| *known == buffer) {
                continue;
            }
            let of = &plan.buffers[buffer.0];
            let memory = stream.allocate(of.bytes)?;
            // Weights as well: with a model's own, a large bias may hide that sums are rounded.
            check.fill(stream, memory.slice(), view.ty, buffer.0)?;
            tensors.push((buffer, memory));
        }
        let bytes = plan.buffers[output.buffer.0].bytes + 2 * BORDER;
        let written = [stream.allocate(bytes)?, stream.allocate(bytes)?];
        Ok(Self { tensors, output, written, stream: Arc::clone(stream) })
    }

    /// Where a buffer is; that of the output is the reference's (0) or the candidate's (1).
    pub fn address(&self, buffer: BufferId, writer: usize) -> u64 {
        if buffer == self.output.buffer {
            return self.written[writer].pointer() + BORDER as u64;
        }
        let found = self.tensors.iter().find(|(known, _)| *known == buffer);
        found.map_or(0, |(_, memory)| memory.pointer())
    }

    /// Fills the memory that one of them writes with the same noise for both: what it does not write, or writes beside its tensor, shows,
    /// and what it reads of that memory are numbers.
    pub fn clear(&self, check: &Check, writer: usize) -> Result<(), GpuError> {
        check.fill(&self.stream, self.written[writer].slice(), self.output.ty, SEED)
    }

    /// How far the candidate is off at most, as a share of the numbers' size, and whether it agrees within `share` everywhere.
    pub fn compare(&self, check: &Check, share: f32) -> Result<(f32, bool), GpuError> {
        let [expected, found] = [0, 1].map(|writer| self.written[writer].slice());
        check.compare(&self.stream, expected, found, self.output.ty, share)
    }
}

/// Copies bytes to the device.
pub(super) fn upload(stream: &CudaStream, bytes: &[u8], to: DeviceSlice<'_>) -> Result<(), GpuError> {
    let mut pinned = stream.pin(bytes.len())?;
    pinned.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
    Ok(stream.upload(&pinned, to)?)
}
