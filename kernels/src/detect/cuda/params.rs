//! The kernels' parameters, field by field as in `cuda/detect.cuh`, `cuda/detect.cu` and `cuda/nms.cuh`.

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

/// `Decode` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Decode {
    pub scale: [f64; 2],
    pub offset: [f64; 2],
    pub counts: u64,
    pub candidates: Candidates,
    pub thresholds: ClassTable,
    pub lowest: f32,
    pub frame: [f32; 2],
    pub min_size: [f32; 2],
    pub padding: u32,
    pub layout: Layout,
}

/// `Nms` in the kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Suppress {
    pub counts: u64,
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
    pub frame: [f32; 2],
    pub last: u32,
    pub padding: u32,
}

const _: () = assert!(size_of::<Decode>() == 488 && size_of::<Suppress>() == 160);

/// `Counts` in the kernels, and what a report begins with.
pub const COUNTS_BYTES: usize = 16;
/// `Detection` in the kernels.
pub const DETECTION_BYTES: usize = 24;
