//! What the kernels are told.

use super::finder::{CudaPeaks, Header, NONE, RECORD, number, step};
use crate::device::DeviceTensor;
use crate::peaks::choose::gate;
use crate::peaks::grid::MapShape;
use crate::peaks::{Mode, Params, Refinement};
use crate::preproc::Layout;

/// Threads of a block.
pub(super) const THREADS: usize = 128;
/// The most loads that a thread of the local search takes.
const MOST: usize = 4;
/// Elements that a thread of the global search takes.
const EACH: usize = 8;
/// Loads under way that keep a large GPU's memory busy: with more, threads take several each.
const MANY_THREADS: usize = 1 << 16;
/// `Params` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Arguments {
    map: u64,
    near: u64,
    far: u64,
    copy: u64,
    headers: u64,
    non_finite: u64,
    best: u64,
    pub launch: u64,
    near_size: u32,
    far_size: u32,
    frames: u32,
    frame_elements: u32,
    elements: u32,
    channels: u32,
    width: u32,
    height: u32,
    step: u32,
    head: u32,
    vectors: u32,
    lanes: u32,
    gate: f32,
    refinement: u32,
    searched: u32,
}
const _: () = assert!(size_of::<Arguments>() == 128);

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

/// `Records` of `cuda/peaks.cuh`: where a launch leaves its records for a kernel behind it.
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

impl CudaPeaks {
    /// What to launch, and in how many blocks.
    pub(super) fn arguments(
        &self,
        map: &DeviceTensor<'_>,
        shape: &MapShape,
        frames: usize,
    ) -> (Arguments, u32) {
        let MapShape { width, height, layout, .. } = *shape;
        let Params { mode, refinement, .. } = self.announced.params;
        let channels = frames * shape.channels;
        let elements = channels * width * height;
        let step = step(shape);
        let load = 16 / map.ty.size();
        let misaligned = map.pointer() % 16;
        let head = (16 - misaligned) % 16 / map.ty.size() as u64;
        let head = usize::try_from(head).unwrap_or(0).min(elements);
        let loads = (elements - head) / load;
        let vectors = (loads / MANY_THREADS).clamp(1, MOST);
        let lanes = match layout {
            Layout::Nchw => THREADS,
            Layout::Nhwc => step * (THREADS / step).max(1),
        };
        let blocks = match mode {
            Mode::Local => loads.div_ceil(THREADS * vectors).max(1),
            Mode::Global => {
                let threads = (width * height * step).div_ceil(lanes * EACH) * lanes;
                channels / step * threads.div_ceil(THREADS)
            }
        };
        let arguments = Arguments {
            map: map.pointer(),
            near: self.near.pointer(),
            far: self.far.pointer(),
            copy: if self.for_kernel { self.copy.pointer() } else { 0 },
            headers: self.headers.pointer(),
            non_finite: self.headers.pointer() + 2 * size_of::<Header>() as u64,
            best: self.best.pointer(),
            launch: self.launch + 1,
            near_size: number(self.near.bytes() / RECORD),
            far_size: number(self.far.bytes() / RECORD),
            frames: number(self.frames),
            frame_elements: number(elements / frames.max(1)),
            elements: number(elements),
            channels: number(channels),
            width: number(width),
            height: number(height),
            step: number(step),
            head: number(head),
            vectors: number(vectors),
            lanes: number(lanes),
            gate: gate(&self.announced.params),
            refinement: match refinement {
                Refinement::None => 0,
                Refinement::Quadratic => 1,
                Refinement::Integral => 2,
                Refinement::Shift => 3,
                // By a kernel behind this one.
                Refinement::Dark | Refinement::DarkUdp => 0,
            },
            searched: self.announced.params.channels.map_or(NONE, number),
        };
        (arguments, number(blocks))
    }
}
