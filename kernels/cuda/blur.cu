// Makes boxes of a frame unrecognisable: their cells' means as squares, or smoothed, or black.
//
// The frame is as in draw.cu. An area (kernels/src/draw/blur/area.rs) is a box within the frame, divided into square cells of an
// even side; its corners are even or the frame's edge, so that two by two pixels and the chroma sample that they share are in
// the same cell. Areas are sorted by the size of their cells: where they overlap, the last counts. A cell's colour is three bytes
// of a word: a packed pixel's first three, or luma, Cb and Cr.
//
// means:  a block for each cell, which adds its samples up. Grid: areas x the most cells that one of them has.
// smooth: a block for each area, a thread for each cell (256 at most), which takes in the cells around it. Grid: areas.
// blur:   a block for a tile of 64 x 16 pixels, a thread for two by two of them. Grid: the tiles that the bounding box of all
//         areas meets.
// 256 threads a block. Bytes that must move: the areas' pixels, read and written once.
#include "prelude.cuh"

enum Samples : uint32_t { PACKED3, PACKED4, NV12, I420 };
enum Mode : uint32_t { PIXELATE, GAUSSIAN, FILL };

struct Area {
    int32_t from[2], to[2], origin[2], count[2];
    int32_t cell;
    uint32_t first;
};

struct Params {
    uint8_t* planes[3];
    uint64_t strides[3];
    const Area* areas;
    uint32_t *means, *smoothed;
    int32_t width, height;
    // Where the grid's first tile begins; both are even.
    int32_t left, top;
    uint32_t count, samples, mode, ink;
};

constexpr int TILE_X = 64, TILE_Y = 16, THREADS = TILE_X * TILE_Y / 4, WARPS = THREADS / 32;

// Where sample (x, y) of a colour's channel lies. Chroma's x and y count chroma samples.
__device__ __forceinline__ uint8_t* place(const Params& p, int channel, int x, int y) {
    if (p.samples <= PACKED4) {
        return p.planes[0] + uint64_t(y) * p.strides[0] + uint64_t(x) * (p.samples == PACKED3 ? 3 : 4) + channel;
    }
    if (channel == 0) return p.planes[0] + uint64_t(y) * p.strides[0] + x;
    if (p.samples == NV12) return p.planes[1] + uint64_t(y) * p.strides[1] + 2 * uint64_t(x) + (channel - 1);
    return p.planes[channel] + uint64_t(y) * p.strides[channel] + x;
}

// Pixels for a sample of a channel.
__device__ __forceinline__ int step_of(const Params& p, int channel) {
    return p.samples >= NV12 && channel > 0 ? 2 : 1;
}

extern "C" __global__ void __launch_bounds__(THREADS) means(const Params p) {
    __shared__ uint64_t sums[WARPS];
    const Area a = p.areas[blockIdx.x];
    const int number = int(blockIdx.y), tid = threadIdx.x;
    // The whole block.
    if (number >= a.count[0] * a.count[1]) return;
    const int at[2] = {number % a.count[0], number / a.count[0]};
    int from[2], to[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int start = a.origin[i] + at[i] * a.cell;
        from[i] = max(start, a.from[i]);
        to[i] = min(start + a.cell, a.to[i]);
    }
    uint32_t color = 0;
    for (int channel = 0; channel < 3; channel++) {
        const int step = step_of(p, channel);
        const int x = from[0] / step, y = from[1] / step;
        const int width = (to[0] + step - 1) / step - x, height = (to[1] + step - 1) / step - y;
        const uint64_t samples = uint64_t(width) * uint64_t(height);
        uint64_t sum = 0;
        for (uint64_t i = tid; i < samples; i += THREADS) sum += *place(p, channel, x + int(i % width), y + int(i / width));
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
        if (tid % 32 == 0) sums[tid / 32] = sum;
        __syncthreads();
        if (tid == 0) {
            for (int w = 1; w < WARPS; w++) sum += sums[w];
            color |= uint32_t((sum + samples / 2) / samples) << 8 * channel;
        }
        // The other threads read `sums` until here.
        __syncthreads();
    }
    if (tid == 0) p.means[a.first + number] = color;
}

extern "C" __global__ void __launch_bounds__(THREADS) smooth(const Params p) {
    constexpr uint32_t WEIGHTS[5] = {1, 4, 6, 4, 1};
    const Area a = p.areas[blockIdx.x];
    const int number = threadIdx.x, columns = a.count[0], rows = a.count[1];
    if (number >= columns * rows) return;
    const int column = number % columns, row = number / columns;
    uint32_t sums[3] = {0, 0, 0};
    for (int dy = -2; dy <= 2; dy++) {
        for (int dx = -2; dx <= 2; dx++) {
            const int x = min(max(column + dx, 0), columns - 1), y = min(max(row + dy, 0), rows - 1);
            const uint32_t mean = p.means[a.first + y * columns + x], weight = WEIGHTS[dy + 2] * WEIGHTS[dx + 2];
#pragma unroll
            for (int i = 0; i < 3; i++) sums[i] += weight * (mean >> 8 * i & 255);
        }
    }
    uint32_t color = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) color |= ((sums[i] + 128) >> 8) << 8 * i;
    p.smoothed[a.first + number] = color;
}

// The two cells between whose centres a sample lies on one axis, and how far it is from the first to the second, in 256ths.
struct Tap {
    int between[2];
    uint32_t far;
};

__device__ __forceinline__ Tap tap(const Area& a, int axis, int step, int index) {
    // In half pixels from the centre of the first cell, which is at most half a cell to the right.
    const int at = step * (2 * index + 1) - 2 * a.origin[axis] - a.cell, twice = 2 * a.cell;
    const int first = at < 0 ? -1 : at / twice;
    const int64_t rest = at - first * twice;
    const int last = a.count[axis] - 1;
    return {{min(max(first, 0), last), min(max(first + 1, 0), last)}, uint32_t(256 * rest / twice)};
}

// A channel's sample by the smoothed cells around it.
__device__ __forceinline__ uint8_t interpolated(const Params& p, const Area& a, int channel, int x, int y) {
    const int step = step_of(p, channel);
    const Tap across = tap(a, 0, step, x), down = tap(a, 1, step, y);
    uint32_t rows[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t* cells = p.smoothed + a.first + down.between[i] * a.count[0];
        const uint32_t one = cells[across.between[0]] >> 8 * channel & 255;
        const uint32_t other = cells[across.between[1]] >> 8 * channel & 255;
        rows[i] = one * (256 - across.far) + other * across.far;
    }
    return uint8_t((rows[0] * (256 - down.far) + rows[1] * down.far + (1u << 15)) >> 16);
}

extern "C" __global__ void __launch_bounds__(THREADS) blur(const Params p) {
    const int tid = threadIdx.x;
    const int x = p.left + int(blockIdx.x) * TILE_X + 2 * (tid % (TILE_X / 2));
    const int y = p.top + int(blockIdx.y) * TILE_Y + 2 * (tid / (TILE_X / 2));
    if (x >= p.width || y >= p.height) return;
    // Either all of the two by two pixels are in an area, or none.
    int k = int(p.count) - 1;
    for (; k >= 0; k--) {
        const Area& a = p.areas[k];
        if (x >= a.from[0] && x < a.to[0] && y >= a.from[1] && y < a.to[1]) break;
    }
    if (k < 0) return;
    const Area a = p.areas[k];
    uint32_t color = p.ink;
    if (p.mode == PIXELATE) {
        color = p.means[a.first + (y - a.origin[1]) / a.cell * a.count[0] + (x - a.origin[0]) / a.cell];
    }
    for (int channel = 0; channel < 3; channel++) {
        const int step = step_of(p, channel), samples = step == 2 ? 1 : 4;
        for (int i = 0; i < samples; i++) {
            const int px = x + i % 2, py = y + i / 2;
            if (px >= p.width || py >= p.height) continue;
            uint8_t* at = place(p, channel, px / step, py / step);
            *at = p.mode == GAUSSIAN ? interpolated(p, a, channel, px / step, py / step) : uint8_t(color >> 8 * channel);
        }
    }
}
