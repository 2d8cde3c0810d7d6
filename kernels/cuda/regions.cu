// Regions of interest (kernels/src/preproc/regions): N parts of one frame, each turned and scaled by a map of its own, to
// one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the tensor once, and the part of the frame that the regions cover, mostly from L2.
// Threads and launch: regions.cuh. Samples are found in fixed point.
//
// Results equal the CPU twin's bit by bit: positions are integers, and floats go through the same operations in the same
// order, none contracted.
#include "regions.cuh"

constexpr uint32_t REGIONS = 64;

// A grid of samples over a region, in 2^-32 frame pixels: the first, and the steps to the next along and across the
// tensor's rows.
struct Grid {
    int64_t first[2], along[2], across[2];
    Counts counts;

    __device__ __forceinline__ void place(uint32_t, uint32_t column, uint32_t row, int64_t (&at)[2]) const {
        for (uint32_t a = 0; a < 2; ++a) at[a] = first[a] + column * along[a] + row * across[a];
    }
};

using Regions = Parameters<Grid, REGIONS>;
static_assert(sizeof(Regions) == 3832, "kernels/src/preproc/regions/cuda.rs says the same");

REGION_KERNELS(Regions)
