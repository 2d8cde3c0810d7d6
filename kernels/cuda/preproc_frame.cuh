// How the kernels of preproc.cu, regions.cu and warp.cu read a frame's pixels: from the samples of any format to channels.
#pragma once
#include "prelude.cuh"

// Neighbouring pixels of a tensor row that a thread makes.
constexpr uint32_t PIXELS = 4;

// Addresses and strides of the planes in which the components lie.
struct Frame {
    uint64_t plane[3], stride[3];
};

// How a component's samples lie in its plane: bytes from one to the next and before the first; 1 where two pixels of a
// row, or two rows, share one.
struct Component {
    uint32_t group, offset, half_columns, half_rows;
};

// All that does not depend on where pixels are taken from: how they are read, and how they are written. A kernel derives its
// other parameters from this struct; they begin with a uint64_t.
struct Conversion {
    uint64_t tensor;
    Component component[3];
    float color[5], lower[5], bias[3];  // see convert; lower = -2^23 color
    float factor[3], summand[3];
    float padding[3], low, high;
    int32_t zero_point;
    uint32_t width, height, channels, interleaved, type, aligned, swap, to_luma;
};

static_assert(sizeof(Conversion) == 192, "kernels/src/preproc/conversion.rs says the same");

enum Color { LUMA, RGB, MATRIX };

// The float 2^23 + n, n below 2^23. Multiplied by f and added to -2^23 f in one fmaf it is n * f, rounded once.
__device__ __forceinline__ float raised(uint32_t n) {
    return __uint_as_float(n | 0x4b000000u);
}

__device__ __forceinline__ float raised_byte(uint32_t n, uint32_t byte) {
    return __uint_as_float(__byte_perm(n, 0x4b000000u, 0x7440 | byte));
}

struct Byte {
    static __device__ __forceinline__ float load(const uint8_t* at) { return raised(__ldg(at)); }
};

// 10 bits in the high bits of 16.
struct Word {
    static __device__ __forceinline__ float load(const uint8_t* at) {
        return raised(__ldg(reinterpret_cast<const uint16_t*>(at)) >> 6);
    }
};

struct UnalignedWord {
    static __device__ __forceinline__ float load(const uint8_t* at) {
        return raised((__ldg(at) | __ldg(at + 1) << 8) >> 6);
    }
};

__device__ __forceinline__ const uint8_t* row_of(const Conversion& p, const Frame& frame, uint32_t c, uint32_t y) {
    uint64_t at = frame.plane[c] + (y >> p.component[c].half_rows) * frame.stride[c];
    return reinterpret_cast<const uint8_t*>(at);
}

// A row of any format: N components, sample by sample, all as `raised` floats.
template <class Sample, uint32_t N>
struct Samples {
    const uint8_t* row[N];

    __device__ __forceinline__ Samples(const Conversion& p, const Frame& frame, uint32_t y) {
        for (uint32_t c = 0; c < N; ++c) row[c] = row_of(p, frame, c, y) + p.component[c].offset;
    }

    __device__ __forceinline__ void read(const Conversion& p, uint32_t x, float (&v)[3]) const {
        for (uint32_t c = 0; c < N; ++c) {
            v[c] = Sample::load(row[c] + (x >> p.component[c].half_columns) * p.component[c].group);
        }
    }

    __device__ __forceinline__ float luma_at(const Conversion& p, uint32_t x) const {
        return Sample::load(row[0] + x * p.component[0].group);
    }
};

// NV12 with chroma at even addresses: Cb and Cr in one load.
struct Nv12 {
    const uint8_t* luma;
    const uint16_t* chroma;

    __device__ __forceinline__ Nv12(const Conversion& p, const Frame& frame, uint32_t y)
        : luma(row_of(p, frame, 0, y)), chroma(reinterpret_cast<const uint16_t*>(row_of(p, frame, 1, y))) {}

    __device__ __forceinline__ void read(const Conversion&, uint32_t x, float (&v)[3]) const {
        uint32_t pair = __ldg(chroma + (x >> 1));
        v[0] = raised(__ldg(luma + x));
        v[1] = raised_byte(pair, 0);
        v[2] = raised_byte(pair, 1);
    }

    __device__ __forceinline__ float luma_at(const Conversion&, uint32_t x) const { return raised(__ldg(luma + x)); }
};

// Four bytes a pixel at addresses that are multiples of 4: one load.
struct Packed {
    const uint32_t* row;

    __device__ __forceinline__ Packed(const Conversion& p, const Frame& frame, uint32_t y)
        : row(reinterpret_cast<const uint32_t*>(row_of(p, frame, 0, y))) {}

    __device__ __forceinline__ void read(const Conversion& p, uint32_t x, float (&v)[3]) const {
        uint32_t pixel = __ldg(row + x);
        for (uint32_t c = 0; c < 3; ++c) v[c] = raised_byte(pixel, p.component[c].offset);
    }
};

__device__ __forceinline__ float clamp(float v, float low, float high) {
    return fminf(fmaxf(v, low), high);
}

// n * color[i], where n is a `raised` float.
__device__ __forceinline__ float product(const Conversion& p, float n, uint32_t i) {
    return fmaf(n, p.color[i], p.lower[i]);
}

// Clamped to 0..255/256; the lower bound is a modifier of the previous operation and costs nothing.
__device__ __forceinline__ float limited(float v) {
    return fminf(__saturatef(v), 255.0f / 256.0f);
}

// Raised samples to channels (color.rs), in units of 256 pixel values. MATRIX: color is luma's factor,
// red's on Cr, green's on Cb and Cr, blue's on Cb. RGB: color is luma's weights, used where the tensor is grey.
template <Color COLOR>
__device__ __forceinline__ void convert(const Conversion& p, float (&v)[3]) {
    if (COLOR == LUMA) v[0] = limited(product(p, v[0], 0) + p.bias[0]);
    if (COLOR == RGB) {
        for (uint32_t c = 0; c < 3; ++c) v[c] = fmaf(v[c], 1.0f / 256.0f, -32768.0f);
        if (p.to_luma) v[0] = v[0] * p.color[0] + v[1] * p.color[1] + v[2] * p.color[2];
    }
    if (COLOR == MATRIX) {
        float luma = product(p, v[0], 0), cb = v[1], cr = v[2];
        v[0] = limited(luma + (product(p, cr, 1) + p.bias[0]));
        v[1] = limited(luma + (product(p, cb, 2) + (product(p, cr, 3) + p.bias[1])));
        v[2] = limited(luma + (product(p, cb, 4) + p.bias[2]));
    }
}

template <Color COLOR, class Source>
__device__ __forceinline__ void pixel(const Conversion& p, const Source& row, uint32_t x, float (&v)[3]) {
    row.read(p, x, v);
    convert<COLOR>(p, v);
}
