// The appearance of boxes of a frame (kernels/src/appearance): [N] boxes to [N, 128] counts, in one launch.
//
// Memory: the frame's planes as they are; boxes in the parameters; `out` in pinned host memory, 64 words a box, each of
// two counts of 16 bits; `counters`, as many words in device memory, and `tickets`, one a box: both 0 between launches.
// A box is sampled on a grid of at most 32 columns and 64 rows. A warp takes ROWS of its rows, a lane a column: it loads
// these, and the luma of the row above and the row below, at once; the neighbours in a row come by shuffles. So a sample
// costs one load of luma, two of chroma, and at most two additions to counts:
//   shared   one block a box, counts in shared memory;
//   chunked  CHUNKS blocks a box, each with counts in shared memory, which it adds to `counters`;
//   global   the same blocks, which add every sample to `counters`.
// The last block of a box copies its counters to `out` and zeroes them.
// Moves at least: 3 bytes a sample in, which lie in up to 2 x 32 bytes of DRAM each where boxes are large; 256 a box out.
// Launch: blocks of 32 * GRID_ROWS / (ROWS * CHUNKS) threads, grid (boxes, CHUNKS).
#include "prelude.cuh"

constexpr uint32_t MOST = 480, LENGTH = 128, WORDS = LENGTH / 2, COLUMNS = 32, GRID_ROWS = 64;
constexpr uint32_t COLOR = 4, STRIPES = 6, COLORS = 200, ORIENTATIONS = 8, ALL = 0xffffffffu;
constexpr int32_t EDGE = 16;
// By variant: rows a warp, blocks a box, and counts a block (warps take them in turn, to meet less often).
constexpr uint32_t SHARED_ROWS = 4, CHUNKED_ROWS = 2, CHUNKS = 4, COPIES = 4;

// How a component's bytes lie in its plane, as in preproc_frame.cuh.
struct Component {
    uint32_t group, offset, half_columns, half_rows;
};

struct Box {
    uint16_t x, y, width, height;
};

struct Parameters {
    uint64_t plane[3], stride[3];
    uint32_t *counters, *tickets, *out;
    Component component[3];
    int32_t matrix[3][3], bias[3];  // to limited Y'CbCr, in units of 2^-16
    Box boxes[MOST];
};

static_assert(sizeof(Parameters) == 4008, "kernels/src/appearance/cuda.rs says the same");

// YUV: no component depends on another. RGB: all depend on all. LUMA: there is no other component.
enum Mode { YUV, RGB, LUMA };

struct Ycc {
    int32_t y, cb, cr;
};

__device__ __forceinline__ int32_t sample(const Parameters& p, uint32_t c, uint32_t x, uint32_t y) {
    const Component& component = p.component[c];
    uint64_t at = p.plane[c] + (y >> component.half_rows) * p.stride[c];
    at += (x >> component.half_columns) * component.group + component.offset;
    return __ldg(reinterpret_cast<const uint8_t*>(at));
}

__device__ __forceinline__ int32_t byte(int32_t fixed) { return min(max(fixed >> 16, 0), 255); }

template <Mode MODE>
__device__ __forceinline__ int32_t luma_at(const Parameters& p, uint32_t x, uint32_t y) {
    int32_t sum = p.matrix[0][0] * sample(p, 0, x, y) + p.bias[0];
    if (MODE == RGB) sum += p.matrix[0][1] * sample(p, 1, x, y) + p.matrix[0][2] * sample(p, 2, x, y);
    return byte(sum);
}

template <Mode MODE>
__device__ __forceinline__ Ycc pixel(const Parameters& p, uint32_t x, uint32_t y) {
    if (MODE == LUMA) return {luma_at<MODE>(p, x, y), 128, 128};
    if (MODE == YUV) {
        int32_t cb = p.matrix[1][1] * sample(p, 1, x, y), cr = p.matrix[2][2] * sample(p, 2, x, y);
        return {luma_at<MODE>(p, x, y), byte(cb + p.bias[1]), byte(cr + p.bias[2])};
    }
    int32_t s[3] = {sample(p, 0, x, y), sample(p, 1, x, y), sample(p, 2, x, y)}, out[3];
    for (uint32_t c = 0; c < 3; ++c) {
        out[c] = byte(p.matrix[c][0] * s[0] + p.matrix[c][1] * s[1] + p.matrix[c][2] * s[2] + p.bias[c]);
    }
    return {out[0], out[1], out[2]};
}

// From here to `orientation`: kernels/src/appearance/bins.rs.
template <uint32_t GRID>
__device__ __forceinline__ uint32_t position(uint32_t i, uint32_t length) {
    return length < GRID ? i : (2 * i + 1) * length / (2 * GRID);
}

__device__ __forceinline__ uint32_t slot(uint32_t key) {
    uint32_t h = key;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return (h ^ h >> 16) % LENGTH;
}

__device__ __forceinline__ uint32_t chroma_level(int32_t c) {
    return 2 + (c >= 134) + (c >= 146) - (c <= 122) - (c <= 110);
}

__device__ __forceinline__ uint32_t orientation(int32_t gx, int32_t gy) {
    const int32_t ax = abs(gx), ay = abs(gy);
    uint32_t eighth = 256 * ay < 51 * ax    ? 0
                      : 256 * ay < 171 * ax ? 1
                      : 256 * ax < 51 * ay  ? 4
                      : 256 * ax < 171 * ay ? 3
                                            : 2;
    return (gx ^ gy) < 0 ? (ORIENTATIONS - eighth) % ORIENTATIONS : eighth;
}

// A warp counts the ROWS grid rows from `first` on, as far as the box has them.
template <Mode MODE, uint32_t ROWS, class Count>
__device__ __forceinline__ void count_rows(const Parameters& p, const Box box, uint32_t first, Count count) {
    const uint32_t columns = min(uint32_t(box.width), COLUMNS), rows = min(uint32_t(box.height), GRID_ROWS);
    if (columns == 0 || first >= rows) return;  // the whole warp
    const uint32_t lane = threadIdx.x % 32, column = min(lane, columns - 1);
    const uint32_t x = box.x + position<COLUMNS>(column, box.width);
    const auto line = [&](uint32_t row) { return box.y + position<GRID_ROWS>(min(row, rows - 1), box.height); };
    Ycc at[ROWS];
    const int32_t before = luma_at<MODE>(p, x, line(first == 0 ? 0 : first - 1));
    const int32_t after = luma_at<MODE>(p, x, line(first + ROWS));
#pragma unroll
    for (uint32_t k = 0; k < ROWS; ++k) at[k] = pixel<MODE>(p, x, line(first + k));
    const uint32_t left = column == 0 ? 0 : column - 1, right = min(column + 1, columns - 1);
    const uint32_t weight = 1u << 8 * min(column, columns - 1 - column) / columns;
#pragma unroll
    for (uint32_t k = 0; k < ROWS; ++k) {
        const int32_t gx = __shfl_sync(ALL, at[k].y, right) - __shfl_sync(ALL, at[k].y, left);
        const int32_t gy = (k + 1 < ROWS ? at[k + 1].y : after) - (k > 0 ? at[k - 1].y : before);
        if (lane >= columns || first + k >= rows) continue;
        const uint32_t key = (first + k) * STRIPES / rows * (COLORS + ORIENTATIONS);
        const uint32_t color = (at[k].y / 32 * 5 + chroma_level(at[k].cb)) * 5 + chroma_level(at[k].cr);
        count(slot(key + color), COLOR * weight);
        if (max(abs(gx), abs(gy)) >= EDGE) count(slot(key + COLORS + orientation(gx, gy)), weight);
    }
}

// A block's rows in shared memory, two counts a word: no count is beyond 16 bits. For the first WORDS threads.
template <Mode MODE, uint32_t ROWS>
__device__ __forceinline__ uint32_t count_block(const Parameters& p, uint32_t first) {
    __shared__ uint32_t counts[COPIES * LENGTH];
    for (uint32_t i = threadIdx.x; i < COPIES * LENGTH; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    const uint32_t warp = threadIdx.x / 32;
    uint32_t* mine = counts + warp % COPIES * LENGTH;
    count_rows<MODE, ROWS>(p, p.boxes[blockIdx.x], first + warp * ROWS,
                           [&](uint32_t slot, uint32_t n) { atomicAdd(mine + slot, n); });
    __syncthreads();
    uint32_t word = 0;
    for (uint32_t i = 0; i < COPIES && threadIdx.x < WORDS; ++i) {
        const uint32_t* pair = counts + i * LENGTH + 2 * threadIdx.x;
        word += pair[0] | pair[1] << 16;
    }
    return word;
}

// Whether all other blocks of the box are done: true in the last one.
__device__ __forceinline__ bool is_last(const Parameters& p) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(p.tickets + blockIdx.x, 1) == CHUNKS - 1;
    __syncthreads();
    __threadfence();
    return last;
}

__device__ __forceinline__ void hand_out(const Parameters& p) {
    if (!is_last(p) || threadIdx.x >= WORDS) return;
    const uint32_t at = blockIdx.x * WORDS + threadIdx.x;
    p.out[at] = __ldcg(p.counters + at);
    p.counters[at] = 0;
    if (threadIdx.x == 0) p.tickets[blockIdx.x] = 0;
}

template <Mode MODE>
__device__ __forceinline__ void shared(const Parameters& p) {
    const uint32_t word = count_block<MODE, SHARED_ROWS>(p, 0);
    if (threadIdx.x < WORDS) p.out[blockIdx.x * WORDS + threadIdx.x] = word;
}

template <Mode MODE>
__device__ __forceinline__ void chunked(const Parameters& p) {
    const uint32_t word = count_block<MODE, CHUNKED_ROWS>(p, blockIdx.y * (GRID_ROWS / CHUNKS));
    if (word != 0) atomicAdd(p.counters + blockIdx.x * WORDS + threadIdx.x, word);
    hand_out(p);
}

template <Mode MODE>
__device__ __forceinline__ void global(const Parameters& p) {
    uint32_t* counters = p.counters + blockIdx.x * WORDS;
    const uint32_t first = blockIdx.y * (GRID_ROWS / CHUNKS) + threadIdx.x / 32 * CHUNKED_ROWS;
    count_rows<MODE, CHUNKED_ROWS>(p, p.boxes[blockIdx.x], first, [&](uint32_t slot, uint32_t n) {
        atomicAdd(counters + slot / 2, n << 16 * (slot % 2));
    });
    hand_out(p);
}

constexpr uint32_t SHARED_THREADS = 32 * GRID_ROWS / SHARED_ROWS;
constexpr uint32_t CHUNKED_THREADS = 32 * GRID_ROWS / (CHUNKED_ROWS * CHUNKS);

#define KERNELS(mode, MODE)                                                                              \
    extern "C" __global__ void __launch_bounds__(SHARED_THREADS)                                         \
        shared_##mode(const __grid_constant__ Parameters p) { shared<MODE>(p); }                         \
    extern "C" __global__ void __launch_bounds__(CHUNKED_THREADS)                                        \
        chunked_##mode(const __grid_constant__ Parameters p) { chunked<MODE>(p); }                       \
    extern "C" __global__ void __launch_bounds__(CHUNKED_THREADS)                                        \
        global_##mode(const __grid_constant__ Parameters p) { global<MODE>(p); }

KERNELS(yuv, YUV)
KERNELS(rgb, RGB)
KERNELS(luma, LUMA)
