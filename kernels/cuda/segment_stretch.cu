// The range of each frame (kernels/src/segment, `stretched`): from values to bytes, the least finite value becoming 0 and the greatest 1, as in
// cpu.rs.
//
// bounds: a block takes every gridDim.x-th THREADS values, and writes their least and greatest; 256 blocks at most. stretch: each block
// finds those of all blocks, and a thread makes a byte.
//
// Bytes: the values, which are mostly in the second-level cache, twice; a byte a cell. Launch: 256 threads.
#include "prelude.cuh"

constexpr uint32_t THREADS = 256, WARP = 32, ALL = 0xffffffffu;
#define INFINITE __int_as_float(0x7f800000)

struct Stretch {
    const float* values;
    float2* bounds;  // of each block
    uint8_t* mask;
    uint32_t cells;
    uint32_t blocks;  // of `bounds`; THREADS at most
    float gate;       // where masks are not soft
    uint32_t soft;
};
static_assert(sizeof(Stretch) == 40, "as in src/segment/cuda/stretch.rs");

__device__ __forceinline__ float2 wider(float2 a, float2 b) { return {fminf(a.x, b.x), fmaxf(a.y, b.y)}; }

// Those of a block's threads, in each of them.
__device__ __forceinline__ float2 of_block(float2 own) {
    __shared__ float2 warps[THREADS / WARP];
    for (uint32_t far = WARP / 2; far > 0; far /= 2) {
        own = wider(own, {__shfl_xor_sync(ALL, own.x, far), __shfl_xor_sync(ALL, own.y, far)});
    }
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = own;
    __syncthreads();
    own = warps[0];
    for (uint32_t i = 1; i < THREADS / WARP; ++i) own = wider(own, warps[i]);
    return own;
}

extern "C" __global__ void __launch_bounds__(THREADS) bounds(const __grid_constant__ Stretch p) {
    float2 own = {INFINITE, -INFINITE};
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.cells; i += gridDim.x * THREADS) {
        float v = p.values[i];
        if (fabsf(v) < INFINITE) own = wider(own, {v, v});
    }
    own = of_block(own);
    if (threadIdx.x == 0) p.bounds[blockIdx.x] = own;
}

extern "C" __global__ void __launch_bounds__(THREADS) stretch(const __grid_constant__ Stretch p) {
    float2 all = of_block(threadIdx.x < p.blocks ? p.bounds[threadIdx.x] : float2{INFINITE, -INFINITE});
    float factor = all.y > all.x ? 1.0f / (all.y - all.x) : 0.0f;
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= p.cells) return;
    float v = (p.values[i] - all.x) * factor;
    // fmaxf takes 0 for NaN.
    p.mask[i] = p.soft ? static_cast<uint8_t>(fminf(fmaxf(v * 255.0f + 0.5f, 0.0f), 255.0f)) : v >= p.gate;
}
