// A mask, dense, one byte a cell, taken to a frame whose rows begin `stride` bytes apart: kernels/src/segment/resize.rs,
// which does the same in whole numbers. Places are fixed-point numbers with 32 fractional bits.
//
// A thread makes 4 pixels of a row. Bytes: the frame's, written once; the mask is in the cache. Launch: 32x8 threads;
// grid = ceil(width / 128), ceil(height / 8).
#include "prelude.cuh"

struct Params {
    const uint8_t* mask;
    uint8_t* out;
    uint64_t stride;
    int64_t u[3], v[3];  // by x, by y, at
    uint32_t from[2], frame[2];
    uint32_t soft, words;  // words: 4 divides the address and the stride
};
static_assert(sizeof(Params) == 96, "as in src/segment/cuda/resize.rs");

constexpr uint32_t WEIGHT = 11;

struct Taps {
    uint32_t first, second, weight;
    __device__ __forceinline__ Taps(int64_t place, uint32_t size) {
        place -= 1ll << 31;
        const int64_t cell = place >> 32, last = size - 1;
        first = min(max(cell, 0ll), last);
        second = min(max(cell + 1, 0ll), last);
        weight = static_cast<uint32_t>(place >> (32 - WEIGHT)) & ((1u << WEIGHT) - 1);
    }
};

__device__ __forceinline__ uint32_t between(uint32_t a, uint32_t b, uint32_t weight) {
    return a * ((1u << WEIGHT) - weight) + b * weight;
}

__device__ __forceinline__ uint32_t pixel(const Params& p, int64_t u, int64_t v) {
    const int64_t x = u >> 32, y = v >> 32;
    const uint32_t w = p.from[0], h = p.from[1];
    if (x < 0 || y < 0 || x >= w || y >= h) return 0;
    if (!p.soft) return p.mask[static_cast<uint32_t>(y) * w + static_cast<uint32_t>(x)];
    const Taps across(u, w), down(v, h);
    const uint8_t *above = p.mask + down.first * w, *below = p.mask + down.second * w;
    const uint32_t a = between(above[across.first], above[across.second], across.weight);
    const uint32_t b = between(below[across.first], below[across.second], across.weight);
    return (between(a, b, down.weight) + (1u << (2 * WEIGHT - 1))) >> (2 * WEIGHT);
}

extern "C" __global__ void __launch_bounds__(256) resize(const __grid_constant__ Params p) {
    const uint32_t x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.frame[0] || y >= p.frame[1]) return;
    int64_t u = p.u[0] * x + p.u[1] * y + p.u[2], v = p.v[0] * x + p.v[1] * y + p.v[2];
    uint8_t* to = p.out + y * p.stride + x;
    const uint32_t n = min(4u, p.frame[0] - x);
    uint32_t word = 0;
    for (uint32_t k = 0; k < n; ++k) {
        const uint32_t value = pixel(p, u, v);
        if (p.words && n == 4) {
            word |= value << 8 * k;
        } else {
            to[k] = value;
        }
        u += p.u[0], v += p.v[0];
    }
    if (p.words && n == 4) *reinterpret_cast<uint32_t*>(to) = word;
}
