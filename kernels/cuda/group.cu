// From peaks to instances: kernels/src/group. Both kernels read the records that a search (peaks.cu) left in device memory,
// however many there are, and write to the host's pinned memory, and to device memory the rest that does not fit there.
//
// paf_*: a block scores all lines of one edge in one frame. It gathers the peaks of the edge's two points, ranks them by
// strength (of more than `top_k` the strongest remain) and deals the pairs out to its threads, one at a time: some 10
// samples of the field along the line between the peaks. A line's place follows from its edge and the ranks of its first and
// second peak, so lines need neither be counted nor sorted. Shape: edges x frames blocks of 256 threads.
//
// displacements_*: a thread is a root: from one peak it walks the tree and writes all points of its instance, at the
// peak's record number. Shape: blocks of 64 threads, as many as keep the device busy, which take records in turns.
//
// Bytes: 16 a record for each edge; two values a sample, most of them from the cache; 8 a line. 16 a point of a root.
#include "peaks.cuh"

constexpr uint32_t THREADS = 256, MOST_POINTS = 128, MOST_EDGES = 128, MOST_SAMPLES = 32, MOST_PEAKS = 256;
constexpr uint32_t ROOT_THREADS = 64, MOST_PARTS = 64;

struct Line {
    float score;
    uint32_t counts;  // samples that are high, and 65536 times those that are not finite
};

struct Edge {
    uint16_t from, to;
    uint32_t channel;  // of the field's x
};

// Elements from one frame, channel, row and column of an output to the next.
struct Strides {
    uint64_t frame;
    uint32_t channel, row, column;
};

struct Lines {
    Records records;
    const void* fields;
    Line* near;         // [frames][near_size]
    Line* far;          // [frames][far_size]
    uint32_t* counts;   // [frames][points], at most top_k each
    double scale[2], first[2];              // of the maps: tensor pixels a cell, and the first one's centre
    double field_scale[2], field_first[2];  // of the fields
    Strides strides;
    uint32_t field_width, field_height;
    float max_length, length_weight, min_sample;
    uint32_t points, edges, top_k, samples, interpolate;
    uint32_t near_size, far_size;
    float at[MOST_SAMPLES];
    Edge edge[MOST_EDGES];
};
static_assert(sizeof(Lines) == 1376, "as in src/group/paf/cuda.rs");

struct End {
    float cell[2], at[2];
};

// Greater for stronger peaks and, among equals, for earlier ones: the order of choose.rs.
__device__ __forceinline__ uint64_t strength(const Found& found) {
    const uint32_t bits = __float_as_uint(found.value);
    return uint64_t(bits >> 31 ? ~bits : bits | 0x80000000) << 32 | uint32_t(~found.element);
}

template <typename T>
__device__ __forceinline__ float field_at(const Lines& p, const T* field, int x, int y) {
    return value_of(field[y * p.strides.row + x * p.strides.column]);
}

template <typename T>
__device__ __forceinline__ float sample(const Lines& p, const T* field, float x, float y) {
    const float right = p.field_width - 1, bottom = p.field_height - 1;
    if (!p.interpolate) {
        return field_at(p, field, fminf(fmaxf(rintf(x), 0.0f), right), fminf(fmaxf(rintf(y), 0.0f), bottom));
    }
    x = fminf(fmaxf(x, 0.0f), right), y = fminf(fmaxf(y, 0.0f), bottom);
    const float fx = x - floorf(x), fy = y - floorf(y);
    const int x0 = floorf(x), x1 = min(x0 + 1, int(right)), y0 = floorf(y), y1 = min(y0 + 1, int(bottom));
    const float above = field_at(p, field, x0, y0) * (1.0f - fx) + field_at(p, field, x1, y0) * fx;
    const float below = field_at(p, field, x0, y1) * (1.0f - fx) + field_at(p, field, x1, y1) * fx;
    return above * (1.0f - fy) + below * fy;
}

// Computes in the order of lines.rs.
template <typename T>
__device__ __forceinline__ Line score(const Lines& p, const T* field, const End& a, const End& b) {
    const float way_x = b.at[0] - a.at[0], way_y = b.at[1] - a.at[1];
    const float length = sqrtf(way_x * way_x + way_y * way_y);
    if (!(length > 0)) return Line{NAN_VALUE, 0};
    const float unit_x = way_x / length, unit_y = way_y / length;
    const float range = 1.0f + 1.1920929e-07f;
    const float slope_x = (b.cell[0] - a.cell[0]) / range, slope_y = (b.cell[1] - a.cell[1]) / range;
    float sum = 0;
    uint32_t counts = 0;
#pragma unroll 4
    for (uint32_t i = 0; i < p.samples; ++i) {
        const float x = a.cell[0] + slope_x * p.at[i], y = a.cell[1] + slope_y * p.at[i];
        const float along = sample(p, field, x, y), across = sample(p, field + p.strides.channel, x, y);
        if (finite(along) && finite(across)) {
            const float projection = along * unit_x + across * unit_y;
            sum += projection;
            counts += projection > p.min_sample;
        } else {
            counts += 1 << 16;
        }
    }
    const float penalty = fminf(p.max_length / length - 1.0f, 0.0f) * p.length_weight;
    return Line{sum / float(p.samples) + penalty, counts};
}

template <typename T>
__device__ __forceinline__ void score_edge(const Lines& p) {
    __shared__ uint64_t keys[2][MOST_PEAKS];
    __shared__ uint32_t numbers[2][MOST_PEAKS];  // of their records
    __shared__ End ends[2][MOST_PEAKS];
    __shared__ uint32_t counts[MOST_POINTS], sizes[2], histogram[THREADS], missing;
    __shared__ uint64_t weakest;
    const Records& records = p.records;
    const uint32_t e = blockIdx.x, frame = blockIdx.y, total = records.count();
    const Edge edge = p.edge[e];
    const uint32_t channels[2] = {edge.from, edge.to};
    for (uint32_t c = threadIdx.x; c < p.points; c += THREADS) counts[c] = 0;
    if (threadIdx.x < 2) sizes[threadIdx.x] = 0;
    __syncthreads();
    // The channel of a record, if it is a peak of this frame.
    const auto channel_of = [&](const Found& found) {
        const bool here = found.element != NONE && records.frame(found.element) == frame;
        return here ? records.channel(found.element) : NONE;
    };
    for (uint32_t i = threadIdx.x; i < total; i += THREADS) {
        const Found& found = records.at(i);
        const uint32_t channel = channel_of(found);
        if (channel >= p.points) continue;
        atomicAdd(&counts[channel], 1);
#pragma unroll
        for (uint32_t side = 0; side < 2; ++side) {
            if (channel != channels[side]) continue;
            const uint32_t at = atomicAdd(&sizes[side], 1);
            if (at < MOST_PEAKS) keys[side][at] = strength(found), numbers[side][at] = i;
        }
    }
    __syncthreads();
    // Of too many peaks the strongest remain: the weakest of these is found eight bits at a time. Hardly ever needed.
    for (uint32_t side = 0; side < 2; ++side) {
        if (sizes[side] <= MOST_PEAKS) continue;
        // `missing`: how many of the peaks that begin with the bits of `weakest` that are known must still be chosen.
        if (threadIdx.x == 0) weakest = 0, missing = p.top_k;
        __syncthreads();
        for (uint32_t shift = 56; missing; shift -= 8) {
            histogram[threadIdx.x] = 0;
            __syncthreads();
            const auto begins_alike = [&](uint64_t s) { return shift == 56 || (s ^ weakest) >> (shift + 8) == 0; };
            for (uint32_t i = threadIdx.x; i < total; i += THREADS) {
                const Found& found = records.at(i);
                const uint64_t mine = strength(found);
                if (channel_of(found) == channels[side] && begins_alike(mine)) atomicAdd(&histogram[mine >> shift & 255], 1);
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                uint32_t digit = 255;
                for (; histogram[digit] < missing; --digit) missing -= histogram[digit];
                weakest |= uint64_t(digit) << shift;
                if (histogram[digit] == missing) missing = 0;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) sizes[side] = 0;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < total; i += THREADS) {
            const Found& found = records.at(i);
            if (channel_of(found) != channels[side] || strength(found) < weakest) continue;
            const uint32_t at = atomicAdd(&sizes[side], 1);
            keys[side][at] = strength(found), numbers[side][at] = i;
        }
        __syncthreads();
    }
    for (uint32_t i = threadIdx.x; i < sizes[0] + sizes[1]; i += THREADS) {
        const uint32_t side = i >= sizes[0], mine = i - (side ? sizes[0] : 0);
        uint32_t rank = 0;
        for (uint32_t j = 0; j < sizes[side]; ++j) rank += keys[side][j] > keys[side][mine];
        if (rank >= p.top_k) continue;
        const Found& found = records.at(numbers[side][mine]);
        const uint32_t cell = records.cell(found.element), row = cell / records.width;
        const double at[2] = {double(cell - row * records.width) + found.dx, double(row) + found.dy};
#pragma unroll
        for (uint32_t axis = 0; axis < 2; ++axis) {
            const double pixel = p.scale[axis] * at[axis] + p.first[axis];
            ends[side][rank].at[axis] = float(pixel);
            ends[side][rank].cell[axis] = float((pixel - p.field_first[axis]) / p.field_scale[axis]);
        }
    }
    __syncthreads();
    const auto kept = [&](uint32_t channel) { return min(counts[channel], p.top_k); };
    uint32_t before = 0;
    for (uint32_t i = 0; i < e; ++i) before += kept(p.edge[i].from) * kept(p.edge[i].to);
    if (e == 0) {
        for (uint32_t c = threadIdx.x; c < p.points; c += THREADS) p.counts[frame * p.points + c] = kept(c);
    }
    const uint32_t second = kept(channels[1]), pairs = kept(channels[0]) * second;
    const T* field = static_cast<const T*>(p.fields) + frame * p.strides.frame + edge.channel * p.strides.channel;
    for (uint32_t k = threadIdx.x; k < pairs; k += THREADS) {
        const Line line = score(p, field, ends[0][k / second], ends[1][k % second]);
        const uint32_t at = before + k;
        if (at < p.near_size) {
            p.near[uint64_t(frame) * p.near_size + at] = line;
        } else {
            p.far[uint64_t(frame) * p.far_size + (at - p.near_size)] = line;
        }
    }
}

// A point of an instance: in tensor pixels, and the map's value there.
struct alignas(16) Part {
    float x, y, value;
    uint32_t non_finite;  // values that counted as 0 on the way to the point
};

struct Roots {
    Records records;
    const void* maps;
    const void* offsets;
    const void* to_child;
    const void* to_parent;
    Part* near;  // [near_size][points]
    Part* far;
    double scale[2], first[2];
    Strides map, offset, child, parent;
    uint32_t width, height, points, edges, near_size, far_size;
    uint8_t from[MOST_PARTS], to[MOST_PARTS];
};
static_assert(sizeof(Roots) == 384, "as in src/group/displacements/cuda.rs");

// A value of an output at a cell, 0 and counted where it is not finite.
template <typename T>
__device__ __forceinline__ double read(const void* output, const Strides& strides, uint32_t frame, uint32_t channel,
                                       uint32_t x, uint32_t y, uint32_t& bad) {
    const T* values = static_cast<const T*>(output) + frame * strides.frame + channel * strides.channel;
    const float v = value_of(values[y * strides.row + x * strides.column]);
    bad += !finite(v);
    return finite(v) ? v : 0.0f;
}

// The cell nearest to a place; a half is rounded up.
__device__ __forceinline__ uint32_t nearest(double place, double scale, uint32_t size) {
    return uint32_t(fmin(fmax(floor(place / scale + 0.5), 0.0), double(size - 1)));
}

// Computes in the order of decode.rs; places are relative to the first cell's centre.
template <typename T>
__device__ __forceinline__ void walk(const Roots& p, const Found& root, Part* parts) {
    const Records& records = p.records;
    const uint32_t frame = records.frame(root.element), cell = records.cell(root.element);
    const uint32_t start = records.channel(root.element);
    double places[MOST_PARTS][2];
    uint64_t known = uint64_t(1) << start;
    uint32_t bad = 0;
    const uint32_t x = cell % p.width, y = cell / p.width;
    const auto refine = [&](uint32_t point, uint32_t x, uint32_t y, uint32_t& bad) {
        const double across = read<T>(p.offsets, p.offset, frame, p.points + point, x, y, bad);
        const double down = read<T>(p.offsets, p.offset, frame, point, x, y, bad);
        places[point][0] = p.scale[0] * x + across, places[point][1] = p.scale[1] * y + down;
    };
    const auto put = [&](uint32_t point, float value, uint32_t bad) {
        parts[point] = Part{float(places[point][0] + p.first[0]), float(places[point][1] + p.first[1]), value, bad};
    };
    refine(start, x, y, bad);
    put(start, root.value, bad);
    for (uint32_t step = 0; step < 2 * p.edges; ++step) {
        const bool up = step < p.edges;
        const uint32_t edge = up ? p.edges - 1 - step : step - p.edges;
        const uint32_t source = up ? p.to[edge] : p.from[edge], target = up ? p.from[edge] : p.to[edge];
        if (!(known >> source & 1) || known >> target & 1) continue;
        known |= uint64_t(1) << target;
        uint32_t bad = 0;
        const uint32_t at_x = nearest(places[source][0], p.scale[0], p.width);
        const uint32_t at_y = nearest(places[source][1], p.scale[1], p.height);
        const void* displacements = up ? p.to_parent : p.to_child;
        const Strides& strides = up ? p.parent : p.child;
        const double across = read<T>(displacements, strides, frame, p.edges + edge, at_x, at_y, bad);
        const double down = read<T>(displacements, strides, frame, edge, at_x, at_y, bad);
        places[target][0] = places[source][0] + across, places[target][1] = places[source][1] + down;
        for (uint32_t i = 0; i < 2; ++i) {
            refine(target, nearest(places[target][0], p.scale[0], p.width),
                   nearest(places[target][1], p.scale[1], p.height), bad);
        }
        const uint32_t to_x = nearest(places[target][0], p.scale[0], p.width);
        const uint32_t to_y = nearest(places[target][1], p.scale[1], p.height);
        const T* map = static_cast<const T*>(p.maps) + frame * p.map.frame + target * p.map.channel;
        put(target, value_of(map[to_y * p.map.row + to_x * p.map.column]), bad);
    }
}

template <typename T>
__device__ __forceinline__ void decode_roots(const Roots& p) {
    const uint32_t total = p.records.count();
    for (uint32_t i = blockIdx.x * ROOT_THREADS + threadIdx.x; i < total; i += gridDim.x * ROOT_THREADS) {
        const Found& root = p.records.at(i);
        if (root.element == NONE) continue;
        const uint64_t at = uint64_t(i < p.near_size ? i : i - p.near_size) * p.points;
        walk<T>(p, root, (i < p.near_size ? p.near : p.far) + at);
    }
}

#define KERNELS(type, T)                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) paf_##type(const __grid_constant__ Lines p) {            \
        score_edge<T>(p);                                                                                         \
    }                                                                                                             \
    extern "C" __global__ void __launch_bounds__(ROOT_THREADS) displacements_##type(const __grid_constant__ Roots p) { \
        decode_roots<T>(p);                                                                                       \
    }
KERNELS(float32, float)
KERNELS(float16, half_t)
