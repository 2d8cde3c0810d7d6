//! What the kernels keep between them, in one piece of device memory, and the report to the host: a block of each for
//! every row of a batch, one after the other.

use crate::device::{CudaStream, DeviceError, DeviceSlice, Memory, Pinned};

use super::params::{COUNTS_BYTES, Candidates, DETECTION_BYTES, FRAME_IN_ROW, MOST_SMALL, ROW_BYTES};

/// Words of marks for each candidate of the small kernels (`WORDS`).
const MARKS: usize = MOST_SMALL / 32 / 32;

/// Ranks that are compared with each other at once (32 * `MAX_CHUNKS`).
pub const WINDOW: usize = 4096;

/// How much there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Rows of a batch. What follows is of each.
    pub rows: usize,
    /// Candidates.
    pub candidates: usize,
    /// Candidates that are ranked.
    pub ranked: usize,
    /// Detections.
    pub found: usize,
    /// Bytes that each carries besides its box.
    pub extra: usize,
}

impl Capacity {
    /// Ranks in a window: whole words of 32.
    pub fn window(&self) -> usize {
        self.ranked.min(WINDOW).next_multiple_of(32).max(32)
    }

    /// Candidates that the small kernels have room for: whole words of 32.
    pub fn room(&self) -> usize {
        self.candidates.min(MOST_SMALL).next_multiple_of(32).max(32)
    }
}

/// Device addresses of row 0's.
#[derive(Debug)]
pub struct Buffers {
    pub capacity: Capacity,
    /// To the next row's.
    pub row_bytes: usize,
    pub counts: u64,
    pub row: u64,
    pub delivered: u64,
    pub gone: u64,
    pub ranks: u64,
    pub marks: u64,
    pub candidates: Candidates,
    pub boxes: u64,
    pub ranked: u64,
    pub softened: u64,
    pub found: u64,
    pub selected: u64,
    pub matrix: u64,
    /// Of each row counts, then detections, then what they carry besides.
    pub report: Pinned,
    /// To the next row's.
    pub report_bytes: usize,
    memory: Memory,
    /// Bytes from a row's start that are zero between frames.
    zero: usize,
}

impl Buffers {
    /// With room for so much; `stream` counts the allocations.
    pub fn new(stream: &CudaStream, capacity: Capacity) -> Result<Self, DeviceError> {
        let Capacity { rows, candidates, ranked, found, extra } = capacity;
        let window = capacity.window();
        let mut places = Places::default();
        let room = capacity.room();
        let [counts, gone] = [COUNTS_BYTES, window / 32 * 4].map(|bytes| places.take(bytes));
        let [small_ranks, marks] = [room * 4, MARKS * room * 4].map(|bytes| places.take(bytes));
        let zero = places.end;
        let [row, delivered] = [ROW_BYTES, 4].map(|bytes| places.take(bytes));
        let [keys, candidate_boxes, classes] = [8, 16, 4].map(|bytes| places.take(candidates * bytes));
        let [boxes, infos, softened] = [16, 16, 4].map(|bytes| places.take(ranked * bytes));
        let [ranks, selected] = [4, DETECTION_BYTES].map(|bytes| places.take(found * bytes));
        let words = (window / 32 * window).max(room / 32 * room);
        let matrix = places.take(words * 4);
        let row_bytes = places.end;
        let report_bytes = (extra_at(found) + found * extra).next_multiple_of(64);
        let report = stream.pin(rows * report_bytes)?;
        let memory = stream.allocate(rows * row_bytes)?;
        let at = |offset: usize| memory.pointer() + offset as u64;
        Ok(Self {
            capacity,
            row_bytes,
            counts: at(counts),
            row: at(row),
            delivered: at(delivered),
            gone: at(gone),
            ranks: at(small_ranks),
            marks: at(marks),
            candidates: Candidates { keys: at(keys), boxes: at(candidate_boxes), classes: at(classes) },
            boxes: at(boxes),
            ranked: at(infos),
            softened: at(softened),
            found: at(ranks),
            selected: at(selected),
            matrix: at(matrix),
            report,
            report_bytes,
            memory,
            zero,
        })
    }

    /// Row 0's frame size.
    pub fn frame(&self) -> u64 {
        self.row + FRAME_IN_ROW
    }

    /// What must be zero when a batch begins, row by row. Its kernels leave it so, whether anybody waits for them or not.
    pub fn zeros(&self) -> impl Iterator<Item = DeviceSlice<'_>> {
        let row = |index| self.memory.slice().after(index * self.row_bytes).first(self.zero);
        (0..self.capacity.rows).map(row)
    }

    /// What the kernels have reported, row by row.
    pub fn reports(&self) -> impl Iterator<Item = &[u8]> {
        self.report.as_slice().chunks_exact(self.report_bytes)
    }
}

/// Where in a row's report what that many detections carry besides their boxes begins.
pub fn extra_at(found: usize) -> usize {
    COUNTS_BYTES + found * DETECTION_BYTES
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
