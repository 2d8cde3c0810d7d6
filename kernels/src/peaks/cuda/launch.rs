//! The arguments of a launch of the search.

use super::arguments::{Arguments, EACH, MANY_THREADS, MOST, THREADS};
use super::finder::CudaPeaks;
use super::record::{Header, NONE, RECORD, number, step};
use crate::device::DeviceTensor;
use crate::peaks::choose::gate;
use crate::peaks::grid::MapShape;
use crate::peaks::{Mode, PeakParams, Refinement};
use crate::preproc::Layout;

impl CudaPeaks {
    /// The arguments of the launch, and the number of blocks.
    pub(super) fn arguments(
        &self,
        map: &DeviceTensor<'_>,
        shape: &MapShape,
        offsets: u64,
        frames: usize,
    ) -> (Arguments, u32) {
        let MapShape { width, height, layout, scale, .. } = *shape;
        let PeakParams { mode, refinement, .. } = self.announced.params;
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
            offsets,
            offset_scale: f64::from(self.announced.params.offset_scale),
            stride: scale,
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
                // A kernel after this one refines.
                Refinement::Dark | Refinement::DarkUdp => 0,
                Refinement::Offsets => 4,
            },
            searched: self.announced.params.channels.map_or(NONE, number),
            offsets_last: u32::from(layout == Layout::Nhwc),
        };
        (arguments, number(blocks))
    }
}
