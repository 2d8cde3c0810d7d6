// Products of matrices of any strides, neither of which is constant: added up in float32, without tensor cores.
//
// A block makes a tile of ROWS x COLUMNS of one product, each of its threads 4 x 4 of it. It goes through the depth in steps of STEP
// numbers, which lie in shared memory as float32. Numbers that lie together in memory are loaded by threads that follow each other.
// Moved: the left matrix once for each COLUMNS columns of the output, the right one once for each ROWS rows, the output once.
//   left(b, at), right(b, at)        a number;   left_begin(batch), right_begin(batch), output_begin(batch)   where a matrix begins
//   write(b, from, at)               stores WRITTEN neighbours of a row

template <class S> __device__ __forceinline__ void multiply_matrices(const Buffers& b) {
    constexpr int THREADS = S::ROWS * S::COLUMNS / 16;
    constexpr int ACROSS = (S::WIDTH + S::COLUMNS - 1) / S::COLUMNS, DOWN = (S::HEIGHT + S::ROWS - 1) / S::ROWS;
    constexpr bool LEFT_BY_ROWS = S::LEFT_DEPTH != 1 && S::LEFT_ROW == 1;
    constexpr bool RIGHT_BY_DEPTH = S::RIGHT_DEPTH == 1 && S::RIGHT_COLUMN != 1;
    __shared__ __align__(16) float left[S::STEP][S::ROWS + 4], right[S::STEP][S::COLUMNS + 4];
    next_begins();
    previous_wait();
    const unsigned tile = blockIdx.x % unsigned(ACROSS * DOWN), batch = blockIdx.x / unsigned(ACROSS * DOWN);
    const int first_row = tile / ACROSS * S::ROWS, first_column = tile % ACROSS * S::COLUMNS;
    const int left_begin = S::left_begin(batch), right_begin = S::right_begin(batch);
    const int row = threadIdx.x / (S::COLUMNS / 4) * 4, column = threadIdx.x % (S::COLUMNS / 4) * 4;
    float sum[4][4] = {};
#pragma unroll 1
    for (int k = 0; k < S::DEPTH; k += S::STEP) {
        __syncthreads();
#pragma unroll
        for (int i = threadIdx.x; i < S::ROWS * S::STEP; i += THREADS) {
            const int r = LEFT_BY_ROWS ? i % S::ROWS : i / S::STEP, d = LEFT_BY_ROWS ? i / S::ROWS : i % S::STEP;
            const bool there = first_row + r < S::HEIGHT && k + d < S::DEPTH;
            const int at = left_begin + (first_row + r) * S::LEFT_ROW + (k + d) * S::LEFT_DEPTH;
            left[d][r] = there ? S::left(b, at) : 0.f;
        }
#pragma unroll
        for (int i = threadIdx.x; i < S::COLUMNS * S::STEP; i += THREADS) {
            const int c = RIGHT_BY_DEPTH ? i / S::STEP : i % S::COLUMNS, d = RIGHT_BY_DEPTH ? i % S::STEP : i / S::COLUMNS;
            const bool there = first_column + c < S::WIDTH && k + d < S::DEPTH;
            const int at = right_begin + (k + d) * S::RIGHT_DEPTH + (first_column + c) * S::RIGHT_COLUMN;
            right[d][c] = there ? S::right(b, at) : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < S::STEP; ++d) {
            const float4 l = *reinterpret_cast<const float4*>(&left[d][row]);
            const float4 r = *reinterpret_cast<const float4*>(&right[d][column]);
            const float of_left[4] = {l.x, l.y, l.z, l.w}, of_right[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] = fmaf(of_left[i], of_right[j], sum[i][j]);
                }
            }
        }
    }
    const int output_begin = S::output_begin(batch);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; j += S::WRITTEN) {
            const int r = first_row + row + i, c = first_column + column + j;
            if (r < S::HEIGHT && c < S::WIDTH) {
                S::write(b, sum[i] + j, output_begin + r * S::OUTPUT_ROW + c * S::OUTPUT_COLUMN);
            }
        }
    }
}
