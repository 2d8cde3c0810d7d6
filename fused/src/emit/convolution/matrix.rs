//! Dense convolutions, and products of matrices, on tensor cores (cuda/matrix.cuh).

use cudainfer_kernels::tensor::TensorType;

use super::epilogue::together;
use super::shape::Instance;
use crate::emit::batches::Batches;
use crate::emit::kernel::Kernel;
use crate::emit::launch::MULTIPROCESSORS;
use crate::graph::Window;
use crate::plan::{Convolution, Product, View};

/// How many kernels are offered.
const MOST_KERNELS: usize = 5;

/// How a block makes its tile: the constants of cuda/matrix.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    /// Pixels.
    rows: usize,
    /// Channels.
    columns: usize,
    /// Numbers of each pixel that are loaded at once.
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
    tile(128, 64, 32, 4, [4, 2, 1]),
    tile(128, 32, 32, 4, [4, 1, 1]),
    tile(128, 16, 32, 4, [4, 1, 1]),
    tile(64, 64, 32, 4, [2, 2, 1]),
    tile(64, 64, 64, 3, [2, 2, 2]),
    tile(64, 32, 64, 4, [2, 1, 2]),
    tile(64, 16, 64, 4, [2, 1, 2]),
    tile(32, 64, 64, 4, [1, 2, 2]),
    tile(32, 32, 64, 4, [1, 1, 4]),
    tile(32, 32, 128, 3, [2, 1, 4]),
];

/// Kernels with several tiles, if the tensors are float16, and eight channels are 16 bytes that lie together.
pub(super) fn kernels(convolution: &Convolution) -> Vec<Kernel> {
    if convolution.groups == 1 { of(convolution, None) } else { Vec::new() }
}

/// The same for products of matrices, both of which must have their depth innermost: the left one's rows are pixels, and the right one is
/// the weights.
pub(super) fn products(product: &Product) -> Vec<Kernel> {
    let batches = Batches::new(product);
    let Product { left, right, output } = product;
    let axis = output.dims.len() - 2;
    // The epilogue is told where a batch begins in the output, as the image.
    let image = |view: &View, channels: usize, pixels: usize| {
        let strides = vec![1, view.strides[channels], 0, view.strides[pixels]];
        View { dims: vec![1, view.dims[channels], 1, view.dims[pixels]], strides, ..view.clone() }
    };
    let weights = View {
        dims: vec![right.dims[axis + 1], right.dims[axis], 1, 1],
        strides: vec![right.strides[axis + 1], right.strides[axis], 0, 0],
        ..right.clone()
    };
    let are_rows = [left, right].into_iter().all(|view| batches.is_aligned(view, 8))
        && weights.strides[1] == 1
        && weights.strides[0].unsigned_abs().is_multiple_of(8);
    if !are_rows {
        return Vec::new();
    }
    let convolution = Convolution {
        input: image(left, axis + 1, axis),
        weights,
        bias: None,
        window: Window { kernel: [1; 2], strides: [1; 2], dilations: [1; 2], begin: [0; 2], end: [0; 2] },
        groups: 1,
        epilogue: Vec::new(),
        output: image(output, axis + 1, axis),
    };
    of(&convolution, Some(&batches))
}

fn of(convolution: &Convolution, batches: Option<&Batches>) -> Vec<Kernel> {
    let Convolution { input, weights, output, .. } = convolution;
    let (Ok([images, outputs, rows, columns]), Ok([_, depth, taps_y, taps_x])) =
        (<[usize; 4]>::try_from(&output.dims[..]), <[usize; 4]>::try_from(&weights.dims[..]))
    else {
        return Vec::new();
    };
    let is_float16 = input.ty == TensorType::Float16 && weights.ty == TensorType::Float16;
    let fits = depth.is_multiple_of(8) && together(input, 8) == 8 && weights.offset.is_multiple_of(8);
    if !is_float16 || !fits {
        return Vec::new();
    }
    let (pixels, length) = (images * rows * columns, depth * taps_y * taps_x);
    let count = batches.map_or(1, Batches::count);
    let mut tiles: Vec<&Tile> =
        TILES.iter().filter(|tile| tile.columns < 2 * outputs.next_multiple_of(16)).collect();
    tiles.sort_by_key(|tile| tile.cost(count, pixels, outputs, length));
    tiles.truncate(MOST_KERNELS);
    tiles.into_iter().filter_map(|tile| kernel(convolution, batches, tile, pixels, outputs)).collect()
}

fn kernel(
    convolution: &Convolution,
    batches: Option<&Batches>,
    tile: &Tile,
    pixels: usize,
    outputs: usize,
) -> Option<Kernel> {
    let Tile { rows, columns, step, stages, warps: [down, across, deep] } = *tile;
    let is_aligned = |count: usize| batches.is_none_or(|batches| batches.is_aligned_output(count));
    let finished = [8, 4, 2].into_iter().find(|count| outputs.is_multiple_of(*count) && is_aligned(*count));
    let (finished, count) = (finished.unwrap_or(1), batches.map_or(1, Batches::count));
    let constants = [
        ("ROWS", rows),
        ("COLUMNS", columns),
        ("STEP", step),
        ("STAGES", stages),
        ("WARPS_DOWN", down),
        ("WARPS_ACROSS", across),
        ("WARPS_DEEP", deep),
        ("FINISHED", finished),
        ("PIXELS_FIRST", usize::from(convolution.output.strides[1] != 1)),
        ("BATCHES", count),
        ("KNOWN", usize::from(batches.is_none())),
    ];
    let instance = Instance {
        what: if batches.is_some() { "product_matrix" } else { "convolution_matrix" },
        template: "convolve_matrix",
        constants: &constants,
        finished,
        read: 8,
        blocks: count * pixels.div_ceil(rows) * outputs.div_ceil(columns),
        threads: 32 * down * across * deep,
        batches,
    };
    instance.kernel(convolution)
}

impl Tile {
    /// A guess of the cycles that so many convolutions take: each multiprocessor runs two blocks at a time. A step takes some 200 cycles, in which
    /// its loads are issued and its barrier is met, besides its products; a block some 1500 at its beginning and end.
    fn cost(&self, count: usize, pixels: usize, outputs: usize, length: usize) -> usize {
        let blocks = count * pixels.div_ceil(self.rows) * outputs.div_ceil(self.columns);
        let products = self.rows * self.columns * self.step / 512;
        blocks.div_ceil(2 * MULTIPROCESSORS) * (1500 + length.div_ceil(self.step) * (200 + products))
    }
}
