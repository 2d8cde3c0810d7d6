// Warped regions (kernels/src/preproc/regions/warp): N quadrilaterals of one frame, each straightened by a homography of its
// own, to one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the tensor once, and the part of the frame that the regions cover, mostly from L2.
// Threads and launch: regions.cuh. A sample takes one division, in float64: float32 would place it wrong by up to 2^-9 pixel in
// the largest frames.
//
// Results equal the CPU twin's bit by bit: float64 and float32 go through the same operations in the same order, none contracted,
// and a division is rounded correctly.
#include "regions.cuh"

// As many as fit into the 4096 bytes of parameters.
constexpr uint32_t REGIONS = 48;

// A grid of samples over a region: x', y' and w' of the first, and the steps to the next along and across the tensor's rows. A sample
// lies at x' / w', y' / w', in 2^-32 frame pixels.
struct Grid {
    double first[3], along[3], across[3];
    Counts counts;

    __device__ __forceinline__ void place(uint32_t width, uint32_t column, uint32_t row, int64_t (&at)[2]) const {
        // Of a thread's pixels, those to the right of the tensor are not stored; w' may be 0 there.
        double u = min(column, width * counts.columns - 1), v = row, n[3];
        for (uint32_t k = 0; k < 3; ++k) n[k] = along[k] * u + (across[k] * v + first[k]);
        double inverse = 1.0 / n[2];
        for (uint32_t a = 0; a < 2; ++a) at[a] = static_cast<int64_t>(n[a] * inverse);
    }
};

using Regions = Parameters<Grid, REGIONS>;
static_assert(sizeof(Regions) == 4088, "kernels/src/preproc/regions/warp/cuda.rs says the same");

REGION_KERNELS(Regions)
