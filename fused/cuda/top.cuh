// The best of many: the indices of the COUNT largest or smallest numbers of a row, the best first; of equal ones those with lower indices.
//
// A block takes a row. Numbers become keys, unsigned integers in the order of how good they are; each thread keeps its own in registers, or
// reads them again where there are too many (KEPT). Bit by bit, the block counts how many keys are at least as large as a threshold, until
// that is the key of the last one that is taken; then, of those equal to it, how many come before an index. What is taken is gathered in
// shared memory, where its place is the number of those that are better.
//   begin(row)           where a row begins;   read(b, at)   a number;   write(b, row, rank, index)

// Larger ones are better; 0 is NaN, which is worse than all.
template <bool LARGEST> __device__ __forceinline__ unsigned key_of(float x) {
    // -0 is equal to 0.
    const unsigned bits = unsigned(__float_as_int(x + 0.f));
    const unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
    return x != x ? 0u : LARGEST ? key : ~key;
}

// The sum of the numbers of all threads, for all of them.
template <int WARPS> __device__ __forceinline__ int total(int x, int* memory) {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
        x += __shfl_xor_sync(~0u, x, lane);
    }
    if constexpr (WARPS > 1) {
        __syncthreads();
        if (threadIdx.x % 32 == 0) {
            memory[threadIdx.x / 32] = x;
        }
        __syncthreads();
        x = 0;
#pragma unroll
        for (int warp = 0; warp < WARPS; ++warp) {
            x += memory[warp];
        }
    }
    return x;
}

template <class S> __device__ __forceinline__ void top(const Buffers& b) {
    constexpr int LOADS = (S::LENGTH + S::THREADS - 1) / S::THREADS, WARPS = S::THREADS / 32;
    __shared__ int counts[WARPS], taken, indices[S::COUNT];
    __shared__ unsigned keys[S::COUNT];
    next_begins();
    previous_wait();
    const int begin = S::begin(blockIdx.x);
    // Beyond the row, keys are 0.
    auto read = [&](int load) {
        const int i = threadIdx.x + load * S::THREADS;
        return i < S::LENGTH ? key_of<S::LARGEST>(S::read(b, begin + i * S::STRIDE)) : 0u;
    };
    unsigned kept[S::KEPT ? LOADS : 1];
    if constexpr (S::KEPT) {
#pragma unroll
        for (int load = 0; load < LOADS; ++load) {
            kept[load] = read(load);
        }
    }
    // How many keys are larger than this one, or equal to it and before an index.
    auto count = [&](unsigned than, int before) {
        int found = 0;
#pragma unroll S::KEPT ? LOADS : 4
        for (int load = 0; load < LOADS; ++load) {
            const unsigned key = S::KEPT ? kept[S::KEPT ? load : 0] : read(load);
            found += key > than || (key == than && int(threadIdx.x) + load * S::THREADS < before) ? 1 : 0;
        }
        return total<WARPS>(found, counts);
    };
    unsigned threshold = 0;
    int end = S::LENGTH;
    if constexpr (S::COUNT < S::LENGTH) {
#pragma unroll 1
        for (unsigned bit = 1u << 31; bit > 0; bit /= 2) {
            threshold = count((threshold | bit) - 1, 0) >= S::COUNT ? threshold | bit : threshold;
        }
        if (count(threshold, end) > S::COUNT) {
            end = 0;
#pragma unroll 1
            for (int bit = S::LENGTH_BIT; bit > 0; bit /= 2) {
                end = count(threshold, end | bit) <= S::COUNT ? end | bit : end;
            }
        }
    }
    if (threadIdx.x == 0) {
        taken = 0;
    }
    __syncthreads();
#pragma unroll S::KEPT ? LOADS : 4
    for (int load = 0; load < LOADS; ++load) {
        const int i = threadIdx.x + load * S::THREADS;
        const unsigned key = S::KEPT ? kept[S::KEPT ? load : 0] : read(load);
        if (i < S::LENGTH && (key > threshold || (key == threshold && i < end))) {
            const int at = atomicAdd(&taken, 1);
            keys[at] = key;
            indices[at] = i;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int at = threadIdx.x; at < S::COUNT; at += S::THREADS) {
        int rank = 0;
#pragma unroll 4
        for (int other = 0; other < S::COUNT; ++other) {
            const bool is_better = keys[other] > keys[at] || (keys[other] == keys[at] && indices[other] < indices[at]);
            rank += is_better ? 1 : 0;
        }
        S::write(b, blockIdx.x, rank, indices[at]);
    }
}
