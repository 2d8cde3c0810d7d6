// Suppression: from the candidates in any order to at most top_k_after detections, strongest first.
//
// rank      orders the top_k_before strongest candidates: a candidate's place is the number of stronger keys.
// suppress  compares each pair of a window of ranked candidates, and each with what earlier windows found: a bit for
//           each stronger box that would suppress a weaker one. matrix[stronger / 32][weaker], bits by stronger % 32.
// select    goes through the window by rank: what no selected box suppresses is selected.
// soften    is soft NMS: selects the strongest, lets it weaken the others, and again.
// The last of select's launches, or soften, writes counts and detections to the host's memory and clears the counts.
//
// Bytes that must move: 28 a candidate in, 24 a detection out (to the host). For n candidates n * n / 64 words of bits.
// Launch: rank 128 threads, 4 candidates a warp; suppress 256 threads, a warp compares 32 with 32, grid.x = the window's
// chunks of 32, grid.y = ceil(chunks / 8); select and soften one block of 1024 threads.
#include "detect.cuh"

constexpr uint32_t ALL = 0xffffffffu, RANKED_PER_WARP = 4, WARPS = 8, SELECTORS = 1024, MAX_CHUNKS = 128;
// Words that a warp of select reads ahead.
constexpr uint32_t AHEAD = 8;

// Which boxes may suppress one another.
enum Among : uint32_t { SAME_CLASS, ANY_CLASS, NOTHING };
// How soft NMS weakens.
enum Decay : uint32_t { LINEAR, GAUSSIAN };

struct alignas(16) Ranked {
    uint32_t klass;
    float confidence;
    float limit;  // for suppress the overlap, for soften the lowest confidence of its class
    uint32_t anchor;
};

struct alignas(8) Detection {
    float x, y, w, h, confidence;
    uint32_t klass;
};

struct Report {
    Counts counts;
    Detection detections[1];
};

struct Nms {
    Counts* counts;
    Candidates candidates;
    float4* boxes;  // by rank; so are the next three
    Ranked* ranked;
    float* softened;
    uint32_t* found;      // ranks of the selected
    Detection* selected;  // until all are known
    uint32_t* matrix;     // [window / 32][window]
    uint32_t* gone;       // [window / 32]: candidates that an earlier window's detection suppresses
    Report* report;
    ClassTable limits;
    uint32_t top_k_before, top_k_after;
    uint32_t start, window;  // ranks that are looked at, in whole chunks
    uint32_t among, decay;
    float iou, sigma;
    float frame[2];
    uint32_t last;  // whether this window is the last
    uint32_t padding;
};

static_assert(sizeof(Nms) == 160 && sizeof(Counts) == 16 && sizeof(Detection) == 24, "as in src/detect/cuda");

__device__ __forceinline__ float smaller(float a, float b) { return a < b ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float area(float4 a) { return (a.z - a.x) * (a.w - a.y); }

__device__ __forceinline__ float intersection(float4 a, float4 b) {
    float w = smaller(a.z, b.z) - larger(a.x, b.x), h = smaller(a.w, b.w) - larger(a.y, b.y);
    return larger(w, 0.0f) * larger(h, 0.0f);
}

__device__ __forceinline__ uint32_t ranked_count(const Nms& p) { return min(p.counts->kept, p.top_k_before); }

// Candidates of this window; none where enough has been found before it.
__device__ __forceinline__ uint32_t window_count(const Nms& p) {
    uint32_t n = ranked_count(p);
    return n <= p.start || p.counts->found >= p.top_k_after ? 0 : min(n - p.start, p.window);
}

extern "C" __global__ void __launch_bounds__(128) rank(const __grid_constant__ Nms p) {
    uint32_t n = p.counts->kept, lane = threadIdx.x % 32;
    uint32_t warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, warps = gridDim.x * (blockDim.x / 32);
    const uint64_t* keys = p.candidates.keys;
    for (uint32_t first = warp * RANKED_PER_WARP; first < n; first += warps * RANKED_PER_WARP) {
        uint64_t mine[RANKED_PER_WARP];
        uint32_t stronger[RANKED_PER_WARP] = {};
        for (uint32_t k = 0; k < RANKED_PER_WARP; k++) mine[k] = first + k < n ? keys[first + k] : 0;
#pragma unroll 4
        for (uint32_t j = lane; j < n; j += 32) {
            uint64_t key = keys[j];
            for (uint32_t k = 0; k < RANKED_PER_WARP; k++) stronger[k] += key < mine[k];
        }
        uint64_t key = 0;
        uint32_t place = 0;
        for (uint32_t k = 0; k < RANKED_PER_WARP; k++) {
            for (uint32_t step = 16; step > 0; step /= 2) {
                stronger[k] += __shfl_xor_sync(ALL, stronger[k], step);
            }
            if (lane == k) {
                key = mine[k];
                place = stronger[k];
            }
        }
        if (lane < RANKED_PER_WARP && first + lane < n && place < p.top_k_before) {
            uint32_t klass = p.candidates.classes[first + lane];
            p.boxes[place] = p.candidates.boxes[first + lane];
            p.ranked[place] = {klass, confidence_of(key), p.limits.of(klass), anchor_of(key)};
        }
    }
}

// Which of up to 32 boxes, one a thread, suppress this thread's: bits by thread. `count` of them are looked at.
__device__ uint32_t suppressors(const Nms& p, float4 mine, Ranked me, const float4* others, const uint32_t* classes,
                                uint32_t count) {
    uint32_t bits = 0;
    float own = area(mine);
    for (uint32_t j = 0; j < count; j++) {
        if (p.among == SAME_CLASS && classes[j] != me.klass) continue;
        float4 other = others[j];
        float common = intersection(other, mine);
        // No overlap is above no threshold, so most pairs need no division.
        if (common > 0.0f && common / (area(other) + own - common) > me.limit) bits |= 1u << j;
    }
    return bits;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) suppress(const __grid_constant__ Nms p) {
    __shared__ float4 boxes[WARPS][32];
    __shared__ uint32_t classes[WARPS][32];
    uint32_t n = window_count(p), chunk = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t slice = blockIdx.y * WARPS + warp, i = chunk * 32 + lane;
    if (chunk * 32 >= n) return;
    float4 mine = {};
    Ranked me = {};
    if (i < n) {
        mine = p.boxes[p.start + i];
        me = p.ranked[p.start + i];
    }
    if (slice <= chunk) {
        uint32_t other = slice * 32 + lane;
        if (other < n) {
            boxes[warp][lane] = p.boxes[p.start + other];
            classes[warp][lane] = p.ranked[p.start + other].klass;
        }
        __syncwarp();
        uint32_t bits = suppressors(p, mine, me, boxes[warp], classes[warp], min(32u, n - slice * 32));
        p.matrix[slice * p.window + i] = slice < chunk ? bits : bits & ((1u << lane) - 1);
    }
    uint32_t found = p.counts->found;
    for (uint32_t first = slice * 32; first < found; first += gridDim.y * WARPS * 32) {
        __syncwarp();
        if (first + lane < found) {
            uint32_t other = p.found[first + lane];
            boxes[warp][lane] = p.boxes[other];
            classes[warp][lane] = p.ranked[other].klass;
        }
        __syncwarp();
        uint32_t bits = suppressors(p, mine, me, boxes[warp], classes[warp], min(32u, found - first));
        uint32_t gone = __ballot_sync(ALL, bits != 0);
        if (lane == 0 && gone) atomicOr(&p.gone[chunk], gone);
    }
}

// Writes the `place`-th detection, clamped to the frame.
__device__ void put(const Nms& p, uint32_t place, float4 box, float confidence, uint32_t klass) {
    float x = clamp(box.x, p.frame[0]), y = clamp(box.y, p.frame[1]);
    float w = clamp(box.z, p.frame[0]) - x, h = clamp(box.w, p.frame[1]) - y;
    p.selected[place] = {x, y, w, h, confidence, klass};
}

// The whole block: hands `found` detections to the host and gets ready for the next frame.
__device__ void deliver(const Nms& p, uint32_t found) {
    __syncthreads();
    // In pieces of 8 bytes, neighbours by neighbouring threads: the bus likes long writes.
    const uint2* from = reinterpret_cast<const uint2*>(p.selected);
    uint2* to = reinterpret_cast<uint2*>(p.report->detections);
    for (uint32_t i = threadIdx.x; i < found * (sizeof(Detection) / sizeof(uint2)); i += SELECTORS) to[i] = from[i];
    if (threadIdx.x == 0) {
        p.report->counts = {p.counts->kept, p.counts->candidates, p.counts->non_finite, found};
        *p.counts = {};
    }
}

// Waits until chunk `wanted` is decided, and returns how many are. Warps whose turn is far off leave the others in peace.
__device__ uint32_t wait_for(const volatile uint32_t& done, uint32_t wanted, uint32_t chunk) {
    uint32_t now = done;
    while (now <= wanted) {
        if (now + 2 < chunk) __nanosleep(40);
        now = done;
    }
    __threadfence_block();
    return now;
}

// A warp takes every 32nd chunk: they read ahead at the same time, and decide one after the other.
extern "C" __global__ void __launch_bounds__(SELECTORS) select(const __grid_constant__ Nms p) {
    // Chunks below `done` are decided, all of them once there are enough; their selected candidates are `chosen`, and
    // `total` with those of earlier windows.
    __shared__ volatile uint32_t chosen[MAX_CHUNKS];
    __shared__ volatile uint32_t done, total;
    uint32_t n = window_count(p), lane = threadIdx.x % 32, chunks = (n + 31) / 32;
    if (threadIdx.x == 0) {
        done = 0;
        total = p.counts->found;
    }
    __syncthreads();
    for (uint32_t chunk = threadIdx.x / 32; chunk < chunks; chunk += SELECTORS / 32) {
        uint32_t i = chunk * 32 + lane, decided = 0;
        bool compare = p.among != NOTHING, gone = i >= n || (p.gone[chunk] >> lane & 1);
        uint32_t inside = compare ? p.matrix[chunk * p.window + i] : 0;
        float4 box = {};
        Ranked me = {};
        if (i < n) {
            box = p.boxes[p.start + i];
            me = p.ranked[p.start + i];
        }
        for (uint32_t first = 0; first < chunk && decided != ALL; first += AHEAD) {
            // Only whether these bits count depends on the chunks before.
            uint32_t bits[AHEAD];
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                bits[k] = compare && first + k < chunk ? p.matrix[(first + k) * p.window + i] : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                if (first + k >= chunk) break;
                if (decided <= first + k) decided = wait_for(done, first + k, chunk);
                gone |= (bits[k] & chosen[first + k]) != 0;
            }
        }
        if (decided == ALL) break;
        // What no undecided stronger one may suppress is selected; then what the selected suppress goes.
        uint32_t undecided = __ballot_sync(ALL, !gone), selected = 0;
        while (undecided) {
            uint32_t now = undecided & __ballot_sync(ALL, !(inside & undecided));
            selected |= now;
            undecided &= ~(now | __ballot_sync(ALL, inside & now));
        }
        uint32_t before = total, place = before + __popc(selected & ((1u << lane) - 1));
        uint32_t after = min(before + __popc(selected), p.top_k_after);
        __syncwarp();
        if (lane == 0) {
            chosen[chunk] = selected;
            total = after;
            __threadfence_block();
            done = after == p.top_k_after ? ALL : chunk + 1;
        }
        if ((selected >> lane & 1) && place < p.top_k_after) {
            put(p, place, box, me.confidence, me.klass);
            p.found[place] = p.start + i;
        }
    }
    __syncthreads();
    uint32_t found = total;
    if (threadIdx.x < chunks) p.gone[threadIdx.x] = 0;
    if (p.last) deliver(p, found);
    else if (threadIdx.x == 0) p.counts->found = found;
}

// The largest in the block, by all threads; `scratch` is free again after the block's next barrier.
__device__ uint64_t largest(uint64_t v, uint64_t* scratch) {
    for (uint32_t step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(ALL, v, step));
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    v = scratch[threadIdx.x % 32];
    for (uint32_t step = 16; step > 0; step /= 2) v = max(v, __shfl_xor_sync(ALL, v, step));
    return v;
}

// A thread looks after every 1024th candidate. One that was selected has a softened confidence of -1.
extern "C" __global__ void __launch_bounds__(SELECTORS) soften(const __grid_constant__ Nms p) {
    __shared__ uint64_t scratch[SELECTORS / 32];
    __shared__ float4 chosen;
    __shared__ uint32_t chosen_class;
    uint32_t n = ranked_count(p), found = 0;
    for (uint32_t i = threadIdx.x; i < n; i += SELECTORS) p.softened[i] = p.ranked[i].confidence;
    for (; found < p.top_k_after; found++) {
        // Strongest first, equals by anchor; 0 where none is left.
        uint64_t best = 0;
        uint32_t best_at = 0;
        for (uint32_t i = threadIdx.x; i < n; i += SELECTORS) {
            float confidence = p.softened[i];
            Ranked me = p.ranked[i];
            if (confidence < 0.0f) continue;
            if (found > 0 && me.klass == chosen_class) {
                float4 box = p.boxes[i];
                float common = intersection(chosen, box);
                if (common > 0.0f) {
                    float iou = common / (area(chosen) + area(box) - common);
                    confidence *= p.decay == GAUSSIAN ? expf(-iou * iou / p.sigma) : iou > p.iou ? 1.0f - iou : 1.0f;
                    p.softened[i] = confidence;
                }
            }
            uint64_t key = ~to_key(confidence, me.anchor);
            if (confidence >= me.limit && key > best) {
                best = key;
                best_at = i;
            }
        }
        uint64_t strongest = largest(best, scratch);
        if (strongest == 0) break;
        if (best == strongest) {
            chosen = p.boxes[best_at];
            chosen_class = p.ranked[best_at].klass;
            put(p, found, chosen, p.softened[best_at], chosen_class);
            p.softened[best_at] = -1.0f;
        }
        __syncthreads();
    }
    deliver(p, found);
}
