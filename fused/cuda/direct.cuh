// Convolutions with few channels, or in groups: sums of products one by one.
//
// A block makes KEPT channels of THREADS / SPLIT * PIXELS pixels; the channels' weights are in shared memory as float32, from where all
// threads of a warp take the same one. A thread makes PIXELS pixels of all KEPT channels; it loads COUNT channels of a cell at once. Where
// there are many channels and few pixels, SPLIT threads share the channels of each cell, and add up in the end. Integers of 8 bits are added
// up as numbers, exactly; outside of the image they are ZERO.

template <class S> __device__ __forceinline__ void convolve_direct(const Buffers& b) {
    constexpr int TAPS = S::TAPS_Y * S::TAPS_X;
    constexpr int LENGTH = TAPS * S::DEPTH;
    constexpr int BLOCKS = S::OUTPUTS / S::KEPT;
    constexpr int LANES = S::THREADS / S::SPLIT;
    next_begins();
    __shared__ __align__(16) float taps[LENGTH][S::KEPT];
    const int k = blockIdx.x % BLOCKS * S::KEPT;
    for (int i = threadIdx.x; i < LENGTH * S::KEPT; i += S::THREADS) {
        taps[i % LENGTH][i / LENGTH] = S::weight(b, k * LENGTH + i);
    }
    __syncthreads();
    previous_wait();
    const int part = threadIdx.x % S::SPLIT;
    const unsigned first = blockIdx.x / BLOCKS * unsigned(LANES * S::PIXELS) + threadIdx.x / S::SPLIT;
    unsigned n[S::PIXELS], p[S::PIXELS], q[S::PIXELS];
    int cell[S::PIXELS], y0[S::PIXELS], x0[S::PIXELS];
#pragma unroll
    for (int j = 0; j < S::PIXELS; ++j) {
        unsigned rest = first + j * LANES;
        q[j] = rest % unsigned(S::OUT_COLUMNS);
        rest /= S::OUT_COLUMNS;
        p[j] = rest % unsigned(S::OUT_ROWS);
        n[j] = rest / S::OUT_ROWS;
        // Pixels beyond the last lie outside of every image.
        y0[j] = first + j * LANES < b.count ? int(p[j]) * S::STRIDE_Y - S::BEGIN_Y : -(1 << 28);
        x0[j] = int(q[j]) * S::STRIDE_X - S::BEGIN_X;
        cell[j] = int(n[j]) * S::IMAGE_STRIDE + k / (S::OUTPUTS / S::GROUPS) * S::DEPTH * S::CHANNEL_STRIDE;
    }
    float sum[S::PIXELS][S::KEPT] = {};
#pragma unroll TAPS <= 9 ? S::TAPS_Y : 1
    for (int r = 0; r < S::TAPS_Y; ++r) {
#pragma unroll
        for (int s = 0; s < S::TAPS_X; ++s) {
#pragma unroll S::DEPTH <= 4 ? 4 : 1
            for (int c = part * S::COUNT; c < S::DEPTH; c += S::SPLIT * S::COUNT) {
                float x[S::PIXELS][S::COUNT];
#pragma unroll
                for (int j = 0; j < S::PIXELS; ++j) {
                    const int y = y0[j] + r * S::DILATION_Y, column = x0[j] + s * S::DILATION_X;
                    fill<S::COUNT>(x[j], float(S::ZERO));
                    if (unsigned(y) < unsigned(S::IN_ROWS) && unsigned(column) < unsigned(S::IN_COLUMNS)) {
                        S::read(b, x[j], cell[j] + y * S::ROW_STRIDE + column * S::COLUMN_STRIDE + c * S::CHANNEL_STRIDE);
                    }
                }
#pragma unroll
                for (int i = 0; i < S::COUNT; ++i) {
                    const float* tap = taps[(r * S::TAPS_X + s) * S::DEPTH + c + i];
#pragma unroll
                    for (int o = 0; o < S::KEPT; ++o) {
#pragma unroll
                        for (int j = 0; j < S::PIXELS; ++j) {
                            sum[j][o] = fmaf(x[j][i], tap[o], sum[j][o]);
                        }
                    }
                }
            }
        }
    }
#pragma unroll
    for (int j = 0; j < S::PIXELS; ++j) {
#pragma unroll
        for (int lane = S::SPLIT / 2; lane > 0; lane /= 2) {
#pragma unroll
            for (int o = 0; o < S::KEPT; ++o) {
                sum[j][o] += __shfl_xor_sync(~0u, sum[j][o], lane);
            }
        }
        if (part == 0 && first + j * LANES < b.count) {
            const Pixel at = {unsigned(n[j]), unsigned(p[j]), unsigned(q[j]), true};
            S::template finish<1>(b, sum[j], k, &at);
        }
    }
}
