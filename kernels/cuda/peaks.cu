// Maxima of confidence maps, and where between the cells they lie: kernels/src/peaks.
//
// Layout: `elements` values of T, dense; a batch's frames one after the other, as if they were channels. Channels lie
// side by side `step` at a time: 1 (nchw, a row is one channel) or all of a frame's (nhwc). So the cell to the right is
// `step` elements on, the one below `width * step`, in both layouts, and an element's number determines its frame, channel
// and cell.
//
// local_*: a thread loads `vectors` times 16 bytes (128 threads side by side) and compares with the gate, which almost no
// cell passes. Those that do are dealt out among the block's threads, because they come in clusters: one cell a thread, which
// looks at the cell's neighbours and, if it is a maximum, refines and appends it.
// global_*: a thread takes the greatest of up to 8 elements of one channel, a warp (nchw) or thread (nhwc) offers it to
// the channel, and the last block to finish refines and appends each channel's.
//
// Bytes: the maps, once; 32 a peak. Shape: blocks of 128 threads; local as many as 128 * vectors * 16 bytes cover the
// maps, global as many a plane as 128 * 8 elements cover it. One launch.
//
// Appending: a count in device memory hands out places, the first `near_size` in the host's pinned memory, the others
// in device memory. A record carries the launch's number, so that the host sees which records are new without the
// count. Two headers take turns, each with the frames' counts of values that are not finite, and a launch clears the
// header of the next one, so that no other work has to. The host sorts the records.
#include "activate.cuh"
#include "peaks.cuh"

struct Params {
    const void* map;
    Found* near;
    Found* far;
    Found* copy;  // of `near`, in device memory, for a kernel after this one; or null
    Header* headers;
    uint32_t* non_finite;  // [2][frames]
    uint64_t* best;        // global: by channel, 0 is none; all 0 between launches
    const void* offsets;   // refinement 4: of the map's type, two numbers a cell, across and down
    double offset_scale;   // of an offset, in pixels of the input
    double stride[2];      // pixels of a cell
    uint64_t launch;
    uint32_t near_size, far_size;
    uint32_t frames, frame_elements;  // frames there is room for, and the elements of each
    uint32_t elements, channels;      // of all frames together
    uint32_t width, height, step;
    uint32_t head;     // local: elements before the first address that 16 divides
    uint32_t vectors;  // local: a thread's loads
    uint32_t lanes;    // global: threads side by side, a multiple of step
    float gate;
    uint32_t refinement;    // 0 none, 1 quadratic, 2 integral, 3 shift, 4 offsets
    uint32_t searched;      // channels of a frame that are searched; NONE: all
    uint32_t offsets_last;  // whether both numbers of a cell lie side by side, as the channels of nhwc
};

constexpr uint32_t THREADS = 128, MOST = 4, EACH = 8;

// Element number `e` of 16 bytes.
template <typename T>
__device__ __forceinline__ float lane_of(uint4 raw, uint32_t e);
template <>
__device__ __forceinline__ float lane_of<float>(uint4 raw, uint32_t e) {
    const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
    return __uint_as_float(words[e]);
}
template <>
__device__ __forceinline__ float lane_of<half_t>(uint4 raw, uint32_t e) {
    const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
    return to_float(half_t{uint16_t(words[e / 2] >> (e % 2 * 16))});
}

__device__ __forceinline__ uint32_t reserve(const Params& p) {
    return atomicAdd(&p.headers[p.launch & 1].found, 1);
}

__device__ __forceinline__ void put(const Params& p, uint32_t at, uint32_t element, float value, double dx, double dy) {
    Found* to = p.near + at;
    if (at >= p.near_size) {
        if (at - p.near_size >= p.far_size) return;
        to = p.far + (at - p.near_size);
    }
    const Found found{element, value, dx, dy, p.launch};
    *to = found;
    if (p.copy && at < p.near_size) p.copy[at] = found;
}

// Adds the values of a warp that are not finite to its frames' counts; all its threads call it. Bit b of a thread's `bits` stands
// for element first + b / run * jump + b % run, and `other` is one more element or NONE. True for the thread that made the
// launch's first count. Not inlined, because it is hardly ever needed.
__device__ __noinline__ bool add_non_finite(Header* header, uint32_t* counts, uint32_t frame_elements, uint32_t bits,
                                            uint32_t first, uint32_t run, uint32_t jump, uint32_t other) {
    bool is_first = false;
    for (uint32_t b = 0; b <= 32; ++b) {
        const bool bad = b < 32 ? bits >> b & 1 : other != NONE;
        const uint32_t frame = (b < 32 ? first + b / run * jump + b % run : other) / frame_elements;
        // One turn for each frame: nearly always one, more where a warp reads several small maps.
        uint32_t left = __ballot_sync(~0u, bad);
        while (left) {
            const uint32_t leader = __ffs(left) - 1, its = __shfl_sync(~0u, frame, leader);
            const uint32_t same = __ballot_sync(~0u, bad && frame == its);
            if (threadIdx.x % 32 == leader) {
                atomicAdd(&counts[its], __popc(same));
                is_first |= atomicAdd(&header->non_finite, __popc(same)) == 0;
            }
            left &= ~same;
        }
    }
    return is_first;
}

// All threads of a warp call it. The launch's first count appends a record, so that the host knows that it must read the counts.
__device__ __forceinline__ void count_non_finite(const Params& p, uint32_t bits, uint32_t first, uint32_t run,
                                                 uint32_t jump, uint32_t other) {
    if (!__any_sync(~0u, bits != 0 || other != NONE)) return;
    const uint32_t turn = p.launch & 1;
    uint32_t* counts = p.non_finite + turn * p.frames;
    if (add_non_finite(p.headers + turn, counts, p.frame_elements, bits, first, run, jump, other)) {
        put(p, reserve(p), NONE, 0, 0, 0);
    }
}

// A cell of the map and those around it.
template <typename T>
struct Place {
    const T* here;
    int right, down;                           // elements to the next cell
    int before_x, after_x, before_y, after_y;  // cells there are on each side

    __device__ Place(const Params& p, uint32_t element) {
        const uint32_t row = p.width * p.step, y = element / row, x = (element - y * row) / p.step;
        here = static_cast<const T*>(p.map) + element;
        right = p.step, down = row;
        before_x = x, after_x = p.width - 1 - x;
        before_y = y % p.height, after_y = p.height - 1 - before_y;
    }

    // NaN outside the map.
    __device__ __forceinline__ float at(int dx, int dy) const {
        const bool inside = -dx <= before_x && dx <= after_x && -dy <= before_y && dy <= after_y;
        return inside ? value_of(here[dy * down + dx * right]) : NAN_VALUE;
    }

    // Above its earlier neighbours and at least as great as the later ones; a neighbour that is not finite does not count.
    __device__ bool is_maximum(float v) const {
        bool beaten = false;
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            const float n = at(k % 3 - 1, k / 3 - 1);
            if (k != 4) beaten |= (k < 4 ? n >= v : n > v) & (n < INFINITE);
        }
        return !beaten;
    }
};

// The vertex of a parabola, as in refine.rs.
template <bool LOGITS>
__device__ __forceinline__ double vertex(float before, float here, float after) {
    if (!(finite(before) && finite(here) && finite(after))) return 0;
    const double a = activate<LOGITS>(before), b = activate<LOGITS>(here), c = activate<LOGITS>(after);
    const double curvature = a - 2.0 * b + c;
    return curvature >= 0 ? 0 : fmin(fmax(0.5 * (a - c) / curvature, -0.5), 0.5);
}

// The offset of a cell along an axis, in cells, as in offsets.rs.
template <typename T>
__device__ __forceinline__ double offset_of(const Params& p, uint32_t element, uint32_t axis) {
    const uint32_t frame = element / p.frame_elements, within = element % p.frame_elements;
    const uint32_t cells = p.width * p.height;
    const uint64_t at = p.offsets_last ? 2 * uint64_t(within) + axis
                                       : (2 * uint64_t(within / cells) + axis) * cells + within % cells;
    const float v = value_of(static_cast<const T*>(p.offsets)[uint64_t(frame) * 2 * p.frame_elements + at]);
    return finite(v) ? v * p.offset_scale / p.stride[axis] : 0;
}

// Refines a maximum, in the order of refine.rs, and appends it.
template <bool LOGITS, typename T>
__device__ __forceinline__ void report(const Params& p, const Place<T>& place, uint32_t element, float v) {
    const uint32_t at = reserve(p);  // first, because it takes as long as the rest
    double dx = 0, dy = 0;
    if (p.refinement == 1) {
        dx = vertex<LOGITS>(place.at(-1, 0), v, place.at(1, 0));
        dy = vertex<LOGITS>(place.at(0, -1), v, place.at(0, 1));
    } else if (p.refinement == 2) {
        float around[25];
#pragma unroll
        for (int k = 0; k < 25; ++k) around[k] = place.at(k % 5 - 2, k / 5 - 2);
        double sum = 0, sum_x = 0, sum_y = 0;
#pragma unroll
        for (int k = 0; k < 25; ++k) {
            // A missing neighbour adds 0, which changes no sum.
            const double w = finite(around[k]) ? activate<LOGITS>(around[k]) : 0;
            sum += w;
            sum_x += w * (k % 5 - 2);
            sum_y += w * (k / 5 - 2);
        }
        if (sum > 0) {
            dx = fmin(fmax(sum_x / sum, -2.0), 2.0);
            dy = fmin(fmax(sum_y / sum, -2.0), 2.0);
        }
    }
    if (p.refinement == 3) {
        // A missing neighbour is NaN, and compares false.
        const float left = place.at(-1, 0), right = place.at(1, 0), above = place.at(0, -1), below = place.at(0, 1);
        if (finite(left) && finite(right)) dx = 0.25 * ((right > left) - (right < left));
        if (finite(above) && finite(below)) dy = 0.25 * ((below > above) - (below < above));
    }
    if (p.refinement == 4) {
        dx = offset_of<T>(p, element, 0);
        dy = offset_of<T>(p, element, 1);
    }
    put(p, at, element, v, dx, dy);
}

__device__ __forceinline__ void clear_next_header(const Params& p) {
    if (blockIdx.x) return;
    const uint32_t turn = ~p.launch & 1;
    if (threadIdx.x == 0) p.headers[turn] = Header{0, 0, 0, 0};
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < p.frames; i += THREADS) p.non_finite[turn * p.frames + i] = 0;
}

// Whether the element's channel is searched.
__device__ __forceinline__ bool is_searched(const Params& p, uint32_t element) {
    if (p.searched == NONE) return true;
    const uint32_t within = element % p.frame_elements;
    return within / (p.width * p.height * p.step) * p.step + within % p.step < p.searched;
}

template <typename T, bool LOGITS>
__device__ __forceinline__ void local(const Params& p) {
    constexpr uint32_t N = 16 / sizeof(T);
    // Elements that pass the gate, relative to the block's first: those of its loads, and less than one load before or after.
    __shared__ short passed[(THREADS * MOST + 2) * N];
    __shared__ uint32_t count;
    clear_next_header(p);
    if (threadIdx.x == 0) count = 0;
    const uint32_t size = (p.elements - p.head) / N;
    const uint32_t first = blockIdx.x * p.vectors * THREADS, start = p.head + first * N;
    const T* map = static_cast<const T*>(p.map) + start;
    const uint4* whole = reinterpret_cast<const uint4*>(map) + threadIdx.x;
    uint4 raw[MOST];
#pragma unroll
    for (uint32_t u = 0; u < MOST; ++u) {
        if (u < p.vectors && first + u * THREADS + threadIdx.x < size) raw[u] = whole[u * THREADS];
    }
    __syncthreads();
    uint32_t high = 0, bad = 0;
#pragma unroll
    for (uint32_t u = 0; u < MOST; ++u) {
        if (u < p.vectors && first + u * THREADS + threadIdx.x < size) {
#pragma unroll
            for (uint32_t e = 0; e < N; ++e) {
                const float v = lane_of<T>(raw[u], e);
                if (v >= p.gate) high |= 1u << (u * N + e);
                if (!finite(v)) bad |= 1u << (u * N + e);
            }
        }
    }
    if (high) {
        uint32_t at = atomicAdd(&count, __popc(high));
        do {
            const uint32_t bit = __ffs(high) - 1;
            high &= high - 1;
            passed[at++] = (bit / N * THREADS + threadIdx.x) * N + bit % N;
        } while (high);
    }
    // The first block takes the elements before the loads, the last one those after them: threads 0 to 7, and from 8 on.
    const bool before = blockIdx.x == 0 && threadIdx.x < p.head;
    const uint32_t after = p.head + size * N + threadIdx.x - 8;
    uint32_t bad_there = NONE;
    if (before || (blockIdx.x == gridDim.x - 1 && threadIdx.x >= 8 && after < p.elements)) {
        const int i = before ? int(threadIdx.x) - int(p.head) : int(after - start);
        const float v = value_of(map[i]);
        if (v >= p.gate) passed[atomicAdd(&count, 1)] = i;
        if (!finite(v)) bad_there = start + i;
    }
    count_non_finite(p, bad, start + threadIdx.x * N, N, THREADS * N, bad_there);
    __syncthreads();
    const uint32_t n = count;
    for (uint32_t k = threadIdx.x; k < n; k += THREADS) {
        const int i = passed[k];
        const float v = value_of(map[i]);
        const Place<T> place(p, start + i);
        if (finite(v) && place.is_maximum(v) && is_searched(p, start + i)) report<LOGITS>(p, place, start + i, v);
    }
}

// Greater for greater values and, among equal ones, for earlier elements; never 0. Zeros of both signs are equal.
__device__ __forceinline__ uint64_t key_of(float v, uint32_t element) {
    const uint32_t bits = __float_as_uint(v + 0.0f);
    return uint64_t(bits >> 31 ? ~bits : bits | 0x80000000) << 32 | uint32_t(~element);
}

template <typename T, bool LOGITS>
__device__ __forceinline__ void global(const Params& p) {
    clear_next_header(p);
    const T* map = static_cast<const T*>(p.map);
    const uint32_t size = p.width * p.height * p.step, planes = p.elements / size;
    const uint32_t blocks = gridDim.x / planes, plane = blockIdx.x / blocks;
    const uint32_t thread = (blockIdx.x - plane * blocks) * THREADS + threadIdx.x;
    const uint32_t lane = thread % p.lanes, first = thread / p.lanes * p.lanes * EACH + lane;
    float values[EACH];
#pragma unroll
    for (uint32_t j = 0; j < EACH; ++j) {
        const uint32_t i = first + j * p.lanes;
        values[j] = i < size ? value_of(map[plane * size + i]) : 0;
    }
    uint64_t best = 0;
    uint32_t bad = 0;
#pragma unroll
    for (uint32_t j = 0; j < EACH; ++j) {
        const uint32_t i = first + j * p.lanes;
        const float v = values[j];
        if (!finite(v)) bad |= 1u << j;
        if (i < size && finite(v) && v >= p.gate) {
            const uint64_t key = key_of(v, plane * size + i);
            best = key > best ? key : best;
        }
    }
    count_non_finite(p, bad, plane * size + first, 1, p.lanes, NONE);
    if (p.step == 1) {
        for (int d = 16; d; d /= 2) {
            const uint64_t other = __shfl_down_sync(~0u, best, d);
            best = other > best ? other : best;
        }
        if (threadIdx.x % 32) best = 0;
    }
    uint64_t* of_channel = p.best + plane * p.step + lane % p.step;
    // Most keys are below the best already, and reading is cheaper than an atomic.
    if (best > *static_cast<volatile uint64_t*>(of_channel)) atomicMax(of_channel, best);

    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&p.headers[p.launch & 1].blocks_done, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (uint32_t c = threadIdx.x; c < p.channels; c += THREADS) {
        const uint64_t key = *static_cast<volatile uint64_t*>(p.best + c);
        if (!key) continue;
        p.best[c] = 0;
        const uint32_t i = ~uint32_t(key), bits = uint32_t(key >> 32);
        if (!is_searched(p, i)) continue;
        report<LOGITS>(p, Place<T>(p, i), i, __uint_as_float(bits >> 31 ? bits & 0x7fffffff : ~bits));
    }
}

#define KERNEL(search, type, T, values, LOGITS)                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) search##_##type##_##values(const Params p) { \
        search<T, LOGITS>(p);                                                                          \
    }
#define KERNELS(search)                            \
    KERNEL(search, float32, float, scores, false)  \
    KERNEL(search, float32, float, logits, true)   \
    KERNEL(search, float16, half_t, scores, false) \
    KERNEL(search, float16, half_t, logits, true)
KERNELS(local)
KERNELS(global)
