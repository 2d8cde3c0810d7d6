//! Depthwise convolutions (cuda/depthwise.cuh).

use super::epilogue::{MOST_EXACT, Sums, together};
use super::shape::Instance;
use crate::emit::kernel::Kernel;
use crate::emit::launch::MULTIPROCESSORS;
use crate::graph::number::is_byte;
use crate::plan::Convolution;

const THREADS: usize = 128;

/// The most shared memory for weights, in bytes.
const MOST_WEIGHTS: usize = 40 * 1024;

/// Kernels with long and short tiles, if each channel is convolved by itself and the image has channels last.
pub(super) fn kernels(convolution: &Convolution) -> Vec<Kernel> {
    let Convolution { input, weights, groups, output, .. } = convolution;
    let (Ok([_, channels, _, _]), Ok([images, outputs, rows, columns]), Ok([_, _, taps_y, taps_x])) = (
        <[usize; 4]>::try_from(&input.dims[..]),
        <[usize; 4]>::try_from(&output.dims[..]),
        <[usize; 4]>::try_from(&weights.dims[..]),
    ) else {
        return Vec::new();
    };
    if *groups != channels || outputs != channels || input.strides[1] != 1 {
        return Vec::new();
    }
    let mut count = together(input, (16 / input.ty.size()).min(8));
    while !channels.is_multiple_of(count) {
        count /= 2;
    }
    if is_byte(input.ty) && taps_y * taps_x > MOST_EXACT {
        return Vec::new();
    }
    let all_chunks = channels / count;
    // All weights of a block are in its shared memory.
    let fit = |chunks: &usize| taps_y * taps_x * chunks * count * 4 <= MOST_WEIGHTS;
    // Of a warp's threads, four at least have neighbouring channels: 64 bytes.
    let whole = [32, 16, 8, 4].into_iter().find(|chunks| all_chunks.is_multiple_of(*chunks) && fit(chunks));
    let chunks = whole.unwrap_or_else(|| all_chunks.next_power_of_two().min(16));
    if !fit(&chunks) {
        return Vec::new();
    }
    let kernel = |tile: usize| {
        let places = images * rows * columns.div_ceil(tile);
        let constants = [("TILE", tile), ("COUNT", count), ("CHUNKS", chunks), ("THREADS", THREADS)];
        Instance {
            what: "convolution_depthwise",
            template: "convolve_depthwise",
            constants: &constants,
            finished: count,
            read: count,
            sums: Sums::Floats,
            blocks: places.div_ceil(THREADS / chunks) * all_chunks.div_ceil(chunks),
            threads: THREADS,
            shared: 0,
            count: images,
            batches: None,
        }
        .kernel(convolution)
    };
    // The longest tile that leaves work for all multiprocessors is probably the fastest.
    let threads = |tile: usize| images * rows * columns.div_ceil(tile) * all_chunks;
    let mut tiles: Vec<usize> = [4, 2, 1].into_iter().filter(|tile| *tile == 1 || *tile <= columns).collect();
    tiles.sort_by_key(|tile| threads(*tile) < 2 * MULTIPROCESSORS * THREADS);
    tiles.into_iter().filter_map(kernel).collect()
}
