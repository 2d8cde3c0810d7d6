// Similarity matrices: of every row object with every column object, row-major float32, [rows, cols].
//
// Boxes are float4 (x, y, width, height). Keypoints are float2; those of the rows lie pose by pose, [rows, keypoints],
// those of the columns keypoint by keypoint, [keypoints, cols], so that neighbouring threads read neighbours.
//
// A thread computes one column of a tile of rows, and a warp writes 128 bytes of a row at once: `iou` takes the tile's
// boxes from shared memory, `oks` keeps the tile's sums in registers while it goes through the keypoints.
// What must move: the matrix, 4 bytes a pair, to host memory; the objects are few beside it.
// Grid: tiles of rows, then of 128 columns; 128 threads a block.
#include "prelude.cuh"

struct Params {
    const float* a;
    const float* b;
    // oks: of the rows, 0 where a pose has none; and of the keypoints, the square of distance that counts as one.
    const float* areas;
    const float* spreads;
    float* out;
    uint32_t rows, cols, keypoints;
    // iou: rows of a tile, TILE_MOST at most.
    uint32_t tile;
};

constexpr uint32_t THREADS = 128, TILE_MOST = 64, OKS_TILE = 8;

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
    const uint64_t first = uint64_t(blockIdx.x) * OKS_TILE, col = uint64_t(blockIdx.y) * THREADS + threadIdx.x;
    if (col >= p.cols) return;
    const uint32_t count = min(uint64_t(OKS_TILE), p.rows - first);
    const float2* a = reinterpret_cast<const float2*>(p.a) + first * p.keypoints;
    const float2* b = reinterpret_cast<const float2*>(p.b) + col;
    float sum[OKS_TILE] = {}, points[OKS_TILE] = {}, area[OKS_TILE];
#pragma unroll
    for (uint32_t i = 0; i < OKS_TILE; i++) area[i] = i < count ? p.areas[first + i] : 0;
    for (uint32_t k = 0; k < p.keypoints; k++) {
        const float2 theirs = b[uint64_t(k) * p.cols];
        const float spread = p.spreads[k];
#pragma unroll
        for (uint32_t i = 0; i < OKS_TILE; i++) {
            if (i >= count) continue;
            const float2 ours = a[uint64_t(i) * p.keypoints + k];
            if (!finite(ours.x) || !finite(ours.y)) continue;
            const float dx = ours.x - theirs.x, dy = ours.y - theirs.y;
            const float exponent = (dx * dx + dy * dy) / (area[i] * spread);
            // NaN where they lack the keypoint.
            if (exponent >= 0) sum[i] += expf(-exponent);
            points[i] += 1;
        }
    }
#pragma unroll
    for (uint32_t i = 0; i < OKS_TILE; i++) {
        if (i < count) p.out[(first + i) * p.cols + col] = area[i] > 0 && points[i] > 0 ? sum[i] / points[i] : 0;
    }
}
