//! The range of each frame on the GPU: `cuda/segment_stretch.cu`, two launches a frame.

use crate::device::{CudaStream, DeviceError, DeviceSlice, Kernel, Memory};
use crate::segment::plan::number;

/// Threads of a block.
const THREADS: usize = 256;

/// `Stretch` of the kernels, whose fields are explained there.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    values: u64,
    bounds: u64,
    mask: u64,
    cells: u32,
    blocks: u32,
    gate: f32,
    soft: u32,
}
const _: () = assert!(size_of::<Arguments>() == 40);

/// Makes masks of values whose range is that of the frame.
#[derive(Debug)]
pub(super) struct CudaStretch {
    bounds: Kernel,
    stretch: Kernel,
    /// A float32 a cell, then the bounds of each block.
    memory: Memory,
    cells: usize,
    gate: f32,
    soft: bool,
}

impl CudaStretch {
    pub fn new(cells: usize, gate: f32, soft: bool, stream: &CudaStream) -> Result<Self, DeviceError> {
        let load = |name| Kernel::load(stream.context(), "segment_stretch", name);
        let (bounds, stretch) = (load("bounds")?, load("stretch")?);
        let memory = stream.allocate(first_bounds(cells) + blocks(cells) * 2 * size_of::<f32>())?;
        Ok(Self { bounds, stretch, memory, cells, gate, soft })
    }

    /// Where the frame's values must lie before [`CudaStretch::run`].
    pub fn values(&self) -> u64 {
        self.memory.pointer()
    }

    /// Enqueues the mask of the values; it has as many bytes as there are cells.
    pub fn run(&self, stream: &CudaStream, mask: DeviceSlice<'_>) -> Result<(), DeviceError> {
        let Self { bounds, stretch, memory, cells, gate, soft } = self;
        let arguments = Arguments {
            values: memory.pointer(),
            bounds: memory.pointer() + first_bounds(*cells) as u64,
            mask: mask.pointer(),
            cells: number(*cells),
            blocks: number(blocks(*cells)),
            gate: *gate,
            soft: u32::from(*soft),
        };
        let grid = |blocks| [number(blocks), 1, 1];
        // SAFETY: `Arguments` mirrors the kernels' struct; the memory holds the values and the bounds, and the mask is as large as the
        // caller says. All stay: `self` waits for the device when dropped.
        unsafe {
            stream.launch(bounds, grid(blocks(*cells)), grid(THREADS), 0, &arguments)?;
            stream.launch(stretch, grid(cells.div_ceil(THREADS)), grid(THREADS), 0, &arguments)
        }
    }
}

/// Blocks that look for the bounds: as many as one block can sum up.
fn blocks(cells: usize) -> usize {
    cells.div_ceil(THREADS).clamp(1, THREADS)
}

/// Where the bounds begin: at a multiple of their size.
fn first_bounds(cells: usize) -> usize {
    cells.next_multiple_of(2) * size_of::<f32>()
}
