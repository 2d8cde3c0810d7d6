// What the decoding kernels (detect.cu) hand to those that suppress (nms.cu). Mirrored in src/detect/cuda/params.rs.
#pragma once
#include "prelude.cuh"

// blockIdx.z is a row of the batch: a frame with buffers of its own. They lie in one block of memory, those of the next row
// a block further on. By pointers, so that the compiler still knows that it is global memory.
template <typename T>
__device__ __forceinline__ T* moved(T* pointer, uint64_t bytes) {
    return (T*)((char*)pointer + bytes);
}

// A row's frame, and the map to it from the input tensor.
struct Row {
    double scale[2], skew[2], offset[2];
    float2 frame;  // width, height
};

static_assert(sizeof(Row) == 56, "as in src/detect/cuda/params.rs");

// A point of the tensor, in the frame.
__device__ __forceinline__ float2 in_frame(const Row& row, float x, float y) {
    return {static_cast<float>(row.scale[0] * x + row.skew[0] * y + row.offset[0]),
            static_cast<float>(row.skew[1] * x + row.scale[1] * y + row.offset[1])};
}

// A frame's counts; the last kernel of a frame sets them back to zero.
struct Counts {
    uint32_t kept;        // entries in Candidates, those that there was no room for included
    uint32_t candidates;  // anchors that passed, whatever their size
    uint32_t non_finite;
    uint32_t found;  // boxes selected so far
};

// In the order in which blocks happened to append them: their keys give the order that counts.
struct Candidates {
    uint64_t* keys;
    float4* boxes;  // left, top, right, bottom in frame pixels, clamped only with clip_before_nms
    uint32_t* classes;
};

// A value by class: entries (class, value's bits) by ascending class, and what the other classes have.
struct ClassTable {
    const uint2* entries;
    uint32_t length;
    float other;

    __device__ float of(uint32_t klass) const {
        uint32_t from = 0, to = length;
        while (from < to) {
            uint32_t middle = (from + to) / 2;
            uint2 entry = entries[middle];
            if (entry.x == klass) return __uint_as_float(entry.y);
            if (entry.x < klass) from = middle + 1;
            else to = middle;
        }
        return other;
    }
};

// Ascending: the strongest first, as Rust's f32::total_cmp orders, and equals by index. A candidate's index is its anchor,
// times Layout.per_anchor, plus its class if that is more than 1.
__device__ __forceinline__ uint64_t to_key(float confidence, uint32_t index) {
    uint32_t bits = __float_as_uint(confidence);
    uint32_t weakness = bits & 0x80000000u ? bits : ~bits & 0x7fffffffu;
    return static_cast<uint64_t>(weakness) << 32 | index;
}

__device__ __forceinline__ float confidence_of(uint64_t key) {
    uint32_t weakness = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(weakness & 0x80000000u ? weakness : ~weakness & 0x7fffffffu);
}

__device__ __forceinline__ uint32_t index_of(uint64_t key) { return static_cast<uint32_t>(key); }

__device__ __forceinline__ float smaller(float a, float b) { return a < b ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return a > b ? a : b; }

// As f32::clamp(0.0, high).
__device__ __forceinline__ float clamp(float v, float high) { return v < 0.0f ? 0.0f : v > high ? high : v; }
