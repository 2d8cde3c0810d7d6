// Fills rectangles, capsules (lines and discs, with soft edges) and letters of one colour each, and pictures of text, on a frame,
// later ones over earlier ones.
//
// The frame is one of packed pixels of 3 or 4 bytes, or of a luma plane with chroma at half resolution in one plane
// (NV12) or two (I420). The commands (kernels/src/draw/record.rs) are in the order of drawing.
//
// A block draws a tile of 64 x 16 pixels, a thread two by two of them and the chroma sample that they share. The block
// goes through all commands, 256 at a time: each thread checks whether one of them meets the tile; those that do are
// listed in order. For each capsule of the list a thread finds the subpixels, a quarter of a pixel on each axis, of a row of these
// in the tile, in double precision, as the CPU does (kernels/src/draw/capsule.rs). Every thread then looks at all of the list, and
// remembers what its pixels become: the last ink that covers them, or a mixture with what was there. Nothing is written before the
// end, so every byte is written once at most, and only bytes that are drawn. Those under soft edges are read, too.
//
// A picture of text has the inks of its 16 values first, then rows of `scale` words: four bits a pixel, its value. It begins on even
// pixels, so a chroma sample belongs to one thread's four pixels.
//
// Bytes that must move: those that are drawn, and the pictures. Each block also reads 32 bytes a command, from the L2 cache.
// Grid: the tiles that the bounding box of all commands meets; 256 threads a block.
#include "prelude.cuh"

enum Samples : uint32_t { PACKED3, PACKED4, NV12, I420 };
enum Kind : uint32_t { FILL, CAPSULE, LETTERS, PICTURE };

struct alignas(16) Command {
    int32_t left, top, right, bottom;
    uint32_t ink, kind, data;
    int32_t scale;
};

struct Params {
    uint8_t* planes[3];
    uint64_t strides[3];
    const Command* commands;
    const uint32_t* data;
    int32_t width, height;
    // Where the grid's first tile begins; both are even.
    int32_t left, top;
    uint32_t count, samples;
};

constexpr int TILE_X = 64, TILE_Y = 16, THREADS = TILE_X * TILE_Y / 4, WARPS = THREADS / 32;
constexpr int LETTER_X = 7, LETTER_WORDS = 4, ROWS_A_WORD = 4;
constexpr int PIXELS_A_WORD = 8;
constexpr uint32_t VALUES = 16;
// Subpixels along a side of a pixel, and all of a pixel.
constexpr int FINE = 4, FINE_X = FINE * TILE_X, FINE_Y = FINE * TILE_Y;
constexpr uint32_t WHOLE = 16;
// Listed commands whose subpixels are in shared memory at a time.
constexpr uint32_t SPANS = 128;
// An interval without subpixels: its first is after its last.
constexpr uint16_t NONE = 0x00ff;

// The first pixel whose centre is at or after v.
__device__ __forceinline__ int64_t first_pixel(double v) {
    const double far = 1099511627776.0;
    v = fmin(fmax(v - 0.5, -far), far);
    const int64_t whole = static_cast<int64_t>(v);
    return whole + (static_cast<double>(whole) < v);
}

// The x for which low <= slope * x + offset <= high.
__device__ __forceinline__ double2 cross(double slope, double inverse, double low, double high, double offset) {
    if (slope == 0.0) {
        const double far = __longlong_as_double(0x7ff0000000000000ll);
        return low <= offset && offset < high ? double2{-far, far} : double2{far, -far};
    }
    const double p = (low - offset) * inverse, q = (high - offset) * inverse;
    return {fmin(p, q), fmax(p, q)};
}

// A capsule's subpixels in a row of them, from the tile's left edge: the first, and 8 bits higher the last.
__device__ __forceinline__ uint16_t span(const Command& c, const uint32_t* all, int tile_x, int row) {
    const uint32_t* words = all + c.data;
    auto number = [&](int i) { return __hiloint2double(words[2 * i + 1], words[2 * i]); };
    const double ax = number(0), ay = number(1), r = number(4), length = number(5);
    const double y = row + 0.5;
    double from = __longlong_as_double(0x7ff0000000000000ll), to = -from;
    // A disc's second circle is the first, and its bar is empty.
    const bool is_disc = length == 0.0;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        if (is_disc && i > 0) break;
        const double x = number(i), dy = y - number(i + 1), square = r * r - dy * dy;
        if (square > 0.0) {
            const double half = sqrt(square);
            from = fmin(from, x - half);
            to = fmax(to, x + half);
        }
    }
    if (!is_disc) {
        const double along_x = number(6), along_y = number(7), dy = y - ay;
        const double2 lengthwise = cross(along_x, number(8), 0.0, length, dy * along_y);
        const double2 across = cross(-along_y, number(9), -r, r, dy * along_x);
        const double left = ax + fmax(lengthwise.x, across.x), right = ax + fmin(lengthwise.y, across.y);
        if (left < right) {
            from = fmin(from, left);
            to = fmax(to, right);
        }
    }
    if (!(from < to)) return NONE;
    const int64_t first = FINE * static_cast<int64_t>(c.left), end = FINE * static_cast<int64_t>(c.right);
    auto inside = [&](double v) {
        const int64_t subpixel = min(max(first_pixel(v), first), end) - FINE * static_cast<int64_t>(tile_x);
        return static_cast<uint32_t>(min(max(subpixel, 0ll), static_cast<int64_t>(FINE_X)));
    };
    const uint32_t begin = inside(from), after = inside(to);
    return begin < after ? static_cast<uint16_t>(begin | (after - 1) << 8) : NONE;
}

// How many subpixels of the pixel in `column` of the tile a capsule covers, which has these in its four rows of subpixels.
__device__ __forceinline__ uint32_t subpixels(const uint16_t* spans, int column) {
    const int left = FINE * column, right = left + FINE;
    int count = 0;
#pragma unroll
    for (int i = 0; i < FINE; i++) {
        const int from = spans[i] & 255, to = (spans[i] >> 8) + 1;
        count += max(min(to, right) - max(from, left), 0);
    }
    return uint32_t(count);
}

// Which of the two by two pixels from (x, y) on a command draws: that at (x + i % 2, y + i / 2) is bit i. Not of a capsule.
__device__ __forceinline__ uint32_t covers(const Command& c, const uint32_t* all, int x, int y) {
    uint32_t bits = 0;
    if (x + 1 < c.left || x >= c.right || y + 1 < c.top || y >= c.bottom) return bits;
    const uint32_t* data = all + c.data;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const int row = y + i / 2;
        if (row < c.top || row >= c.bottom) continue;
        uint32_t pair = uint32_t(x >= c.left && x < c.right) | uint32_t(x + 1 >= c.left && x + 1 < c.right) << 1;
        if (c.kind == LETTERS) {
            const int line = (row - c.top) / c.scale;
            const uint32_t* word = data + line / ROWS_A_WORD;
            const int shift = line % ROWS_A_WORD * LETTER_X;
#pragma unroll
            for (int j = 0; j < 2; j++) {
                if (!(pair >> j & 1)) continue;
                const int column = (x + j - c.left) / c.scale;
                const uint32_t rows = word[column / LETTER_X * LETTER_WORDS];
                pair &= ~(uint32_t(!(rows >> (shift + column % LETTER_X) & 1)) << j);
            }
        }
        bits |= pair << i;
    }
    return bits;
}

// `part` of `WHOLE` of an ink over what was there, byte by byte.
__device__ __forceinline__ uint32_t mixed(uint32_t back, uint32_t over, uint32_t part) {
    uint32_t ink = 0;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        const uint32_t sum = (back >> i & 255) * (WHOLE - part) + (over >> i & 255) * part + WHOLE / 2;
        ink |= sum / WHOLE << i;
    }
    return ink;
}

// The inks of a picture's two by two pixels from (x, y) on, and of their chroma sample: the mean.
__device__ __forceinline__ void inks_of(const Command& c, const uint32_t* all, int x, int y, uint32_t* inks) {
    const uint32_t* palette = all + c.data;
    const int column = x - c.left;
    const uint32_t* word = palette + VALUES + (y - c.top) * c.scale + column / PIXELS_A_WORD;
    const int shift = 4 * (column % PIXELS_A_WORD);
#pragma unroll
    for (int i = 0; i < 4; i++) inks[i] = palette[word[i / 2 * c.scale] >> (shift + 4 * (i % 2)) & (VALUES - 1)];
    inks[4] = 0;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        uint32_t sum = 2;
#pragma unroll
        for (int j = 0; j < 4; j++) sum += inks[j] >> i & 255;
        inks[4] |= sum / 4 << i;
    }
}

__device__ __forceinline__ uint32_t get(const uint8_t* at, int bytes) {
    uint32_t ink = 0;
    for (int i = 0; i < bytes; i++) ink |= uint32_t(at[i]) << 8 * i;
    return ink;
}

__device__ __forceinline__ void put(uint8_t* at, uint32_t ink, int bytes) {
    for (int i = 0; i < bytes; i++) at[i] = uint8_t(ink >> 8 * i);
}

__device__ __forceinline__ int bytes_of(uint32_t samples) { return samples == PACKED3 ? 3 : samples == PACKED4 ? 4 : 1; }

// Lays a capsule's ink over two by two pixels from (x, y) on by how much of each it covers, and over their chroma sample by the
// greatest of these parts. What was there is among the inks if it is drawn, else on the frame. `spans` are the capsule's in the
// tile's rows of subpixels.
__device__ __forceinline__ void lay(const Params& p, const Command& c, const uint16_t* spans, int x, int y, int tile_x,
                                    int tile_y, uint32_t inside, uint32_t* ink, uint32_t& drawn) {
    if (x + 1 < c.left || x >= c.right || y + 1 < c.top || y >= c.bottom) return;
    const int bytes = bytes_of(p.samples);
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int column = x + i % 2, row = y + i / 2;
        if (!(inside >> i & 1) || row < c.top || row >= c.bottom) continue;
        const uint32_t part = subpixels(spans + FINE * (row - tile_y), column - tile_x);
        if (part == 0) continue;
        most = max(most, part);
        if (part < WHOLE && !(drawn >> i & 1)) {
            ink[i] = get(p.planes[0] + row * p.strides[0] + uint64_t(column) * bytes, bytes);
        }
        ink[i] = part == WHOLE ? c.ink : mixed(ink[i], c.ink, part);
        drawn |= 1u << i;
    }
    if (most == 0 || p.samples < NV12) return;
    if (most < WHOLE && !(drawn >> 4 & 1)) {
        const uint64_t row = y / 2;
        ink[4] = p.samples == NV12 ? get(p.planes[1] + row * p.strides[1] + x, 2) << 8
                                   : get(p.planes[1] + row * p.strides[1] + x / 2, 1) << 8 |
                                         get(p.planes[2] + row * p.strides[2] + x / 2, 1) << 16;
    }
    ink[4] = most == WHOLE ? c.ink : mixed(ink[4], c.ink, most);
    drawn |= 1u << 4;
}

extern "C" __global__ void __launch_bounds__(THREADS) draw(const Params p) {
    wait_for_previous();
    __shared__ Command list[THREADS];
    __shared__ uint16_t spans[SPANS][FINE_Y];
    __shared__ uint32_t found[WARPS];
    const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int tile_x = p.left + int(blockIdx.x) * TILE_X, tile_y = p.top + int(blockIdx.y) * TILE_Y;
    const int x = tile_x + 2 * (tid % (TILE_X / 2)), y = tile_y + 2 * (tid / (TILE_X / 2));

    // Pixel i is at (x + i % 2, y + i / 2), its bit in `drawn` is i; the chroma sample's is 4.
    uint32_t ink[5], drawn = 0;
    uint32_t inside = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) inside |= uint32_t(x + i % 2 < p.width && y + i / 2 < p.height) << i;

    for (uint32_t first = 0; first < p.count; first += THREADS) {
        Command mine;
        bool meets = false;
        if (first + tid < p.count) {
            mine = p.commands[first + tid];
            meets = mine.left < tile_x + TILE_X && mine.right > tile_x && mine.top < tile_y + TILE_Y &&
                    mine.bottom > tile_y;
        }
        const uint32_t ballot = __ballot_sync(~0u, meets);
        if (lane == 0) found[warp] = __popc(ballot);
        __syncthreads();
        uint32_t before = __popc(ballot & ((1u << lane) - 1)), total = 0;
        for (int w = 0; w < WARPS; w++) {
            if (w < warp) before += found[w];
            total += found[w];
        }
        if (meets) list[before] = mine;
        // Most frames have no capsules.
        const bool capsules = __syncthreads_or(meets && mine.kind == CAPSULE);
        for (uint32_t start = 0; start < total; start += SPANS) {
            const uint32_t end = min(start + SPANS, total);
            if (capsules) {
                // The other threads read the spans before these until here.
                if (start > 0) __syncthreads();
                for (uint32_t t = tid; t < (end - start) * FINE_Y; t += THREADS) {
                    const Command& c = list[start + t / FINE_Y];
                    if (c.kind == CAPSULE) {
                        spans[t / FINE_Y][t % FINE_Y] = span(c, p.data, tile_x, FINE * tile_y + int(t % FINE_Y));
                    }
                }
                __syncthreads();
            }
            for (uint32_t k = start; k < end; k++) {
                const Command& c = list[k];
                if (c.kind == CAPSULE) {
                    lay(p, c, spans[k - start], x, y, tile_x, tile_y, inside, ink, drawn);
                    continue;
                }
                uint32_t bits = covers(c, p.data, x, y) & inside;
                if (c.kind == LETTERS ? bits & 1 : bits) bits |= 1u << 4;
                if (c.kind == PICTURE) {
                    if (bits) inks_of(c, p.data, x, y, ink);
                } else {
#pragma unroll
                    for (int i = 0; i < 5; i++) ink[i] = bits >> i & 1 ? c.ink : ink[i];
                }
                drawn |= bits;
            }
        }
        // The other threads read `found` and `list` until here.
        __syncthreads();
    }

    const bool planar = p.samples >= NV12;
    const int bytes = bytes_of(p.samples);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (drawn >> i & 1) {
            put(p.planes[0] + (y + i / 2) * p.strides[0] + uint64_t(x + i % 2) * bytes, ink[i], bytes);
        }
    }
    if (planar && drawn >> 4 & 1) {
        const uint32_t chroma = ink[4] >> 8;
        if (p.samples == NV12) {
            put(p.planes[1] + y / 2 * p.strides[1] + x, chroma, 2);
        } else {
            p.planes[1][y / 2 * p.strides[1] + x / 2] = uint8_t(chroma);
            p.planes[2][y / 2 * p.strides[2] + x / 2] = uint8_t(chroma >> 8);
        }
    }
}
