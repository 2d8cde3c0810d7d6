// What ranking, greedy NMS (nms.cu), NMS of rotated boxes (nms_rotated.cu) and soft NMS (soft_nms.cu) share. Mirrored in
// src/detect/cuda/params.rs.
#pragma once
#include "detect.cuh"

constexpr uint32_t ALL = 0xffffffffu;
// Reported instead of the number of detections.
constexpr uint32_t TOO_MANY = 0xffffffffu;

// Which boxes may suppress one another.
enum Among : uint32_t { SAME_CLASS, ANY_CLASS, NOTHING };
// How soft NMS weakens.
enum Decay : uint32_t { LINEAR, GAUSSIAN };

struct alignas(16) Ranked {
    uint32_t klass;
    float confidence;
    float limit;  // for greedy NMS the overlap, for soft NMS the lowest confidence of its class
    uint32_t index;  // of the candidate
};

struct alignas(8) Detection {
    float x, y, w, h, confidence;
    uint32_t klass;
};

struct Report {
    Counts counts;
    Detection detections[1];
};

// The host passes pointers to the data of row 0; a kernel begins by moving them to its own row's.
struct Nms {
    uint64_t row_bytes;     // from a row's buffers (the pointers down to `gone`) to the next row's
    uint64_t report_bytes;  // from a row's report to the next row's
    Counts* counts;
    float2* frame;  // width, height
    Candidates candidates;
    float4* boxes;  // by rank; so are the next two
    Ranked* ranked;
    float* softened;
    uint32_t* found;      // ranks of the selected, until the next batch
    Detection* selected;  // until all are known
    uint32_t* matrix;     // [window / 32][window]
    uint32_t* gone;       // [window / 32]: candidates that an earlier window's detection suppresses
    Report* report;
    ClassTable limits;
    uint32_t top_k_before, top_k_after;
    uint32_t start, window;  // ranks that are looked at, in whole chunks
    uint32_t among, decay;
    float iou, sigma;
    uint32_t last;      // whether this window is the last
    uint32_t capacity;  // of candidates
    uint32_t* delivered;  // the number of detections, for a kernel that follows
    uint32_t wanted;      // candidates that should be ranked; top_k_before is limited by the room
    uint32_t unused;
};

static_assert(sizeof(Nms) == 192 && sizeof(Counts) == 16 && sizeof(Detection) == 24, "as in src/detect/cuda");

__device__ __forceinline__ Nms of_row(const Nms& batch) {
    Nms p = batch;
    uint64_t block = blockIdx.z * batch.row_bytes;
    p.counts = moved(p.counts, block);
    p.frame = moved(p.frame, block);
    p.candidates = {moved(p.candidates.keys, block), moved(p.candidates.boxes, block),
                    moved(p.candidates.classes, block)};
    p.boxes = moved(p.boxes, block);
    p.ranked = moved(p.ranked, block);
    p.softened = moved(p.softened, block);
    p.found = moved(p.found, block);
    p.selected = moved(p.selected, block);
    p.matrix = moved(p.matrix, block);
    p.gone = moved(p.gone, block);
    p.delivered = moved(p.delivered, block);
    p.report = moved(p.report, blockIdx.z * batch.report_bytes);
    return p;
}

__device__ __forceinline__ float area(float4 a) { return (a.z - a.x) * (a.w - a.y); }

__device__ __forceinline__ float intersection(float4 a, float4 b) {
    float w = smaller(a.z, b.z) - larger(a.x, b.x), h = smaller(a.w, b.w) - larger(a.y, b.y);
    return larger(w, 0.0f) * larger(h, 0.0f);
}

__device__ __forceinline__ uint32_t ranked_count(const Nms& p) { return min(min(p.counts->kept, p.capacity), p.top_k_before); }

// Whether more candidates must be ranked than there is room for.
__device__ __forceinline__ bool lacks_room(const Nms& p) { return min(min(p.counts->kept, p.capacity), p.wanted) > p.top_k_before; }

// Reports that room is missing, and nothing else: the batch is started again. All threads of the block call it.
__device__ __forceinline__ void refuse(const Nms& p) {
    // All have read the counts.
    __syncthreads();
    if (threadIdx.x > 0) return;
    p.report->counts = {p.counts->kept, 0, 0, TOO_MANY};
    *p.counts = {};
    *p.delivered = 0;
}

// Candidates of this window; none where earlier windows have given enough detections.
__device__ __forceinline__ uint32_t window_count(const Nms& p) {
    uint32_t n = ranked_count(p);
    return n <= p.start || p.counts->found >= p.top_k_after ? 0 : min(n - p.start, p.window);
}

// Writes the `place`-th detection, clamped to the frame.
__device__ __forceinline__ void put(const Nms& p, float2 frame, uint32_t place, float4 box, float confidence,
                                    uint32_t klass) {
    float x = clamp(box.x, frame.x), y = clamp(box.y, frame.y);
    float w = clamp(box.z, frame.x) - x, h = clamp(box.w, frame.y) - y;
    p.selected[place] = {x, y, w, h, confidence, klass};
}

// The `threads` threads that are left of the block hand `found` detections to the host and prepare for the next frame.
__device__ __forceinline__ void deliver(const Nms& p, uint32_t found, uint32_t threads) {
    __syncthreads();
    // In pieces of 8 bytes, neighbours by neighbouring threads: long writes are faster over the bus.
    const uint2* from = reinterpret_cast<const uint2*>(p.selected);
    uint2* to = reinterpret_cast<uint2*>(p.report->detections);
    for (uint32_t i = threadIdx.x; i < found * (sizeof(Detection) / sizeof(uint2)); i += threads) to[i] = from[i];
    if (threadIdx.x == 0) {
        p.report->counts = {p.counts->kept, p.counts->candidates, p.counts->non_finite, found};
        *p.counts = {};
        *p.delivered = found;
    }
}
