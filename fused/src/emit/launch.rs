//! How many blocks of how many threads a kernel is launched with.

/// Multiprocessors of a large GPU (an H100 has 132): work is spread over them before its blocks become larger.
pub(super) const MULTIPROCESSORS: usize = 132;

/// Blocks, and threads of each, for this many threads: small blocks where there is little work, so that all multiprocessors have some.
pub(super) fn blocks(threads: usize) -> (u32, u32) {
    let block = if threads >= 4 * MULTIPROCESSORS * 256 {
        256
    } else if threads >= 2 * MULTIPROCESSORS * 128 {
        128
    } else {
        64
    };
    (whole(threads.div_ceil(block)), whole(block))
}

/// A number of blocks, threads or bytes. Tensors have fewer than 2^31 elements, and so kernels fewer blocks than that.
pub(super) fn whole(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
