// Preprocessing (kernels/src/preproc): N video frames of one format to one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the source rows that are sampled once, the tensor once. Nothing in between goes to memory.
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels: it finds their source pixels in integers,
// reads and converts each tap by itself (taps that threads share come from L1), mixes them, normalises and stores whole
// vectors. A warp lies in one row, so that the row's tap and the bars are the same for all of its threads.
// Launch: blocks of 32 x 4 threads; grid ceil(width / 32 / PIXELS) x ceil(height / 4) x N.
//
// Kernels are made for what the inner loop depends on: where samples lie, which taps there are. Everything else
// (element type, layout, order) is the same for the whole launch and decided once a thread.
//
// Results equal the CPU twin's bit by bit: the same operations in the same order, none contracted. Weights are quotients
// of integers; `quotient` rounds them correctly.
#include "prelude.cuh"

constexpr uint32_t PIXELS = 4;
constexpr uint32_t FRAMES = 64;

// Addresses and strides of the planes in which the components lie.
struct Frame {
    uint64_t plane[3], stride[3];
};

// How a component's samples lie in its plane: bytes from one to the next and before the first; 1 where two pixels of a
// row, or two rows, share one.
struct Component {
    uint32_t group, offset, half_columns, half_rows;
};

// One axis. Filled pixel i of the tensor begins at source position start + (rest + i * step) / unit: its centre for
// POINT, the first of its two neighbours plus 1 for BILINEAR (so that it is never negative), its edge for AREA.
struct Axis {
    uint32_t pad, length, start, rest, step, unit;
    uint32_t multiplier, shift;  // n / unit = n * multiplier >> 32 >> shift for n < 2^31
    uint32_t last;               // the frame's last pixel
    float divisor, inverse;      // of weights, and 1 / divisor
    float middle;                // AREA: weight of a pixel that is covered whole
};

struct Parameters {
    Frame frames[FRAMES];
    uint64_t tensor;
    Component component[3];
    Axis x, y;
    float color[5], bias[3];  // see convert
    float factor[3], summand[3];
    float padding, low, high;
    int32_t zero_point;
    uint32_t width, height, channels, interleaved, type, aligned, swap, to_luma, horizontal_first;
};

static_assert(sizeof(Parameters) == 3336, "kernels/src/preproc/cuda.rs says the same");

enum Color { LUMA, RGB, MATRIX };
enum Mode { POINT, BILINEAR, AREA };

// An integer below 2^23, from two instructions of full rate.
__device__ __forceinline__ float small(uint32_t n) {
    return __uint_as_float(n | 0x4b000000u) - 8388608.0f;
}

// a / b rounded to nearest. Equal to IEEE's division for all integers a <= b <= 2^15.
__device__ __forceinline__ float quotient(const Axis& axis, float a) {
    float q = a * axis.inverse;
    return fmaf(fmaf(-q, axis.divisor, a), axis.inverse, q);
}

__device__ __forceinline__ uint32_t whole(const Axis& axis, uint32_t n) {
    return __umulhi(n, axis.multiplier) >> axis.shift;
}

struct Byte {
    static __device__ __forceinline__ float load(const uint8_t* at) { return small(__ldg(at)); }
};

// 10 bits in the high bits of 16, as quarters.
struct Word {
    static __device__ __forceinline__ float load(const uint8_t* at) {
        return small(__ldg(reinterpret_cast<const uint16_t*>(at)) >> 6) * 0.25f;
    }
};

struct UnalignedWord {
    static __device__ __forceinline__ float load(const uint8_t* at) {
        return small((__ldg(at) | __ldg(at + 1) << 8) >> 6) * 0.25f;
    }
};

__device__ __forceinline__ const uint8_t* row_of(const Parameters& p, const Frame& frame, uint32_t c, uint32_t y) {
    uint64_t at = frame.plane[c] + (y >> p.component[c].half_rows) * frame.stride[c];
    return reinterpret_cast<const uint8_t*>(at);
}

// A row of any format: N components, sample by sample.
template <class Sample, uint32_t N>
struct Samples {
    const uint8_t* row[N];

    __device__ __forceinline__ Samples(const Parameters& p, const Frame& frame, uint32_t y) {
        for (uint32_t c = 0; c < N; ++c) row[c] = row_of(p, frame, c, y) + p.component[c].offset;
    }

    __device__ __forceinline__ void read(const Parameters& p, uint32_t x, float (&v)[3]) const {
        for (uint32_t c = 0; c < N; ++c) {
            v[c] = Sample::load(row[c] + (x >> p.component[c].half_columns) * p.component[c].group);
        }
    }
};

// NV12 with chroma at even addresses: Cb and Cr in one load.
struct Nv12 {
    const uint8_t* luma;
    const uint16_t* chroma;

    __device__ __forceinline__ Nv12(const Parameters& p, const Frame& frame, uint32_t y)
        : luma(row_of(p, frame, 0, y)), chroma(reinterpret_cast<const uint16_t*>(row_of(p, frame, 1, y))) {}

    __device__ __forceinline__ void read(const Parameters&, uint32_t x, float (&v)[3]) const {
        uint32_t pair = __ldg(chroma + (x >> 1));
        v[0] = small(__ldg(luma + x));
        v[1] = small(pair & 0xff);
        v[2] = small(pair >> 8);
    }
};

// Four bytes a pixel at addresses that are multiples of 4: one load.
struct Packed {
    const uint32_t* row;

    __device__ __forceinline__ Packed(const Parameters& p, const Frame& frame, uint32_t y)
        : row(reinterpret_cast<const uint32_t*>(row_of(p, frame, 0, y))) {}

    __device__ __forceinline__ void read(const Parameters& p, uint32_t x, float (&v)[3]) const {
        uint32_t pixel = __ldg(row + x);
        for (uint32_t c = 0; c < 3; ++c) v[c] = small(__byte_perm(pixel, 0, 0x4440 | p.component[c].offset));
    }
};

__device__ __forceinline__ float clamp(float v, float low, float high) {
    return fminf(fmaxf(v, low), high);
}

// Samples to channels in 0..255 (color.rs). MATRIX: color is luma's factor, red's on Cr, green's on Cb and Cr, blue's on
// Cb. RGB: color is luma's weights, used where the tensor is grey.
template <Color COLOR>
__device__ __forceinline__ void convert(const Parameters& p, float (&v)[3]) {
    if (COLOR == LUMA) v[0] = clamp(v[0] * p.color[0] + p.bias[0], 0.0f, 255.0f);
    if (COLOR == RGB && p.to_luma) v[0] = v[0] * p.color[0] + v[1] * p.color[1] + v[2] * p.color[2];
    if (COLOR == MATRIX) {
        float luma = v[0] * p.color[0], cb = v[1], cr = v[2];
        v[0] = clamp(luma + (cr * p.color[1] + p.bias[0]), 0.0f, 255.0f);
        v[1] = clamp(luma + (cb * p.color[2] + (cr * p.color[3] + p.bias[1])), 0.0f, 255.0f);
        v[2] = clamp(luma + (cb * p.color[4] + p.bias[2]), 0.0f, 255.0f);
    }
}

template <Color COLOR, class Source>
__device__ __forceinline__ void pixel(const Parameters& p, const Source& row, uint32_t x, float (&v)[3]) {
    row.read(p, x, v);
    convert<COLOR>(p, v);
}

__device__ __forceinline__ uint32_t point(const Axis& axis, uint32_t i) {
    return min(axis.start + whole(axis, axis.rest + i * axis.step), axis.last);
}

// The two neighbours; beyond the frame's edge they are one, and the weight is all on the first.
struct Neighbours {
    uint32_t first, second;
    float weights[2];

    __device__ __forceinline__ Neighbours(const Axis& axis, uint32_t i) {
        uint32_t n = axis.rest + i * axis.step, steps = whole(axis, n), at = axis.start + steps;
        bool inside = at - 1 < axis.last;
        first = at - (at != 0);
        second = first + inside;
        float rest = inside ? static_cast<float>(n - steps * axis.unit) : 0.0f;
        weights[0] = quotient(axis, axis.divisor - rest);
        weights[1] = quotient(axis, rest);
    }
};

// The pixels that are covered, and how much of each.
struct Coverage {
    uint32_t first, count;
    float head, middle, tail;

    __device__ __forceinline__ Coverage(const Axis& axis, uint32_t i) {
        uint32_t n = axis.rest + i * axis.step, steps = whole(axis, n), begin = n - steps * axis.unit;
        uint32_t end = begin + axis.step - 1, more = whole(axis, end);
        first = axis.start + steps;
        count = more + 1;
        head = quotient(axis, static_cast<float>(min(axis.step, axis.unit - begin)));
        middle = axis.middle;
        tail = quotient(axis, static_cast<float>(end - more * axis.unit + 1));
    }

    __device__ __forceinline__ float weight(uint32_t k) const {
        return k == 0 ? head : k + 1 < count ? middle : tail;
    }
};

// The weighted sum over a row.
template <uint32_t CHANNELS>
__device__ __forceinline__ void add(float weight, const float (&v)[3], float (&sum)[3]) {
    for (uint32_t c = 0; c < CHANNELS; ++c) sum[c] += weight * v[c];
}

// Number k of the values that are mixed from row to row; the twin mixes two in another way than several.
template <uint32_t CHANNELS>
__device__ __forceinline__ void mix(const Coverage& rows, uint32_t k, const float (&v)[3], float (&sum)[3]) {
    float weight = rows.weight(k);
    for (uint32_t c = 0; c < CHANNELS; ++c) {
        if (rows.count == 2) {
            sum[c] = k == 0 ? v[c] : sum[c] + weight * (v[c] - sum[c]);
        } else {
            sum[c] = k == 0 ? weight * v[c] : sum[c] + weight * v[c];
        }
    }
}

template <Color COLOR, class Source>
__device__ __forceinline__ void area(const Parameters& p, const Frame& frame, const Coverage& rows,
                                     const Coverage& columns, float (&sum)[3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    if (p.horizontal_first) {
        for (uint32_t k = 0; k < rows.count; ++k) {
            Source row(p, frame, rows.first + k);
            float mean[3] = {}, v[3];
            for (uint32_t i = 0; i < columns.count; ++i) {
                pixel<COLOR>(p, row, columns.first + i, v);
                add<CHANNELS>(columns.weight(i), v, mean);
            }
            mix<CHANNELS>(rows, k, mean, sum);
        }
    } else {
        for (uint32_t c = 0; c < 3; ++c) sum[c] = 0.0f;
        for (uint32_t i = 0; i < columns.count; ++i) {
            float mean[3] = {}, v[3];
            for (uint32_t k = 0; k < rows.count; ++k) {
                pixel<COLOR>(p, Source(p, frame, rows.first + k), columns.first + i, v);
                mix<CHANNELS>(rows, k, v, mean);
            }
            add<CHANNELS>(columns.weight(i), mean, sum);
        }
    }
}

// Two by two taps of each of the thread's pixels, read before any is mixed.
template <Color COLOR, class Source>
__device__ __forceinline__ void bilinear(const Parameters& p, const Frame& frame, uint32_t y,
                                         const uint32_t (&columns)[PIXELS], float (&out)[PIXELS][3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    Neighbours rows(p.y, y);
    Source above(p, frame, rows.first), below(p, frame, rows.second);
    float taps[PIXELS][2][2][3], weights[PIXELS][2];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        Neighbours x(p.x, columns[j]);
        pixel<COLOR>(p, above, x.first, taps[j][0][0]);
        pixel<COLOR>(p, above, x.second, taps[j][0][1]);
        pixel<COLOR>(p, below, x.first, taps[j][1][0]);
        pixel<COLOR>(p, below, x.second, taps[j][1][1]);
        weights[j][0] = x.weights[0];
        weights[j][1] = x.weights[1];
    }
    float down = rows.weights[1];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < CHANNELS; ++c) {
            float a = taps[j][0][0][c], b = taps[j][0][1][c], d = taps[j][1][0][c], e = taps[j][1][1][c];
            if (p.horizontal_first) {
                a = weights[j][0] * a + weights[j][1] * b;
                d = weights[j][0] * d + weights[j][1] * e;
                out[j][c] = a + down * (d - a);
            } else {
                a = a + down * (d - a);
                b = b + down * (e - b);
                out[j][c] = weights[j][0] * a + weights[j][1] * b;
            }
        }
    }
}

template <class T>
__device__ __forceinline__ T element(const Parameters& p, float v);
template <>
__device__ __forceinline__ float element(const Parameters&, float v) {
    return v;
}
template <>
__device__ __forceinline__ half_t element(const Parameters&, float v) {
    return to_half(v);
}
// For both integer types: adding 1.5 * 2^23 rounds, half to even, and leaves the integer in the low bits.
template <>
__device__ __forceinline__ uint8_t element(const Parameters& p, float v) {
    float rounded = clamp(v, p.low, p.high) + 12582912.0f;
    return static_cast<uint8_t>(__float_as_int(rounded) + p.zero_point);
}

template <class T>
struct alignas(PIXELS * sizeof(T)) Vector {
    T elements[PIXELS];
};

// Normalises and writes the thread's pixels from (x, y) on.
template <class T>
__device__ __forceinline__ void store(const Parameters& p, uint32_t x, uint32_t y, const float (&v)[PIXELS][3]) {
    uint64_t image = static_cast<uint64_t>(p.width) * p.height * p.channels;
    T* tensor = reinterpret_cast<T*>(p.tensor) + blockIdx.z * image;
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

template <class Source, Color COLOR, Mode MODE>
__device__ __forceinline__ void preproc(const Parameters& p) {
    uint32_t x = (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.width || y >= p.height) return;
    float v[PIXELS][3];
    for (uint32_t j = 0; j < PIXELS; ++j) v[j][0] = v[j][1] = v[j][2] = p.padding;
    uint32_t row = y - p.y.pad;
    if (row < p.y.length) {
        const Frame& frame = p.frames[blockIdx.z];
        // Left and right of the frame its nearest column is read, and not used.
        uint32_t columns[PIXELS];
        bool filled[PIXELS];
        for (uint32_t j = 0; j < PIXELS; ++j) {
            uint32_t column = x + j - p.x.pad;
            filled[j] = column < p.x.length;
            columns[j] = filled[j] ? column : 0;
        }
        float mixed[PIXELS][3];
        if (MODE == POINT) {
            Source source(p, frame, point(p.y, row));
            for (uint32_t j = 0; j < PIXELS; ++j) pixel<COLOR>(p, source, point(p.x, columns[j]), mixed[j]);
        } else if (MODE == BILINEAR) {
            bilinear<COLOR, Source>(p, frame, row, columns, mixed);
        } else {
            Coverage rows(p.y, row);
            for (uint32_t j = 0; j < PIXELS; ++j) {
                if (filled[j]) area<COLOR, Source>(p, frame, rows, Coverage(p.x, columns[j]), mixed[j]);
            }
        }
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < 3; ++c) {
                if (filled[j]) v[j][c] = mixed[j][COLOR == LUMA ? 0 : c];
            }
        }
    }
    if (p.swap) {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            float red = v[j][0];
            v[j][0] = v[j][2];
            v[j][2] = red;
        }
    }
    switch (p.type) {
        case FLOAT32: return store<float>(p, x, y, v);
        case FLOAT16: return store<half_t>(p, x, y, v);
        default: return store<uint8_t>(p, x, y, v);
    }
}

#define KERNEL(NAME, COLOR, MODE, ...)                                                                           \
    extern "C" __global__ void __launch_bounds__(128) NAME(const __grid_constant__ Parameters p) { \
        preproc<__VA_ARGS__, COLOR, MODE>(p);                                                                    \
    }
#define KERNELS(NAME, COLOR, ...)                      \
    KERNEL(NAME##_point, COLOR, POINT, __VA_ARGS__)       \
    KERNEL(NAME##_bilinear, COLOR, BILINEAR, __VA_ARGS__) \
    KERNEL(NAME##_area, COLOR, AREA, __VA_ARGS__)

KERNELS(luma8, LUMA, Samples<Byte, 1>)
KERNELS(luma16, LUMA, Samples<Word, 1>)
KERNELS(luma16_unaligned, LUMA, Samples<UnalignedWord, 1>)
KERNELS(yuv8, MATRIX, Samples<Byte, 3>)
KERNELS(yuv16, MATRIX, Samples<Word, 3>)
KERNELS(yuv16_unaligned, MATRIX, Samples<UnalignedWord, 3>)
KERNELS(nv12, MATRIX, Nv12)
KERNELS(rgb8, RGB, Samples<Byte, 3>)
KERNELS(rgb32, RGB, Packed)
