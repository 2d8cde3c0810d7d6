// Converts tensors between float32 and float16.
//
// Memory: n dense values of each. Bytes that must move: 6 a value. A thread takes 8 neighbouring values at a time, in loads
// and stores of 16 bytes; the last ones, and all of tensors that do not begin at a multiple of 16 bytes, one by one.
// Launch: 256 threads; grid.x = ceil(n / 8 / 256), at most 2048, over which threads go on in strides.
#include "prelude.cuh"

struct Params {
    const void* from;
    void* to;
    uint64_t n;
    uint64_t eights;  // of 8 values each
};

static_assert(sizeof(Params) == 32, "as in src/convert.rs");

__device__ __forceinline__ uint32_t pack(float low, float high) {
    return to_half(low).bits | static_cast<uint32_t>(to_half(high).bits) << 16;
}

__device__ __forceinline__ float2 unpack(uint32_t pair) {
    return {to_float(half_t{static_cast<uint16_t>(pair)}), to_float(half_t{static_cast<uint16_t>(pair >> 16)})};
}

__device__ __forceinline__ uint64_t first() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint64_t stride() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

extern "C" __global__ void __launch_bounds__(256) halve(const __grid_constant__ Params p) {
    const float* from = static_cast<const float*>(p.from);
    half_t* to = static_cast<half_t*>(p.to);
    for (uint64_t i = first(); i < p.eights; i += stride()) {
        float4 a = reinterpret_cast<const float4*>(from)[2 * i], b = reinterpret_cast<const float4*>(from)[2 * i + 1];
        reinterpret_cast<uint4*>(to)[i] = {pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w)};
    }
    for (uint64_t i = 8 * p.eights + first(); i < p.n; i += stride()) to[i] = to_half(from[i]);
}

extern "C" __global__ void __launch_bounds__(256) widen(const __grid_constant__ Params p) {
    const half_t* from = static_cast<const half_t*>(p.from);
    float* to = static_cast<float*>(p.to);
    for (uint64_t i = first(); i < p.eights; i += stride()) {
        uint4 raw = reinterpret_cast<const uint4*>(from)[i];
        float2 a = unpack(raw.x), b = unpack(raw.y), c = unpack(raw.z), d = unpack(raw.w);
        reinterpret_cast<float4*>(to)[2 * i] = {a.x, a.y, b.x, b.y};
        reinterpret_cast<float4*>(to)[2 * i + 1] = {c.x, c.y, d.x, d.y};
    }
    for (uint64_t i = 8 * p.eights + first(); i < p.n; i += stride()) to[i] = to_float(from[i]);
}
