// Reads a decoder's numbers and turns them into boxes: what decoding (detect.cu) and gathering (gather.cu) share.
#pragma once
#include "detect.cuh"
#include "layout.cuh"

// Other types than FLOAT32 and FLOAT16: the type is checked for each element.
constexpr uint32_t ANY = 0xffffffffu;

__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ bool is_bad(float score) { return !(score < infinity()); }
__device__ __forceinline__ bool is_finite(float v) { return fabsf(v) < infinity(); }

template <uint32_t TYPE>
__device__ __forceinline__ float load(const void* data, uint32_t type, uint64_t i) {
    if (TYPE == FLOAT32) return static_cast<const float*>(data)[i];
    if (TYPE == FLOAT16) return to_float(static_cast<const half_t*>(data)[i]);
    switch (type) {
        case FLOAT32: return static_cast<const float*>(data)[i];
        case FLOAT16: return to_float(static_cast<const half_t*>(data)[i]);
        case UINT8: return static_cast<const uint8_t*>(data)[i];
        case INT8: return static_cast<const int8_t*>(data)[i];
        case INT32: return static_cast<float>(static_cast<const int32_t*>(data)[i]);
        default: return static_cast<float>(static_cast<const int64_t*>(data)[i]);
    }
}

__device__ float probability(uint32_t activation, float score) {
    return activation == SIGMOID ? 1.0f / (1.0f + expf(-score)) : score;
}

// Where a model writes the numbers of detections besides their upright boxes.
struct Values {
    const void* data;     // the first anchor's first number
    uint64_t row;         // bytes from one row of the batch to the next
    uint64_t step;        // elements from anchor to anchor
    uint64_t value_step;  // elements between the numbers of an anchor
    uint32_t type;
    uint32_t count;    // points or coefficients of a detection
    uint32_t numbers;  // of a point: x, y and, if there are three, its score
    uint32_t y_first;
    uint32_t activation;
    float unit[2];  // tensor pixels per unit
    uint32_t angle;  // which number of a rotated box, whose first four are its centre and size
};

static_assert(sizeof(Values) == 64, "as in src/detect/cuda/params.rs");

// Where the anchors of a row of the batch lie.
__device__ __forceinline__ Source of_row(Source s, uint64_t row) {
    s.scores = moved(s.scores, row * s.score_row);
    s.boxes = moved(s.boxes, row * s.box_row);
    return s;
}

__device__ __forceinline__ void swap(float& a, float& b) {
    float c = a;
    a = b;
    b = c;
}

// The size of a side, in tensor pixels.
__device__ __forceinline__ float side(const Layout& l, const Source& s, uint64_t at) {
    float v = load<ANY>(s.boxes, s.box_type, at);
    return l.size_unit == PIXELS ? v * l.unit[0] : l.size_unit == CELLS ? v * s.stride : expf(v) * s.stride;
}

// A box around the centre of a cell, of this class; `offsets` are where the centres' offsets lie, if there are any.
__device__ float4 around_center(const Layout& l, const Source& s, const Source& offsets, uint32_t cell, uint32_t klass) {
    float dx = 0.0f, dy = 0.0f;
    if (l.has_offsets) {
        uint64_t at = cell * l.offset_step;
        dx = load<ANY>(offsets.boxes, offsets.box_type, at);
        dy = load<ANY>(offsets.boxes, offsets.box_type, at + l.box_value_step);
        if (l.y_first) swap(dx, dy);
    }
    float x = (static_cast<float>(cell % s.columns) + dx + l.point) * s.stride;
    float y = (static_cast<float>(cell / s.columns) + dy + l.point) * s.stride;
    uint64_t at = cell * l.box_step + klass * l.class_box_step;
    float a = side(l, s, at), b = side(l, s, at + l.box_value_step);
    if (l.y_first) swap(a, b);
    if (l.sides == 2) return {x - a * 0.5f, y - b * 0.5f, x + a * 0.5f, y + b * 0.5f};
    float c = side(l, s, at + 2 * l.box_value_step), d = side(l, s, at + 3 * l.box_value_step);
    if (l.y_first) swap(c, d);
    return {x - a, y - b, x + c, y + d};
}

// The four values of a box.
template <uint32_t TYPE>
__device__ __forceinline__ float4 box_values(const Layout& l, const Source& s, uint64_t at) {
    uint64_t step = l.box_value_step;
    return {load<TYPE>(s.boxes, s.box_type, at), load<TYPE>(s.boxes, s.box_type, at + step),
            load<TYPE>(s.boxes, s.box_type, at + 2 * step), load<TYPE>(s.boxes, s.box_type, at + 3 * step)};
}

// Left, top, right, bottom of this class's box in tensor pixels, or of ANCHORED the `distances` themselves. `offsets` are
// what CENTERS and PRIORS have in sources[1].
__device__ float4 corners(const Layout& l, const Source& s, const Source& offsets, uint32_t cell, uint32_t klass,
                          const float* distances) {
    if (l.coding == CENTERS) return around_center(l, s, offsets, cell, klass);
    if (l.coding == ANCHORED) return {distances[0], distances[1], distances[2], distances[3]};
    if (l.coding == DISTANCES) {
        float x = (static_cast<float>(cell % s.columns) + l.point) * s.stride;
        float y = (static_cast<float>(cell / s.columns) + l.point) * s.stride;
        return {x - distances[0] * s.stride, y - distances[1] * s.stride, x + distances[2] * s.stride,
                y + distances[3] * s.stride};
    }
    uint64_t at = cell * l.box_step;
    // Where the type is known, all four are on their way at once.
    float4 values = s.box_type == FLOAT32 ? box_values<FLOAT32>(l, s, at) : box_values<ANY>(l, s, at);
    float a = values.x, b = values.y, c = values.z, d = values.w;
    if (has_priors(l)) {
        const float* prior = static_cast<const float*>(offsets.boxes) + 4 * static_cast<uint64_t>(cell);
        float x = prior[0] + a * (l.unit[0] * prior[2]), y = prior[1] + b * (l.unit[0] * prior[3]);
        c *= l.unit[1], d *= l.unit[1];
        bool linear = l.coding == LINEAR_PRIORS;
        float w = (linear ? c : expf(c)) * prior[2], h = (linear ? d : expf(d)) * prior[3];
        return {x - w * 0.5f, y - h * 0.5f, x + w * 0.5f, y + h * 0.5f};
    }
    if (l.coding == SIDES) {
        uint32_t place = cell / l.per_cell;
        float x = static_cast<float>(place % s.columns) * s.stride, y = static_cast<float>(place / s.columns) * s.stride;
        return {x - a * s.stride, y - b * s.stride, x + c * s.stride, y + d * s.stride};
    }
    if (l.coding == GRID) {
        a = (a + static_cast<float>(cell % s.columns)) * s.stride;
        b = (b + static_cast<float>(cell / s.columns)) * s.stride;
        c = expf(c) * s.stride;
        d = expf(d) * s.stride;
    }
    float4 box;
    if (l.coding == CORNERS) box = {a, b, c, d};
    else if (l.coding == CORNERS_YX) box = {b, a, d, c};
    else if (l.coding == TOP_LEFT_SIZE) box = {a, b, a + c, b + d};
    else box = {a - c * 0.5f, b - d * 0.5f, a + c * 0.5f, b + d * 0.5f};
    return {box.x * l.unit[0], box.y * l.unit[1], box.z * l.unit[0], box.w * l.unit[1]};
}
