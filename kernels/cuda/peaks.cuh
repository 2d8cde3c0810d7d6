// What a search leaves in device memory for a kernel after it: kernels/src/peaks/cuda.rs.
#pragma once
#include "prelude.cuh"

struct alignas(32) Found {
    uint32_t element;  // NONE: no peak, but a note that there are values that are not finite
    float value;
    double dx, dy;
    uint64_t launch;
};

struct alignas(16) Header {
    uint32_t found, non_finite, blocks_done, unused;  // of all frames
};

constexpr uint32_t NONE = 0xffffffff;
#define INFINITE __int_as_float(0x7f800000)
#define NAN_VALUE __int_as_float(0x7fc00000)

__device__ __forceinline__ float value_of(float v) { return v; }
__device__ __forceinline__ float value_of(half_t v) { return to_float(v); }
__device__ __forceinline__ bool finite(float v) { return fabsf(v) < INFINITE; }

// The records of a search, and how frame, channel and cell follow from elements. Mirrored in src/peaks/cuda.rs.
struct Records {
    const Found* near;
    const Found* far;
    const Header* headers;
    uint64_t launch;
    uint32_t near_size, far_size;
    uint32_t frame_elements, cells, width, step;

    __device__ uint32_t count() const {
        const uint32_t found = headers[launch & 1].found;
        return found < near_size + far_size ? found : near_size + far_size;
    }
    __device__ const Found& at(uint32_t i) const { return i < near_size ? near[i] : far[i - near_size]; }
    __device__ uint32_t frame(uint32_t element) const { return element / frame_elements; }
    __device__ uint32_t channel(uint32_t element) const {
        const uint32_t within = element % frame_elements;
        return within / (cells * step) * step + within % step;
    }
    __device__ uint32_t cell(uint32_t element) const { return element % frame_elements % (cells * step) / step; }
};
static_assert(sizeof(Records) == 56, "as in src/peaks/cuda.rs");
