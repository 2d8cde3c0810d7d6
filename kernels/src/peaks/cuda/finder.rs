//! The state of the search on the GPU, and its records.

use super::dark::Dark;
use crate::device::{Event, Kernel, Memory, Pinned};
use crate::geometry::Affine;
use crate::peaks::announced::Announced;
use crate::peaks::choose::Candidate;
use crate::peaks::grid::MapShape;
use crate::peaks::offsets::Offsets;

/// Where a candidate lies, in cells from its cell's centre, and the number of its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) offset: (f64, f64),
    /// The number of the record in the launch, which has no order.
    pub(super) record: usize,
}

/// Finds the peaks of one output of a model that lies in device memory: [`crate::peaks::PeakFinder`] on the GPU, for all frames
/// of a batch at once. A frame alone is a batch of one.
///
/// One batch is in flight at a time, and all of them in one stream, or in streams that wait for each other. A launch's number
/// is in its parameters, so it cannot be recorded in a [`crate::device::Graph`].
#[derive(Debug)]
pub struct CudaPeaks {
    pub(crate) announced: Announced,
    pub(super) offsets: Option<Offsets>,
    pub(super) kernel: Kernel,
    /// Where the kernel writes records, and where those that find no room there go.
    pub(super) near: Pinned,
    pub(super) far: Memory,
    /// Records that `far` must have room for, if maps can have that many.
    pub(super) far_records: usize,
    /// A copy of `near` for a kernel after this one; empty if there is none.
    pub(super) copy: Memory,
    pub(super) for_kernel: bool,
    pub(super) dark: Option<Dark>,
    /// Two headers, used in turns, and after them, for each header, a count a frame of values that are not finite.
    pub(super) headers: Memory,
    pub(super) header: Pinned,
    /// Frames that there is room for.
    pub(super) frames: usize,
    /// [`crate::peaks::Mode::Global`]: a key a channel of each frame.
    pub(super) best: Memory,
    pub(super) done: Event,
    pub(super) launch: u64,
    pub(super) pending: Option<MapShape>,
    /// The map of each frame in flight; candidates are by frame as well.
    pub(super) to_frame: Vec<Affine>,
    pub(super) candidates: Vec<Vec<Candidate<At>>>,
}
