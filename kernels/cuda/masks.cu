// Paints masks on a frame, half-transparent with an outline and one over the other, or writes one into its alpha channel.
//
// The frame is as in draw.cu. A mask is a byte a sample, dense: a class, whether it is painted, or how much of a colour there
// is. Its piece (kernels/src/draw/mask.rs) says which pixels it covers and where their centres lie on it.
//
// A block paints a tile of 64 x 16 pixels, a thread two by two of them and the chroma sample that they share, which gets the
// paint of the top-left pixel. A thread reads a pixel when the first mask paints it, and writes it once.
//
// Bytes that must move: the pixels that are painted, twice, and the masks' samples. Grid: the tiles that the bounding box of all
// pieces meets; 256 threads a block.
#include "prelude.cuh"

enum Samples : uint32_t { PACKED3, PACKED4, NV12, I420 };
// The flag INTO_ALPHA is added to one of the other kinds.
enum Kind : uint32_t { CLASSES, SOLID, COVER, INTO_ALPHA = 4 };

struct Piece {
    const uint8_t* data;
    int32_t left, top, right, bottom;
    float start[2], step[2];
    int32_t width, height;
    uint32_t kind, background, ink, opacity;
    // Width of the outline in pixels, and how much of the frame it hides.
    int32_t outline;
    uint32_t outline_opacity;
};

struct Params {
    uint8_t* planes[3];
    uint64_t strides[3];
    const Piece* pieces;
    const uint32_t* palette;
    int32_t width, height;
    // Where the grid's first tile begins; both are even.
    int32_t left, top;
    uint32_t count, samples;
};

constexpr int TILE_X = 64, TILE_Y = 16, THREADS = TILE_X * TILE_Y / 4;

__device__ __forceinline__ int floor_of(float v) {
    const int whole = int(v);
    return whole - int(float(whole) > v);
}

__device__ __forceinline__ int sample(int i, int count) { return min(max(i, 0), count - 1); }

// The mask's value at a pixel that its piece covers, interpolated.
__device__ __forceinline__ uint32_t value(const Piece& p, float x, float y) {
    const int column = floor_of(x - 0.5f), row = floor_of(y - 0.5f);
    const float right = x - 0.5f - float(column), down = y - 0.5f - float(row);
    const int left_column = sample(column, p.width), right_column = sample(column + 1, p.width);
    float across[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint8_t* line = p.data + int64_t(sample(row + i, p.height)) * p.width;
        const float first = float(line[left_column]), second = float(line[right_column]);
        across[i] = first + (second - first) * right;
    }
    return uint32_t(int(across[0] + (across[1] - across[0]) * down + 0.5f));
}

// What a pixel of a piece, column and row from the piece's first, is: a class, whether it is painted, or how much of the colour there is.
__device__ __forceinline__ uint32_t level(const Piece& c, int column, int row) {
    const float mx = c.start[0] + float(column) * c.step[0];
    const float my = c.start[1] + float(row) * c.step[1];
    if (c.kind % INTO_ALPHA == COVER) return value(c, mx, my);
    return c.data[int64_t(sample(floor_of(my), c.height)) * c.width + sample(floor_of(mx), c.width)];
}

// Which part of the mask a level belongs to; an outline runs along its border.
__device__ __forceinline__ uint32_t part_of(const Piece& c, uint32_t level) {
    const uint32_t kind = c.kind % INTO_ALPHA;
    return kind == COVER ? uint32_t(level >= 128) : kind == CLASSES ? level : uint32_t(level != c.background);
}

// Whether a pixel is at most as far from the border of its part of the mask as the outline is wide, across or down.
__device__ __forceinline__ bool on_outline(const Piece& c, uint32_t part, int column, int row) {
    const int right = c.right - c.left, bottom = c.bottom - c.top;
    return part_of(c, level(c, sample(column - c.outline, right), row)) != part ||
           part_of(c, level(c, sample(column + c.outline, right), row)) != part ||
           part_of(c, level(c, column, sample(row - c.outline, bottom))) != part ||
           part_of(c, level(c, column, sample(row + c.outline, bottom))) != part;
}

// The lowest `bytes` bytes of `old` with `a` 255ths of the ink over them.
__device__ __forceinline__ uint32_t blend(uint32_t old, uint32_t ink, uint32_t a, int bytes) {
    uint32_t result = 0;
    for (int i = 0; i < 8 * bytes; i += 8) {
        result |= ((old >> i & 255) * (255 - a) + (ink >> i & 255) * a + 127) / 255 << i;
    }
    return result;
}

__device__ __forceinline__ uint32_t get(const uint8_t* at, int bytes) {
    uint32_t result = 0;
    for (int i = 0; i < bytes; i++) result |= uint32_t(at[i]) << 8 * i;
    return result;
}

__device__ __forceinline__ void put(uint8_t* at, uint32_t pixel, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = uint8_t(pixel >> 8 * i);
}

extern "C" __global__ void __launch_bounds__(THREADS) masks(const Params p) {
    wait_for_previous();
    const int tid = threadIdx.x;
    const int x = p.left + int(blockIdx.x) * TILE_X + 2 * (tid % (TILE_X / 2));
    const int y = p.top + int(blockIdx.y) * TILE_Y + 2 * (tid / (TILE_X / 2));
    const int bytes = p.samples == PACKED3 ? 3 : p.samples == PACKED4 ? 4 : 1;
    uint8_t* at[4];
    uint32_t pixel[4], chroma = 0, covered = 0;
    bool inside[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int px = x + i % 2, py = y + i / 2;
        at[i] = p.planes[0] + uint64_t(py) * p.strides[0] + uint64_t(px) * bytes;
        pixel[i] = 0;
        inside[i] = px < p.width && py < p.height;
    }
    uint8_t *cb = nullptr, *cr = nullptr;
    if (p.samples == NV12) {
        cb = p.planes[1] + uint64_t(y / 2) * p.strides[1] + x;
        cr = cb + 1;
    } else if (p.samples == I420) {
        cb = p.planes[1] + uint64_t(y / 2) * p.strides[1] + x / 2;
        cr = p.planes[2] + uint64_t(y / 2) * p.strides[2] + x / 2;
    }

    for (uint32_t k = 0; k < p.count; k++) {
        const Piece c = p.pieces[k];
        if (x + 1 < c.left || x >= c.right || y + 1 < c.top || y >= c.bottom) continue;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int px = x + i % 2, py = y + i / 2;
            if (!inside[i] || px < c.left || px >= c.right || py < c.top || py >= c.bottom) continue;
            const uint32_t found = level(c, px - c.left, py - c.top), kind = c.kind % INTO_ALPHA;
            const uint32_t ink = kind == CLASSES ? p.palette[found] : c.ink;
            uint32_t v = kind == COVER ? found : found == c.background ? 0 : 255, opacity = c.opacity;
            if (c.outline > 0 && v >= 128) {
                if (on_outline(c, part_of(c, found), px - c.left, py - c.top)) {
                    v = 255;
                    opacity = c.outline_opacity;
                }
            }
            const uint32_t a = (v * opacity + 127) / 255;
            if (a == 0 && c.kind < INTO_ALPHA) continue;
            if (!(covered >> i & 1)) {
                pixel[i] = get(at[i], bytes);
                if (i == 0 && cb) chroma = uint32_t(*cb) | uint32_t(*cr) << 8;
                covered |= 1u << i;
            }
            if (c.kind >= INTO_ALPHA) {
                pixel[i] = (pixel[i] & 0xffffffu) | a << 24;
                continue;
            }
            pixel[i] = blend(pixel[i], ink, a, bytes);
            if (i == 0 && cb) chroma = blend(chroma, ink >> 8, a, 2);
        }
    }

#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (covered >> i & 1) put(at[i], pixel[i], bytes);
    }
    if (cb && (covered & 1)) {
        *cb = uint8_t(chroma);
        *cr = uint8_t(chroma >> 8);
    }
}
