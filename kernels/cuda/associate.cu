// Similarity matrices: of every row object with every column object, row-major float32, [rows, cols].
//
// Boxes are float4 (x, y, width, height). Keypoints are float2, pose by pose: [rows, keypoints] and [cols, keypoints].
//
// iou: a thread computes one column of a tile of rows, whose boxes are in shared memory; a warp writes 128 bytes of a
// row at once. Grid: tiles of rows, then of 128 columns; 128 threads a block.
// oks: a thread computes one pair of a tile of 4 rows by 32 columns, whose keypoints are in shared memory, 17 at a time
// (COCO's all at once; an odd number, so that neighbouring poses lie in different banks). Grid: those tiles; 128 threads.
// What must move: the matrix, 4 bytes a pair, to host memory; the objects are few beside it.
#include "prelude.cuh"

struct Params {
    const float* a;
    const float* b;
    // oks: the rows' areas, 0 where one is none; and by keypoint what divides a squared distance, 0 to leave it out.
    const float* areas;
    const float* spreads;
    float* out;
    uint32_t rows, cols, keypoints;
    // iou: rows of a tile, TILE_MOST at most.
    uint32_t tile;
};

constexpr uint32_t THREADS = 128, TILE_MOST = 64, OKS_ROWS = 4, OKS_COLS = 32, CHUNK = 17;

__device__ __forceinline__ bool finite(float v) { return fabsf(v) <= 3.402823466e38f; }

// kernels/src/associate/cost.rs, is_usable.
__device__ __forceinline__ bool usable(float4 r) {
    return finite(r.x) && finite(r.y) && finite(r.z) && finite(r.w) && r.z > 0 && r.w > 0;
}

// Rect::iou of kernels/src/geometry.rs for boxes of positive size, and cost.rs, bounded.
__device__ __forceinline__ float iou_of(float4 a, float4 b) {
    const float w = fminf(a.x + a.z, b.x + b.z) - fmaxf(a.x, b.x);
    const float h = fminf(a.y + a.w, b.y + b.w) - fmaxf(a.y, b.y);
    if (w <= 0 || h <= 0) return 0;
    const float inter = w * h;
    const float iou = inter / fmaxf(a.z * a.w + b.z * b.w - inter, 1.17549435e-38f);
    return finite(iou) ? fminf(fmaxf(iou, 0.0f), 1.0f) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(THREADS) iou(const Params p) {
    __shared__ float4 tile[TILE_MOST];
    const uint64_t first = uint64_t(blockIdx.x) * p.tile, col = uint64_t(blockIdx.y) * THREADS + threadIdx.x;
    const uint32_t count = min(uint64_t(p.tile), p.rows - first);
    if (threadIdx.x < count) tile[threadIdx.x] = reinterpret_cast<const float4*>(p.a)[first + threadIdx.x];
    float4 mine = {0, 0, 0, 0};
    if (col < p.cols) mine = reinterpret_cast<const float4*>(p.b)[col];
    __syncthreads();
    if (col >= p.cols) return;
    const bool ok = usable(mine);
    for (uint32_t i = 0; i < count; i++) {
        p.out[(first + i) * p.cols + col] = ok && usable(tile[i]) ? iou_of(tile[i], mine) : 0;
    }
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
                // NaN where they lack the keypoint.
                if (exponent >= 0) sum += expf(-exponent);
                points += 1;
            }
        }
        __syncthreads();
    }
    if (i < rows && j < cols) p.out[(row + i) * p.cols + col + j] = area > 0 && points > 0 ? sum / points : 0;
}
