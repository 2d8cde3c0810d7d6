// Better and softer edges of a soft mask, and its place in the corners of fisheye pictures: kernels/src/matte. Masks and luma are dense,
// a byte a pixel; sums and means are computed as on the CPU, in the same order, so that no byte differs.
//
// The guided filter, in this order: cell_means, lines, line_means, filter. Cells are squares of `cell` pixels; what is kept of a cell are its
// means of luma and mask and the line of its window, in double precision, and the line's means, two floats: a plane of `cells` each.
//   cell_means: `lanes` threads a cell (a power of two, 32 at most), each takes columns, or words of four; 256 threads.
//   lines and line_means: a block 32 columns of TILE rows of cells, 32x8 threads. Sums along rows go to shared memory, CHUNK rows at a time,
//   and are added up along columns there.
//   filter_small, filter_large: a thread four pixels of EACH rows, 32x8 threads; for cells of fewer than 4 pixels, and of 4 or more.
// Bytes: luma twice, the mask once and what is written; some 90 a cell.
//
// soften_rows, soften_columns: the mean of the 2 * radius + 1 pixels around each, as far as they lie in the mask, rounded. A block loads its
// pixels and those around them to shared memory, 32x8 threads for 128 pixels of 8 rows, or 32 columns of 64 rows. Bytes: two a pixel each.
//
// corners: a thread a pixel of a strip, 32x8 threads; grid.z = 0 for the upper strip, 1 for the lower one. A pixel in a circle is the mean of
// those of the mask that it covers, others are 0. Bytes: those of the mask, and of both strips.
//
// Values below `least` become 0 in the last of these kernels that runs; floor_values does that alone, a thread a byte.
#include "prelude.cuh"

constexpr uint32_t ALL = 0xffffffffu, COLUMNS = 32, ROWS = 8, WORD = 4;
// Rows of a thread of filter, of a block of lines, and of its sums in shared memory.
constexpr uint32_t EACH = 4, TILE = 16, CHUNK = 32;
// A float32 whose last bits are the whole number that was added: the conversion by instructions is slower.
constexpr float WHOLE = 8388608.0f;

struct Guide {
    const uint8_t* luma;
    const uint8_t* mask;
    uint8_t* to;     // may be the mask
    double* means;   // of luma, then of the mask
    double* lines;   // slopes, then offsets
    float* filters;  // the means of slopes, then of offsets
    double epsilon;
    uint32_t width, height, cell, lanes, across, down, radius;
    uint32_t least;  // values below become 0
    uint32_t unit;   // pixels that cell_means reads at once: WORD where rows and cells begin at words, else 1
    uint32_t unused;
};
static_assert(sizeof(Guide) == 96, "as in src/matte/cuda.rs");

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
#pragma unroll 4
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

// The sums of N values over the window around each of a block's cells, along rows and then along columns. `add(sums, row, x)` adds the values of
// a cell; `end(x, y, sums, count)` gets the sums over a window of `count` cells.
template <uint32_t N, typename Add, typename End>
__device__ __forceinline__ void windows(const Guide& p, Add add, End end) {
    __shared__ double along_rows[CHUNK][N][COLUMNS];
    uint32_t x = blockIdx.x * COLUMNS + threadIdx.x, top = blockIdx.y * TILE;
    uint32_t left = x > p.radius ? x - p.radius : 0, right = min(x + p.radius + 1, p.across);
    uint32_t bottom = min(top + TILE + p.radius, p.down);
    double sums[TILE / ROWS][N] = {};
    for (uint32_t chunk = top > p.radius ? top - p.radius : 0; chunk < bottom; chunk += CHUNK) {
        __syncthreads();
        for (uint32_t i = threadIdx.y; i < CHUNK && chunk + i < bottom && x < p.across; i += ROWS) {
            double row[N] = {};
            for (uint32_t column = left; column < right; column++) add(row, chunk + i, column);
            for (uint32_t n = 0; n < N; n++) along_rows[i][n][threadIdx.x] = row[n];
        }
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < TILE / ROWS; k++) {
            uint32_t y = top + threadIdx.y + k * ROWS, first = max(chunk, y > p.radius ? y - p.radius : 0);
            uint32_t last = min(min(chunk + CHUNK, y + p.radius + 1), p.down);
            for (uint32_t row = first; row < last; row++) {
                for (uint32_t n = 0; n < N; n++) sums[k][n] += along_rows[row - chunk][n][threadIdx.x];
            }
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < TILE / ROWS; k++) {
        uint32_t y = top + threadIdx.y + k * ROWS;
        if (x >= p.across || y >= p.down) return;
        uint32_t rows = min(y + p.radius + 1, p.down) - (y > p.radius ? y - p.radius : 0);
        end(x, y, sums[k], static_cast<double>((right - left) * rows));
    }
}

__device__ __forceinline__ uint64_t at(const Guide& p, uint32_t x, uint32_t y) {
    return static_cast<uint64_t>(y) * p.across + x;
}

extern "C" __global__ void __launch_bounds__(256) lines(const __grid_constant__ Guide p) {
    const auto add = [&](double(&sums)[4], uint32_t row, uint32_t x) {
        double guide = p.means[at(p, x, row)], value = p.means[cells(p) + at(p, x, row)];
        sums[0] += guide;
        sums[1] += value;
        sums[2] += guide * guide;
        sums[3] += guide * value;
    };
    windows<4>(p, add, [&](uint32_t x, uint32_t y, const double(&sums)[4], double count) {
        double luma = sums[0] / count, mask = sums[1] / count, squares = sums[2] / count, products = sums[3] / count;
        double slope = (products - luma * mask) / (squares - luma * luma + p.epsilon);
        p.lines[at(p, x, y)] = slope;
        p.lines[cells(p) + at(p, x, y)] = mask - slope * luma;
    });
}

extern "C" __global__ void __launch_bounds__(256) line_means(const __grid_constant__ Guide p) {
    const auto add = [&](double(&sums)[2], uint32_t row, uint32_t x) {
        sums[0] += p.lines[at(p, x, row)];
        sums[1] += p.lines[cells(p) + at(p, x, row)];
    };
    windows<2>(p, add, [&](uint32_t x, uint32_t y, const double(&sums)[2], double count) {
        p.filters[at(p, x, y)] = static_cast<float>(sums[0] / count);
        p.filters[cells(p) + at(p, x, y)] = static_cast<float>(sums[1] / count);
    });
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

// 0 to 255, without its fraction, in the last bits; 0 for NaN, which fmaxf takes for 0.
__device__ __forceinline__ uint32_t byte(float v) {
    return __float_as_uint(__fadd_rz(fminf(fmaxf(v, 0.0f), 255.0f), WHOLE)) & 255;
}

// Byte number `i` of a word.
__device__ __forceinline__ float number(uint32_t word, uint32_t i) {
    return __uint_as_float(__byte_perm(word, __float_as_uint(WHOLE), 0x7440 | i)) - WHOLE;
}

// Number `i` of the first N values, without an index into memory.
template <uint32_t N>
__device__ __forceinline__ float pick(const float* values, uint32_t i) {
    float v = values[0];
#pragma unroll
    for (uint32_t k = 1; k < N; k++) v = i == k ? values[k] : v;
    return v;
}

// A row of N cells: slopes, then offsets. Cells beyond the last one are as that.
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

    // From each cell to the next one.
    __device__ __forceinline__ Filters<N - 1> steps() const {
        Filters<N - 1> to;
        for (uint32_t k = 0; k + 1 < N; k++) {
            to.slopes[k] = slopes[k + 1] - slopes[k];
            to.offsets[k] = offsets[k + 1] - offsets[k];
        }
        return to;
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
    uint32_t first = columns[WORD * threadIdx.x].first, loaded = 0xffffffffu, cell[WORD];
    float weights[WORD];
#pragma unroll
    for (uint32_t i = 0; i < WORD; i++) {
        Between own = columns[WORD * threadIdx.x + i];
        cell[i] = own.first - first;
        weights[i] = own.weight;
    }
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
        Filters<N - 1> steps = between_rows.steps();
        uint64_t begin = static_cast<uint64_t>(top + k) * p.width + x;
        uint32_t luma = 0, mask = 0;
        if (whole && count > 0) luma = word(p.luma + begin);
        for (uint32_t i = 0; !whole && i < count; i++) luma |= p.luma[begin + i] << 8 * i;
#pragma unroll
        for (uint32_t i = 0; i < WORD; i++) {
            float slope = pick<N - 1>(between_rows.slopes, cell[i]) + pick<N - 1>(steps.slopes, cell[i]) * weights[i];
            float offset = pick<N - 1>(between_rows.offsets, cell[i]) + pick<N - 1>(steps.offsets, cell[i]) * weights[i];
            uint32_t v = byte(slope * number(luma, i) + offset * 255.0f + 0.5f);
            mask |= (v < p.least ? 0 : v) << 8 * i;
        }
        if (whole && count > 0) *reinterpret_cast<uint32_t*>(p.to + begin) = mask;
        for (uint32_t i = 0; !whole && i < count; i++) p.to[begin + i] = mask >> 8 * i;
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
