// Fast NMS of a batch of frames' rotated boxes by the probabilistic IoU (src/detect/rotated_nms.rs), between rank and select of
// nms.cu: a candidate is suppressed where any stronger one overlaps it by the threshold or more, even one that is suppressed
// itself. So order does not matter: each pair sets a bit of `gone`, and select, which compares nothing then, takes the rest.
//
// Memory: ranked candidates; their boxes are read where the model wrote them, and become distributions in shared memory.
// Bytes that must move: 16 a candidate in and 5 numbers of its box (a sector of 32 bytes each where anchors are columns), a bit
// out. The time is that of n * n / 2 comparisons, of some 20 operations in float64 where boxes are far apart.
// Launch: 256 threads, a warp compares 32 with 32 at a time; grid.x = the window's chunks of 32, grid.y = ceil(chunks / 8),
// grid.z = the batch's rows.
#include "nms.cuh"
#include "rotated.cuh"

constexpr uint32_t WARPS = 8;

struct RotatedNms {
    Nms nms;
    Values boxes;
    uint32_t per_anchor;  // as in Layout
    uint32_t padding;
};

static_assert(sizeof(RotatedNms) == 264, "as in src/detect/cuda/params.rs");

extern "C" __global__ void __launch_bounds__(WARPS * 32) suppress_rotated(const __grid_constant__ RotatedNms batch) {
    let_next_start();
    wait_for_previous();
    const Nms p = of_row(batch.nms);
    __shared__ Gaussian stronger[WARPS][32];
    __shared__ uint32_t classes[WARPS][32];
    Values v = batch.boxes;
    v.data = moved(v.data, blockIdx.z * v.row);
    uint32_t n = window_count(p), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (blockIdx.x * 32 >= n) return;
    // Windows begin with whole chunks.
    uint32_t own = p.start / 32 + blockIdx.x, rank = own * 32 + lane, end = p.start + n;
    Gaussian mine = {};
    Ranked me = {};
    double limit = 0.0;
    if (rank < end) {
        me = p.ranked[rank];
        mine = gaussian(rotated_box(v, me.index / batch.per_anchor));
        limit = distance_of(me.limit);
    }
    bool gone = false;
    for (uint32_t chunk = blockIdx.y * WARPS + warp; chunk <= own; chunk += gridDim.y * WARPS) {
        uint32_t other = chunk * 32 + lane;
        __syncwarp();
        if (other < end) {
            Ranked theirs = p.ranked[other];
            stronger[warp][lane] = gaussian(rotated_box(v, theirs.index / batch.per_anchor));
            classes[warp][lane] = theirs.klass;
        }
        __syncwarp();
        // In its own chunk a candidate is compared with the stronger ones only.
        uint32_t count = chunk < own ? 32 : lane;
        for (uint32_t j = 0; j < count && !gone && rank < end; j++) {
            bool same = p.among != SAME_CLASS || classes[warp][j] == me.klass;
            gone = same && is_within(stronger[warp][j], mine, limit);
        }
    }
    uint32_t all_gone = __ballot_sync(ALL, gone);
    if (lane == 0 && all_gone) atomicOr(&p.gone[blockIdx.x], all_gone);
}
