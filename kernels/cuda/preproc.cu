// Preprocessing (kernels/src/preproc): N video frames of one format to one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the source rows that are sampled once, the tensor once. Nothing in between goes to memory.
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels: it finds their source pixels in integers,
// reads and converts each tap by itself (taps that threads share come from L1), mixes them, normalises and stores whole
// vectors. A block lies in one row, so that all that concerns rows and bars is computed once for it, by the uniform
// datapath.
// Launch: blocks of up to 256 threads, which share a row evenly; grid (blocks of a row) x height x N.
//
// Where an NV12 frame shrinks by a whole number of pixels, each source pixel belongs to one tensor pixel, and a thread's source
// pixels fill words: they are read by words, all rows before any is converted.
//
// There is a kernel for each choice that the inner loop depends on: where samples lie, which taps there are. Everything else
// (element type, layout, order) is the same for the whole launch and decided once a thread.
//
// Results equal the CPU twin's bit by bit: the same operations in the same order, none contracted. Weights are quotients
// of integers, which `quotient` rounds correctly. Colours are computed in units of 256 pixel values, where clamping
// from below is free and rounding the same.
#include "preproc_tensor.cuh"

constexpr uint32_t FRAMES = 64;

// One axis. Filled pixel i of the tensor begins at source position start + (rest + i * step) / unit: its centre for
// POINT, the first of its two neighbours plus 1 for BILINEAR (so that it is never negative), its edge for AREA.
struct Axis {
    uint32_t pad, length, start, rest, step, unit;
    uint32_t multiplier, shift;  // n / unit = n * multiplier >> 32 >> shift for n < 2^31
    uint32_t last;               // the frame's last pixel
    float divisor, inverse;      // of weights, and 1 / divisor
    float middle;                // AREA: weight of a pixel that is covered whole
};

struct Parameters : Conversion {
    Frame frames[FRAMES];
    Axis x, y;
    uint32_t horizontal_first;
};

static_assert(sizeof(Parameters) == 3368, "kernels/src/preproc/cuda.rs says the same");

// WHOLE: AREA of an NV12 frame that shrinks by a whole number on both axes.
enum Mode { POINT, BILINEAR, AREA, WHOLE };

// a / b rounded to nearest. Equal to IEEE's division for all integers a <= b <= 2^15.
__device__ __forceinline__ float quotient(const Axis& axis, float a) {
    float q = a * axis.inverse;
    return fmaf(fmaf(-q, axis.divisor, a), axis.inverse, q);
}

__device__ __forceinline__ uint32_t whole(const Axis& axis, uint32_t n) {
    return __umulhi(n, axis.multiplier) >> axis.shift;
}

__device__ __forceinline__ uint32_t point(const Axis& axis, uint32_t i) {
    return min(axis.start + whole(axis, axis.rest + i * axis.step), axis.last);
}

// The two neighbours of a sample; beyond the frame's edge both are the same pixel, and the first has all the weight.
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

// The pixels that a tensor pixel covers, and how much of each.
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

// Adds to a sum of rows. The CPU mixes two rows differently from several: a + w (b - a). `two` is 1 then, else 0.
__device__ __forceinline__ float mix(float sum, float weight, float two, float v) {
    return sum + weight * fmaf(-two, sum, v);
}

// The mean over the source pixels that each of the thread's pixels covers, for all of them in parallel: a pixel with fewer
// columns than its neighbours reads its last one again, with weight 0.
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

// The samples of N neighbouring pixels of a row: from x on, which is a multiple of 4, as N and the rows' addresses are.
template <uint32_t N>
struct Words {
    uint32_t luma[N / 4], chroma[N / 4];

    __device__ __forceinline__ void load(const Nv12& row, uint32_t x) {
        const uint32_t* y = reinterpret_cast<const uint32_t*>(row.luma + x);
        const uint32_t* pairs = reinterpret_cast<const uint32_t*>(row.chroma + x / 2);
        for (uint32_t w = 0; w < N / 4; ++w) {
            luma[w] = __ldg(y + w);
            chroma[w] = __ldg(pairs + w);
        }
    }

    __device__ __forceinline__ void read(uint32_t x, float (&v)[3]) const {
        uint32_t pair = x % 4 / 2 * 2;
        v[0] = raised_byte(luma[x / 4], x % 4);
        v[1] = raised_byte(chroma[x / 4], pair);
        v[2] = raised_byte(chroma[x / 4], pair + 1);
    }
};

// The mean over RATIO by RATIO source pixels for each of the thread's, from column `first` on: rows before columns, as the CPU
// does where a frame shrinks. The first summand is taken as it is.
template <uint32_t RATIO>
__device__ __forceinline__ void whole_area(const Parameters& p, const Frame& frame, uint32_t y, uint32_t first,
                                           float (&out)[PIXELS][3]) {
    Coverage rows(p.y, y), columns(p.x, 0);
    if (RATIO == 2) rows.head = 1.0f;
    Words<PIXELS * RATIO> words[RATIO];
#pragma unroll
    for (uint32_t k = 0; k < RATIO; ++k) words[k].load(Nv12(p, frame, rows.first + k), first);
#pragma unroll
    for (uint32_t x = 0; x < PIXELS * RATIO; ++x) {
        float mean[3];
#pragma unroll
        for (uint32_t k = 0; k < RATIO; ++k) {
            float v[3], down = rows.weight(k);
            words[k].read(x, v);
            convert<MATRIX>(p, v);
            for (uint32_t c = 0; c < 3; ++c) {
                mean[c] = k == 0 ? down * v[c] : RATIO == 2 ? mix(mean[c], down, 1.0f, v[c]) : mean[c] + down * v[c];
            }
        }
        uint32_t i = x % RATIO;
        for (uint32_t c = 0; c < 3; ++c) {
            float part = columns.weight(i) * mean[c];
            out[x / RATIO][c] = i == 0 ? part : out[x / RATIO][c] + part;
        }
    }
}

// Pixel x of two rows. Where they SHARE their chroma, it is read and multiplied once.
template <Color COLOR, bool SHARE, class Source>
__device__ __forceinline__ void pixels(const Parameters& p, const Source& above, const Source& below, uint32_t x,
                                       float (&v)[2][3]) {
    above.read(p, x, v[0]);
    if constexpr (SHARE) {
        v[1][0] = below.luma_at(p, x);
        v[1][1] = v[0][1];
        v[1][2] = v[0][2];
    } else {
        below.read(p, x, v[1]);
    }
    convert<COLOR>(p, v[0]);
    convert<COLOR>(p, v[1]);
}

// Two by two taps of each of the thread's pixels, read before any is mixed.
template <Color COLOR, bool SHARE, class Source>
__device__ __forceinline__ void bilinear(const Parameters& p, const Frame& frame, const Neighbours& rows,
                                         const uint32_t (&columns)[PIXELS], float (&out)[PIXELS][3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    Source above(p, frame, rows.first), below(p, frame, rows.second);
    float taps[PIXELS][2][2][3], weights[PIXELS][2];  // of columns and rows in turn
    for (uint32_t j = 0; j < PIXELS; ++j) {
        Neighbours x(p.x, columns[j]);
        pixels<COLOR, SHARE>(p, above, below, x.first, taps[j][0]);
        pixels<COLOR, SHARE>(p, above, below, x.second, taps[j][1]);
        weights[j][0] = x.weights[0];
        weights[j][1] = x.weights[1];
    }
    float down = rows.weights[1];
    if (p.horizontal_first) {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float a = weights[j][0] * taps[j][0][0][c] + weights[j][1] * taps[j][1][0][c];
                float b = weights[j][0] * taps[j][0][1][c] + weights[j][1] * taps[j][1][1][c];
                out[j][c] = a + down * (b - a);
            }
        }
    } else {
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float a = taps[j][0][0][c] + down * (taps[j][0][1][c] - taps[j][0][0][c]);
                float b = taps[j][1][0][c] + down * (taps[j][1][1][c] - taps[j][1][0][c]);
                out[j][c] = weights[j][0] * a + weights[j][1] * b;
            }
        }
    }
}

template <class Source, Color COLOR, Mode MODE, uint32_t RATIO = 1>
__device__ __forceinline__ void preproc(const Parameters& p) {
    let_next_start();
    wait_for_previous();
    uint32_t x = (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS, y = blockIdx.y;
    if (x >= p.width) return;
    float v[PIXELS][3];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < 3; ++c) v[j][c] = p.padding[c];
    }
    uint32_t row = y - p.y.pad;
    if (row < p.y.length) {
        const Frame& frame = p.frames[blockIdx.z];
        // For pixels left and right of the frame the first column is read, and not used.
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
            Neighbours rows(p.y, row);
            uint32_t half = p.component[1].half_rows;
            if (COLOR == MATRIX && rows.first >> half == rows.second >> half) {
                bilinear<COLOR, COLOR == MATRIX, Source>(p, frame, rows, columns, mixed);
            } else {
                bilinear<COLOR, false, Source>(p, frame, rows, columns, mixed);
            }
        } else if (MODE == WHOLE) {
            whole_area<RATIO>(p, frame, row, p.x.start + columns[0] * RATIO, mixed);
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
    write(p, blockIdx.z, x, y, v);
}

#define KERNEL(NAME, COLOR, MODE, ...)                                                             \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ Parameters p) { \
        preproc<__VA_ARGS__, COLOR, MODE>(p);                                                      \
    }
#define KERNELS(NAME, COLOR, ...)                         \
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

#define WHOLE_KERNEL(RATIO)                                                                                     \
    extern "C" __global__ void __launch_bounds__(256) nv12_area##RATIO(const __grid_constant__ Parameters p) { \
        preproc<Nv12, MATRIX, WHOLE, RATIO>(p);                                                                 \
    }

WHOLE_KERNEL(2)
WHOLE_KERNEL(3)
WHOLE_KERNEL(4)
