// Preprocessing by tables of taps (kernels/src/preproc/tables.rs): N frames of one format by one table, or N parts of one
// frame by a table each, to one tensor [N, ...] in one launch. For taps that preproc.cu cannot compute from a few integers:
// filters whose support grows with the factor of shrinking, and parts of any size.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the table dense; the tensor dense, NCHW or NHWC.
// Moves at least: the source rows that are sampled once, the table and the tensor once.
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels. Their taps overlap: FILTERED reads and
// converts each source pixel of a row once for all of them.
// Launch: blocks of up to 256 threads, which share a row evenly; grid (blocks of a row) x height x N.
//
// Results equal the CPU twin's bit by bit. FILTERED: integers, rounded to 8 bits after the columns and after the rows.
// MEAN: floats, the same operations in the same order, none contracted.
#include "preproc_tensor.cuh"

constexpr uint32_t FRAMES = 64;

// Filled pixel i of the tensor has its taps from table[at + i * step] on: the first source pixel, their number, and as many
// weights, integers in units of 2^-22 for FILTERED, else floats.
struct Axis {
    uint32_t pad, length, at, step;
};

// The table begins with an Image for each image.
struct Image {
    Axis x, y;
    uint32_t horizontal_first, unused[3];
};

static_assert(sizeof(Image) == 48, "kernels/src/preproc/tables.rs says the same");

struct Parameters : Conversion {
    Frame frames[FRAMES];
    uint64_t table;
    uint32_t parts;  // 1: images are parts of the first frame; 0: image n is frame n by the first table
    uint32_t unused;
};

static_assert(sizeof(Parameters) == 3280, "kernels/src/preproc/tables.rs says the same");

enum Mode { FILTERED, MEAN };

constexpr int32_t BITS = 22, HALF = 1 << (BITS - 1);

struct Taps {
    uint32_t first, count;
    const uint32_t* weights;

    Taps() = default;

    __device__ __forceinline__ Taps(const uint32_t* table, const Axis& axis, uint32_t i) {
        const uint32_t* entry = table + axis.at + i * axis.step;
        first = __ldg(entry);
        count = __ldg(entry + 1);
        weights = entry + 2;
    }

    // The weight; 0 beyond the last tap, and for k before the first, which wraps around.
    __device__ __forceinline__ int32_t whole(uint32_t k) const {
        return k < count ? static_cast<int32_t>(__ldg(weights + k)) : 0;
    }

    __device__ __forceinline__ float real(uint32_t k) const {
        return k < count ? __uint_as_float(__ldg(weights + k)) : 0.0f;
    }
};

__device__ __forceinline__ int32_t to_byte(int32_t sum) {
    return min(max(sum >> BITS, 0), 255);
}

// Columns are filtered row by row, and the rows summed up.
template <Color COLOR, class Source>
__device__ __forceinline__ void filtered(const Parameters& p, const Frame& frame, const Taps& rows,
                                         const Taps (&columns)[PIXELS], float (&out)[PIXELS][3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    int32_t sums[PIXELS][3];
    uint32_t begin = columns[0].first, end = 0;
    for (uint32_t j = 0; j < PIXELS; ++j) {
        begin = min(begin, columns[j].first);
        end = max(end, columns[j].first + columns[j].count);
        sums[j][0] = sums[j][1] = sums[j][2] = HALF;
    }
    for (uint32_t k = 0; k < rows.count; ++k) {
        Source row(p, frame, rows.first + k);
        int32_t means[PIXELS][3];
        for (uint32_t j = 0; j < PIXELS; ++j) means[j][0] = means[j][1] = means[j][2] = HALF;
        for (uint32_t x = begin; x < end; ++x) {
            float v[3];
            pixel<COLOR>(p, row, x, v);
            int32_t bytes[3];
            for (uint32_t c = 0; c < CHANNELS; ++c) bytes[c] = static_cast<int32_t>(256.0f * v[c] + 0.5f);
            for (uint32_t j = 0; j < PIXELS; ++j) {
                int32_t along = columns[j].whole(x - columns[j].first);
                for (uint32_t c = 0; c < CHANNELS; ++c) means[j][c] += along * bytes[c];
            }
        }
        int32_t down = rows.whole(k);
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < CHANNELS; ++c) sums[j][c] += down * to_byte(means[j][c]);
        }
    }
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < CHANNELS; ++c) out[j][c] = static_cast<float>(to_byte(sums[j][c])) / 256.0f;
    }
}

// Adds to a sum of rows. The CPU mixes two rows differently from several: a + w (b - a). `two` is 1 then, else 0.
__device__ __forceinline__ float mix(float sum, float weight, float two, float v) {
    return sum + weight * fmaf(-two, sum, v);
}

// The weighted mean, in floats, columns before rows or rows before columns: the order that is cheaper on the CPU.
template <Color COLOR, class Source, bool HORIZONTAL_FIRST>
__device__ __forceinline__ void mean(const Parameters& p, const Frame& frame, const Taps& rows,
                                     const Taps (&columns)[PIXELS], float (&out)[PIXELS][3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    float two = rows.count == 2 ? 1.0f : 0.0f;
    for (uint32_t j = 0; j < PIXELS; ++j) {
        out[j][0] = out[j][1] = out[j][2] = 0.0f;
        uint32_t outer = HORIZONTAL_FIRST ? rows.count : columns[j].count;
        uint32_t inner = HORIZONTAL_FIRST ? columns[j].count : rows.count;
        for (uint32_t o = 0; o < outer; ++o) {
            float mean[3] = {};
            for (uint32_t n = 0; n < inner; ++n) {
                uint32_t k = HORIZONTAL_FIRST ? o : n, i = HORIZONTAL_FIRST ? n : o;
                Source row(p, frame, rows.first + k);
                float v[3];
                pixel<COLOR>(p, row, columns[j].first + i, v);
                float along = columns[j].real(i), down = rows.count == 2 && k == 0 ? 1.0f : rows.real(k);
                for (uint32_t c = 0; c < CHANNELS; ++c) {
                    mean[c] = HORIZONTAL_FIRST ? mean[c] + along * v[c] : mix(mean[c], down, two, v[c]);
                }
            }
            float along = columns[j].real(o), down = rows.count == 2 && o == 0 ? 1.0f : rows.real(o);
            for (uint32_t c = 0; c < CHANNELS; ++c) {
                float& sum = out[j][c];
                sum = HORIZONTAL_FIRST ? mix(sum, down, two, mean[c]) : sum + along * mean[c];
            }
        }
    }
}

template <class Source, Color COLOR, Mode MODE>
__device__ __forceinline__ void preproc(const Parameters& p) {
    let_next_start();
    wait_for_previous();
    uint32_t x = (blockIdx.x * blockDim.x + threadIdx.x) * PIXELS, y = blockIdx.y, n = blockIdx.z;
    if (x >= p.width) return;
    const uint32_t* table = reinterpret_cast<const uint32_t*>(p.table);
    const Image& image = reinterpret_cast<const Image*>(p.table)[p.parts ? n : 0];
    const Frame& frame = p.frames[p.parts ? 0 : n];
    float v[PIXELS][3];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < 3; ++c) v[j][c] = p.padding[c];
    }
    uint32_t row = y - image.y.pad;
    if (row < image.y.length) {
        // For pixels left and right of the filled part its first or last column is read, and not used.
        Taps columns[PIXELS];
        bool filled[PIXELS];
        for (uint32_t j = 0; j < PIXELS; ++j) {
            uint32_t column = x + j - image.x.pad;
            filled[j] = column < image.x.length;
            columns[j] = Taps(table, image.x, x + j < image.x.pad ? 0 : min(column, image.x.length - 1));
        }
        Taps rows(table, image.y, row);
        float mixed[PIXELS][3];
        if (MODE == FILTERED) {
            filtered<COLOR, Source>(p, frame, rows, columns, mixed);
        } else if (image.horizontal_first) {
            mean<COLOR, Source, true>(p, frame, rows, columns, mixed);
        } else {
            mean<COLOR, Source, false>(p, frame, rows, columns, mixed);
        }
        for (uint32_t j = 0; j < PIXELS; ++j) {
            for (uint32_t c = 0; c < 3; ++c) {
                if (filled[j]) v[j][c] = 256.0f * mixed[j][COLOR == LUMA ? 0 : c];
            }
        }
    }
    write(p, n, x, y, v);
}

#define KERNEL(NAME, COLOR, MODE, ...)                                                             \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ Parameters p) { \
        preproc<__VA_ARGS__, COLOR, MODE>(p);                                                      \
    }
#define KERNELS(NAME, COLOR, ...)                         \
    KERNEL(NAME##_filtered, COLOR, FILTERED, __VA_ARGS__) \
    KERNEL(NAME##_mean, COLOR, MEAN, __VA_ARGS__)

KERNELS(luma8, LUMA, Samples<Byte, 1>)
KERNELS(luma16, LUMA, Samples<Word, 1>)
KERNELS(luma16_unaligned, LUMA, Samples<UnalignedWord, 1>)
KERNELS(yuv8, MATRIX, Samples<Byte, 3>)
KERNELS(yuv16, MATRIX, Samples<Word, 3>)
KERNELS(yuv16_unaligned, MATRIX, Samples<UnalignedWord, 3>)
KERNELS(nv12, MATRIX, Nv12)
KERNELS(rgb8, RGB, Samples<Byte, 3>)
KERNELS(rgb32, RGB, Packed)
