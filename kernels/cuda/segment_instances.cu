// The masks of single objects from values that are interpolated before they are compared: kernels/src/segment/instances.rs,
// which computes each value in the same order.
//
// Layout: value m of a cell at row * row_step + cell * cell_step + m * value_step; coefficients [objects][count]; an object's
// mask is the samples of its window, dense, one window after the other.
//
// A thread makes one byte, whose window it finds by bisection, of up to four cells. Bytes: each window's cells of all values;
// after the first time they lie in the cache. Launch: 256 threads; grid = ceil(bytes / 256).
#include "prelude.cuh"

struct Window {
    double across[3], down[3];  // where a sample lies among the cells' centres
    uint32_t x, y, width, height, offset, row;
};

struct Params {
    const void* values;
    const Window* windows;
    const float* coefficients;
    uint8_t* masks;
    uint64_t row_step;
    uint32_t bytes, objects, count, width, height;  // of masks, of objects, of values a cell, of cells across and down
    uint32_t cell_step, value_step;
    uint32_t border;  // cells beyond the outermost that are 0
    float gate;
    uint32_t padding;
};
static_assert(sizeof(Window) == 72 && sizeof(Params) == 80, "as in src/segment/cuda/instances.rs");

__device__ __forceinline__ float value_of(float v) { return v; }
__device__ __forceinline__ float value_of(half_t v) { return to_float(v); }

// The two cells between whose centres a place lies, and the weight of the second.
struct Taps {
    int first, second;
    float weight;
};

__device__ __forceinline__ Taps taps(const double* line, uint32_t x, uint32_t y, uint32_t size, int border) {
    double place = line[0] * x + (line[1] * y + line[2]);
    double first = floor(place);
    double low = -border, high = static_cast<int>(size) - 1 + border;
    return {static_cast<int>(fmin(fmax(first, low), high)), static_cast<int>(fmin(fmax(first + 1.0, low), high)),
            static_cast<float>(place - first)};
}

__device__ __forceinline__ float between(float a, float b, float weight) {
    return (1.0f - weight) * a + weight * b;
}

template <typename T>
__device__ __forceinline__ float value_at(const Params& p, const T* values, const float* coefficients, int x, int y) {
    // Beyond the outermost cells the value is 0; no sample lies beyond the border.
    if (x < 0 || y < 0 || x >= static_cast<int>(p.width) || y >= static_cast<int>(p.height)) return 0.0f;
    const T* cell = values + (static_cast<uint64_t>(y) * p.width + x) * p.cell_step;
    float sum = 0.0f;
#pragma unroll 8
    for (uint32_t m = 0; m < p.count; ++m) {
        sum += value_of(cell[static_cast<uint64_t>(m) * p.value_step]) * coefficients[m];
    }
    return sum;
}

template <typename T>
__device__ __forceinline__ float line_at(const Params& p, const T* values, const float* coefficients, const Taps& x, int y) {
    float a = value_at(p, values, coefficients, x.first, y);
    return x.weight == 0.0f ? a : between(a, value_at(p, values, coefficients, x.second, y), x.weight);
}

template <typename T>
__device__ __forceinline__ void instances(const Params& p) {
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.bytes) return;
    // The last window that does not begin after the byte; empty ones begin where the next one does.
    uint32_t object = 0;
    for (uint32_t end = p.objects; end - object > 1;) {
        const uint32_t middle = (object + end) / 2;
        if (p.windows[middle].offset <= i) {
            object = middle;
        } else {
            end = middle;
        }
    }
    const Window& window = p.windows[object];
    const uint32_t within = i - window.offset;
    const uint32_t column = window.x + within % window.width, row = window.y + within / window.width;
    const T* values = static_cast<const T*>(p.values) + window.row * p.row_step;
    const float* coefficients = p.coefficients + static_cast<uint64_t>(object) * p.count;
    const int border = static_cast<int>(p.border);
    const Taps x = taps(window.across, column, row, p.width, border);
    const Taps y = taps(window.down, column, row, p.height, border);
    float value = line_at(p, values, coefficients, x, y.first);
    if (y.weight != 0.0f) value = between(value, line_at(p, values, coefficients, x, y.second), y.weight);
    p.masks[i] = value > p.gate;
}

extern "C" __global__ void __launch_bounds__(256) instances_float32(const __grid_constant__ Params p) { instances<float>(p); }
extern "C" __global__ void __launch_bounds__(256) instances_float16(const __grid_constant__ Params p) { instances<half_t>(p); }
