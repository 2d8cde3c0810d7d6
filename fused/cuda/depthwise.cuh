// Depthwise convolutions of images with channels last in memory: each channel by itself.
//
// A thread makes TILE neighbours along a row, of COUNT channels that it loads at once. Threads that follow each other have neighbouring
// channels, CHUNKS of them in a block, whose weights are in shared memory. Each cell of a row is loaded once by a thread, and by those of
// the rows above and below again, from the caches. Integers of 8 bits are added up as numbers, exactly; outside of the image they are ZERO.
// Moved: the input once, the output once.

template <class S> __device__ __forceinline__ void convolve_depthwise(const Buffers& b) {
    constexpr int TAPS = S::TAPS_Y * S::TAPS_X;
    constexpr int CHANNELS = S::CHUNKS * S::COUNT;
    constexpr int BLOCKS = (S::OUTPUTS + CHANNELS - 1) / CHANNELS;
    constexpr int TILES = (S::OUT_COLUMNS + S::TILE - 1) / S::TILE;
    constexpr int CELLS = (S::TILE - 1) * S::STRIDE_X + (S::TAPS_X - 1) * S::DILATION_X + 1;
    next_begins();
    __shared__ __align__(16) float taps[TAPS][CHANNELS];
    const int first = blockIdx.x % BLOCKS * CHANNELS;
    for (int i = threadIdx.x; i < TAPS * CHANNELS; i += S::THREADS) {
        const int channel = i / TAPS;
        if (first + channel < S::OUTPUTS) {
            taps[i % TAPS][channel] = S::weight(b, first * TAPS + i);
        }
    }
    __syncthreads();
    previous_wait();
    const int channel = threadIdx.x % S::CHUNKS * S::COUNT;
    unsigned rest = blockIdx.x / BLOCKS * unsigned(S::THREADS / S::CHUNKS) + threadIdx.x / S::CHUNKS;
    const unsigned q = rest % unsigned(TILES) * S::TILE;
    rest /= TILES;
    const unsigned p = rest % unsigned(S::OUT_ROWS), n = rest / S::OUT_ROWS;
    if (n >= b.count || first + channel >= S::OUTPUTS) {
        return;
    }
    const int cell = int(n) * S::IMAGE_STRIDE + first + channel;
    const int y0 = int(p) * S::STRIDE_Y - S::BEGIN_Y, x0 = int(q) * S::STRIDE_X - S::BEGIN_X;
    float sum[S::TILE][S::COUNT] = {};
#pragma unroll TAPS <= 25 ? S::TAPS_Y : 1
    for (int r = 0; r < S::TAPS_Y; ++r) {
        const int y = y0 + r * S::DILATION_Y;
        const bool in_rows = unsigned(y) < unsigned(S::IN_ROWS);
        if (S::ZERO != 0 || in_rows) {
#pragma unroll
            for (int t = 0; t < CELLS; ++t) {
                float x[S::COUNT];
                fill<S::COUNT>(x, float(S::ZERO));
                if (in_rows && unsigned(x0 + t) < unsigned(S::IN_COLUMNS)) {
                    S::read(b, x, cell + y * S::ROW_STRIDE + (x0 + t) * S::COLUMN_STRIDE);
                }
#pragma unroll
                for (int s = 0; s < S::TAPS_X; ++s) {
#pragma unroll
                    for (int j = 0; j < S::TILE; ++j) {
                        if (t == j * S::STRIDE_X + s * S::DILATION_X) {
#pragma unroll
                            for (int i = 0; i < S::COUNT; ++i) {
                                sum[j][i] = fmaf(x[i], taps[r * S::TAPS_X + s][channel + i], sum[j][i]);
                            }
                        }
                    }
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < S::TILE; ++j) {
        if (q + j < unsigned(S::OUT_COLUMNS)) {
            const Pixel at = {unsigned(n), unsigned(p), unsigned(q + j), true};
            S::template finish<1>(b, sum[j], first + channel, &at);
        }
    }
}
