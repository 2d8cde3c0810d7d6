//! What the kernels keep between them, in one piece of device memory, and the report to the host.

use crate::device::{DeviceError, DeviceSlice, Memory, Pinned, Stream};

use super::params::{COUNTS_BYTES, Candidates, DETECTION_BYTES};

/// Ranks that are compared with each other at once (32 * `MAX_CHUNKS`).
pub const WINDOW: usize = 4096;

/// How much there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Anchors, all of which may be candidates.
    pub anchors: usize,
    /// Candidates that are ranked.
    pub ranked: usize,
    /// Detections.
    pub found: usize,
}

impl Capacity {
    /// Ranks in a window: whole words of 32.
    pub fn window(&self) -> usize {
        self.ranked.min(WINDOW).next_multiple_of(32).max(32)
    }
}

/// Device addresses, all in one allocation.
#[derive(Debug)]
pub struct Buffers {
    pub capacity: Capacity,
    pub counts: u64,
    pub gone: u64,
    pub candidates: Candidates,
    pub boxes: u64,
    pub ranked: u64,
    pub softened: u64,
    pub found: u64,
    pub selected: u64,
    pub matrix: u64,
    /// Counts, then detections.
    pub report: Pinned,
    memory: Memory,
    /// Bytes from the start that are zero between frames.
    zero: usize,
}

impl Buffers {
    /// With room for so much; `stream` counts the allocations.
    pub fn new(stream: &Stream, capacity: Capacity) -> Result<Self, DeviceError> {
        let Capacity { anchors, ranked, found } = capacity;
        let window = capacity.window();
        let mut places = Places::default();
        let [counts, gone] = [COUNTS_BYTES, window / 32 * 4].map(|bytes| places.take(bytes));
        let zero = places.end;
        let [keys, candidate_boxes, classes] = [8, 16, 4].map(|bytes| places.take(anchors * bytes));
        let [boxes, infos, softened] = [16, 16, 4].map(|bytes| places.take(ranked * bytes));
        let [ranks, selected] = [4, DETECTION_BYTES].map(|bytes| places.take(found * bytes));
        let matrix = places.take(window / 32 * window * 4);
        let report = stream.pin(COUNTS_BYTES + found * DETECTION_BYTES)?;
        let memory = stream.allocate(places.end)?;
        let at = |offset: usize| memory.pointer() + offset as u64;
        Ok(Self {
            capacity,
            counts: at(counts),
            gone: at(gone),
            candidates: Candidates { keys: at(keys), boxes: at(candidate_boxes), classes: at(classes) },
            boxes: at(boxes),
            ranked: at(infos),
            softened: at(softened),
            found: at(ranks),
            selected: at(selected),
            matrix: at(matrix),
            report,
            memory,
            zero,
        })
    }

    /// What must be zero when a frame begins. The kernels leave it so.
    pub fn zero(&self) -> DeviceSlice<'_> {
        // SAFETY: they are the first bytes of the memory, which lives as long as `self` is borrowed.
        unsafe { DeviceSlice::from_raw(self.memory.pointer(), self.zero) }
    }
}

/// Hands out offsets.
#[derive(Default)]
struct Places {
    end: usize,
}

impl Places {
    fn take(&mut self, bytes: usize) -> usize {
        let start = self.end;
        // So that every array begins on a cache line of its own.
        self.end += bytes.next_multiple_of(256);
        start
    }
}
