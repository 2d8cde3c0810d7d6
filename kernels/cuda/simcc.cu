// The maximum of each vector of SimCC's two outputs (kernels/src/keypoints): [N, K, Wx] and [N, K, Wy] to 2 * N * K
// maxima, in one launch.
//
// Memory: both outputs dense, float32 or float16; maxima in pinned host memory, x and y of a point side by side.
// Moves at least: both outputs, once; 16 bytes a vector.
// A warp takes a vector, each lane every 32nd cell. A key holds the value and, lower cells first, the cell, so that no two
// are equal.
// Launch: blocks of 128 threads, a warp for each of the 2 * N * K vectors.
#include "prelude.cuh"

constexpr uint32_t WARPS = 4, ALL = 0xffffffffu, NONE = 0xffffffffu;

struct Maximum {
    float value;
    uint32_t cell;  // NONE if no value is finite
    uint32_t non_finite;
    uint32_t unused;
};

struct Parameters {
    uint64_t scores[2];  // along x and y
    Maximum* maxima;
    uint32_t cells[2];
    uint32_t vectors;  // of both together
    uint32_t unused;
};

static_assert(sizeof(Maximum) == 16 && sizeof(Parameters) == 40, "kernels/src/keypoints/cuda/simcc.rs says the same");

__device__ __forceinline__ float load(const float* at) { return __ldg(at); }
__device__ __forceinline__ float load(const half_t* at) {
    return to_float(half_t{__ldg(reinterpret_cast<const uint16_t*>(at))});
}

// Ascending with the value, then descending with the cell; 0 for a value that is not finite.
__device__ __forceinline__ uint64_t key_of(float value, uint32_t cell) {
    uint32_t bits = __float_as_uint(value + 0.0f);  // -0 is 0
    if ((bits & 0x7f800000u) == 0x7f800000u) return 0;
    uint32_t ordered = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    return static_cast<uint64_t>(ordered) << 32 | ~cell;
}

template <class T>
__device__ __forceinline__ void search(const T* scores, uint32_t cells, Maximum* to) {
    uint64_t best = 0;
    uint32_t bad = 0;
    for (uint32_t c = threadIdx.x % 32; c < cells; c += 32) {
        uint64_t key = key_of(load(scores + c), c);
        bad += key == 0;
        if (key > best) best = key;
    }
    for (uint32_t step = 16; step > 0; step /= 2) {
        uint64_t other = __shfl_xor_sync(ALL, best, step);
        if (other > best) best = other;
        bad += __shfl_xor_sync(ALL, bad, step);
    }
    if (threadIdx.x % 32 != 0) return;
    uint32_t ordered = static_cast<uint32_t>(best >> 32);
    Maximum maximum{0.0f, NONE, bad, 0};
    if (best != 0) {
        maximum.value = __uint_as_float(ordered ^ (ordered >> 31 ? 0x80000000u : 0xffffffffu));
        maximum.cell = ~static_cast<uint32_t>(best);
    }
    *to = maximum;
}

template <class X, class Y>
__device__ __forceinline__ void simcc(const Parameters& p) {
    uint32_t vector = blockIdx.x * WARPS + threadIdx.x / 32;
    if (vector >= p.vectors) return;
    uint64_t point = vector / 2;
    Maximum* to = p.maxima + vector;
    if (vector % 2 == 0) {
        search(reinterpret_cast<const X*>(p.scores[0]) + point * p.cells[0], p.cells[0], to);
    } else {
        search(reinterpret_cast<const Y*>(p.scores[1]) + point * p.cells[1], p.cells[1], to);
    }
}

#define KERNEL(x, X, y, Y)                                                                                       \
    extern "C" __global__ void __launch_bounds__(32 * WARPS) simcc_##x##_##y(const __grid_constant__ Parameters p) { \
        simcc<X, Y>(p);                                                                                          \
    }
KERNEL(float32, float, float32, float)
KERNEL(float32, float, float16, half_t)
KERNEL(float16, half_t, float32, float)
KERNEL(float16, half_t, float16, half_t)
