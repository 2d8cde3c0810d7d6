// Dense convolutions as products of matrices, on tensor cores: float16, accumulated in float32, or integers of 8 bits, accumulated in int32.
//
// Rows of the product are the pixels of the output, columns its channels; the sum runs over DEPTH = taps * channels numbers, in chunks of
// 16 bytes. The input has channels last in memory, and its matrix is never written down: a chunk lies at a tap's cell, or is ZERO
// outside of the image. A block makes a tile of ROWS x COLUMNS. It goes through the depth in steps of STEP numbers, of which STAGES are
// on their way into shared memory; there, the chunks of a row are permuted so that eight rows' loads meet no bank twice.
// Its warps share the tile out as WARPS_DOWN x WARPS_ACROSS, and each step's depth among WARPS_DEEP. Sums meet in shared memory at the end,
// from where threads take eight channels of a pixel through the epilogue.
// Moved: the input once for each COLUMNS channels, the weights once for each ROWS pixels (mostly from the L2 cache), the output once.

template <class S> struct Product {
    static constexpr int THREADS = 32 * S::WARPS_DOWN * S::WARPS_ACROSS * S::WARPS_DEEP;
    static constexpr bool IS_INTEGER = sizeof(typename S::Element) == 1;
    // Numbers of a chunk.
    static constexpr int CHUNK = 16 / int(sizeof(typename S::Element));
    static constexpr int CHUNKS = S::STEP / CHUNK;
    static constexpr int ALL_CHUNKS = S::TAPS_Y * S::TAPS_X * S::CHANNELS / CHUNK;
    static constexpr int STEPS = (ALL_CHUNKS + CHUNKS - 1) / CHUNKS;
    static constexpr int PIXELS = S::IMAGES * S::OUT_ROWS * S::OUT_COLUMNS;
    static constexpr int ACROSS = (S::OUTPUTS + S::COLUMNS - 1) / S::COLUMNS;
    // Tile of a warp.
    static constexpr int DOWN_16 = S::ROWS / S::WARPS_DOWN / 16;
    static constexpr int ACROSS_16 = S::COLUMNS / S::WARPS_ACROSS / 16;
    // Pairs of chunks that a warp multiplies in a step.
    static constexpr int PAIRS = S::STEP / S::WARPS_DEEP / (2 * CHUNK);
    // Rows that all threads together copy a chunk of.
    static constexpr int AT_ONCE = THREADS / CHUNKS;
    static constexpr int COPIES_A = (S::ROWS + AT_ONCE - 1) / AT_ONCE;
    static constexpr int COPIES_B = (S::COLUMNS + AT_ONCE - 1) / AT_ONCE;
    static constexpr int STAGE = (S::ROWS + S::COLUMNS) * S::STEP;
    // Sums between rows of them: the pairs that half a warp stores at once lie in 32 different banks.
    static constexpr int PITCH = S::COLUMNS + 8;
    static constexpr int BYTES_STAGES = S::STAGES * STAGE * int(sizeof(typename S::Element));
    static constexpr int BYTES_SUMS = S::ROWS * PITCH * 4;
    static constexpr int BYTES = BYTES_STAGES > BYTES_SUMS ? BYTES_STAGES : BYTES_SUMS;

    // Where a chunk of a row lies in a stage, in elements.
    static __device__ int place(int row, int chunk) {
        const int permuted = CHUNKS == 4 ? chunk ^ (row >> 1 & 3) : chunk & ~7 | (chunk ^ row) & 7;
        return row * S::STEP + permuted * CHUNK;
    }
};

// A chunk of the integer that stands for 0.
template <class S> __device__ __forceinline__ uint4 zeros() {
    const unsigned four = (S::ZERO & 0xff) * 0x01010101u;
    return make_uint4(four, four, four, four);
}

template <class S> __device__ __forceinline__ void convolve_matrix(const Buffers& b) {
    using P = Product<S>;
    using Element = typename S::Element;
    using Sum = typename S::Sum;
    __shared__ __align__(16) char memory[P::BYTES];
    Element* stages = reinterpret_cast<Element*>(memory);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int down = warp % S::WARPS_DOWN, across = warp / S::WARPS_DOWN % S::WARPS_ACROSS;
    const int deep = warp / (S::WARPS_DOWN * S::WARPS_ACROSS);
    const int first_pixel = blockIdx.x / P::ACROSS * S::ROWS, first_output = blockIdx.x % P::ACROSS * S::COLUMNS;
    const Element* input = S::input(b);
    const Element* weights = S::weights(b);

    // What this thread copies: one chunk of each step, of some rows.
    const int chunk = threadIdx.x % P::CHUNKS, row = threadIdx.x / P::CHUNKS;
    int cell[P::COPIES_A], y[P::COPIES_A], x[P::COPIES_A];
#pragma unroll
    for (int i = 0; i < P::COPIES_A; ++i) {
        const unsigned pixel = first_pixel + row + i * P::AT_ONCE;
        const unsigned column = pixel % unsigned(S::OUT_COLUMNS), rest = pixel / unsigned(S::OUT_COLUMNS);
        const unsigned line = rest % unsigned(S::OUT_ROWS), image = rest / unsigned(S::OUT_ROWS);
        // Pixels beyond the last lie outside of every image.
        y[i] = pixel < unsigned(P::PIXELS) ? int(line) * S::STRIDE_Y - S::BEGIN_Y : -(1 << 28);
        x[i] = int(column) * S::STRIDE_X - S::BEGIN_X;
        cell[i] = int(image) * S::IMAGE_STRIDE + y[i] * S::ROW_STRIDE + x[i] * S::COLUMN_STRIDE;
        cell[i] = pixel < unsigned(P::PIXELS) ? cell[i] : 0;
    }
    auto copy_cells = [&](int step) {
        Element* a = stages + step % S::STAGES * P::STAGE;
        const int at = step * P::CHUNKS + chunk;
        constexpr int OF_TAP = S::CHANNELS / P::CHUNK;
        const int tap = at / OF_TAP, channel = at % OF_TAP * P::CHUNK;
        const int dy = tap / S::TAPS_X * S::DILATION_Y, dx = tap % S::TAPS_X * S::DILATION_X;
        const bool in_depth = P::ALL_CHUNKS % P::CHUNKS == 0 || at < P::ALL_CHUNKS;
#pragma unroll
        for (int i = 0; i < P::COPIES_A; ++i) {
            const int to = row + i * P::AT_ONCE;
            if (S::ROWS % P::AT_ONCE == 0 || to < S::ROWS) {
                const bool there = in_depth && unsigned(y[i] + dy) < unsigned(S::IN_ROWS) &&
                                   unsigned(x[i] + dx) < unsigned(S::IN_COLUMNS);
                const int from = cell[i] + dy * S::ROW_STRIDE + dx * S::COLUMN_STRIDE + channel;
                if (S::ZERO != 0 && !there) {
                    *reinterpret_cast<uint4*>(a + P::place(to, chunk)) = zeros<S>();
                } else {
                    copy_async(a + P::place(to, chunk), input + (there ? from : 0), there);
                }
            }
        }
    };
    auto copy_weights = [&](int step) {
        Element* w = stages + step % S::STAGES * P::STAGE + S::ROWS * S::STEP;
        const int at = step * P::CHUNKS + chunk;
        const bool in_depth = P::ALL_CHUNKS % P::CHUNKS == 0 || at < P::ALL_CHUNKS;
#pragma unroll
        for (int i = 0; i < P::COPIES_B; ++i) {
            const int to = row + i * P::AT_ONCE;
            if (S::COLUMNS % P::AT_ONCE == 0 || to < S::COLUMNS) {
                const bool there = in_depth && first_output + to < S::OUTPUTS;
                const int from = (first_output + to) * (P::ALL_CHUNKS * P::CHUNK) + at * P::CHUNK;
                copy_async(w + P::place(to, chunk), weights + (there ? from : 0), there);
            }
        }
    };

    // Weights are there before the kernel that makes the input has ended.
    next_begins();
#pragma unroll
    for (int step = 0; step < S::STAGES - 1 && step < P::STEPS; ++step) {
        copy_weights(step);
    }
    previous_wait();
#pragma unroll
    for (int step = 0; step < S::STAGES - 1; ++step) {
        if (step < P::STEPS) {
            copy_cells(step);
        }
        copies_commit();
    }
    Sum sum[P::DOWN_16][P::ACROSS_16 * 2][4] = {};
#pragma unroll 1
    for (int step = 0; step < P::STEPS; ++step) {
        copies_wait<S::STAGES - 2>();
        __syncthreads();
        if (step + S::STAGES - 1 < P::STEPS) {
            copy_cells(step + S::STAGES - 1);
            copy_weights(step + S::STAGES - 1);
        }
        copies_commit();
        const Element* a = stages + step % S::STAGES * P::STAGE;
        const Element* w = a + S::ROWS * S::STEP;
#pragma unroll
        for (int k = 0; k < P::PAIRS; ++k) {
            const int first = (deep * P::PAIRS + k) * 2;
            unsigned left[P::DOWN_16][4], right[P::ACROSS_16][4];
#pragma unroll
            for (int i = 0; i < P::DOWN_16; ++i) {
                load_matrices(left[i], a + P::place((down * P::DOWN_16 + i) * 16 + lane % 16, first + lane / 16));
            }
#pragma unroll
            for (int j = 0; j < P::ACROSS_16; ++j) {
                const int from = (across * P::ACROSS_16 + j) * 16 + lane / 16 * 8 + lane % 8;
                load_matrices(right[j], w + P::place(from, first + lane / 8 % 2));
            }
#pragma unroll
            for (int i = 0; i < P::DOWN_16; ++i) {
#pragma unroll
                for (int j = 0; j < P::ACROSS_16; ++j) {
                    if constexpr (P::IS_INTEGER) {
                        multiply_integers<S::SIGNED>(sum[i][2 * j], left[i], right[j][0], right[j][1]);
                        multiply_integers<S::SIGNED>(sum[i][2 * j + 1], left[i], right[j][2], right[j][3]);
                    } else {
                        multiply(sum[i][2 * j], left[i], right[j][0], right[j][1]);
                        multiply(sum[i][2 * j + 1], left[i], right[j][2], right[j][3]);
                    }
                }
            }
        }
    }
    copies_wait<0>();

    Sum* sums = reinterpret_cast<Sum*>(memory);
#pragma unroll
    for (int turn = 0; turn < S::WARPS_DEEP; ++turn) {
        __syncthreads();
        if (deep == turn) {
#pragma unroll
            for (int i = 0; i < P::DOWN_16; ++i) {
#pragma unroll
                for (int j = 0; j < P::ACROSS_16 * 2; ++j) {
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const int r = (down * P::DOWN_16 + i) * 16 + half * 8 + lane / 4;
                        const int c = (across * P::ACROSS_16 * 2 + j) * 8 + lane % 4 * 2;
                        Two<Sum>* to = reinterpret_cast<Two<Sum>*>(sums + r * P::PITCH + c);
                        const Two<Sum> old = turn == 0 ? Two<Sum>{} : *to;
                        *to = {{old.at[0] + sum[i][j][half * 2], old.at[1] + sum[i][j][half * 2 + 1]}};
                    }
                }
            }
        }
    }
    __syncthreads();
    constexpr int EIGHTS = S::COLUMNS / 8;
#pragma unroll 1
    for (int unit = threadIdx.x; unit < S::ROWS * EIGHTS; unit += P::THREADS) {
        // Threads that follow each other have neighbours in the output's memory.
        const int r = S::PIXELS_FIRST ? unit % S::ROWS : unit / EIGHTS;
        const int c = S::PIXELS_FIRST ? unit / S::ROWS * 8 : unit % EIGHTS * 8;
        const unsigned pixel = first_pixel + r, k = first_output + c;
        if (pixel < unsigned(P::PIXELS) && k < unsigned(S::OUTPUTS)) {
            Sum out[8];
#pragma unroll
            for (int i = 0; i < 8; i += 4) {
                const Four<Sum> four = *reinterpret_cast<const Four<Sum>*>(sums + r * P::PITCH + c + i);
#pragma unroll
                for (int l = 0; l < 4; ++l) {
                    out[i + l] = four.at[l];
                }
            }
            const unsigned column = pixel % unsigned(S::OUT_COLUMNS), rest = pixel / unsigned(S::OUT_COLUMNS);
#pragma unroll
            for (int i = 0; i < 8; i += S::FINISHED) {
                if (S::FINISHED == 8 || k + i < unsigned(S::OUTPUTS)) {
                    S::finish(b, out + i, rest / unsigned(S::OUT_ROWS), k + i, rest % unsigned(S::OUT_ROWS), column);
                }
            }
        }
    }
}
