// Dense convolutions as products of matrices (sums.cuh): float16 on tensor cores, float32 there or without, both accumulated in float32, and
// integers of 8 bits on tensor cores, accumulated in int32.
//
// Rows of the product are the pixels of the output, columns its channels; the sum runs over DEPTH = taps * channels numbers, in chunks of
// 16 bytes. The input has channels last in memory, and its matrix is never written down: a chunk lies at a tap's cell, or
// is ZERO outside of the image. A block makes a tile of ROWS x COLUMNS. It goes through the depth in steps of CHUNKS chunks, of which STAGES
// are on their way into shared memory.
// Products of two computed matrices are such convolutions of 1x1, one for each batch (BATCHED): the left one is the input, one row of pixels, the
// right one has the weights, which are not known before (KNOWN).
// Moved: the input once for each COLUMNS channels, the weights once for each ROWS pixels (mostly from the L2 cache), the output once.

template <class S> struct Product : Tile<S> {
    // Numbers of a chunk.
    static constexpr int COUNT = 16 / sizeof(typename S::Element);
    static constexpr int ALL_CHUNKS = S::TAPS_Y * S::TAPS_X * S::CHANNELS / COUNT;
    static constexpr int STEPS = (ALL_CHUNKS + S::CHUNKS - 1) / S::CHUNKS;
    // Of a batch.
    static constexpr int BLOCKS = Tile<S>::ACROSS * ((Tile<S>::PIXELS + S::ROWS - 1) / S::ROWS);
    // Rows that all threads together copy a chunk of.
    static constexpr int AT_ONCE = Tile<S>::THREADS / S::CHUNKS;
    static constexpr int COPIES_A = (S::ROWS + AT_ONCE - 1) / AT_ONCE;
    static constexpr int COPIES_B = (S::COLUMNS + AT_ONCE - 1) / AT_ONCE;
    static constexpr int STAGE = (S::ROWS + S::COLUMNS) * S::CHUNKS * 16;
    static constexpr int BYTES_STAGES = S::STAGES * STAGE;
    static constexpr int BYTES = BYTES_STAGES > Tile<S>::BYTES_SUMS ? BYTES_STAGES : Tile<S>::BYTES_SUMS;
    // Stages that are loaded before they are multiplied.
    static constexpr int AHEAD = S::STAGES - 1 - SumsOf<S>::LAG;
    static_assert(AHEAD > 0 && (S::SHARED == 0 || BYTES <= S::SHARED));
};

// Where the stages lie: in the shared memory that every GPU gives, or in what the kernel was launched with.
template <class S> __device__ __forceinline__ char* stages_of() {
    if constexpr (S::SHARED != 0) {
        return dynamic_shared<S::SHARED>();
    } else {
        __shared__ __align__(16) char stages[Product<S>::BYTES];
        return stages;
    }
}

// A chunk of the integer that stands for 0.
template <class S> __device__ __forceinline__ uint4 zeros() {
    const unsigned four = (S::ZERO & 0xff) * 0x01010101u;
    return make_uint4(four, four, four, four);
}

template <class S> __device__ __forceinline__ void convolve_matrix(const Buffers& b) {
    using P = Product<S>;
    using Element = typename S::Element;
    char* stages = stages_of<S>();
    const Warp<S> warp;
    const unsigned batch = !S::BATCHED ? 0u : blockIdx.x / unsigned(P::BLOCKS);
    const unsigned block = !S::BATCHED ? blockIdx.x : blockIdx.x % unsigned(P::BLOCKS);
    const int first_pixel = block / P::ACROSS * S::ROWS, first_output = block % P::ACROSS * S::COLUMNS;
    const Element* input = S::input(b) + S::input_begin(batch);
    const Element* weights = S::weights(b) + S::weights_begin(batch);

    // What this thread copies: one chunk of each step, of some rows.
    const int chunk = threadIdx.x % S::CHUNKS, row = threadIdx.x / S::CHUNKS;
    int cell[P::COPIES_A], y[P::COPIES_A], x[P::COPIES_A];
#pragma unroll
    for (int i = 0; i < P::COPIES_A; ++i) {
        const unsigned pixel = first_pixel + row + i * P::AT_ONCE;
        const unsigned column = pixel % unsigned(S::OUT_COLUMNS), rest = pixel / unsigned(S::OUT_COLUMNS);
        const unsigned line = rest % unsigned(S::OUT_ROWS), image = rest / unsigned(S::OUT_ROWS);
        // Pixels beyond the last lie outside of every image.
        y[i] = pixel < b.count ? int(line) * S::STRIDE_Y - S::BEGIN_Y : -(1 << 28);
        x[i] = int(column) * S::STRIDE_X - S::BEGIN_X;
        cell[i] = int(image) * S::IMAGE_STRIDE + y[i] * S::ROW_STRIDE + x[i] * S::COLUMN_STRIDE;
        cell[i] = pixel < b.count ? cell[i] : 0;
    }
    // Rows that are AT_ONCE apart have their chunks permuted in the same way.
    static_assert(P::AT_ONCE % 8 == 0);
    const int own = place<S::CHUNKS>(row, chunk);
    auto copy_cells = [&](int step) {
        char* left = stages + step % S::STAGES * P::STAGE;
        const int at = step * S::CHUNKS + chunk;
        const int tap = at / (S::CHANNELS / P::COUNT), channel = at % (S::CHANNELS / P::COUNT) * P::COUNT;
        const int dy = tap / S::TAPS_X * S::DILATION_Y, dx = tap % S::TAPS_X * S::DILATION_X;
        const int beside = dy * S::ROW_STRIDE + dx * S::COLUMN_STRIDE + channel;
        const bool in_depth = P::ALL_CHUNKS % S::CHUNKS == 0 || at < P::ALL_CHUNKS;
#pragma unroll
        for (int i = 0; i < P::COPIES_A; ++i) {
            const int to = row + i * P::AT_ONCE;
            if (S::ROWS % P::AT_ONCE == 0 || to < S::ROWS) {
                const bool there = in_depth && unsigned(y[i] + dy) < unsigned(S::IN_ROWS) &&
                                   unsigned(x[i] + dx) < unsigned(S::IN_COLUMNS);
                const int from = cell[i] + beside;
                char* at_chunk = left + own + i * P::AT_ONCE * S::CHUNKS * 16;
                if (S::ZERO != 0 && !there) {
                    *reinterpret_cast<uint4*>(at_chunk) = zeros<S>();
                } else {
                    copy_async<S::CACHED>(at_chunk, input + (there ? from : 0), there);
                }
            }
        }
    };
    auto copy_weights = [&](int step) {
        char* right = stages + step % S::STAGES * P::STAGE + S::ROWS * S::CHUNKS * 16;
        const int at = step * S::CHUNKS + chunk;
        const bool in_depth = P::ALL_CHUNKS % S::CHUNKS == 0 || at < P::ALL_CHUNKS;
#pragma unroll
        for (int i = 0; i < P::COPIES_B; ++i) {
            const int to = row + i * P::AT_ONCE;
            if (S::COLUMNS % P::AT_ONCE == 0 || to < S::COLUMNS) {
                const bool there = in_depth && first_output + to < S::OUTPUTS;
                const int from = (first_output + to) * S::WEIGHT_STRIDE + at * P::COUNT;
                copy_async<false>(right + own + i * P::AT_ONCE * S::CHUNKS * 16, weights + (there ? from : 0), there);
            }
        }
    };

    next_begins();
    if (!S::KNOWN) {
        previous_wait();
    }
    // Weights that are known are there before the kernel that makes the input has ended.
#pragma unroll
    for (int step = 0; step < P::AHEAD && step < P::STEPS; ++step) {
        copy_weights(step);
    }
    if (S::KNOWN) {
        previous_wait();
    }
#pragma unroll
    for (int step = 0; step < P::AHEAD; ++step) {
        if (step < P::STEPS) {
            copy_cells(step);
        }
        copies_commit();
    }
    SumsOf<S> sums;
#pragma unroll 1
    for (int step = 0; step < P::STEPS; ++step) {
        copies_wait<P::AHEAD - 1>();
        if constexpr (S::ON == WARP_GROUPS) {
            group_sees();
        }
        __syncthreads();
        if (step + P::AHEAD < P::STEPS) {
            copy_cells(step + P::AHEAD);
            copy_weights(step + P::AHEAD);
        }
        copies_commit();
        const char* left = stages + step % S::STAGES * P::STAGE;
        sums.add(warp, left, left + S::ROWS * S::CHUNKS * 16);
    }
    copies_wait<0>();
    sums.end();
    auto locate = [&](int row) {
        const bool there = unsigned(first_pixel + row) < b.count;
        const unsigned pixel = there ? first_pixel + row : 0, rest = pixel / unsigned(S::OUT_COLUMNS);
        const unsigned image = !S::BATCHED ? rest / unsigned(S::OUT_ROWS) : unsigned(S::output_begin(batch));
        return Pixel{image, rest % unsigned(S::OUT_ROWS), pixel % unsigned(S::OUT_COLUMNS), there};
    };
    finish_tile(b, warp, sums, reinterpret_cast<typename S::Sum*>(stages), first_output, locate);
}
