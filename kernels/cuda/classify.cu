// The best classes of each row of scores (kernels/src/classify): [N, C] to the top k of N rows, in one launch.
//
// Memory: scores dense, float32 or float16; results in pinned host memory: one `Row` a row, then `kept` keys a row.
// Moves at least: the scores once; the turns after the first read them from L1 or L2.
// A block takes a row. A key holds the score and, lower classes first, the class, so that no two are equal. Up to FEW keys
// are found in turns: in each, all threads look for the largest key below the last one, so that nothing has to be remembered
// or sorted. More keys are selected by radix: the bytes of the least key to keep are found one at a time, from the highest;
// then all keys from that one on are written, in no order, and the host sorts them.
// Launch: blocks of 256 threads, grid N.
#include "prelude.cuh"

constexpr uint32_t THREADS = 256, WARPS = THREADS / 32, FEW = 16, ALL = 0xffffffffu, DIGITS = 256;

struct Row {
    double sum;           // softmax: of exp(score - best score)
    double total;         // of the finite scores
    uint32_t non_finite;  // scores
    uint32_t outside;     // finite scores below 0 or above 1
    uint32_t found;       // keys; up to FEW descend
    uint32_t unused;
};

struct Parameters {
    uint64_t scores;
    Row* rows;
    uint64_t* keys;
    uint32_t classes, kept, softmax, unused;
};

static_assert(sizeof(Row) == 32 && sizeof(Parameters) == 40, "kernels/src/classify/cuda.rs says the same");
static_assert(THREADS == DIGITS, "each thread clears a digit");

__device__ __forceinline__ float load(const float* at) { return __ldg(at); }
__device__ __forceinline__ float load(const half_t* at) {
    return to_float(half_t{__ldg(reinterpret_cast<const uint16_t*>(at))});
}

// Ascending with the score, then descending with the class; 0 for a score that is not finite.
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

// Joins the values of all threads, and returns the result in all threads. `shared` has room for a value a warp.
template <class T, class Join>
__device__ __forceinline__ T across_block(T value, T* shared, Join join) {
    for (uint32_t step = 16; step > 0; step /= 2) value = join(value, __shfl_xor_sync(ALL, value, step));
    __syncthreads();  // all threads have read the previous values
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (uint32_t warp = 1; warp < WARPS; ++warp) value = join(value, shared[warp]);
    return value;
}

// Writes the `kept` greatest keys, or all where there are fewer, in no order; returns their number in all threads. `finite` is
// the number of keys.
template <class T>
__device__ __forceinline__ uint32_t select(const Parameters& p, const T* scores, uint32_t finite, uint64_t* chosen) {
    __shared__ uint32_t digits[DIGITS], digit, left_in_digit, taken;
    __shared__ bool whole;
    uint64_t least = 0, known = 0;  // the bytes of the least key to keep that are known, and a mask of them
    uint32_t left = p.kept;
    for (int32_t shift = 56; shift >= 0 && finite > p.kept; shift -= 8) {
        digits[threadIdx.x] = 0;
        __syncthreads();
        for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
            uint64_t key = key_of(load(scores + c), c);
            if (key != 0 && (key & known) == least) atomicAdd(&digits[key >> shift & (DIGITS - 1)], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t at = DIGITS - 1, rest = left;
            for (; at > 0 && digits[at] < rest; --at) rest -= digits[at];
            digit = at;
            left_in_digit = rest;
            whole = digits[at] == rest;
        }
        __syncthreads();
        least |= static_cast<uint64_t>(digit) << shift;
        known |= static_cast<uint64_t>(DIGITS - 1) << shift;
        left = left_in_digit;
        if (whole) break;
    }
    if (threadIdx.x == 0) taken = 0;
    __syncthreads();
    for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
        uint64_t key = key_of(load(scores + c), c);
        if (key != 0 && key >= least) chosen[atomicAdd(&taken, 1u)] = key;
    }
    __syncthreads();
    return taken;
}

template <class T>
__device__ __forceinline__ void classify(const Parameters& p) {
    __shared__ uint64_t keys[WARPS];
    __shared__ double sums[WARPS];
    __shared__ uint32_t counts[WARPS];
    const T* scores = reinterpret_cast<const T*>(p.scores) + static_cast<uint64_t>(blockIdx.x) * p.classes;
    uint64_t* chosen = p.keys + static_cast<uint64_t>(blockIdx.x) * p.kept;
    uint64_t best = 0;
    uint32_t bad = 0, outside = 0;
    double total = 0.0;
    for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
        float score = load(scores + c);
        uint64_t key = key_of(score, c);
        if (key > best) best = key;
        bad += key == 0;
        if (key == 0) continue;
        outside += score < 0.0f || score > 1.0f;
        total += static_cast<double>(score);
    }
    const uint64_t highest = across_block(best, keys, Largest());
    bad = across_block(bad, counts, Sum());
    outside = across_block(outside, counts, Sum());
    total = across_block(total, sums, Sum());
    uint32_t found = 0;
    if (p.kept > FEW) {
        found = select(p, scores, p.classes - bad, chosen);
    } else {
        for (uint64_t below = highest; below != 0;) {
            if (threadIdx.x == 0) chosen[found] = below;
            if (++found == p.kept) break;
            best = 0;
            for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
                uint64_t key = key_of(load(scores + c), c);
                if (key < below && key > best) best = key;
            }
            below = across_block(best, keys, Largest());
        }
    }
    double sum = 0.0;
    if (p.softmax) {
        for (uint32_t c = threadIdx.x; c < p.classes; c += THREADS) {
            uint64_t key = key_of(load(scores + c), c);
            if (key != 0) sum += exp(static_cast<double>(score_of(key)) - static_cast<double>(score_of(highest)));
        }
        sum = across_block(sum, sums, Sum());
    }
    if (threadIdx.x == 0) p.rows[blockIdx.x] = {sum, total, bad, outside, found, 0};
}

extern "C" __global__ void __launch_bounds__(THREADS) classify_float32(const __grid_constant__ Parameters p) {
    classify<float>(p);
}

extern "C" __global__ void __launch_bounds__(THREADS) classify_float16(const __grid_constant__ Parameters p) {
    classify<half_t>(p);
}
