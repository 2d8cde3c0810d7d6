// Where between the cells a peak lies, by the Taylor expansion of the blurred map's logarithm: kernels/src/peaks/dark.rs.
//
// Memory: the map as in peaks.cu, and the records that the search has left in device memory and on the host, whose dx and dy
// are replaced. A warp takes a record at a time: its lanes blur the rows around the peak at five places each (in shared
// memory), then the 5x5 places, and the first one solves for the maximum. All in double, in the order of the CPU.
// Bytes: (5 + 2 * radius)^2 values, and 64 of the record, a peak. Shape: blocks of 128 threads, a warp for each peak that
// there can be, 4096 at most. One launch, after that of the search.
#include "activate.cuh"
#include "peaks.cuh"

constexpr uint32_t WARPS = 4;
constexpr int MOST_ROWS = 5 + 2 * 15;
constexpr double FLAT = 1e-5;

struct Parameters {
    const void* map;
    Records records;     // in device memory
    Found* near;         // those of the first `near_size` on the host
    double weights[16];  // from the middle outwards
    uint32_t height;
    uint32_t radius;
    uint32_t udp;
    uint32_t reflect;    // whether the map is mirrored beyond its edge for the blur; else there are zeros
};
static_assert(sizeof(Parameters) == 216, "as in src/peaks/cuda/dark.rs");

__device__ __forceinline__ int clamp(int v, int low, int high) { return min(max(v, low), high); }

// The offset of the cell that is read `cells` cells away, where the map is mirrored at its edges.
__device__ __forceinline__ int reflected(int cells, int before, int after) {
    const int size = before + after + 1;
    int at = (before + cells) % (2 * size);
    if (at < 0) at += 2 * size;
    return min(at, 2 * size - 1 - at) - before;
}

// The peak's offset from the 5x5 blurred values around a cell of value `here`; left, right, above and below are the numbers of
// cells that the map has on each side.
__device__ void solve(const double* blurred, double here, int left, int right, int above, int below, bool udp,
                      double& dx, double& dy) {
    dx = dy = 0;
    if (!udp && (left < 2 || right < 2 || above < 2 || below < 2)) return;
    if (!(here > 0 && blurred[12] > 0)) return;
    const double scale = here / blurred[12];
    const double least = udp ? 1e-3 : 1e-10, most = udp ? 50.0 : double(INFINITE);
    double f[25];
    for (int k = 0; k < 25; ++k) {
        const int x = clamp(k % 5 - 2, -min(left, 2), min(right, 2)), y = clamp(k / 5 - 2, -min(above, 2), min(below, 2));
        f[k] = log(fmin(fmax(blurred[(y + 2) * 5 + x + 2] * scale, least), most));
    }
    const double gx = 0.5 * (f[13] - f[11]), gy = 0.5 * (f[17] - f[7]);
    double xx, yy, xy;
    if (udp) {
        xx = f[13] - 2.0 * f[12] + f[11];
        yy = f[17] - 2.0 * f[12] + f[7];
        xy = 0.5 * (f[18] - f[13] - f[17] + 2.0 * f[12] - f[11] - f[7] + f[6]);
    } else {
        xx = 0.25 * (f[14] - 2.0 * f[12] + f[10]);
        yy = 0.25 * (f[22] - 2.0 * f[12] + f[2]);
        xy = 0.25 * (f[18] - f[8] - f[16] + f[6]);
    }
    const double determinant = xx * yy - xy * xy;
    if (!(xx < -FLAT && determinant > FLAT * FLAT)) return;
    dx = fmin(fmax((xy * gy - yy * gx) / determinant, -2.0), 2.0);
    dy = fmin(fmax((xy * gx - xx * gy) / determinant, -2.0), 2.0);
}

template <typename T, bool LOGITS>
__device__ __forceinline__ void dark(const Parameters& p) {
    __shared__ double of_rows[WARPS][MOST_ROWS * 5], of_cells[WARPS][25];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, count = p.records.count();
    double *rows = of_rows[warp], *cells = of_cells[warp];
    const int radius = p.radius, tall = 5 + 2 * radius;
    for (uint32_t i = blockIdx.x * WARPS + warp; i < count; i += gridDim.x * WARPS) {
        const uint32_t element = p.records.at(i).element;
        if (element == NONE) continue;
        const uint32_t row = p.records.width * p.records.step, line = element / row;
        const int left = (element - line * row) / p.records.step, right = int(p.records.width) - 1 - left;
        const int above = line % p.height, below = int(p.height) - 1 - above;
        const T* here = static_cast<const T*>(p.map) + element;
        for (int k = lane; k < tall * 5; k += 32) {
            int y = k / 5 - 2 - radius;
            const int x = k % 5 - 2;
            if (p.reflect) y = reflected(y, above, below);
            double sum = 0;
            if (-y <= above && y <= below) {
                for (int d = -radius; d <= radius; ++d) {
                    int at = x + d;
                    if (p.reflect) at = reflected(at, left, right);
                    if (-at > left || at > right) continue;  // adds 0, which changes no sum
                    const float v = value_of(here[int64_t(y) * row + int64_t(at) * p.records.step]);
                    if (finite(v)) sum += p.weights[abs(d)] * activate<LOGITS>(v);
                }
            }
            rows[k] = sum;
        }
        __syncwarp();
        if (lane < 25) {
            double sum = 0;
            for (int d = -radius; d <= radius; ++d) {
                sum += p.weights[abs(d)] * rows[(int(lane / 5) + radius + d) * 5 + lane % 5];
            }
            cells[lane] = sum;
        }
        __syncwarp();
        if (lane == 0) {
            double dx, dy;
            solve(cells, activate<LOGITS>(value_of(*here)), left, right, above, below, p.udp, dx, dy);
            Found* in_memory = const_cast<Found*>(&p.records.at(i));
            in_memory->dx = dx, in_memory->dy = dy;
            if (i < p.records.near_size) p.near[i].dx = dx, p.near[i].dy = dy;
        }
        __syncwarp();  // before the next record's rows
    }
}

#define KERNEL(type, T, values, LOGITS)                                                                             \
    extern "C" __global__ void __launch_bounds__(32 * WARPS) dark_##type##_##values(const __grid_constant__ Parameters p) { \
        dark<T, LOGITS>(p);                                                                                         \
    }
KERNEL(float32, float, scores, false)
KERNEL(float32, float, logits, true)
KERNEL(float16, half_t, scores, false)
KERNEL(float16, half_t, logits, true)
