//! Convolutions with few channels, or in groups (cuda/direct.cuh).

use super::epilogue::{MOST_EXACT, Sums, together};
use super::shape::Instance;
use crate::emit::kernel::Kernel;
use crate::emit::launch::MULTIPROCESSORS;
use crate::graph::number::is_byte;
use crate::plan::Convolution;

const THREADS: usize = 128;

/// The most shared memory for weights, in bytes.
const MOST_WEIGHTS: usize = 40 * 1024;

/// Kernels that keep many and few sums in a thread.
pub(super) fn kernels(convolution: &Convolution) -> Vec<Kernel> {
    let Convolution { input, weights, groups, output, .. } = convolution;
    let (Ok([images, _, rows, columns]), Ok([outputs, depth, taps_y, taps_x])) =
        (<[usize; 4]>::try_from(&output.dims[..]), <[usize; 4]>::try_from(&weights.dims[..]))
    else {
        return Vec::new();
    };
    let (pixels, length) = (images * rows * columns, depth * taps_y * taps_x);
    if is_byte(input.ty) && length > MOST_EXACT {
        return Vec::new();
    }
    let mut count = together(input, (16 / input.ty.size()).min(8));
    while !depth.is_multiple_of(count) {
        count /= 2;
    }
    let is_possible =
        |kept: &usize| (outputs / groups).is_multiple_of(*kept) && length * kept * 4 <= MOST_WEIGHTS;
    let kernel = |(kept, at_once): (usize, usize)| {
        // Threads share the channels of a pixel where pixels alone would leave multiprocessors idle.
        let mut split = 1;
        while split < 32
            && 2 * split * count <= depth
            && pixels * split * (outputs / kept) < MULTIPROCESSORS * THREADS * 4
        {
            split *= 2;
        }
        let constants =
            [("KEPT", kept), ("PIXELS", at_once), ("COUNT", count), ("SPLIT", split), ("THREADS", THREADS)];
        Instance {
            what: "convolution_direct",
            template: "convolve_direct",
            constants: &constants,
            finished: kept,
            read: count,
            sums: Sums::Floats,
            blocks: pixels.div_ceil(THREADS / split * at_once) * (outputs / kept),
            threads: THREADS,
            shared: 0,
            count: pixels,
            batches: None,
        }
        .kernel(convolution)
    };
    let kepts: Vec<usize> = [16, 8, 4, 2, 1].into_iter().filter(is_possible).take(2).collect();
    let mut shapes: Vec<(usize, usize)> =
        kepts.iter().flat_map(|kept| [(*kept, (32 / kept).min(4)), (*kept, 1)]).collect();
    // Those that leave work for all multiprocessors are probably the fastest.
    let blocks = |kept: usize, at_once: usize| pixels.div_ceil(THREADS * at_once) * (outputs / kept);
    shapes.sort_by_key(|(kept, at_once)| blocks(*kept, *at_once) < 2 * MULTIPROCESSORS);
    shapes.into_iter().filter_map(kernel).collect()
}
