//! The kernels' arguments.

use super::record::number;
use crate::peaks::grid::MapShape;

/// Threads of a block.
pub(super) const THREADS: usize = 128;
/// The most loads that a thread of the local search takes.
pub(super) const MOST: usize = 4;
/// Elements that a thread of the global search takes.
pub(super) const EACH: usize = 8;
/// Loads in flight that keep a large GPU's memory busy: with more, threads take several each.
pub(super) const MANY_THREADS: usize = 1 << 16;
/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    pub(super) map: u64,
    pub(super) near: u64,
    pub(super) far: u64,
    pub(super) copy: u64,
    pub(super) headers: u64,
    pub(super) non_finite: u64,
    pub(super) best: u64,
    pub(super) offsets: u64,
    pub(super) offset_scale: f64,
    pub(super) stride: [f64; 2],
    pub launch: u64,
    pub(super) near_size: u32,
    pub(super) far_size: u32,
    pub(super) frames: u32,
    pub(super) frame_elements: u32,
    pub(super) elements: u32,
    pub(super) channels: u32,
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) step: u32,
    pub(super) head: u32,
    pub(super) vectors: u32,
    pub(super) lanes: u32,
    pub(super) gate: f32,
    pub(super) refinement: u32,
    pub(super) searched: u32,
    pub(super) offsets_last: u32,
}
const _: () = assert!(size_of::<Arguments>() == 160);

impl Arguments {
    /// Where the records will be.
    pub fn records(&self, shape: &MapShape) -> Records {
        Records {
            near: self.copy,
            far: self.far,
            headers: self.headers,
            launch: self.launch,
            near_size: self.near_size,
            far_size: self.far_size,
            frame_elements: self.frame_elements,
            cells: number(shape.width * shape.height),
            width: self.width,
            step: self.step,
        }
    }
}

/// `Records` of `cuda/peaks.cuh`: where a launch leaves its records for a kernel after it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Records {
    near: u64,
    far: u64,
    headers: u64,
    launch: u64,
    near_size: u32,
    far_size: u32,
    frame_elements: u32,
    cells: u32,
    width: u32,
    step: u32,
}
const _: () = assert!(size_of::<Records>() == 56);

impl Records {
    /// How many there may be.
    pub fn most(&self) -> usize {
        self.near_size as usize + self.far_size as usize
    }
}

impl Arguments {
    /// Where records are on the host.
    pub fn near(&self) -> u64 {
        self.near
    }
}
