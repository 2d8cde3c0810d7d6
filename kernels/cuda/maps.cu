// A map of numbers or a picture of three channels (kernels/src/maps): a summary of its numbers, and video of them.
//
// Memory: the tensor dense, float32, float16 or uint8, its elements cell_step and channel_step apart; one `Summary` a block
// of `measure`, then one of all, which `finish` writes to device memory and to pinned host memory; video in rows `stride`
// bytes apart, 2 bytes a pixel of a map, 3 of a picture.
// `measure`: threads take the region's numbers in strides; grid up to 256 blocks of 256 threads. `finish`: one block
// of 256 threads, a block's summary each, so that sums are always added in the same order. `paint`: a thread makes a pixel;
// 32x8 threads, grid = ceil(width / 32), ceil(height / 8).
// Moves at least: the tensor once, and where there is video, its pixels once; `paint` reads the tensor mostly from L2.
#include "prelude.cuh"

constexpr uint32_t THREADS = 256;

struct Summary {
    double sum;
    float min, max;
    uint64_t finite, non_finite, out_of_range;
};

// The two cells between whose centres a pixel lies: see kernels/src/maps/place.rs.
struct Axis {
    int64_t step, start;
    uint32_t first, last, cells, unused;
};

struct Params {
    const void* values;
    Summary* blocks;
    Summary* all;
    Summary* on_host;
    uint8_t* out;
    uint64_t stride;
    Axis axes[2];
    uint32_t region[4];  // left, top, width, height
    uint32_t size[2];    // of the video
    uint32_t width, channels, cell_step, channel_step;
    uint32_t fixed, swapped, count, unused;  // count: blocks of `measure`
    float mean[3], std[3];
    float min, scale, most;  // of a fixed range
    float last_unused;
};

static_assert(sizeof(Summary) == 40 && sizeof(Axis) == 32 && sizeof(Params) == 208, "as in src/maps/cuda.rs");

__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ bool is_finite(float v) { return fabsf(v) < infinity(); }

__device__ __forceinline__ float load(const float* values, uint32_t i) { return values[i]; }
__device__ __forceinline__ float load(const half_t* values, uint32_t i) { return to_float(values[i]); }
__device__ __forceinline__ float load(const uint8_t* values, uint32_t i) { return static_cast<float>(values[i]); }

template <class T>
__device__ __forceinline__ float number(const Params& p, uint32_t channel, uint32_t x, uint32_t y) {
    const float value = load(static_cast<const T*>(p.values), (y * p.width + x) * p.cell_step + channel * p.channel_step);
    return p.channels == 1 ? value : value * p.std[channel] + p.mean[channel];
}

__device__ __forceinline__ float level(float min, float scale, float number) {
    return floorf((number - min) * scale + 0.5f);
}

__device__ __forceinline__ Summary nothing() { return {0.0, infinity(), -infinity(), 0, 0, 0}; }

__device__ __forceinline__ void add(Summary& to, const Summary& from) {
    to.sum += from.sum;
    to.min = fminf(to.min, from.min);
    to.max = fmaxf(to.max, from.max);
    to.finite += from.finite;
    to.non_finite += from.non_finite;
    to.out_of_range += from.out_of_range;
}

// The sum of the block's summaries, in thread 0.
__device__ Summary of_block(const Summary& own) {
    __shared__ Summary all[THREADS];
    all[threadIdx.x] = own;
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) add(all[threadIdx.x], all[threadIdx.x + half]);
    }
    return all[0];
}

template <class T>
__device__ __forceinline__ void measure(const Params& p) {
    const uint32_t cells = p.region[2] * p.region[3];
    Summary found = nothing();
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < cells; i += gridDim.x * THREADS) {
        const uint32_t x = p.region[0] + i % p.region[2], y = p.region[1] + i / p.region[2];
        for (uint32_t channel = 0; channel < p.channels; ++channel) {
            const float v = number<T>(p, channel, x, y);
            if (!is_finite(v)) {
                ++found.non_finite;
                continue;
            }
            found.min = fminf(found.min, v);
            found.max = fmaxf(found.max, v);
            found.sum += v;
            ++found.finite;
            if (p.fixed) {
                const float sample = level(p.min, p.scale, v);
                found.out_of_range += !(sample >= 0.0f && sample <= p.most);
            }
        }
    }
    const Summary sum = of_block(found);
    if (threadIdx.x == 0) p.blocks[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) finish(const __grid_constant__ Params p) {
    const Summary sum = of_block(threadIdx.x < p.count ? p.blocks[threadIdx.x] : nothing());
    if (threadIdx.x == 0) {
        *p.all = sum;
        *p.on_host = sum;
    }
}

struct Taps {
    bool inside;
    uint32_t first, second;
    float weight;
    __device__ __forceinline__ Taps(const Axis& axis, uint32_t pixel) {
        const int64_t place = axis.step * pixel + axis.start, cell = (place - (1ll << 31)) >> 32;
        const int64_t low = axis.first, high = axis.last;
        inside = place >> 32 >= 0 && place >> 32 < axis.cells;
        first = static_cast<uint32_t>(min(max(cell, low), high));
        second = static_cast<uint32_t>(min(max(cell + 1, low), high));
        weight = static_cast<float>(static_cast<uint32_t>((place - (1ll << 31)) >> 16) & 0xffffu) / 65536.0f;
    }
};

template <class T>
__device__ __forceinline__ float row(const Params& p, uint32_t channel, const Taps& across, uint32_t y) {
    const float a = number<T>(p, channel, across.first, y);
    if (across.weight == 0.0f) return a;
    return a * (1.0f - across.weight) + number<T>(p, channel, across.second, y) * across.weight;
}

template <class T>
__device__ __forceinline__ void paint(const Params& p) {
    const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.size[0] || y >= p.size[1]) return;
    float least = p.min, scale = p.scale;
    if (!p.fixed) {
        least = p.all->min;
        scale = p.all->max > least ? p.most / (p.all->max - least) : 0.0f;
    }
    const Taps across(p.axes[0], x), down(p.axes[1], y);
    uint8_t* to = p.out + y * p.stride + x * (p.channels == 1 ? 2 : 3);
    for (uint32_t at = 0; at < p.channels; ++at) {
        const uint32_t channel = p.swapped ? 2 - at : at;
        float sample = 0.0f;
        if (across.inside && down.inside) {
            float v = row<T>(p, channel, across, down.first);
            if (down.weight != 0.0f) {
                v = v * (1.0f - down.weight) + row<T>(p, channel, across, down.second) * down.weight;
            }
            const float found = level(least, scale, v);
            // NaN fails every comparison.
            if (is_finite(v) && found == found) sample = fminf(fmaxf(found, 0.0f), p.most);
        }
        const uint32_t bits = static_cast<uint32_t>(sample);
        if (p.channels == 1) {
            to[0] = static_cast<uint8_t>(bits);
            to[1] = static_cast<uint8_t>(bits >> 8);
        } else {
            to[at] = static_cast<uint8_t>(bits);
        }
    }
}

#define KERNELS(TYPE, NAME)                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) measure_##NAME(const __grid_constant__ Params p) {         \
        measure<TYPE>(p);                                                                                            \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS) paint_##NAME(const __grid_constant__ Params p) {           \
        paint<TYPE>(p);                                                                                              \
    }
KERNELS(float, float32)
KERNELS(half_t, float16)
KERNELS(uint8_t, uint8)
