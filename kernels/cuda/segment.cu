// Masks from logits: kernels/src/segment, whose cpu.rs and value.rs do the same to each value in the same order.
//
// Layout: `channels` values a cell, `cells` cells. wide_* and single_*: a cell's channels lie `channel_step` apart, cells
// `cell_step`; the state lies channel by channel. tiles_*: channels lie side by side, in the logits and in the state.
//
// wide_*: a thread takes 16 bytes of neighbouring cells (8 float16, 4 float32) through all channels, GROUP of them in
// flight at a time; cell_step is 1, and 16 bytes divide everything. single_*: a thread takes one cell, for odd sizes and
// addresses and where little is read or much computed. tiles_*: a block smooths the values of `tile` cells in their order in
// memory and keeps them in shared memory, where a thread then takes a cell.
//
// *_argmax: the first greatest channel. *_value: one channel by itself; `logits` is its first value. *_softmax: the share of
// `channel` in all. *_map: class numbers in place of logits; those that a byte cannot hold become 0, and are counted instead of
// values that are not finite. NaN in the state means that there is none, as in the first frame (`fresh`).
//
// Bytes: logits once, state read and written, a byte a cell. Launch: 128 threads; as many as cover the cells, a block a tile.
#include "prelude.cuh"

// How many values were not finite, and the number that was last reported to the host.
struct Counts {
    uint64_t total, reported;
};

struct Params {
    const void* logits;
    void* state;  // none: no smoothing
    uint8_t* mask;
    Counts* counts;
    volatile uint64_t* on_host;  // on the host
    uint32_t cells, channels, cell_step, channel_step;
    uint32_t channel;
    uint32_t fresh;
    float keep, take;  // shares of the state and the value
    float gate;        // threshold of the value or probability; no value reaches NaN
    uint32_t output;   // one of Output
    uint32_t tile;     // cells
    uint32_t aligned;  // tiles: logits and state are aligned to 16 bytes
};

static_assert(sizeof(Params) == 88, "as in src/segment/cuda/mod.rs");

// What becomes of a value or a probability: 0 or 1, a byte, or float32, `mask` being those.
enum Output : uint32_t { GATED, SOFT, SOFT_SIGMOID, VALUES, VALUES_SIGMOID };
enum Task : uint32_t { ARGMAX, VALUE, SOFTMAX };
constexpr uint32_t THREADS = 128, GROUP = 8;
#define INFINITE __int_as_float(0x7f800000)

__device__ __forceinline__ float value_of(float v) { return v; }
__device__ __forceinline__ float value_of(half_t v) { return to_float(v); }
__device__ __forceinline__ void put(float v, float* to) { *to = v; }
__device__ __forceinline__ void put(float v, half_t* to) { *to = to_half(v); }
__device__ __forceinline__ bool finite(float v) { return fabsf(v) < INFINITE; }

// The functions of value.rs.
__device__ __forceinline__ float exp_of(float x) {
    const float round = 12582912.0f;
    const float shifted = x * 1.442695f + round;
    const float n = shifted - round;
    float r = x - n * 0.6933594f;
    r = r - n * -2.1219444e-4f;
    float p = 1.9875691e-4f;
    p = p * r + 1.3981999e-3f;
    p = p * r + 8.333452e-3f;
    p = p * r + 4.1665796e-2f;
    p = p * r + 1.6666666e-1f;
    p = p * r + 0.5f;
    const float y = p * (r * r) + r + 1.0f;
    const float scale = __uint_as_float((__float_as_uint(shifted) - __float_as_uint(round) + 127u) << 23);
    return x > 88.0f ? INFINITE : x >= -87.0f ? y * scale : 0.0f;
}

__device__ __forceinline__ float share(float v, float of) { return exp_of(v == of ? 0.0f : v - of); }

__device__ __forceinline__ uint8_t byte_of(float p) {
    // fmaxf takes 0 for NaN.
    return static_cast<uint8_t>(fminf(fmaxf(p * 255.0f + 0.5f, 0.0f), 255.0f));
}

__device__ __forceinline__ float blend(const Params& p, float old, float v) {
    const float r = p.keep * old + p.take * v;
    // `r` is finite only where both are.
    return finite(r) ? r : !finite(old) ? v : v != v ? old : r;
}

__device__ __forceinline__ void write_probability(const Params& p, uint32_t cell, float v) {
    if (p.output >= VALUES) reinterpret_cast<float*>(p.mask)[cell] = v;
    else p.mask[cell] = p.output == GATED ? v >= p.gate : byte_of(v);
}

__device__ __forceinline__ void write_value(const Params& p, uint32_t cell, float v) {
    const bool sigmoid = p.output == SOFT_SIGMOID || p.output == VALUES_SIGMOID;
    write_probability(p, cell, sigmoid && v == v ? 1.0f / (1.0f + exp_of(-v)) : v);
}

__device__ __forceinline__ void write_share(const Params& p, uint32_t cell, float of, float sum) {
    write_probability(p, cell, of != of ? of : 1.0f / sum);
}

// The unit that is loaded and stored at once: 16 bytes, or one value.
template <typename T>
struct Wide {
    typedef T Type;
    static constexpr uint32_t LANES = 16 / sizeof(T);
    union {
        uint4 raw;
        T lanes[LANES];
    };
    // Logits are read once: they must not push the state out of the cache.
    __device__ __forceinline__ void load_once(const T* from) { raw = __ldcs(reinterpret_cast<const uint4*>(from)); }
    __device__ __forceinline__ void load(const T* from) { raw = *reinterpret_cast<const uint4*>(from); }
    __device__ __forceinline__ void store(T* to) const { *reinterpret_cast<uint4*>(to) = raw; }
};

template <typename T>
struct Single {
    typedef T Type;
    static constexpr uint32_t LANES = 1;
    T lanes[1];
    __device__ __forceinline__ void load_once(const T* from) { lanes[0] = *from; }
    __device__ __forceinline__ void load(const T* from) { lanes[0] = *from; }
    __device__ __forceinline__ void store(T* to) const { *to = lanes[0]; }
};

// Whether no exponent is full: 0x7c00, with the sign's bit left out, carries into that bit.
__device__ __forceinline__ uint32_t carries(uint4 of) {
    const auto carry = [](uint32_t pair) { return (pair & 0x7fff7fff) + 0x04000400; };
    return carry(of.x) | carry(of.y) | carry(of.z) | carry(of.w);
}
__device__ __forceinline__ bool all_finite(const Wide<half_t>& v) { return !(carries(v.raw) & 0x80008000); }
// A check of the exponents first is not worth it here: memory takes the time.
template <typename P>
__device__ __forceinline__ bool all_finite(const P&) { return false; }

// Counts, smooths and rounds loaded values; `old` is the state, and `v` receives the values.
// PLAIN: both are finite, and there is a state.
template <bool SMOOTH, bool PLAIN, typename P>
__device__ __forceinline__ void take_each(const Params& p, P& raw, const P& old, float (&v)[P::LANES], uint32_t& bad) {
#pragma unroll
    for (uint32_t l = 0; l < P::LANES; ++l) {
        v[l] = value_of(raw.lanes[l]);
        if (!PLAIN) bad += !finite(v[l]);
        if (SMOOTH) {
            const float smooth = PLAIN     ? p.keep * value_of(old.lanes[l]) + p.take * v[l]
                                 : p.fresh ? v[l]
                                           : blend(p, value_of(old.lanes[l]), v[l]);
            put(smooth, &raw.lanes[l]);
            v[l] = value_of(raw.lanes[l]);
        }
    }
}

template <bool SMOOTH, typename P>
__device__ __forceinline__ void take(const Params& p, P& raw, const P& old, float (&v)[P::LANES], uint32_t& bad) {
    if (SMOOTH && !p.fresh && all_finite(raw) && all_finite(old)) {
        take_each<SMOOTH, true>(p, raw, old, v, bad);
    } else {
        take_each<SMOOTH, false>(p, raw, old, v, bad);
    }
}

// LANES bytes at once.
template <uint32_t LANES>
__device__ __forceinline__ void write(uint8_t* to, const uint8_t (&bytes)[LANES]) {
    if constexpr (LANES == 1) {
        *to = bytes[0];
    } else {
#pragma unroll
        for (uint32_t w = 0; w < LANES / 4; ++w) {
            const uint8_t* b = bytes + 4 * w;
            reinterpret_cast<uint32_t*>(to)[w] = b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
        }
    }
}

// Reports to the host how many values were not finite up to an earlier launch, and adds this one's. All threads call it.
__device__ __forceinline__ void count(const Params& p, uint32_t bad) {
    if (__any_sync(~0u, bad != 0)) {
        for (int far = 16; far; far /= 2) bad += __shfl_xor_sync(~0u, bad, far);
        if (threadIdx.x % 32 == 0) atomicAdd(&p.counts->total, static_cast<uint64_t>(bad));
    }
}

__device__ __forceinline__ void tell(const Params& p) {
    if (blockIdx.x || threadIdx.x) return;
    const uint64_t total = *const_cast<volatile uint64_t*>(&p.counts->total);
    if (total != p.counts->reported) *p.on_host = p.counts->reported = total;
}

template <typename P, Task TASK, bool SMOOTH>
__device__ __forceinline__ uint32_t planes(const Params& p) {
    typedef typename P::Type T;
    constexpr uint32_t LANES = P::LANES, AT_ONCE = TASK == VALUE ? 1 : GROUP;
    const uint32_t first = (blockIdx.x * THREADS + threadIdx.x) * LANES;
    if (first >= p.cells) return 0;
    const T* logits = static_cast<const T*>(p.logits) + first * p.cell_step;
    T* state = static_cast<T*>(p.state) + first;
    const uint32_t channels = TASK == VALUE ? 1 : p.channels;
    float best[LANES], sums[LANES], v[LANES];
    uint32_t classes[LANES], bad = 0;
#pragma unroll
    for (uint32_t l = 0; l < LANES; ++l) best[l] = -INFINITE, sums[l] = 0.0f, classes[l] = 0;
    if (TASK == SOFTMAX) {
        P raw, old;
        uint32_t counted_later = 0;
        raw.load(logits + p.channel * p.channel_step);
        if (SMOOTH && !p.fresh) old.load(state + p.channel * p.cells);
        take<SMOOTH>(p, raw, old, best, counted_later);
    }
    for (uint32_t group = 0; group < channels; group += AT_ONCE) {
        P raw[AT_ONCE], old[AT_ONCE];
#pragma unroll
        for (uint32_t u = 0; u < AT_ONCE; ++u) {
            if (group + u >= channels) break;
            raw[u].load_once(logits + (group + u) * p.channel_step);
            if (SMOOTH && !p.fresh) old[u].load(state + (group + u) * p.cells);
        }
#pragma unroll
        for (uint32_t u = 0; u < AT_ONCE; ++u) {
            if (group + u >= channels) break;
            take<SMOOTH>(p, raw[u], old[u], v, bad);
            if (SMOOTH) raw[u].store(state + (group + u) * p.cells);
#pragma unroll
            for (uint32_t l = 0; l < LANES; ++l) {
                if (TASK == SOFTMAX) sums[l] += share(v[l], best[l]);
                if (TASK == ARGMAX && v[l] > best[l]) best[l] = v[l], classes[l] = group + u;
            }
        }
    }
    if constexpr (TASK == ARGMAX) {
        uint8_t bytes[LANES];
#pragma unroll
        for (uint32_t l = 0; l < LANES; ++l) bytes[l] = static_cast<uint8_t>(classes[l]);
        write(p.mask + first, bytes);
    } else {
#pragma unroll
        for (uint32_t l = 0; l < LANES; ++l) {
            if (TASK == VALUE) write_value(p, first + l, v[l]);
            else write_share(p, first + l, best[l], sums[l]);
        }
    }
    return bad;
}

// Smooths `n` values of a tile, from number `at` on in memory, into shared memory.
template <typename P, bool SMOOTH>
__device__ __forceinline__ uint32_t stage(const Params& p, uint32_t at, uint32_t n, typename P::Type* to) {
    typedef typename P::Type T;
    constexpr uint32_t AT_ONCE = 4;
    const T* logits = static_cast<const T*>(p.logits) + at;
    T* state = static_cast<T*>(p.state) + at;
    uint32_t bad = 0;
    for (uint32_t group = threadIdx.x * P::LANES; group < n; group += AT_ONCE * THREADS * P::LANES) {
        P raw[AT_ONCE], old[AT_ONCE];
#pragma unroll
        for (uint32_t u = 0; u < AT_ONCE; ++u) {
            const uint32_t i = group + u * THREADS * P::LANES;
            if (i >= n) break;
            raw[u].load_once(logits + i);
            if (SMOOTH && !p.fresh) old[u].load(state + i);
        }
#pragma unroll
        for (uint32_t u = 0; u < AT_ONCE; ++u) {
            const uint32_t i = group + u * THREADS * P::LANES;
            if (i >= n) break;
            float v[P::LANES];
            take<SMOOTH>(p, raw[u], old[u], v, bad);
            if (SMOOTH) raw[u].store(state + i);
            raw[u].store(to + i);
        }
    }
    return bad;
}

template <typename T, Task TASK, bool SMOOTH>
__device__ __forceinline__ uint32_t tiles(const Params& p) {
    extern __shared__ uint4 shared[];
    T* values = reinterpret_cast<T*>(shared);
    const uint32_t first = blockIdx.x * p.tile, cells = min(p.tile, p.cells - first);
    const uint32_t at = first * p.channels, n = cells * p.channels;
    // The last tile may end within 16 bytes.
    const uint32_t whole = p.aligned ? n / Wide<T>::LANES * Wide<T>::LANES : 0;
    uint32_t bad = stage<Wide<T>, SMOOTH>(p, at, whole, values);
    bad += stage<Single<T>, SMOOTH>(p, at + whole, n - whole, values + whole);
    __syncthreads();
    for (uint32_t cell = threadIdx.x; cell < cells; cell += THREADS) {
        const T* of_cell = values + cell * p.channels;
        const float of = value_of(of_cell[TASK == SOFTMAX ? p.channel : 0]);
        float best = -INFINITE, sum = 0.0f;
        uint32_t greatest = 0;
        for (uint32_t c = 0; c < p.channels; ++c) {
            const float v = value_of(of_cell[c]);
            if (TASK == SOFTMAX) sum += share(v, of);
            if (TASK == ARGMAX && v > best) best = v, greatest = c;
        }
        if (TASK == ARGMAX) p.mask[first + cell] = static_cast<uint8_t>(greatest);
        else write_share(p, first + cell, of, sum);
    }
    return bad;
}

template <typename T, bool SMOOTH>
__device__ __forceinline__ uint32_t numbers(const Params& p) {
    const uint32_t cell = blockIdx.x * THREADS + threadIdx.x;
    if (cell >= p.cells) return 0;
    const long long number = static_cast<const T*>(p.logits)[cell];
    const bool outside = number < 0 || number > 255;
    p.mask[cell] = outside ? 0 : static_cast<uint8_t>(number);
    return outside;
}

#define KERNEL(name, work, ...)                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS) name(const __grid_constant__ Params p) { \
        tell(p);                                                                                   \
        count(p, p.state ? work<__VA_ARGS__, true>(p) : work<__VA_ARGS__, false>(p));              \
    }
#define KERNELS(type, T)                                      \
    KERNEL(wide_argmax_##type, planes, Wide<T>, ARGMAX)       \
    KERNEL(single_argmax_##type, planes, Single<T>, ARGMAX)   \
    KERNEL(single_value_##type, planes, Single<T>, VALUE)     \
    KERNEL(single_softmax_##type, planes, Single<T>, SOFTMAX) \
    KERNEL(tiles_argmax_##type, tiles, T, ARGMAX)             \
    KERNEL(tiles_softmax_##type, tiles, T, SOFTMAX)
KERNELS(float32, float)
KERNELS(float16, half_t)
KERNEL(single_map_int64, numbers, long long)
KERNEL(single_map_int32, numbers, int)
KERNEL(single_map_uint8, numbers, uint8_t)
KERNEL(single_map_bool, numbers, uint8_t)
KERNEL(single_map_int8, numbers, signed char)
