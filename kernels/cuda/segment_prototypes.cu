// The masks of single objects from prototypes and coefficients: kernels/src/segment/prototypes.rs, which sums up in the
// same order.
//
// Layout: prototype m of a cell at cell * cell_step + m * prototype_step; coefficients [objects][prototypes]; an object's
// mask is the cells of its region, dense, one region after the other.
//
// A thread makes one byte, whose region it finds by bisection. Bytes: each region's cells of all prototypes; after the first
// time they lie in the cache. Launch: 256 threads; grid = ceil(bytes / 256).
#include "prelude.cuh"

struct Region {
    uint32_t x, y, width, height, offset;
};

struct Params {
    const void* prototypes;
    const Region* regions;
    const float* coefficients;
    uint8_t* masks;
    uint32_t bytes, objects, count, width;  // of masks, of objects, of prototypes, cells in a row
    uint32_t cell_step, prototype_step;
};
static_assert(sizeof(Region) == 20 && sizeof(Params) == 56, "as in src/segment/cuda/prototypes.rs");

__device__ __forceinline__ float value_of(float v) { return v; }
__device__ __forceinline__ float value_of(half_t v) { return to_float(v); }

template <typename T>
__device__ __forceinline__ void combine(const Params& p) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.bytes) return;
    // The last region that does not begin after the byte; empty ones begin where the next one does.
    uint32_t object = 0;
    for (uint32_t end = p.objects; end - object > 1;) {
        const uint32_t middle = (object + end) / 2;
        if (p.regions[middle].offset <= i) {
            object = middle;
        } else {
            end = middle;
        }
    }
    const Region region = p.regions[object];
    const uint32_t within = i - region.offset;
    const uint32_t x = region.x + within % region.width, y = region.y + within / region.width;
    const T* cell = static_cast<const T*>(p.prototypes) + (y * p.width + x) * p.cell_step;
    const float* coefficients = p.coefficients + object * p.count;
    float sum = 0.0f;
#pragma unroll 8
    for (uint32_t m = 0; m < p.count; ++m) sum += value_of(cell[m * p.prototype_step]) * coefficients[m];
    p.masks[i] = sum > 0.0f;
}

extern "C" __global__ void __launch_bounds__(256) combine_float32(const __grid_constant__ Params p) { combine<float>(p); }
extern "C" __global__ void __launch_bounds__(256) combine_float16(const __grid_constant__ Params p) { combine<half_t>(p); }
