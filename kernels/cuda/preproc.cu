// Preprocessing (kernels/src/preproc): N video frames of one format to one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the source rows that are sampled once, the tensor once. Nothing in between goes to memory.
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels: it finds their source pixels in integers,
// reads and converts each tap by itself (taps that threads share come from L1), mixes them, normalises and stores whole
// vectors. A block lies in one row, so that all that concerns rows and bars is worked out once for it, by the uniform
// datapath.
// Launch: blocks of up to 256 threads that share a row evenly; grid blocks of a row x height x N.
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
    float color[5], lower[5], bias[3];  // see convert; lower = -2^23 color
    float factor[3], summand[3];
    float padding, low, high;
    int32_t zero_point;
    uint32_t width, height, channels, interleaved, type, aligned, swap, to_luma, horizontal_first;
};

static_assert(sizeof(Parameters) == 3352, "kernels/src/preproc/cuda.rs says the same");

enum Color { LUMA, RGB, MATRIX };
enum Mode { POINT, BILINEAR, AREA };

// a / b rounded to nearest. Equal to IEEE's division for all integers a <= b <= 2^15.
__device__ __forceinline__ float quotient(const Axis& axis, float a) {
    float q = a * axis.inverse;
    return fmaf(fmaf(-q, axis.divisor, a), axis.inverse, q);
}

__device__ __forceinline__ uint32_t whole(const Axis& axis, uint32_t n) {
    return __umulhi(n, axis.multiplier) >> axis.shift;
}

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

__device__ __forceinline__ const uint8_t* row_of(const Parameters& p, const Frame& frame, uint32_t c, uint32_t y) {
    uint64_t at = frame.plane[c] + (y >> p.component[c].half_rows) * frame.stride[c];
    return reinterpret_cast<const uint8_t*>(at);
}

// A row of any format: N components, sample by sample, all of them raised.
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
        v[0] = raised(__ldg(luma + x));
        v[1] = raised_byte(pair, 0);
        v[2] = raised_byte(pair, 1);
    }
};

// Four bytes a pixel at addresses that are multiples of 4: one load.
struct Packed {
    const uint32_t* row;

    __device__ __forceinline__ Packed(const Parameters& p, const Frame& frame, uint32_t y)
        : row(reinterpret_cast<const uint32_t*>(row_of(p, frame, 0, y))) {}

    __device__ __forceinline__ void read(const Parameters& p, uint32_t x, float (&v)[3]) const {
        uint32_t pixel = __ldg(row + x);
        for (uint32_t c = 0; c < 3; ++c) v[c] = raised_byte(pixel, p.component[c].offset);
    }
};

__device__ __forceinline__ float clamp(float v, float low, float high) {
    return fminf(fmaxf(v, low), high);
}

// n * color[i], of n raised.
__device__ __forceinline__ float product(const Parameters& p, float n, uint32_t i) {
    return fmaf(n, p.color[i], p.lower[i]);
}

// To 0..255/256, of which the first costs nothing.
__device__ __forceinline__ float limited(float v) {
    return fminf(__saturatef(v), 255.0f / 256.0f);
}

// Raised samples to channels (color.rs), in units of 256, which changes no rounding. MATRIX: color is luma's factor,
// red's on Cr, green's on Cb and Cr, blue's on Cb. RGB: color is luma's weights, used where the tensor is grey.
template <Color COLOR>
__device__ __forceinline__ void convert(const Parameters& p, float (&v)[3]) {
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

    Coverage() = default;

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
        return k == 0 ? head : k + 1 < count ? middle : k + 1 == count ? tail : 0.0f;
    }
};

// Adds to a sum of rows. The twin mixes two rows in another way than several: a + w (b - a). `two` is 1 then, else 0.
__device__ __forceinline__ float mix(float sum, float weight, float two, float v) {
    return sum + weight * fmaf(-two, sum, v);
}

// The mean over what each of the thread's pixels covers, all of them abreast: one that has fewer columns than its
// neighbours reads its last one again, with weight 0.
template <Color COLOR, class Source, bool HORIZONTAL_FIRST>
__device__ __forceinline__ void area(const Parameters& p, const Frame& frame, uint32_t y,
                                     const uint32_t (&at)[PIXELS], float (&out)[PIXELS][3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    Coverage rows(p.y, y);
    float two = rows.count == 2 ? 1.0f : 0.0f;
    if (rows.count == 2) rows.head = 1.0f;
    Coverage columns[PIXELS];
    uint32_t most = 0;
    for (uint32_t j = 0; j < PIXELS; ++j) {
        columns[j] = Coverage(p.x, at[j]);
        most = max(most, columns[j].count);
        out[j][0] = out[j][1] = out[j][2] = 0.0f;
    }
    uint32_t outer = HORIZONTAL_FIRST ? rows.count : most, inner = HORIZONTAL_FIRST ? most : rows.count;
    for (uint32_t o = 0; o < outer; ++o) {
        float mean[PIXELS][3] = {};
        for (uint32_t n = 0; n < inner; ++n) {
            uint32_t k = HORIZONTAL_FIRST ? o : n, i = HORIZONTAL_FIRST ? n : o;
            Source row(p, frame, rows.first + k);
            float down = rows.weight(k);
            for (uint32_t j = 0; j < PIXELS; ++j) {
                float v[3];
                pixel<COLOR>(p, row, columns[j].first + min(i, columns[j].count - 1), v);
                float along = columns[j].weight(i);
                for (uint32_t c = 0; c < CHANNELS; ++c) {
                    float& sum = mean[j][c];
                    sum = HORIZONTAL_FIRST ? sum + along * v[c] : mix(sum, down, two, v[c]);
                }
            }
        }
        float down = rows.weight(o);
        for (uint32_t j = 0; j < PIXELS; ++j) {
            float along = columns[j].weight(o);
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float& sum = out[j][c];
                sum = HORIZONTAL_FIRST ? mix(sum, down, two, mean[j][c]) : sum + along * mean[j][c];
            }
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
    if (p.horizontal_first) {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float a = weights[j][0] * taps[j][0][0][c] + weights[j][1] * taps[j][0][1][c];
                float b = weights[j][0] * taps[j][1][0][c] + weights[j][1] * taps[j][1][1][c];
                out[j][c] = a + down * (b - a);
            }
        }
    } else {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float a = taps[j][0][0][c] + down * (taps[j][1][0][c] - taps[j][0][0][c]);
                float b = taps[j][0][1][c] + down * (taps[j][1][1][c] - taps[j][0][1][c]);
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
    uint32_t x = (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS, y = blockIdx.y;
    if (x >= p.width) return;
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
        } else if (p.horizontal_first) {
            area<COLOR, Source, true>(p, frame, row, columns, mixed);
        } else {
            area<COLOR, Source, false>(p, frame, row, columns, mixed);
        }
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < 3; ++c) {
                if (filled[j]) v[j][c] = 256.0f * mixed[j][COLOR == LUMA ? 0 : c];
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
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ Parameters p) { \
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
