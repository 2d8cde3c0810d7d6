// Greedy NMS of a batch of frames: from a frame's candidates in any order to at most top_k_after detections, strongest
// first.
//
// rank      orders the top_k_before strongest candidates: a candidate's place is the number of stronger keys.
// suppress  compares each pair of a window of ranked candidates, and each with the detections of earlier windows: a bit for
//           each stronger box that would suppress a weaker one. matrix[stronger / 32][weaker], bits by stronger % 32.
// select    goes through the window by rank: a candidate that no selected box suppresses is selected. The last window's
//           launch writes counts and detections to the host's memory and clears the counts. Where more candidates should
//           have been ranked than there is room for, and fewer than top_k_after detections were found, it reports that instead.
//
// Bytes that must move: 28 a candidate in, 24 a detection out (to the host). For n candidates n * n / 64 words of bits.
// Launch: rank 128 threads, 4 candidates a warp; suppress 256 threads, a warp compares 32 with 32, grid.x = the window's
// chunks of 32, grid.y = ceil(chunks / 8); select one block of 1024 threads. grid.z = the batch's rows.
#include "nms.cuh"

constexpr uint32_t RANKERS = 128, RANKED_PER_WARP = 4, TILE = 2048, WARPS = 8, SELECTORS = 1024, MAX_CHUNKS = 128;
// Words that a warp of `select` reads ahead.
constexpr uint32_t AHEAD = 8;

extern "C" __global__ void __launch_bounds__(RANKERS) rank(const __grid_constant__ Nms batch) {
    let_next_start();
    wait_for_previous();
    const Nms p = of_row(batch);
    __shared__ uint64_t tile[TILE];
    constexpr uint32_t RANKED_PER_BLOCK = RANKERS / 32 * RANKED_PER_WARP;
    uint32_t n = min(p.counts->kept, p.capacity), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint64_t* keys = p.candidates.keys;
    for (uint32_t block = blockIdx.x * RANKED_PER_BLOCK; block < n; block += gridDim.x * RANKED_PER_BLOCK) {
        uint32_t first = block + warp * RANKED_PER_WARP, places[RANKED_PER_WARP] = {};
        uint64_t mine[RANKED_PER_WARP];
        for (uint32_t k = 0; k < RANKED_PER_WARP; k++) mine[k] = first + k < n ? keys[first + k] : ~0ull;
        for (uint32_t from = 0; from < n; from += TILE) {
            uint32_t count = min(TILE, n - from);
            __syncthreads();
#pragma unroll 8
            for (uint32_t j = threadIdx.x; j < count; j += RANKERS) tile[j] = keys[from + j];
            __syncthreads();
            // A candidate whose place is beyond those that are kept need not know it exactly.
            bool open = false;
            for (uint32_t k = 0; k < RANKED_PER_WARP; k++) open |= places[k] < p.top_k_before;
            if (!open) continue;
            uint32_t stronger[RANKED_PER_WARP] = {};
#pragma unroll 4
            for (uint32_t j = lane; j < count; j += 32) {
                uint64_t key = tile[j];
                for (uint32_t k = 0; k < RANKED_PER_WARP; k++) stronger[k] += key < mine[k];
            }
            for (uint32_t k = 0; k < RANKED_PER_WARP; k++) {
                for (uint32_t step = 16; step > 0; step /= 2) {
                    stronger[k] += __shfl_xor_sync(ALL, stronger[k], step);
                }
                places[k] += stronger[k];
            }
        }
        uint64_t key = mine[0];
        uint32_t place = places[0];
        for (uint32_t k = 1; k < RANKED_PER_WARP; k++) {
            if (lane == k) {
                key = mine[k];
                place = places[k];
            }
        }
        if (lane < RANKED_PER_WARP && first + lane < n && place < p.top_k_before) {
            uint32_t klass = p.candidates.classes[first + lane];
            p.boxes[place] = p.candidates.boxes[first + lane];
            p.ranked[place] = {klass, confidence_of(key), p.limits.of(klass), index_of(key)};
        }
    }
}

// Which of `count` boxes suppress this thread's, by bits.
__device__ __forceinline__ uint32_t suppressors(const Nms& p, float4 mine, Ranked me, const float4* others,
                                                const uint32_t* classes, uint32_t count) {
    uint32_t near = 0, bits = 0;
    // Boxes that do not overlap are never suppressed, so most pairs need no division. Without branches, for speed.
#pragma unroll
    for (uint32_t j = 0; j < 32; j++) {
        bool same = p.among != SAME_CLASS || classes[j] == me.klass;
        near |= static_cast<uint32_t>(same && intersection(others[j], mine) > 0.0f) << j;
    }
    if (count < 32) near &= (1u << count) - 1;
    for (float own = area(mine); near; near &= near - 1) {
        uint32_t j = __ffs(near) - 1;
        float4 other = others[j];
        float common = intersection(other, mine);
        if (common / (area(other) + own - common) > me.limit) bits |= 1u << j;
    }
    return bits;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) suppress(const __grid_constant__ Nms batch) {
    let_next_start();
    wait_for_previous();
    const Nms p = of_row(batch);
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
        boxes[warp][lane] = other < n ? p.boxes[p.start + other] : float4{};
        classes[warp][lane] = other < n ? p.ranked[p.start + other].klass : 0;
        __syncwarp();
        // In its own chunk a candidate is compared with the stronger ones only.
        uint32_t bits = suppressors(p, mine, me, boxes[warp], classes[warp], slice < chunk ? 32 : lane);
        p.matrix[slice * p.window + i] = bits;
    }
    uint32_t found = p.counts->found;
    for (uint32_t first = slice * 32; first < found; first += gridDim.y * WARPS * 32) {
        uint32_t other = first + lane < found ? p.found[first + lane] : p.found[first];
        __syncwarp();
        boxes[warp][lane] = p.boxes[other];
        classes[warp][lane] = p.ranked[other].klass;
        __syncwarp();
        uint32_t bits = suppressors(p, mine, me, boxes[warp], classes[warp], found - first);
        uint32_t gone = __ballot_sync(ALL, bits != 0);
        if (lane == 0 && gone) atomicOr(&p.gone[chunk], gone);
    }
}

// The word, before or after another warp's exchange.
__device__ __forceinline__ uint64_t look(const unsigned long long* word) {
    uint64_t seen;
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(word));
    asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(seen) : "r"(address) : "memory");
    return seen;
}

// A warp takes every 32nd chunk: they read ahead at the same time, and decide one after the other.
extern "C" __global__ void __launch_bounds__(SELECTORS) select(const __grid_constant__ Nms batch) {
    let_next_start();
    wait_for_previous();
    const Nms p = of_row(batch);
    // By chunk, once it is decided: a bit for each selected candidate, and above them 1 + the number selected so far. One word
    // for both, so that a warp sees both at once; it is handed from warp to warp, by an atomic exchange.
    __shared__ unsigned long long decided[MAX_CHUNKS];
    uint32_t n = window_count(p), lane = threadIdx.x % 32, chunks = (n + 31) / 32;
    uint32_t before = p.counts->found;
    float2 frame = *p.frame;
    bool compare = p.among != NOTHING, enough = false;
    if (threadIdx.x < MAX_CHUNKS) decided[threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t chunk = threadIdx.x / 32; chunk < chunks; chunk += SELECTORS / 32) {
        uint32_t i = chunk * 32 + lane;
        bool gone = i >= n || (p.gone[chunk] >> lane & 1);
        uint32_t inside = compare ? p.matrix[chunk * p.window + i] : 0;
        float4 box = {};
        Ranked me = {};
        if (i < n) {
            box = p.boxes[p.start + i];
            me = p.ranked[p.start + i];
        }
        for (uint32_t first = 0; first < chunk && !enough; first += AHEAD) {
            // The bits can be read now; only whether they count depends on the earlier chunks.
            uint32_t bits[AHEAD];
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                bits[k] = compare && first + k < chunk ? p.matrix[(first + k) * p.window + i] : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < AHEAD; k++) {
                if (first + k >= chunk) break;
                uint64_t word;
                while ((word = look(&decided[first + k])) == 0) {
                    // A warp whose turn is far off sleeps, so as not to slow down the others.
                    if (first + k + 3 < chunk) __nanosleep(40);
                }
                gone |= (bits[k] & static_cast<uint32_t>(word)) != 0;
                before = static_cast<uint32_t>(word >> 32) - 1;
            }
            enough = before >= p.top_k_after;
        }
        // Candidates that no undecided stronger one may suppress are selected; then those that they suppress are removed.
        uint32_t undecided = enough ? 0 : __ballot_sync(ALL, !gone), selected = 0;
        while (undecided) {
            uint32_t now = undecided & __ballot_sync(ALL, !(inside & undecided));
            selected |= now;
            undecided &= ~(now | __ballot_sync(ALL, inside & now));
        }
        uint32_t after = min(before + __popc(selected), p.top_k_after);
        if (lane == 0) atomicExch(&decided[chunk], static_cast<uint64_t>(after + 1) << 32 | selected);
        uint32_t place = before + __popc(selected & ((1u << lane) - 1));
        if ((selected >> lane & 1) && place < p.top_k_after) {
            put(p, frame, place, box, me.confidence, me.klass);
            p.found[place] = p.start + i;
        }
    }
    __syncthreads();
    uint32_t found = chunks > 0 ? static_cast<uint32_t>(decided[chunks - 1] >> 32) - 1 : p.counts->found;
    if (threadIdx.x < chunks) p.gone[threadIdx.x] = 0;
    if (!p.last) {
        if (threadIdx.x == 0) p.counts->found = found;
    } else if (found < p.top_k_after && lacks_room(p)) {
        refuse(p);
    } else {
        deliver(p, found, SELECTORS);
    }
}
