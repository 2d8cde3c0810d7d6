// Writes images whose channels come first, as planes, with their channels last, pixel by pixel; from float32 or float16 to
// either.
//
// Memory: images one after the other, each of dense planes of as many values as an image has pixels; out, as many values again.
// Bytes that must move for a value: its size in both types. A thread takes 8 neighbouring pixels at a time, in loads and stores
// of 16 bytes, where there are 2 to 4 channels and planes begin at multiples of 16 bytes; else, and for the last pixels, one.
// Launch: 256 threads; grid.x = ceil(pixels / 8 / 256), at most 2048, over which threads go on in strides; grid.y = images.
#include "prelude.cuh"

struct Params {
    const void* from;
    void* to;
    uint64_t pixels;    // of an image
    uint64_t eights;    // of 8 pixels each
    uint64_t channels;
};

static_assert(sizeof(Params) == 40, "as in src/channels_last.rs");

__device__ __forceinline__ float value(const float* from) { return *from; }
__device__ __forceinline__ float value(const half_t* from) { return to_float(*from); }
__device__ __forceinline__ void set(float* to, float v) { *to = v; }
__device__ __forceinline__ void set(half_t* to, float v) { *to = to_half(v); }

__device__ __forceinline__ void load(const float* from, float (&v)[8]) {
    float4 a = reinterpret_cast<const float4*>(from)[0], b = reinterpret_cast<const float4*>(from)[1];
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

__device__ __forceinline__ void load(const half_t* from, float (&v)[8]) {
    uint4 raw = *reinterpret_cast<const uint4*>(from);
    uint32_t pairs[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = to_float(half_t{static_cast<uint16_t>(pairs[i / 2] >> (i % 2 * 16))});
}

__device__ __forceinline__ void store(float* to, const float* v) {
    reinterpret_cast<float4*>(to)[0] = {v[0], v[1], v[2], v[3]};
    reinterpret_cast<float4*>(to)[1] = {v[4], v[5], v[6], v[7]};
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
    return to_half(low).bits | static_cast<uint32_t>(to_half(high).bits) << 16;
}

__device__ __forceinline__ void store(half_t* to, const float* v) {
    *reinterpret_cast<uint4*>(to) = {pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7])};
}

template <int CHANNELS, class From, class To>
__device__ __forceinline__ void eight_pixels(const Params& p, const From* from, To* to, uint64_t at) {
    float out[8 * CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        float plane[8];
        load(from + c * p.pixels + at, plane);
#pragma unroll
        for (int i = 0; i < 8; i++) out[i * CHANNELS + c] = plane[i];
    }
#pragma unroll
    for (int i = 0; i < CHANNELS; i++) store(to + at * CHANNELS + 8 * i, out + 8 * i);
}

template <class From, class To>
__device__ __forceinline__ void channels_last(const Params& p) {
    uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    uint64_t image = blockIdx.y * p.channels * p.pixels;
    const From* from = static_cast<const From*>(p.from) + image;
    To* to = static_cast<To*>(p.to) + image;
    for (uint64_t i = first; i < p.eights; i += stride) {
        if (p.channels == 2) eight_pixels<2>(p, from, to, 8 * i);
        if (p.channels == 3) eight_pixels<3>(p, from, to, 8 * i);
        if (p.channels == 4) eight_pixels<4>(p, from, to, 8 * i);
    }
    for (uint64_t i = 8 * p.eights + first; i < p.pixels; i += stride) {
        for (uint64_t c = 0; c < p.channels; c++) set(to + i * p.channels + c, value(from + c * p.pixels + i));
    }
}

extern "C" __global__ void __launch_bounds__(256) wide_to_wide(const __grid_constant__ Params p) { channels_last<float, float>(p); }
extern "C" __global__ void __launch_bounds__(256) wide_to_half(const __grid_constant__ Params p) { channels_last<float, half_t>(p); }
extern "C" __global__ void __launch_bounds__(256) half_to_wide(const __grid_constant__ Params p) { channels_last<half_t, float>(p); }
extern "C" __global__ void __launch_bounds__(256) half_to_half(const __grid_constant__ Params p) { channels_last<half_t, half_t>(p); }
