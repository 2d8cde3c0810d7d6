// Regions of interest (kernels/src/preproc/regions): N parts of one frame, each turned and scaled by a map of its own, to
// one tensor [N, ...] in one launch.
//
// Memory: planes of rows, each with a stride of its own, anywhere; the tensor dense, NCHW or NHWC.
// Moves at least: the tensor once, and the part of the frame that the regions cover, mostly from L2.
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels: it finds each pixel's samples in fixed
// point, reads and converts their taps (clamped to the frame, so that loads need no branch, and replaced by the padding
// where they lie outside), mixes, normalises and stores whole vectors.
// Launch: blocks of 256 threads, which share a region row by row; grid blocks of a region x 1 x N.
//
// Results equal the CPU twin's bit by bit: positions are integers, and floats go through the same operations in the same
// order, none contracted.
#include "preproc_tensor.cuh"

constexpr uint32_t REGIONS = 64;

// A grid of samples over a region, in 2^-32 frame pixels: the first, and the steps to the next along and across the
// tensor's rows. POINT: where a sample lies. LINEAR: the same less half a pixel.
struct Grid {
    int64_t first[2], along[2], across[2];
    uint16_t columns, rows;  // samples of a tensor pixel
    float inverse;           // 1 / (columns * rows)
};

struct Parameters : Conversion {
    Frame frame;
    Grid grids[REGIONS];
    uint32_t frame_width, frame_height;
    float outside;  // the padding in units of 256 pixel values
};

static_assert(sizeof(Parameters) == 3832, "kernels/src/preproc/regions/cuda.rs says the same");

enum Mode { POINT, LINEAR };

// A sample's pixel (of LINEAR the first of two by two), which need not lie in the frame.
struct Position {
    int32_t x, y;
    float along, across;  // weights of the second pixels

    __device__ __forceinline__ Position(const Grid& grid, uint32_t column, uint32_t row) {
        int64_t at[2];
        for (uint32_t a = 0; a < 2; ++a) at[a] = grid.first[a] + column * grid.along[a] + row * grid.across[a];
        x = static_cast<int32_t>(at[0] >> 32);
        y = static_cast<int32_t>(at[1] >> 32);
        along = fraction(at[0]);
        across = fraction(at[1]);
    }

    // The first 24 bits of the fraction, which a float holds.
    static __device__ __forceinline__ float fraction(int64_t at) {
        return static_cast<float>(static_cast<uint32_t>(at) >> 8) * (1.0f / 16777216.0f);
    }
};

// Pixel (x, y), or padding.
template <Color COLOR, class Source>
__device__ __forceinline__ void tap(const Parameters& p, int32_t x, int32_t y, float (&v)[3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    int32_t last_x = p.frame_width - 1, last_y = p.frame_height - 1;
    Source row(p, p.frame, min(max(y, 0), last_y));
    pixel<COLOR>(p, row, min(max(x, 0), last_x), v);
    bool inside = static_cast<uint32_t>(x) < p.frame_width && static_cast<uint32_t>(y) < p.frame_height;
    for (uint32_t c = 0; c < CHANNELS; ++c) v[c] = inside ? v[c] : p.outside;
}

// Adds the sample at (column, row) of the grid.
template <class Source, Color COLOR, Mode MODE>
__device__ __forceinline__ void sample(const Parameters& p, const Grid& grid, uint32_t column, uint32_t row,
                                       float (&sum)[3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    Position at(grid, column, row);
    float taps[2][2][3];
    tap<COLOR, Source>(p, at.x, at.y, taps[0][0]);
    if (MODE == POINT) {
        for (uint32_t c = 0; c < CHANNELS; ++c) sum[c] += taps[0][0][c];
        return;
    }
    tap<COLOR, Source>(p, at.x + 1, at.y, taps[0][1]);
    tap<COLOR, Source>(p, at.x, at.y + 1, taps[1][0]);
    tap<COLOR, Source>(p, at.x + 1, at.y + 1, taps[1][1]);
    for (uint32_t c = 0; c < CHANNELS; ++c) {
        float above = taps[0][0][c] + at.along * (taps[0][1][c] - taps[0][0][c]);
        float below = taps[1][0][c] + at.along * (taps[1][1][c] - taps[1][0][c]);
        sum[c] += above + at.across * (below - above);
    }
}

template <class Source, Color COLOR, Mode MODE>
__device__ __forceinline__ void region(const Parameters& p) {
    uint32_t groups = (p.width + PIXELS - 1) / PIXELS, group = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t y = group / groups, x = (group - y * groups) * PIXELS;
    if (y >= p.height) return;
    const Grid& grid = p.grids[blockIdx.z];
    float sums[PIXELS][3] = {};
    for (uint32_t row = 0; row < grid.rows; ++row) {
        for (uint32_t column = 0; column < grid.columns; ++column) {
            for (uint32_t j = 0; j < PIXELS; ++j) {
                sample<Source, COLOR, MODE>(p, grid, (x + j) * grid.columns + column, y * grid.rows + row, sums[j]);
            }
        }
    }
    float v[PIXELS][3];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < 3; ++c) v[j][c] = 256.0f * (sums[j][COLOR == LUMA ? 0 : c] * grid.inverse);
    }
    write(p, blockIdx.z, x, y, v);
}

#define KERNEL(NAME, COLOR, MODE, ...)                                                             \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ Parameters p) { \
        region<__VA_ARGS__, COLOR, MODE>(p);                                                       \
    }
#define KERNELS(NAME, COLOR, ...)                   \
    KERNEL(NAME##_point, COLOR, POINT, __VA_ARGS__) \
    KERNEL(NAME##_linear, COLOR, LINEAR, __VA_ARGS__)

KERNELS(luma8, LUMA, Samples<Byte, 1>)
KERNELS(luma16, LUMA, Samples<Word, 1>)
KERNELS(luma16_unaligned, LUMA, Samples<UnalignedWord, 1>)
KERNELS(yuv8, MATRIX, Samples<Byte, 3>)
KERNELS(yuv16, MATRIX, Samples<Word, 3>)
KERNELS(yuv16_unaligned, MATRIX, Samples<UnalignedWord, 3>)
KERNELS(nv12, MATRIX, Nv12)
KERNELS(rgb8, RGB, Samples<Byte, 3>)
KERNELS(rgb32, RGB, Packed)
