// The small gray picture of a frame (kernels/src/camera/sums): each pixel is the mean over the source pixels that it covers.
//
// Memory: one plane of rows of 8-bit samples, each with a stride of its own, anywhere; the picture dense, a byte a pixel.
// Bytes that must move: the plane's rows, read once, and the picture.
// A block makes `tile` pixels of one row of the picture. A thread adds up 4 neighbouring bytes over every second row that is covered,
// whatever channels they belong to, so that a warp reads 128 successive bytes of each row; the loads of BATCH rows wait together.
// Then two threads add up the columns of a pixel, from shared memory.
// Launch: blocks of 256 threads, grid (tiles of a row) x height; may overlap with the end of the previous kernel.
//
// `shrink_whole` is for pictures whose pixels cover whole source pixels, `shrink` for all.
//
// Sums are whole numbers, so they equal the CPU's; the floats that are left are the same operations, none contracted.
#include "prelude.cuh"

constexpr uint32_t WORDS = 128, PARTS = 2, THREADS = WORDS * PARTS, WORD = 4, BATCH = 6;

// In units in which a source pixel is `unit` long and a pixel of the picture `step` = ratio * unit + rest.
struct Axis {
    uint32_t step, unit, ratio, rest;
    uint32_t multiplier, shift;  // n / (2 unit) = n * multiplier >> 32 >> shift for n < 2^31
};

struct Parameters {
    const uint8_t* plane;
    uint64_t stride;
    uint8_t* picture;
    Axis x, y;
    uint32_t width, bytes;  // pixels of the picture's rows; bytes of the frame's rows
    uint32_t group, tile;   // bytes a source pixel; pixels a block
    uint32_t channels, offset[3];
    float factor[3];        // from a channel's sum to its part of the gray level
    uint32_t low, high;     // samples that count as 0 and as 255
    uint32_t by_words;      // 1: the plane's address and stride are multiples of 4
};

static_assert(sizeof(Parameters) == 128, "kernels/src/camera/sums/cuda.rs says the same");

// `head` of source pixel `first` is covered, all of the next ratio - 1, and these parts of the two after them.
struct Coverage {
    uint32_t first, head, tail, last;

    __device__ __forceinline__ Coverage(uint32_t first, uint32_t head, uint32_t tail, uint32_t last)
        : first(first), head(head), tail(tail), last(last) {}

    __device__ __forceinline__ Coverage(const Axis& axis, uint32_t at) {
        uint32_t begin = at * axis.step;
        first = __umulhi(2 * begin, axis.multiplier) >> axis.shift;
        uint32_t skipped = begin - first * axis.unit, rest = axis.rest + skipped;
        head = axis.unit - skipped;
        tail = min(rest, axis.unit);
        last = rest - tail;
    }

    // The first source pixel that is not covered.
    __device__ __forceinline__ uint32_t end(const Axis& axis) const {
        return first + axis.ratio + (tail != 0) + (last != 0);
    }
};

// Four bytes of a row from byte `at` on; those beyond the row are 0.
template <bool WORDWISE>
__device__ __forceinline__ uint32_t load(const Parameters& p, const uint8_t* row, uint32_t at) {
    if (WORDWISE) return __ldg(reinterpret_cast<const uint32_t*>(row + at));
    uint32_t word = 0;
    for (uint32_t i = 0; i < WORD; ++i) {
        if (at + i < p.bytes) word |= static_cast<uint32_t>(__ldg(row + at + i)) << 8 * i;
    }
    return word;
}

// Two bytes in halves of a word, within their range.
__device__ __forceinline__ uint32_t limited(const Parameters& p, uint32_t halves) {
    return __vminu2(__vmaxu2(halves, p.low * 0x10001u), p.high * 0x10001u);
}

// The weighted sums of four bytes over the rows part, part + PARTS, ... of those that are covered.
template <bool WHOLE, bool WORDWISE>
__device__ __forceinline__ void sum_rows(const Parameters& p, const Coverage& rows, uint32_t part, uint32_t at,
                                         uint32_t (&sums)[WORD]) {
    uint32_t ratio = p.y.ratio, count = WHOLE ? ratio : rows.end(p.y) - rows.first;
    const uint8_t* row = p.plane + (rows.first + part) * p.stride;
    // The sums of bytes 0 and 2 in halves of the first word, of bytes 1 and 3 in halves of the second.
    uint32_t halves[2] = {}, taken = 0;
    for (uint32_t from = part; from < count; from += PARTS * BATCH) {
        uint32_t words[BATCH];
#pragma unroll
        for (uint32_t i = 0; i < BATCH; ++i) {
            words[i] = from + i * PARTS < count ? load<WORDWISE>(p, row, at) : 0;
            row += PARTS * p.stride;
        }
#pragma unroll
        for (uint32_t i = 0; i < BATCH; ++i) {
            uint32_t k = from + i * PARTS;
            if (k >= count) break;
            uint32_t even = limited(p, words[i] & 0xff00ffu), odd = limited(p, words[i] >> 8 & 0xff00ffu);
            if (WHOLE) {
                halves[0] += even;
                halves[1] += odd;
                ++taken;
            } else {
                uint32_t weight = k == 0 ? rows.head : k < ratio ? p.y.unit : k == ratio ? rows.tail : rows.last;
                sums[0] += weight * ((even & 0xffffu) - p.low);
                sums[1] += weight * ((odd & 0xffffu) - p.low);
                sums[2] += weight * ((even >> 16) - p.low);
                sums[3] += weight * ((odd >> 16) - p.low);
            }
        }
    }
    if (WHOLE) {
        uint32_t less = taken * p.low;
        sums[0] = (halves[0] & 0xffffu) - less;
        sums[1] = (halves[1] & 0xffffu) - less;
        sums[2] = (halves[0] >> 16) - less;
        sums[3] = (halves[1] >> 16) - less;
    }
}

// The weighted sum of a channel's columns that a pixel covers, from the first on.
template <bool WHOLE>
__device__ __forceinline__ uint32_t sum_columns(const Parameters& p, const Coverage& covered, const uint32_t* column) {
    uint32_t ratio = p.x.ratio, group = p.group, whole = 0;
#pragma unroll 4
    for (uint32_t k = 1; k < ratio; ++k) whole += column[k * group];
    if (WHOLE) return column[0] + whole;
    uint32_t sum = covered.head * column[0] + p.x.unit * whole;
    if (covered.tail != 0) sum += covered.tail * column[ratio * group];
    if (covered.last != 0) sum += covered.last * column[(ratio + 1) * group];
    return sum;
}

template <bool WHOLE>
__device__ __forceinline__ Coverage covered(const Axis& axis, uint32_t at) {
    return WHOLE ? Coverage{at * axis.ratio, 1, 0, 0} : Coverage(axis, at);
}

template <bool WHOLE>
__device__ __forceinline__ void make_tile(const Parameters& p) {
    __shared__ uint4 columns[PARTS][WORDS];
    let_next_start();
    uint32_t begin = blockIdx.x * p.tile, pixels = min(p.tile, p.width - begin);
    uint32_t origin = covered<WHOLE>(p.x, begin).first * p.group / WORD * WORD;
    uint32_t end = covered<WHOLE>(p.x, begin + pixels - 1).end(p.x) * p.group;
    uint32_t part = threadIdx.x / WORDS, word = threadIdx.x % WORDS, at = origin + word * WORD;
    Coverage rows = covered<WHOLE>(p.y, blockIdx.y);
    wait_for_previous();
    if (at < end) {
        uint32_t sums[WORD] = {};
        if (p.by_words && at + WORD <= p.bytes) {
            sum_rows<WHOLE, true>(p, rows, part, at, sums);
        } else {
            sum_rows<WHOLE, false>(p, rows, part, at, sums);
        }
        columns[part][word] = make_uint4(sums[0], sums[1], sums[2], sums[3]);
    }
    __syncthreads();
    // Every thread takes part in each round, because two of them add up.
    part = threadIdx.x % PARTS;
    for (uint32_t first = 0; first < pixels; first += THREADS / PARTS) {
        uint32_t i = first + threadIdx.x / PARTS, x = begin + min(i, pixels - 1);
        Coverage columns_of = covered<WHOLE>(p.x, x);
        const uint32_t* column = reinterpret_cast<const uint32_t*>(columns[part]) + (columns_of.first * p.group - origin);
        float gray = 0.0f;
        for (uint32_t c = 0; c < p.channels; ++c) {
            uint32_t sum = sum_columns<WHOLE>(p, columns_of, column + p.offset[c]);
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            gray = gray + __uint2float_rn(sum) * p.factor[c];
        }
        // Adding 1.5 * 2^23 rounds, half to even, and leaves the integer in the low bits.
        float rounded = fminf(gray, 255.0f) + 12582912.0f;
        if (part == 0 && i < pixels) {
            p.picture[blockIdx.y * p.width + x] = static_cast<uint8_t>(__float_as_int(rounded));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) shrink(const __grid_constant__ Parameters p) {
    make_tile<false>(p);
}

extern "C" __global__ void __launch_bounds__(THREADS) shrink_whole(const __grid_constant__ Parameters p) {
    make_tile<true>(p);
}
