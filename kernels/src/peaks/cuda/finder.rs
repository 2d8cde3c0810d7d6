//! What the search on the GPU keeps, and its records.

use super::dark::Dark;
use crate::device::{Event, Kernel, Memory, Pinned};
use crate::geometry::Affine;
use crate::peaks::announced::Announced;
use crate::peaks::choose::Candidate;
use crate::peaks::grid::MapShape;

/// What else is known of a candidate: how far from its cell's centre it lies, in cells, and the number of its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) offset: (f64, f64),
    /// Counts the launch's records, in no order.
    pub(super) record: usize,
}

/// Finds the peaks of one output of a model that lies in device memory: [`crate::peaks::PeakFinder`] on the GPU, for all frames
/// of a batch at once. A frame alone is a batch of one.
///
/// One batch is under way at a time, and all of them in one stream, or in streams that wait for each other. A launch has
/// its number in its parameters, so it cannot be recorded in a [`crate::device::Graph`].
#[derive(Debug)]
pub struct CudaPeaks {
    pub(crate) announced: Announced,
    pub(super) kernel: Kernel,
    /// Where the kernel writes records, and where those that find no room there go.
    pub(super) near: Pinned,
    pub(super) far: Memory,
    /// Records that there is to be room for in `far`, if maps can have so many.
    pub(super) far_records: usize,
    /// The same as in `near`, for a kernel behind this one; empty if there is none.
    pub(super) copy: Memory,
    pub(super) for_kernel: bool,
    pub(super) dark: Option<Dark>,
    /// Two, in turns, and behind them twice a count a frame of values that are not finite. On the host for fetching.
    pub(super) headers: Memory,
    pub(super) header: Pinned,
    /// Frames that there is room for.
    pub(super) frames: usize,
    /// [`crate::peaks::Mode::Global`]: a key a channel of each frame.
    pub(super) best: Memory,
    pub(super) done: Event,
    pub(super) launch: u64,
    pub(super) pending: Option<MapShape>,
    /// One a frame that is under way; so are the candidates.
    pub(super) to_frame: Vec<Affine>,
    pub(super) candidates: Vec<Vec<Candidate<At>>>,
}
