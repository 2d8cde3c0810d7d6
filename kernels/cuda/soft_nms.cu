// Soft NMS (Bodla et al., 2017) of a batch of frames: selects a frame's strongest candidate, lets it weaken those of its
// class that it overlaps, and repeats this until no candidate is above its class's threshold.
//
// Memory: candidates as ranked by nms.cu. A thread handles every 1024th; its first stays in registers.
// Bytes that must move: 32 a candidate in, 24 a detection out (to the host). The time is that of the selections, which
// follow one another.
// Launch: one block of 1024 threads a row of the batch (grid.z). Writes counts and detections to the host's memory and
// clears the counts.
#include "nms.cuh"

constexpr uint32_t SELECTORS = 1024;

__device__ __forceinline__ uint32_t highest(uint32_t v) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL, v);
#else
    for (uint32_t step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(ALL, v, step));
    return v;
#endif
}

// The largest value in the warp; all its threads call it.
__device__ __forceinline__ uint64_t largest(uint64_t v) {
    uint32_t high = static_cast<uint32_t>(v >> 32), top = highest(high);
    return static_cast<uint64_t>(top) << 32 | highest(high == top ? static_cast<uint32_t>(v) : 0);
}

// A candidate that was selected has a confidence of -1.
extern "C" __global__ void __launch_bounds__(SELECTORS) soften(const __grid_constant__ Nms batch) {
    let_next_start();
    wait_for_previous();
    const Nms p = of_row(batch);
    __shared__ uint64_t by_warp[SELECTORS / 32];
    __shared__ float4 chosen;
    __shared__ uint32_t chosen_class;
    if (lacks_room(p)) {
        refuse(p);
        return;
    }
    uint32_t n = ranked_count(p), own = threadIdx.x, found = 0;
    // Warps without candidates leave, so that the others need not wait for them.
    uint32_t warps = max(1u, (min(n, SELECTORS) + 31) / 32);
    if (own >= warps * 32) return;
    float2 frame = *p.frame;
    float4 own_box = {};
    Ranked own_rank = {};
    float own_confidence = -1.0f;
    if (own < n) {
        own_box = p.boxes[own];
        own_rank = p.ranked[own];
        own_confidence = own_rank.confidence;
    }
    for (uint32_t i = own + SELECTORS; i < n; i += SELECTORS) p.softened[i] = p.ranked[i].confidence;
    for (; found < p.top_k_after; found++) {
        // The strongest, of equal ones that with the lowest index; 0 where none is left.
        uint64_t best = 0;
        uint32_t best_at = 0;
        auto look = [&](uint32_t i, float4 box, const Ranked& me, float confidence) {
            if (confidence < 0.0f) return confidence;
            float common = found > 0 && me.klass == chosen_class ? intersection(chosen, box) : 0.0f;
            if (common > 0.0f) {
                float iou = common / (area(chosen) + area(box) - common);
                confidence *= p.decay == GAUSSIAN ? expf(-iou * iou / p.sigma) : iou > p.iou ? 1.0f - iou : 1.0f;
            }
            uint64_t key = ~to_key(confidence, me.index);
            if (confidence >= me.limit && key > best) {
                best = key;
                best_at = i;
            }
            return confidence;
        };
        own_confidence = look(own, own_box, own_rank, own_confidence);
        for (uint32_t i = own + SELECTORS; i < n; i += SELECTORS) {
            p.softened[i] = look(i, p.boxes[i], p.ranked[i], p.softened[i]);
        }
        uint64_t strongest = largest(best);
        if (own % 32 == 0) by_warp[own / 32] = strongest;
        __syncthreads();
        strongest = largest(own % 32 < warps ? by_warp[own % 32] : 0);
        if (strongest == 0) break;
        if (best == strongest) {
            float4 box = own_box;
            uint32_t klass = own_rank.klass;
            if (best_at == own) {
                own_confidence = -1.0f;
            } else {
                box = p.boxes[best_at];
                klass = p.ranked[best_at].klass;
                p.softened[best_at] = -1.0f;
            }
            chosen = box;
            chosen_class = klass;
            put(p, frame, found, box, confidence_of(~best), klass);
            p.found[found] = best_at;
        }
        __syncthreads();
    }
    deliver(p, found, warps * 32);
}
