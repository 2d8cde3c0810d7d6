// Rotated boxes: read, mapped to the frame, and as normal distributions. In float64 and in the order of
// src/detect/rotated.rs, so that decisions are those of the CPU.
#pragma once
#include "values.cuh"

constexpr double EPSILON = 1e-7, LEAST_SPREAD = 8.1, QUARTER = 1.5707963267948966;

// In tensor pixels; the angle in radians, clockwise on the screen.
struct RotatedBox {
    float x, y, w, h, angle;
};

// The centre of a box in the frame, and its sides as vectors there.
struct MappedBox {
    double x, y, ux, uy, vx, vy;
};

__device__ __forceinline__ MappedBox mapped(const Row& row, const RotatedBox& box) {
    double sin, cos, x = box.x, y = box.y, w = box.w, h = box.h;
    sincos(static_cast<double>(box.angle), &sin, &cos);
    double across[2] = {cos * w, sin * w}, down[2] = {-sin * h, cos * h};
    return {row.scale[0] * x + row.skew[0] * y + row.offset[0],
            row.skew[1] * x + row.scale[1] * y + row.offset[1],
            row.scale[0] * across[0] + row.skew[0] * across[1],
            row.skew[1] * across[0] + row.scale[1] * across[1],
            row.scale[0] * down[0] + row.skew[0] * down[1],
            row.skew[1] * down[0] + row.scale[1] * down[1]};
}

// The upright box around a rotated one in the frame: left, top, right, bottom. It has no size where the box has none, and is not
// finite where one of the box's numbers is not.
__device__ __forceinline__ float4 hull(const Row& row, const RotatedBox& box) {
    MappedBox m = mapped(row, box);
    double half = box.w <= 0.0f || box.h <= 0.0f ? 0.0 : 0.5;
    double dx = (fabs(m.ux) + fabs(m.vx)) * half, dy = (fabs(m.uy) + fabs(m.vy)) * half;
    return {static_cast<float>(m.x - dx), static_cast<float>(m.y - dy), static_cast<float>(m.x + dx),
            static_cast<float>(m.y + dy)};
}

// The rectangle in the frame whose corners are nearest to the mapped ones: left, top, width, height before it is rotated, and
// the angle, from 0 to below a quarter turn.
__device__ __forceinline__ void rectangle(const Row& row, const RotatedBox& box, float* out) {
    MappedBox m = mapped(row, box);
    double twice = 2.0 * (m.ux * m.uy - m.vx * m.vy), sin, cos;
    double angle = 0.5 * atan2(twice, m.ux * m.ux + m.vy * m.vy - (m.uy * m.uy + m.vx * m.vx));
    sincos(angle, &sin, &cos);
    double w = fabs(m.ux * cos + m.uy * sin), h = fabs(m.vy * cos - m.vx * sin);
    bool swapped = angle < 0.0;
    float turn = static_cast<float>(swapped ? angle + QUARTER : angle);
    // Rounding may make it a quarter turn.
    if (turn >= static_cast<float>(QUARTER)) {
        turn = 0.0f;
        swapped = !swapped;
    }
    if (swapped) {
        double other = w;
        w = h;
        h = other;
    }
    out[0] = static_cast<float>(m.x - w * 0.5);
    out[1] = static_cast<float>(m.y - h * 0.5);
    out[2] = static_cast<float>(w);
    out[3] = static_cast<float>(h);
    out[4] = turn;
}

// The box of an anchor.
__device__ __forceinline__ RotatedBox rotated_box(const Values& v, uint32_t anchor) {
    uint64_t at = anchor * v.step;
    auto value = [&](uint32_t i) { return load<ANY>(v.data, v.type, at + i * v.value_step); };
    return {value(0) * v.unit[0], value(1) * v.unit[1], value(2) * v.unit[0], value(3) * v.unit[1],
            value(v.angle)};
}

// A box as the distribution with its centre, and with the covariance of a uniform one over it.
struct Gaussian {
    double x, y, xx, yy, xy;
    double spread;  // the square root of the covariance's determinant
};

__device__ __forceinline__ Gaussian gaussian(const RotatedBox& box) {
    double sin, cos, w = box.w, h = box.h;
    sincos(static_cast<double>(box.angle), &sin, &cos);
    double a = w * w / 12.0, b = h * h / 12.0;
    return {box.x,
            box.y,
            a * cos * cos + b * sin * sin,
            a * sin * sin + b * cos * cos,
            (a - b) * cos * sin,
            w * h / 12.0};
}

// The largest Bhattacharyya distance at which the probabilistic IoU is at least `overlap`.
__device__ __forceinline__ double distance_of(float overlap) {
    double hellinger = 1.0 - overlap;
    return -log(1.0 + EPSILON - hellinger * hellinger);
}

// Whether the distance of the boxes is at most `limit`.
__device__ __forceinline__ bool is_within(const Gaussian& p, const Gaussian& q, double limit) {
    double xx = p.xx + q.xx, yy = p.yy + q.yy, xy = p.xy + q.xy, dx = p.x - q.x, dy = p.y - q.y;
    double determinant = xx * yy - xy * xy;
    double apart = 0.25 * (xx * dy * dy + yy * dx * dx - 2.0 * xy * dx * dy);
    // Most boxes are far apart, which is decided without a division or a logarithm.
    if (apart > (limit + LEAST_SPREAD) * (determinant + EPSILON)) return false;
    double widened = 0.5 * log(determinant / (4.0 * p.spread * q.spread + EPSILON) + EPSILON);
    double distance = apart / (determinant + EPSILON) + widened;
    return fmax(distance, EPSILON) <= limit;
}
