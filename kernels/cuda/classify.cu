// The best classes of each row of scores (kernels/src/classify): [N, C] to the top k of N rows, in one launch.
//
// Memory: scores dense, float32 or float16; results in pinned host memory, one `Row` a row.
// Moves at least: the scores once; the turns after the first read them from L1 or L2.
// A block takes a row. In turn k all its threads look for the largest key below that of turn k - 1; a key holds the score
// and, lower classes first, the class, so that no two are equal and nothing has to be remembered or sorted.
// Launch: blocks of 256 threads, grid N.
#include "prelude.cuh"

constexpr uint32_t THREADS = 256, WARPS = THREADS / 32, MOST = 16, ALL = 0xffffffffu;

struct Row {
    double sum;           // softmax: of exp(score - best score)
    uint32_t non_finite;  // scores
    uint32_t unused;
    uint64_t keys[MOST];  // descending, with a 0 behind the last if there are fewer than asked for
};

struct Parameters {
    uint64_t scores;
    Row* rows;
    uint32_t classes, top_k, softmax;
};

static_assert(sizeof(Row) == 144 && sizeof(Parameters) == 32, "kernels/src/classify/cuda.rs says the same");

__device__ __forceinline__ float load(const float* at) { return __ldg(at); }
__device__ __forceinline__ float load(const half_t* at) {
    return to_float(half_t{__ldg(reinterpret_cast<const uint16_t*>(at))});
}

// Ascending with the score, then descending with the class; 0 for what is not finite.
__device__ __forceinline__ uint64_t key_of(float score, uint32_t index) {
    uint32_t bits = __float_as_uint(score + 0.0f);  // -0 is 0
    if ((bits & 0x7f800000u) == 0x7f800000u) return 0;
    uint32_t ordered = bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
    return static_cast<uint64_t>(ordered) << 32 | ~index;
}

__device__ __forceinline__ float score_of(uint64_t key) {
    uint32_t ordered = static_cast<uint32_t>(key >> 32);
    return __uint_as_float(ordered ^ (ordered >> 31 ? 0x80000000u : 0xffffffffu));
}

struct Largest {
    __device__ __forceinline__ uint64_t operator()(uint64_t a, uint64_t b) const { return a > b ? a : b; }
};

struct Sum {
    template <class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a + b;
    }
};

// All threads' values as one, in all threads. `shared` has room for one a warp.
template <class T, class Join>
__device__ __forceinline__ T across_block(T value, T* shared, Join join) {
    for (uint32_t step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(ALL, value, step));
    __syncthreads();  // whoever read the last values is done
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (uint32_t warp = 1; warp < WARPS; ++warp) value = join(value, shared[warp]);
    return value;
}

template <class T>
__device__ __forceinline__ void classify(const Parameters& p) {
    __shared__ uint64_t keys[WARPS];
    __shared__ double sums[WARPS];
    __shared__ uint32_t counts[WARPS];
    const T* scores = reinterpret_cast<const T*>(p.scores) + static_cast<uint64_t>(blockIdx.x) * p.classes;
    Row& row = p.rows[blockIdx.x];
    uint64_t below = ~0ull, highest = 0;
    uint32_t bad = 0;
    for (uint32_t k = 0; k < p.top_k && below != 0; ++k) {
        uint64_t best = 0;
        for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
            uint64_t key = key_of(load(scores + c), c);
            bad += k == 0 && key == 0;
            if (key < below && key > best) best = key;
        }
        below = across_block(best, keys, Largest());
        if (k == 0) highest = below;
        if (threadIdx.x == 0) row.keys[k] = below;
    }
    bad = across_block(bad, counts, Sum());
    double sum = 0.0;
    if (p.softmax) {
        for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
            uint64_t key = key_of(load(scores + c), c);
            if (key != 0) sum += exp(static_cast<double>(score_of(key)) - static_cast<double>(score_of(highest)));
        }
        sum = across_block(sum, sums, Sum());
    }
    if (threadIdx.x == 0) {
        row.sum = sum;
        row.non_finite = bad;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) classify_float32(const __grid_constant__ Parameters p) {
    classify<float>(p);
}

extern "C" __global__ void __launch_bounds__(THREADS) classify_float16(const __grid_constant__ Parameters p) {
    classify<half_t>(p);
}
