// How the kernels of regions.cu and warp.cu make tensors of regions: N parts of one frame, each with a grid of samples, to one
// tensor [N, ...] in one launch.
//
// A grid has its counts, and place(), which finds a sample of a tensor that many pixels wide, in 2^-32 frame pixels. POINT: where
// the sample lies. LINEAR: the same less half a pixel.
//
// A thread makes PIXELS neighbouring pixels of one tensor row, all channels: it finds each pixel's samples, reads and converts
// their taps (clamped to the frame, so that loads need no branch, and replaced by the padding where they lie outside), mixes,
// normalises and stores whole vectors.
// Launch: blocks of 256 threads, which share a region row by row; grid blocks of a region x 1 x N.
#pragma once
#include "preproc_tensor.cuh"

// Samples of a tensor pixel, and 1 / (columns * rows).
struct Counts {
    uint16_t columns, rows;
    float inverse;
};

template <class Grid, uint32_t REGIONS>
struct Parameters : Conversion {
    Frame frame;
    Grid grids[REGIONS];
    uint32_t frame_width, frame_height;
};

enum Mode { POINT, LINEAR };

// A sample's pixel (of LINEAR the first of two by two), which need not lie in the frame.
struct Position {
    int32_t x, y;
    float along, across;  // weights of the second pixels

    __device__ __forceinline__ explicit Position(const int64_t (&at)[2]) {
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
template <Color COLOR, class Source, class P>
__device__ __forceinline__ void tap(const P& p, int32_t x, int32_t y, float (&v)[3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    int32_t last_x = p.frame_width - 1, last_y = p.frame_height - 1;
    Source row(p, p.frame, min(max(y, 0), last_y));
    pixel<COLOR>(p, row, min(max(x, 0), last_x), v);
    bool inside = static_cast<uint32_t>(x) < p.frame_width && static_cast<uint32_t>(y) < p.frame_height;
    for (uint32_t c = 0; c < CHANNELS; ++c) v[c] = inside ? v[c] : p.padding[c] * (1.0f / 256.0f);
}

// Adds the sample at (column, row) of the grid.
template <class Source, Color COLOR, Mode MODE, class P, class Grid>
__device__ __forceinline__ void sample(const P& p, const Grid& grid, uint32_t column, uint32_t row, float (&sum)[3]) {
    constexpr uint32_t CHANNELS = COLOR == LUMA ? 1 : 3;
    int64_t place[2];
    grid.place(p.width, column, row, place);
    Position at(place);
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

template <class Source, Color COLOR, Mode MODE, class Grid, uint32_t REGIONS>
__device__ __forceinline__ void region(const Parameters<Grid, REGIONS>& p) {
    let_next_start();
    wait_for_previous();
    uint32_t groups = (p.width + PIXELS - 1) / PIXELS, group = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t y = group / groups, x = (group - y * groups) * PIXELS;
    if (y >= p.height) return;
    const Grid& grid = p.grids[blockIdx.z];
    float sums[PIXELS][3] = {};
    for (uint32_t row = 0; row < grid.counts.rows; ++row) {
        for (uint32_t column = 0; column < grid.counts.columns; ++column) {
            for (uint32_t j = 0; j < PIXELS; ++j) {
                uint32_t first = (x + j) * grid.counts.columns;
                sample<Source, COLOR, MODE>(p, grid, first + column, y * grid.counts.rows + row, sums[j]);
            }
        }
    }
    float v[PIXELS][3];
    for (uint32_t j = 0; j < PIXELS; ++j) {
        for (uint32_t c = 0; c < 3; ++c) v[j][c] = 256.0f * (sums[j][COLOR == LUMA ? 0 : c] * grid.counts.inverse);
    }
    write(p, blockIdx.z, x, y, v);
}

// The kernels of an operation whose parameters are of type P.
#define KERNEL(P, NAME, COLOR, MODE, ...)                                                 \
    extern "C" __global__ void __launch_bounds__(256) NAME(const __grid_constant__ P p) { \
        region<__VA_ARGS__, COLOR, MODE>(p);                                              \
    }
#define KERNELS(P, NAME, COLOR, ...)                   \
    KERNEL(P, NAME##_point, COLOR, POINT, __VA_ARGS__) \
    KERNEL(P, NAME##_linear, COLOR, LINEAR, __VA_ARGS__)
#define REGION_KERNELS(P)                                          \
    KERNELS(P, luma8, LUMA, Samples<Byte, 1>)                      \
    KERNELS(P, luma16, LUMA, Samples<Word, 1>)                     \
    KERNELS(P, luma16_unaligned, LUMA, Samples<UnalignedWord, 1>)  \
    KERNELS(P, yuv8, MATRIX, Samples<Byte, 3>)                     \
    KERNELS(P, yuv16, MATRIX, Samples<Word, 3>)                    \
    KERNELS(P, yuv16_unaligned, MATRIX, Samples<UnalignedWord, 3>) \
    KERNELS(P, nv12, MATRIX, Nv12)                                 \
    KERNELS(P, rgb8, RGB, Samples<Byte, 3>)                        \
    KERNELS(P, rgb32, RGB, Packed)
