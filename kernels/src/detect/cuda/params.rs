//! The kernels' parameters, field by field as in `cuda/detect.cuh`, `cuda/detect.cu` and `cuda/nms.cuh`.

use crate::geometry;

use super::Layout;

/// `Candidates` in the kernels: device addresses, as all numbers of 64 bits here.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Candidates {
    pub keys: u64,
    pub boxes: u64,
    pub classes: u64,
}

/// `ClassTable` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ClassTable {
    pub entries: u64,
    pub length: u32,
    pub other: f32,
}

/// Rows that one launch decodes (`MOST_ROWS`).
pub const MOST_ROWS: usize = 64;

/// `Row` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    scale: [f64; 2],
    offset: [f64; 2],
    frame: [f32; 2],
}

impl Row {
    /// The first [`MOST_ROWS`] of `rows`.
    pub fn all(rows: &[geometry::Row]) -> [Self; MOST_ROWS] {
        let mut all = [Self::default(); MOST_ROWS];
        for (slot, row) in all.iter_mut().zip(rows) {
            let geometry::Affine { scale, offset, .. } = row.to_frame;
            *slot = Self { scale, offset, frame: row.frame.map(|side| side as f32) };
        }
        all
    }
}

/// `Decode` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    pub row_bytes: u64,
    pub counts: u64,
    pub frame: u64,
    pub candidates: Candidates,
    pub thresholds: ClassTable,
    pub lowest: f32,
    pub min_size: [f32; 2],
    pub first_row: u32,
    pub layout: Layout,
    pub rows: [Row; MOST_ROWS],
}

/// `Nms` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Suppress {
    pub row_bytes: u64,
    pub report_bytes: u64,
    pub counts: u64,
    pub frame: u64,
    pub candidates: Candidates,
    pub boxes: u64,
    pub ranked: u64,
    pub softened: u64,
    pub found: u64,
    pub selected: u64,
    pub matrix: u64,
    pub gone: u64,
    pub report: u64,
    pub limits: ClassTable,
    pub top_k_before: u32,
    pub top_k_after: u32,
    pub start: u32,
    pub window: u32,
    pub among: u32,
    pub decay: u32,
    pub iou: f32,
    pub sigma: f32,
    pub last: u32,
    pub padding: u32,
}

const _: () = assert!(size_of::<Decode>() == 3152 && size_of::<Suppress>() == 176);

/// `Counts` in the kernels, and what a report begins with.
pub const COUNTS_BYTES: usize = 16;
/// `Detection` in the kernels.
pub const DETECTION_BYTES: usize = 24;
/// A frame's width and height in the kernels.
pub const FRAME_BYTES: usize = 8;
