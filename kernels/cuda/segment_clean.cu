// Clean-up of masks, dense, one byte a cell: kernels/src/segment/clean.rs.
//
// spread_*: the least or greatest of the square of `radius` around each cell, as far as it lies in the mask. Two launches open
// or close; the second one also decides what the cell becomes, from `own`, the original mask. A block takes 32x32 cells: it loads
// their surroundings to shared memory, and goes by rows, then by columns. Launch: 32x8 threads; grid = tiles.
//
// begin, join, measure, remove_small, in this order: areas of one class, connected to all 8 neighbours, by union-find on labels
// in device memory (Komura, Computer Physics Communications 2015). A cell's label is a cell of the same area that does not
// come after it; the first cell of an area has itself. begin labels the runs of a warp's 32 cells of a row, join links runs that
// touch, measure counts cells at the first one of the area, and remove_small clears. Launch: 32x8 threads, a cell each.
//
// Bytes: a few a cell, and 8 more for labels and areas.
#include "prelude.cuh"

struct Spread {
    const uint8_t* from;
    uint8_t* own;
    uint8_t* to;
    uint32_t width, height, radius;
    uint32_t end;  // what the second launch completes: an End
};
static_assert(sizeof(Spread) == 40, "as in src/segment/cuda/clean.rs");

enum End : uint32_t { NEITHER, OPENING, CLOSING };
constexpr uint32_t TILE = 32, ROWS = 8, MOST_RADIUS = 32, SIDE = TILE + 2 * MOST_RADIUS;

template <bool LEAST>
__device__ __forceinline__ uint32_t pick(uint32_t a, uint32_t b) {
    return LEAST ? min(a, b) : max(a, b);
}

template <bool LEAST>
__device__ __forceinline__ void spread(const Spread& p) {
    __shared__ uint8_t around[SIDE * SIDE], rows[SIDE * TILE];
    const uint32_t thread = threadIdx.y * TILE + threadIdx.x, threads = TILE * ROWS;
    const uint32_t side = TILE + 2 * p.radius, window = 2 * p.radius + 1;
    const int left = blockIdx.x * TILE - p.radius, top = blockIdx.y * TILE - p.radius;
    for (uint32_t i = thread; i < side * side; i += threads) {
        const int x = left + static_cast<int>(i % side), y = top + static_cast<int>(i / side);
        const bool inside = x >= 0 && y >= 0 && x < static_cast<int>(p.width) && y < static_cast<int>(p.height);
        around[i] = inside ? p.from[y * p.width + x] : LEAST ? 255 : 0;
    }
    __syncthreads();
    for (uint32_t i = thread; i < side * TILE; i += threads) {
        const uint8_t* first = around + i / TILE * side + i % TILE;
        uint32_t v = first[0];
        for (uint32_t k = 1; k < window; ++k) v = pick<LEAST>(v, first[k]);
        rows[i] = v;
    }
    __syncthreads();
    const uint32_t x = blockIdx.x * TILE + threadIdx.x;
    for (uint32_t row = threadIdx.y; row < TILE; row += ROWS) {
        const uint32_t y = blockIdx.y * TILE + row;
        if (x >= p.width || y >= p.height) continue;
        uint32_t v = rows[row * TILE + threadIdx.x];
        for (uint32_t k = 1; k < window; ++k) v = pick<LEAST>(v, rows[(row + k) * TILE + threadIdx.x]);
        const uint32_t cell = y * p.width + x;
        if (p.end == OPENING) v = v ? p.own[cell] : 0;
        if (p.end == CLOSING) {
            const uint32_t own = p.own[cell], grown = around[(row + p.radius) * side + threadIdx.x + p.radius];
            v = own ? own : v ? grown : 0;
        }
        p.to[cell] = v;
    }
}

extern "C" __global__ void __launch_bounds__(256) spread_least(const __grid_constant__ Spread p) { spread<true>(p); }
extern "C" __global__ void __launch_bounds__(256) spread_greatest(const __grid_constant__ Spread p) { spread<false>(p); }

struct Areas {
    uint8_t* mask;
    uint32_t* labels;
    uint32_t* areas;  // by first cell
    uint32_t width, height, least, soft;
};
static_assert(sizeof(Areas) == 40, "as in src/segment/cuda/clean.rs");

constexpr uint32_t NONE = 0xffffffff;

struct Cell {
    uint32_t x, y, i;
    bool inside;
    __device__ __forceinline__ Cell(const Areas& p)
        : x(blockIdx.x * TILE + threadIdx.x), y(blockIdx.y * ROWS + threadIdx.y), i(y * p.width + x),
          inside(x < p.width && y < p.height) {}
};

__device__ __forceinline__ uint32_t class_of(const Areas& p, uint32_t i) {
    return p.soft ? p.mask[i] >> 7 : p.mask[i];
}

__device__ __forceinline__ uint32_t label_of(const Areas& p, uint32_t i) {
    return *const_cast<volatile uint32_t*>(p.labels + i);
}

__device__ __forceinline__ uint32_t first_of(const Areas& p, uint32_t i) {
    for (uint32_t label; (label = label_of(p, i)) != i;) i = label;
    return i;
}

__device__ __forceinline__ void unite(const Areas& p, uint32_t a, uint32_t b) {
    a = first_of(p, a), b = first_of(p, b);
    while (a != b) {
        const uint32_t later = max(a, b), earlier = min(a, b);
        const uint32_t old = atomicMin(p.labels + later, earlier);
        // Another thread may have linked the later one meanwhile: then the cell it was linked to must be united as well.
        a = old == later ? earlier : old, b = earlier;
    }
}

extern "C" __global__ void __launch_bounds__(256) begin(const __grid_constant__ Areas p) {
    const Cell cell(p);
    const uint32_t lane = threadIdx.x, of = cell.inside ? class_of(p, cell.i) : 0;
    const uint32_t before = __shfl_up_sync(~0u, of, 1);
    const uint32_t starts = __ballot_sync(~0u, lane == 0 || before != of);
    if (!cell.inside) return;
    const uint32_t start = 31 - __clz(starts & ((2u << lane) - 1));
    p.labels[cell.i] = cell.i - (lane - start);
    p.areas[cell.i] = 0;
}

extern "C" __global__ void __launch_bounds__(256) join(const __grid_constant__ Areas p) {
    const Cell cell(p);
    if (!cell.inside) return;
    const uint32_t i = cell.i, of = class_of(p, i);
    if (of == 0) return;
    const bool has_left = cell.x > 0, has_right = cell.x + 1 < p.width;
    const bool left = has_left && class_of(p, i - 1) == of;
    if (left && cell.x % TILE == 0) unite(p, i, i - 1);
    if (cell.y == 0) return;
    const uint32_t up = i - p.width;
    const bool above_left = has_left && class_of(p, up - 1) == of;
    // Links that a neighbour in the row makes as well are left to that neighbour.
    if (class_of(p, up) == of) {
        if (!(left && above_left)) unite(p, i, up);
        return;
    }
    if (above_left && !left) unite(p, i, up - 1);
    if (has_right && class_of(p, up + 1) == of && class_of(p, i + 1) != of) unite(p, i, up + 1);
}

extern "C" __global__ void __launch_bounds__(256) measure(const __grid_constant__ Areas p) {
    const Cell cell(p);
    uint32_t first = NONE;
    if (cell.inside && class_of(p, cell.i) != 0) {
        first = first_of(p, cell.i);
        p.labels[cell.i] = first;
    }
    const uint32_t same = __match_any_sync(~0u, first);
    if (first == NONE || static_cast<uint32_t>(__ffs(same)) != threadIdx.x + 1) return;
    // The exact size of a large enough area does not matter.
    uint32_t* area = p.areas + first;
    if (*const_cast<volatile uint32_t*>(area) < p.least) atomicAdd(area, __popc(same));
}

extern "C" __global__ void __launch_bounds__(256) remove_small(const __grid_constant__ Areas p) {
    const Cell cell(p);
    if (cell.inside && class_of(p, cell.i) != 0 && p.areas[p.labels[cell.i]] < p.least) p.mask[cell.i] = 0;
}
