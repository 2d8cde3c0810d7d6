// Object keypoint similarity: of every row pose with every column pose, row-major float32, [rows, cols].
//
// Keypoints are float2, pose by pose: [rows, keypoints] and [cols, keypoints].
//
// A thread computes one pair of a tile of 4 rows by 32 columns, whose keypoints are in shared memory, 17 at a time
// (COCO's all at once; an odd number, so that neighbouring poses lie in different banks). Grid: those tiles; 128 threads.
// Bytes that must move: the matrix, 4 a pair, to host memory; the objects are small beside it.
#include "prelude.cuh"

struct Params {
    const float* a;
    const float* b;
    // The rows' areas, 0 where one is invalid; and by keypoint the divisor of a squared distance, 0 to leave the keypoint out.
    const float* areas;
    const float* spreads;
    float* out;
    uint32_t rows, cols, keypoints;
};

constexpr uint32_t THREADS = 128, OKS_ROWS = 4, OKS_COLS = 32, CHUNK = 17;

__device__ __forceinline__ bool finite(float v) { return fabsf(v) <= 3.402823466e38f; }

// kernels/src/associate/oks.rs, falloff: the same operations in the same order.
__device__ __forceinline__ float falloff(float x) {
    if (!(x < 87)) return 0;
    const float n = rintf(x * 1.44269504f);
    const float r = n * 0.693359375f - x + n * -2.12194440e-4f;
    float e = 1.98756915e-4f;
    e = e * r + 1.39819995e-3f;
    e = e * r + 8.33345190e-3f;
    e = e * r + 4.16657960e-2f;
    e = e * r + 1.66666655e-1f;
    e = e * r + 0.5f;
    e = e * r * r + r + 1;
    return e * __uint_as_float((127 - uint32_t(n)) << 23);
}

extern "C" __global__ void __launch_bounds__(THREADS) oks(const Params p) {
    __shared__ float2 ours[OKS_ROWS][CHUNK], theirs[OKS_COLS][CHUNK];
    __shared__ float spreads[CHUNK];
    const uint64_t row = uint64_t(blockIdx.x) * OKS_ROWS, col = uint64_t(blockIdx.y) * OKS_COLS;
    const uint32_t rows = min(uint64_t(OKS_ROWS), p.rows - row), cols = min(uint64_t(OKS_COLS), p.cols - col);
    const uint32_t i = threadIdx.x / OKS_COLS, j = threadIdx.x % OKS_COLS;
    const float2* a = reinterpret_cast<const float2*>(p.a) + row * p.keypoints;
    const float2* b = reinterpret_cast<const float2*>(p.b) + col * p.keypoints;
    const float area = i < rows ? p.areas[row + i] : 0;
    float sum = 0, points = 0;
    for (uint32_t first = 0; first < p.keypoints; first += CHUNK) {
        const uint32_t count = min(CHUNK, p.keypoints - first);
        for (uint32_t at = threadIdx.x; at < rows * count; at += THREADS) {
            ours[at / count][at % count] = a[uint64_t(at / count) * p.keypoints + first + at % count];
        }
        for (uint32_t at = threadIdx.x; at < cols * count; at += THREADS) {
            theirs[at / count][at % count] = b[uint64_t(at / count) * p.keypoints + first + at % count];
        }
        if (threadIdx.x < count) spreads[threadIdx.x] = p.spreads[first + threadIdx.x];
        __syncthreads();
        if (i < rows && j < cols) {
            for (uint32_t k = 0; k < count; k++) {
                const float2 from = ours[i][k], to = theirs[j][k];
                if (!(spreads[k] > 0) || !finite(from.x) || !finite(from.y)) continue;
                const float dx = from.x - to.x, dy = from.y - to.y;
                const float exponent = (dx * dx + dy * dy) / (area * spreads[k]);
                // NaN where one of the poses lacks the keypoint.
                if (exponent >= 0) sum += falloff(exponent);
                points += 1;
            }
        }
        __syncthreads();
    }
    if (i < rows && j < cols) p.out[(row + i) * p.cols + col + j] = area > 0 && points > 0 ? sum / points : 0;
}
