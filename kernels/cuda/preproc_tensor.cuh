// How the kernels of preproc.cu, regions.cu and warp.cu write the tensor: normalisation, element type, layout, channel order.
#pragma once
#include "preproc_frame.cuh"

template <class T>
__device__ __forceinline__ T element(const Conversion& p, float v);
template <>
__device__ __forceinline__ float element(const Conversion&, float v) {
    return v;
}
template <>
__device__ __forceinline__ half_t element(const Conversion&, float v) {
    return to_half(v);
}
// For integers of 8 bits, of both types: adding 1.5 * 2^23 rounds, half to even, and leaves the integer in the low bits.
template <>
__device__ __forceinline__ uint8_t element(const Conversion& p, float v) {
    float rounded = clamp(v, p.low, p.high) + 12582912.0f;
    return static_cast<uint8_t>(__float_as_int(rounded) + p.zero_point);
}

template <>
__device__ __forceinline__ int32_t element(const Conversion& p, float v) {
    float rounded = clamp(v, p.low, p.high) + 12582912.0f;
    return __float_as_int(rounded) - __float_as_int(12582912.0f) + p.zero_point;
}

template <class T>
struct alignas(PIXELS * sizeof(T)) Vector {
    T elements[PIXELS];
};

// Normalises and writes the thread's pixels from (x, y) of image `n` on.
template <class T>
__device__ __forceinline__ void store(const Conversion& p, uint32_t n, uint32_t x, uint32_t y,
                                      const float (&v)[PIXELS][3]) {
    uint64_t image = static_cast<uint64_t>(p.width) * p.height * p.channels;
    T* tensor = reinterpret_cast<T*>(p.tensor) + n * image;
    if (p.interleaved && p.channels == 3) {
        Vector<T> vectors[3];
        for (uint32_t e = 0; e < 3 * PIXELS; ++e) {
            float value = v[e / 3][e % 3] * p.factor[e % 3] + p.summand[e % 3];
            vectors[e / PIXELS].elements[e % PIXELS] = element<T>(p, value);
        }
        T* out = tensor + (y * p.width + x) * 3;
        if (p.aligned) {
            for (uint32_t i = 0; i < 3; ++i) reinterpret_cast<Vector<T>*>(out)[i] = vectors[i];
        } else {
            for (uint32_t e = 0; e < 3 * PIXELS; ++e) {
                if (x + e / 3 < p.width) out[e] = vectors[e / PIXELS].elements[e % PIXELS];
            }
        }
        return;
    }
    for (uint32_t c = 0; c < 3; ++c) {
        if (c >= p.channels) return;
        Vector<T> vector;
        for (uint32_t j = 0; j < PIXELS; ++j) {
            vector.elements[j] = element<T>(p, v[j][c] * p.factor[c] + p.summand[c]);
        }
        T* out = tensor + (c * p.height + y) * p.width + x;
        if (p.aligned) {
            *reinterpret_cast<Vector<T>*>(out) = vector;
        } else {
            for (uint32_t j = 0; j < PIXELS; ++j) {
                if (x + j < p.width) out[j] = vector.elements[j];
            }
        }
    }
}


// Normalises and writes channels red, green, blue (or luma three times), 0..255, in the tensor's order and type.
__device__ __forceinline__ void write(const Conversion& p, uint32_t n, uint32_t x, uint32_t y, float (&v)[PIXELS][3]) {
    if (p.swap) {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            float red = v[j][0];
            v[j][0] = v[j][2];
            v[j][2] = red;
        }
    }
    switch (p.type) {
        case FLOAT32: return store<float>(p, n, x, y, v);
        case FLOAT16: return store<half_t>(p, n, x, y, v);
        case INT32: return store<int32_t>(p, n, x, y, v);
        default: return store<uint8_t>(p, n, x, y, v);  // int8, too
    }
}
