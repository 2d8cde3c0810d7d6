// The numbers of detections besides their boxes: keypoints, mapped to the frame, the coefficients or the numbers of masks, or
// the rotated boxes. They are read for the detections that nms.cu or soft_nms.cu has selected, for a batch of frames.
//
// Memory: the model's output where it lies; ranks of the selected and their anchors in the row's buffers.
// Bytes that must move: a detection's numbers in (a sector of 32 bytes each where anchors are columns), 12 a keypoint, 4 a
// coefficient or a mask's number or 20 a rotated box out, to the host.
// Launch: 128 threads, a keypoint, coefficient or rotated box each; grid.x = at most 64 blocks, which share the work, grid.z =
// the batch's rows. Only the device knows the number of detections.
#include "values.cuh"
#include "nms.cuh"
#include "rotated.cuh"

// COEFFICIENTS and ROW: coefficients, or the anchor's number, are gathered instead of points. Flags for points: IN_BOX, their
// unit is the object's box; AROUND, they are relative to their anchor, and lie in the tensor of the anchor's level; WITH_ROW, the
// last point is none, its x holds the anchor's number.
constexpr uint32_t COEFFICIENTS = 1, ROW = 4, IN_BOX = 16, AROUND = 64, WITH_ROW = 128;
// Numbers of a rotated box.
constexpr uint32_t ROTATED = 5;

// Pointers point to the data of row 0.
struct Gather {
    uint64_t row_bytes, report_bytes;
    const Row* row;
    const Ranked* ranked;
    const uint32_t* found;
    const uint32_t* delivered;
    float* report;
    Values values;
    Layout layout;
};

static_assert(sizeof(Gather) == 720, "as in src/detect/cuda/params.rs");

// A point that is relative to its anchor, in tensor pixels.
__device__ float2 around_anchor(const Layout& l, const Values& v, uint32_t anchor, uint32_t index) {
    uint32_t level = 0;
    while (level + 1 < l.levels && anchor >= l.sources[level + 1].first) level++;
    const Source& s = l.sources[level];
    Source beside = of_row(l.sources[level + BESIDE], blockIdx.z);
    uint32_t cell = anchor - s.first, place = cell / l.per_cell;
    uint64_t at = cell * v.step + index * 2 * v.value_step;
    float x = load<ANY>(beside.boxes, beside.box_type, at), y = load<ANY>(beside.boxes, beside.box_type, at + v.value_step);
    if (has_priors(l)) {
        const float* prior = static_cast<const float*>(l.sources[1].boxes) + 4 * static_cast<uint64_t>(anchor);
        return {prior[0] + x * (l.unit[0] * prior[2]), prior[1] + y * (l.unit[0] * prior[3])};
    }
    return {static_cast<float>(place % s.columns) * s.stride + x * s.stride,
            static_cast<float>(place / s.columns) * s.stride + y * s.stride};
}

// One point in the frame; all zero where it is not finite.
__device__ void point(const Gather& p, const Values& v, uint32_t anchor, uint32_t index, float* out) {
    uint32_t numbers = v.numbers % IN_BOX;
    bool around = v.numbers & AROUND;
    uint64_t at = around ? 0 : anchor * v.step + index * numbers * v.value_step;
    float x = load<ANY>(v.data, v.type, at), y = load<ANY>(v.data, v.type, at + v.value_step);
    float score = numbers >= 3 ? probability(v.activation, load<ANY>(v.data, v.type, at + 2 * v.value_step)) : 1.0f;
    if (v.y_first) swap(x, y);
    if (around) {
        float2 found = around_anchor(p.layout, v, anchor, index);
        x = found.x;
        y = found.y;
    } else if (v.numbers & IN_BOX) {
        float4 box = corners(p.layout, of_row(p.layout.sources[0], blockIdx.z),
                             of_row(p.layout.sources[1], blockIdx.z), anchor, 0, nullptr);
        x = box.x + x * (box.z - box.x);
        y = box.y + y * (box.w - box.y);
    } else {
        x *= v.unit[0];
        y *= v.unit[1];
    }
    float2 place = in_frame(*moved(p.row, blockIdx.z * p.row_bytes), x, y);
    bool fine = is_finite(place.x) && is_finite(place.y) && is_finite(score);
    out[0] = fine ? place.x : 0.0f;
    out[1] = fine ? place.y : 0.0f;
    out[2] = fine ? score : 0.0f;
}

extern "C" __global__ void __launch_bounds__(128) gather(const __grid_constant__ Gather p) {
    uint64_t block = blockIdx.z * p.row_bytes;
    const Ranked* ranked = moved(p.ranked, block);
    const uint32_t* found = moved(p.found, block);
    float* report = moved(p.report, blockIdx.z * p.report_bytes);
    Values v = p.values;
    v.data = moved(v.data, blockIdx.z * v.row);
    uint32_t all = *moved(p.delivered, block) * v.count;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        uint32_t anchor = ranked[found[i / v.count]].index / p.layout.per_anchor, index = i % v.count;
        bool is_row = v.numbers & WITH_ROW && index + 1 == v.count;
        if (v.numbers == ROW) report[i] = __uint_as_float(anchor);
        else if (is_row) report[i * 3] = __uint_as_float(anchor);
        else if (v.numbers == COEFFICIENTS) report[i] = load<ANY>(v.data, v.type, anchor * v.step + index * v.value_step);
        else point(p, v, anchor, index, report + i * 3);
    }
}

// A kernel of its own, so that the other one does not need its registers.
extern "C" __global__ void __launch_bounds__(128) gather_rotated(const __grid_constant__ Gather p) {
    uint64_t block = blockIdx.z * p.row_bytes;
    const Ranked* ranked = moved(p.ranked, block);
    const uint32_t* found = moved(p.found, block);
    const Row& row = *moved(p.row, block);
    float* report = moved(p.report, blockIdx.z * p.report_bytes);
    Values v = p.values;
    v.data = moved(v.data, blockIdx.z * v.row);
    uint32_t all = *moved(p.delivered, block);
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x) {
        rectangle(row, rotated_box(v, ranked[found[i]].index / p.layout.per_anchor), report + i * ROTATED);
    }
}
