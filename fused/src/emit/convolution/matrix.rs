//! Dense convolutions on tensor cores (cuda/matrix.cuh).

use cudainfer_kernels::tensor::TensorType;

use super::epilogue::{Sums, together};
use super::shape::Instance;
use crate::emit::kernel::Kernel;
use crate::emit::launch::MULTIPROCESSORS;
use crate::graph::number::is_byte;
use crate::plan::Convolution;

/// How many kernels are offered.
const MOST_KERNELS: usize = 5;

/// How a block makes its tile: the constants of cuda/matrix.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    /// Pixels.
    rows: usize,
    /// Channels.
    columns: usize,
    /// Bytes of each pixel that are loaded at once.
    step: usize,
    /// Steps in flight.
    stages: usize,
    /// Warps: along pixels, along channels, along the step.
    warps: [usize; 3],
}

const fn tile(rows: usize, columns: usize, step: usize, stages: usize, warps: [usize; 3]) -> Tile {
    Tile { rows, columns, step, stages, warps }
}

/// All take 48 KiB of shared memory at most. Small ones are for small images, deep ones for few pixels of many channels.
const TILES: [Tile; 10] = [
    tile(128, 64, 64, 4, [4, 2, 1]),
    tile(128, 32, 64, 4, [4, 1, 1]),
    tile(128, 16, 64, 4, [4, 1, 1]),
    tile(64, 64, 64, 4, [2, 2, 1]),
    tile(64, 64, 128, 3, [2, 2, 2]),
    tile(64, 32, 128, 4, [2, 1, 2]),
    tile(64, 16, 128, 4, [2, 1, 2]),
    tile(32, 64, 128, 4, [1, 2, 2]),
    tile(32, 32, 128, 4, [1, 1, 4]),
    tile(32, 32, 256, 3, [2, 1, 4]),
];

/// Kernels with several tiles, if the tensors are of float16 or integers of 8 bits, of which 16 bytes lie together.
pub(super) fn kernels(convolution: &Convolution) -> Vec<Kernel> {
    let Convolution { input, weights, groups, output, .. } = convolution;
    let (Ok([images, outputs, rows, columns]), Ok([_, depth, taps_y, taps_x])) =
        (<[usize; 4]>::try_from(&output.dims[..]), <[usize; 4]>::try_from(&weights.dims[..]))
    else {
        return Vec::new();
    };
    let is_known = match input.ty {
        TensorType::Float16 => weights.ty == TensorType::Float16,
        ty => is_byte(ty) && weights.ty == TensorType::Int8,
    };
    let chunk = 16 / input.ty.size();
    let fits = depth.is_multiple_of(chunk)
        && together(input, chunk) == chunk
        && weights.offset.is_multiple_of(chunk);
    if *groups != 1 || !is_known || !fits {
        return Vec::new();
    }
    let (pixels, length) = (images * rows * columns, depth * taps_y * taps_x * input.ty.size());
    let mut tiles: Vec<&Tile> =
        TILES.iter().filter(|tile| tile.columns < 2 * outputs.next_multiple_of(16)).collect();
    tiles.sort_by_key(|tile| tile.cost(pixels, outputs, length));
    tiles.truncate(MOST_KERNELS);
    tiles.into_iter().filter_map(|tile| kernel(convolution, tile, pixels, outputs)).collect()
}

fn kernel(convolution: &Convolution, tile: &Tile, pixels: usize, outputs: usize) -> Option<Kernel> {
    let Tile { rows, columns, step, stages, warps: [down, across, deep] } = *tile;
    let size = convolution.input.ty.size();
    let finished = [8, 4, 2].into_iter().find(|count| outputs.is_multiple_of(*count)).unwrap_or(1);
    let constants = [
        ("ROWS", rows),
        ("COLUMNS", columns),
        ("STEP", step / size),
        ("STAGES", stages),
        ("WARPS_DOWN", down),
        ("WARPS_ACROSS", across),
        ("WARPS_DEEP", deep),
        ("FINISHED", finished),
        ("PIXELS_FIRST", usize::from(convolution.output.strides[1] != 1)),
    ];
    let instance = Instance {
        what: "convolution_matrix",
        template: "convolve_matrix",
        constants: &constants,
        finished,
        read: 8,
        sums: if is_byte(convolution.input.ty) { Sums::Integers } else { Sums::Floats },
        blocks: pixels.div_ceil(rows) * outputs.div_ceil(columns),
        threads: 32 * down * across * deep,
    };
    instance.kernel(convolution)
}

impl Tile {
    /// A guess of the cycles that a convolution takes: each multiprocessor runs two blocks at a time. A step takes some 200 cycles, in which
    /// its loads are issued and its barrier is met, besides its products; a block some 1500 at its beginning and end.
    fn cost(&self, pixels: usize, outputs: usize, length: usize) -> usize {
        let blocks = pixels.div_ceil(self.rows) * outputs.div_ceil(self.columns);
        let products = self.rows * self.columns * self.step / 1024;
        blocks.div_ceil(2 * MULTIPROCESSORS) * (1500 + length.div_ceil(self.step) * (200 + products))
    }
}
