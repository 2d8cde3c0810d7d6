// Copies pieces of memory, each to a place of its own (copy_pieces), and what the host uploads for a frame (fetch).
//
// copy_pieces. Memory: up to MOST_PIECES pieces of any length at any address; what they are copied to does not overlap. Bytes that must move for a byte:
// two. A thread takes AT_ONCE times 16 bytes at a time, where both ends of a piece are aligned to that; else, and for a piece's last bytes, one.
// Launch: 256 threads; grid.x as the longest piece needs, at most 2048, over which threads go on in strides; grid.y = pieces.
#include "prelude.cuh"

constexpr uint32_t MOST_PIECES = 64, AT_ONCE = 4;

struct Piece {
    const uint8_t* from;
    uint8_t* to;
    uint64_t bytes;
};

struct Params {
    Piece pieces[MOST_PIECES];
};

static_assert(sizeof(Params) == 1536, "as in src/copies.rs");

extern "C" __global__ void __launch_bounds__(256) copy_pieces(const __grid_constant__ Params p) {
    const Piece piece = p.pieces[blockIdx.y];
    const uint4* from = reinterpret_cast<const uint4*>(piece.from);
    uint4* to = reinterpret_cast<uint4*>(piece.to);
    bool aligned = (reinterpret_cast<uint64_t>(from) | reinterpret_cast<uint64_t>(to)) % sizeof(uint4) == 0;
    uint64_t words = aligned ? piece.bytes / sizeof(uint4) : 0;
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = first; i < words; i += AT_ONCE * stride) {
        uint4 values[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            // The pieces are not read again soon.
            if (i + k * stride < words) values[k] = __ldcs(from + i + k * stride);
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (i + k * stride < words) to[i + k * stride] = values[k];
        }
    }
    for (uint64_t i = sizeof(uint4) * words + first; i < piece.bytes; i += stride) piece.to[i] = piece.from[i];
}

struct Fetch {
    const uint4* from;
    uint4* to;
    uint64_t words;
};

// Copies 16-byte words from pinned memory of the host, which the GPU reads over its bus at the same address. The kernel after it may be
// set up meanwhile (prelude.cuh). Bytes that must move for a byte: one over the bus, one to memory. Launch: 128 threads, one for each word.
extern "C" __global__ void __launch_bounds__(128) fetch(const Fetch p) {
    let_next_start();
    const uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < p.words) p.to[i] = p.from[i];
}
