// Better and softer edges of a soft mask, and its place in the corners of fisheye pictures: kernels/src/matte. Masks and luma are dense,
// a byte a pixel; sums and means are computed as on the CPU, in the same order, so that no byte differs.
//
// The guided filter, in this order: cell_means, lines_rows, lines_columns, means_rows, means_columns, filter. Cells are squares of `cell`
// pixels; what is kept of a cell are numbers in double precision, a plane of `cells` each: its means of luma and mask, four sums along
// a row, the line of its window, two sums along a row, and two floats, the line's means.
//   cell_means: `lanes` threads a cell (a power of two, 32 at most), each takes columns, or words of four; 256 threads.
//   lines_* and means_*: a thread a cell, 32x8 threads.
//   filter_small, filter_large: a thread four pixels of EACH rows, 32x8 threads; for cells of fewer than 4 pixels, and of more.
// Bytes: luma twice, the mask once and what is written; some 100 a cell.
//
// soften_rows, soften_columns: the mean of the 2 * radius + 1 pixels around each, as far as they lie in the mask, rounded. A block loads its
// pixels and those around them to shared memory, 32x8 threads for 128 pixels of 8 rows, or 32 columns of 64 rows. Bytes: two a pixel each.
//
// corners: a thread a pixel of a strip, 32x8 threads; grid.z = 0 for the upper strip, 1 for the lower one. A pixel in a circle is the mean of
// those of the mask that it covers, others are 0. Bytes: those of the mask, and of both strips.
//
// Values below `least` become 0 in the last of these kernels that runs; floor_values does that alone, a thread a byte.
#include "prelude.cuh"

// EACH: rows of a thread of filter.
constexpr uint32_t ALL = 0xffffffffu, COLUMNS = 32, ROWS = 8, WORD = 4, EACH = 4;

struct Guide {
    const uint8_t* luma;
    const uint8_t* mask;
    uint8_t* to;     // may be the mask
    double* means;   // of luma, then of the mask
    double* sums;    // of luma, the mask, luma's squares, their products
    double* lines;   // slopes, then offsets
    double* totals;  // of slopes, then of offsets, along a row
    float* filters;  // the means of slopes, then of offsets
    double epsilon;
    uint32_t width, height, cell, lanes, across, down, radius;
    uint32_t least;  // values below become 0
    uint32_t unit;   // pixels that cell_means reads at once: WORD where rows and cells begin at words, else 1
    uint32_t unused;
};
static_assert(sizeof(Guide) == 112, "as in src/matte/cuda.rs");

// At a multiple of 4.
__device__ __forceinline__ uint32_t word(const uint8_t* at) { return *reinterpret_cast<const uint32_t*>(at); }

__device__ __forceinline__ uint64_t cells(const Guide& p) { return static_cast<uint64_t>(p.across) * p.down; }

extern "C" __global__ void __launch_bounds__(256) cell_means(const __grid_constant__ Guide p) {
    // All threads of all cells are fewer than 2^32; a division of 64 bits takes longer than the rest.
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, cell = thread / p.lanes;
    uint32_t lane = thread % p.lanes, luma = 0, mask = 0;
    // The threads of a cell are in one warp, which stays whole.
    bool is_one = cell < cells(p);
    uint32_t left = is_one ? cell % p.across * p.cell : 0, top = is_one ? cell / p.across * p.cell : 0;
    uint32_t right = min(left + p.cell, p.width), bottom = min(top + p.cell, p.height);
    for (uint32_t y = top; is_one && y < bottom; y++) {
        uint64_t row = static_cast<uint64_t>(y) * p.width;
        for (uint32_t x = left + p.unit * lane; x < right; x += p.unit * p.lanes) {
            if (p.unit == WORD) {
                luma = __dp4a(word(p.luma + row + x), 0x01010101u, luma);
                mask = __dp4a(word(p.mask + row + x), 0x01010101u, mask);
            } else {
                luma += p.luma[row + x];
                mask += p.mask[row + x];
            }
        }
    }
    for (uint32_t step = p.lanes / 2; step > 0; step /= 2) {
        luma += __shfl_xor_sync(ALL, luma, step);
        mask += __shfl_xor_sync(ALL, mask, step);
    }
    if (!is_one || lane > 0) return;
    double most = static_cast<double>(255ull * (right - left) * (bottom - top));
    p.means[cell] = static_cast<double>(luma) / most;
    p.means[cells(p) + cell] = static_cast<double>(mask) / most;
}

// A thread's cell, and the columns or rows of its window.
struct Around {
    uint32_t x, y, first, end;
    bool is_one;
};

template <bool ALONG_ROWS>
__device__ __forceinline__ Around around(const Guide& p) {
    uint32_t x = blockIdx.x * COLUMNS + threadIdx.x, y = blockIdx.y * ROWS + threadIdx.y;
    uint32_t at = ALONG_ROWS ? x : y, length = ALONG_ROWS ? p.across : p.down;
    uint32_t first = at > p.radius ? at - p.radius : 0, end = min(at + p.radius + 1, length);
    return {x, y, first, end, x < p.across && y < p.down};
}

extern "C" __global__ void __launch_bounds__(256) lines_rows(const __grid_constant__ Guide p) {
    Around a = around<true>(p);
    if (!a.is_one) return;
    const double* row = p.means + static_cast<uint64_t>(a.y) * p.across;
    double luma = 0, mask = 0, squares = 0, products = 0;
    for (uint32_t x = a.first; x < a.end; x++) {
        double guide = row[x], value = row[cells(p) + x];
        luma += guide;
        mask += value;
        squares += guide * guide;
        products += guide * value;
    }
    double* to = p.sums + static_cast<uint64_t>(a.y) * p.across + a.x;
    to[0] = luma;
    to[cells(p)] = mask;
    to[2 * cells(p)] = squares;
    to[3 * cells(p)] = products;
}

// Cells of the window around a cell: the columns are those of the first pass.
__device__ __forceinline__ double window(const Guide& p, const Around& a) {
    Around along = around<true>(p);
    return static_cast<double>((along.end - along.first) * (a.end - a.first));
}

extern "C" __global__ void __launch_bounds__(256) lines_columns(const __grid_constant__ Guide p) {
    Around a = around<false>(p);
    if (!a.is_one) return;
    double luma = 0, mask = 0, squares = 0, products = 0;
    for (uint32_t y = a.first; y < a.end; y++) {
        const double* from = p.sums + static_cast<uint64_t>(y) * p.across + a.x;
        luma += from[0];
        mask += from[cells(p)];
        squares += from[2 * cells(p)];
        products += from[3 * cells(p)];
    }
    double count = window(p, a);
    luma /= count;
    mask /= count;
    squares /= count;
    products /= count;
    double slope = (products - luma * mask) / (squares - luma * luma + p.epsilon);
    double* to = p.lines + static_cast<uint64_t>(a.y) * p.across + a.x;
    to[0] = slope;
    to[cells(p)] = mask - slope * luma;
}

extern "C" __global__ void __launch_bounds__(256) means_rows(const __grid_constant__ Guide p) {
    Around a = around<true>(p);
    if (!a.is_one) return;
    const double* row = p.lines + static_cast<uint64_t>(a.y) * p.across;
    double slope = 0, offset = 0;
    for (uint32_t x = a.first; x < a.end; x++) {
        slope += row[x];
        offset += row[cells(p) + x];
    }
    double* to = p.totals + static_cast<uint64_t>(a.y) * p.across + a.x;
    to[0] = slope;
    to[cells(p)] = offset;
}

extern "C" __global__ void __launch_bounds__(256) means_columns(const __grid_constant__ Guide p) {
    Around a = around<false>(p);
    if (!a.is_one) return;
    double slope = 0, offset = 0;
    for (uint32_t y = a.first; y < a.end; y++) {
        const double* from = p.totals + static_cast<uint64_t>(y) * p.across + a.x;
        slope += from[0];
        offset += from[cells(p)];
    }
    float* to = p.filters + static_cast<uint64_t>(a.y) * p.across + a.x;
    to[0] = static_cast<float>(slope / window(p, a));
    to[cells(p)] = static_cast<float>(offset / window(p, a));
}

// The first of the two cells between whose centres a pixel's centre lies, and the weight of the second.
struct Between {
    uint32_t first;
    float weight;
};

__device__ __forceinline__ Between between(uint32_t pixel, uint32_t cell, uint32_t count) {
    uint32_t twice = 2 * pixel + 1, place = twice > cell ? twice - cell : 0, whole = place / (2 * cell);
    uint32_t weight = ((place - whole * 2 * cell) << 11) / (2 * cell);
    return {min(whole, count - 1), static_cast<float>(weight) / 2048.0f};
}

// 0 to 255, without its fraction; 0 for NaN.
__device__ __forceinline__ uint32_t byte(float v) { return v >= 255.0f ? 255 : v > 0.0f ? static_cast<uint32_t>(v) : 0; }

// Number `i` of N values, without an index into memory.
template <uint32_t N>
__device__ __forceinline__ float pick(const float (&values)[N], uint32_t i) {
    float v = values[0];
#pragma unroll
    for (uint32_t k = 1; k < N; k++) v = i == k ? values[k] : v;
    return v;
}

// A row of N cells: slopes, then offsets.
template <uint32_t N>
struct Filters {
    float slopes[N], offsets[N];

    __device__ __forceinline__ void load(const Guide& p, uint32_t row, uint32_t first) {
        const float* from = p.filters + static_cast<uint64_t>(row) * p.across;
        for (uint32_t k = 0; k < N; k++) {
            uint32_t cell = min(first + k, p.across - 1);
            slopes[k] = from[cell];
            offsets[k] = from[cells(p) + cell];
        }
    }

    // Those between two rows.
    __device__ __forceinline__ void mix(const Filters& above, const Filters& below, float weight) {
        for (uint32_t k = 0; k < N; k++) {
            slopes[k] = above.slopes[k] + (below.slopes[k] - above.slopes[k]) * weight;
            offsets[k] = above.offsets[k] + (below.offsets[k] - above.offsets[k]) * weight;
        }
    }
};

// N: cells that four pixels and their neighbours can lie in.
template <uint32_t N>
__device__ __forceinline__ void filter(const Guide& p) {
    __shared__ Between columns[WORD * COLUMNS];
    uint32_t left = WORD * COLUMNS * blockIdx.x, thread = COLUMNS * threadIdx.y + threadIdx.x;
    if (thread < WORD * COLUMNS) columns[thread] = between(left + thread, p.cell, p.across);
    // A warp's rows, one in each of its first threads.
    uint32_t top = EACH * (ROWS * blockIdx.y + threadIdx.y);
    Between rows = between(top + threadIdx.x % EACH, p.cell, p.down);
    __syncthreads();
    uint32_t x = left + WORD * threadIdx.x, count = x < p.width ? min(p.width - x, WORD) : 0;
    const Between* own = columns + WORD * threadIdx.x;
    uint32_t first = own[0].first, loaded = 0xffffffffu;
    bool whole = p.width % WORD == 0;
    Filters<N> above, below, between_rows;
    for (uint32_t k = 0; k < EACH && top + k < p.height; k++) {
        uint32_t row = __shfl_sync(ALL, rows.first, k);
        float weight = __shfl_sync(ALL, rows.weight, k);
        if (row != loaded) {
            above.load(p, row, first);
            below.load(p, min(row + 1, p.down - 1), first);
            loaded = row;
        }
        between_rows.mix(above, below, weight);
        uint64_t begin = static_cast<uint64_t>(top + k) * p.width + x;
        uint32_t luma = whole && count > 0 ? word(p.luma + begin) : 0, mask = 0;
#pragma unroll
        for (uint32_t i = 0; i < WORD; i++) {
            if (i >= count) break;
            uint32_t at = own[i].first - first, next = min(own[i].first + 1, p.across - 1) - first;
            float slope = pick(between_rows.slopes, at), offset = pick(between_rows.offsets, at);
            slope = slope + (pick(between_rows.slopes, next) - slope) * own[i].weight;
            offset = offset + (pick(between_rows.offsets, next) - offset) * own[i].weight;
            uint32_t guide = whole ? luma >> 8 * i & 255 : p.luma[begin + i];
            uint32_t v = byte(slope * static_cast<float>(guide) + offset * 255.0f + 0.5f);
            v = v < p.least ? 0 : v;
            if (whole) mask |= v << 8 * i;
            else p.to[begin + i] = v;
        }
        if (whole && count > 0) *reinterpret_cast<uint32_t*>(p.to + begin) = mask;
    }
}

extern "C" __global__ void __launch_bounds__(256) filter_small(const __grid_constant__ Guide p) { filter<5>(p); }
extern "C" __global__ void __launch_bounds__(256) filter_large(const __grid_constant__ Guide p) { filter<3>(p); }

struct Soften {
    const uint8_t* from;
    uint8_t* to;
    uint32_t width, height, radius;
    uint32_t least;  // of columns: values below become 0
};
static_assert(sizeof(Soften) == 32, "as in src/matte/cuda.rs");

constexpr uint32_t MOST_RADIUS = 64, ROW_TILE = 128, COLUMN_TILE = 64;

__device__ __forceinline__ uint32_t rounded(uint32_t sum, uint32_t count) { return (2 * sum + count) / (2 * count); }

extern "C" __global__ void __launch_bounds__(256) soften_rows(const __grid_constant__ Soften p) {
    __shared__ uint8_t around[ROWS][ROW_TILE + 2 * MOST_RADIUS];
    uint32_t y = blockIdx.y * ROWS + threadIdx.y, side = ROW_TILE + 2 * p.radius;
    int left = static_cast<int>(blockIdx.x * ROW_TILE) - static_cast<int>(p.radius), width = p.width;
    const uint8_t* row = p.from + static_cast<uint64_t>(min(y, p.height - 1)) * p.width;
    for (uint32_t i = threadIdx.x; i < side; i += COLUMNS) {
        int x = left + static_cast<int>(i);
        around[threadIdx.y][i] = x >= 0 && x < width ? row[x] : 0;
    }
    __syncwarp();
    // A thread's pixels lie side by side, so that each but the first is two steps from the one before.
    uint32_t first = 4 * threadIdx.x, sum = 0;
    for (uint32_t k = 0; k < 2 * p.radius + 1; k++) sum += around[threadIdx.y][first + k];
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t x = blockIdx.x * ROW_TILE + first + k;
        if (x >= p.width || y >= p.height) return;
        uint32_t begin = x > p.radius ? x - p.radius : 0, end = min(x + p.radius + 1, p.width);
        p.to[static_cast<uint64_t>(y) * p.width + x] = rounded(sum, end - begin);
        // After the last of a thread's pixels nothing is needed.
        if (k == 3) return;
        sum += around[threadIdx.y][first + k + 2 * p.radius + 1];
        sum -= around[threadIdx.y][first + k];
    }
}

extern "C" __global__ void __launch_bounds__(256) soften_columns(const __grid_constant__ Soften p) {
    __shared__ uint8_t around[COLUMN_TILE + 2 * MOST_RADIUS][COLUMNS];
    uint32_t x = blockIdx.x * COLUMNS + threadIdx.x, side = COLUMN_TILE + 2 * p.radius;
    int top = static_cast<int>(blockIdx.y * COLUMN_TILE) - static_cast<int>(p.radius), height = p.height;
    for (uint32_t i = threadIdx.y; i < side; i += ROWS) {
        int y = top + static_cast<int>(i);
        bool inside = x < p.width && y >= 0 && y < height;
        around[i][threadIdx.x] = inside ? p.from[static_cast<uint64_t>(y) * p.width + x] : 0;
    }
    __syncthreads();
    constexpr uint32_t LENGTH = COLUMN_TILE / ROWS;
    uint32_t first = LENGTH * threadIdx.y, sum = 0;
    for (uint32_t k = 0; k < 2 * p.radius + 1; k++) sum += around[first + k][threadIdx.x];
    for (uint32_t k = 0; k < LENGTH; k++) {
        uint32_t y = blockIdx.y * COLUMN_TILE + first + k;
        if (x >= p.width || y >= p.height) return;
        uint32_t begin = y > p.radius ? y - p.radius : 0, end = min(y + p.radius + 1, p.height);
        uint32_t v = rounded(sum, end - begin);
        p.to[static_cast<uint64_t>(y) * p.width + x] = v < p.least ? 0 : v;
        if (k + 1 == LENGTH) return;
        sum += around[first + k + 2 * p.radius + 1][threadIdx.x];
        sum -= around[first + k][threadIdx.x];
    }
}

struct Floor {
    const uint8_t* from;
    uint8_t* to;
    uint64_t bytes;
    uint32_t least, unused;
};
static_assert(sizeof(Floor) == 32, "as in src/matte/cuda.rs");

extern "C" __global__ void __launch_bounds__(256) floor_values(const __grid_constant__ Floor p) {
    uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < p.bytes) p.to[i] = p.from[i] < p.least ? 0 : p.from[i];
}

struct Corners {
    const uint8_t* mask;
    uint8_t* strips[2];     // the upper one, and the lower one
    const uint2* circle;    // of each row of a picture's mask there, its first column and the one after its last
    uint32_t width, height; // of the frame
    uint32_t w, h;          // of a picture's mask there
};
static_assert(sizeof(Corners) == 48, "as in src/matte/cuda.rs");

// How much of pixel `pixel` of `from` pixels lies in what the pixel `at` of `to` pixels covers, in parts. Sides of frames are below 2^16.
__device__ __forceinline__ uint32_t share(uint32_t pixel, uint32_t at, uint32_t from, uint32_t to) {
    return min((at + 1) * from, (pixel + 1) * to) - max(at * from, pixel * to);
}

extern "C" __global__ void __launch_bounds__(256) corners(const __grid_constant__ Corners p) {
    uint32_t column = blockIdx.x * COLUMNS + threadIdx.x, row = blockIdx.y * ROWS + threadIdx.y, rows = p.h / 2;
    if (column >= p.width || row >= rows) return;
    // The upper half of a mask lies at the frame's lower edge.
    uint32_t y = blockIdx.z == 0 ? rows + row : row, middle = p.w / 2, left = (p.width - p.w) / 2;
    uint32_t eye = 0, x = p.w;
    if (column >= left && column < left + p.w) {
        x = column - left;
    } else if (column >= p.width - middle) {
        eye = 1;
        x = column - (p.width - middle);
    } else if (column < p.w - middle) {
        eye = 1;
        x = column + middle;
    }
    uint32_t v = 0;
    uint2 circle = p.circle[y];
    if (x >= circle.x && x < circle.y) {
        uint32_t half = p.width / 2;
        const uint8_t* picture = p.mask + eye * half;
        uint64_t sum = 0;
        for (uint32_t i = y * p.height / p.h; i * p.h < (y + 1) * p.height; i++) {
            uint32_t line = 0;
            for (uint32_t k = x * half / p.w; k * p.w < (x + 1) * half; k++) {
                line += picture[static_cast<uint64_t>(i) * p.width + k] * share(k, x, half, p.w);
            }
            sum += static_cast<uint64_t>(line) * share(i, y, p.height, p.h);
        }
        uint64_t area = static_cast<uint64_t>(half) * p.height;
        v = static_cast<uint32_t>((2 * sum + area) / (2 * area));
    }
    p.strips[blockIdx.z][static_cast<uint64_t>(row) * p.width + column] = v;
}
