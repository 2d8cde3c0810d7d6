// Greedy NMS of a batch of frames in two launches: from at most MOST candidates a frame, in any order, to at most top_k_after
// detections, strongest first. A frame with more candidates reports that, and its batch is started again with nms.cu.
//
// compare_small  compares each pair of candidates once: the weaker one's rank grows by 1, and if the stronger one suppresses it,
//                that is a bit of matrix[stronger / 32][weaker]. Only words that are not zero are written, each by one block,
//                which compares 32 with 32; `marks` has a bit for each of them.
// decide_small   looks at its candidates again and again, a thread at one or two, until none of those that would suppress them is
//                undecided. It reads the others' decisions in shared memory, a word for 32 candidates. Finally ranks become
//                places, and detections and counts go to the host's memory; ranks, marks and counts are left zero.
//
// Bytes that must move: 28 a candidate in, 24 a detection out (to the host). For n candidates n * n / 2 pairs.
// Launch: compare_small 256 threads, a warp compares 32 with EACH, as many blocks a frame as the host chooses; decide_small one
// block of 1024 threads. grid.z = the batch's rows. Both overlap with the launch before them: a multiprocessor has registers for
// two blocks of the first and one of the second at the same time.
#include "nms.cuh"

// EACH: candidates that a thread compares its own with at once. KEPT: words of the matrix that it keeps of a candidate.
constexpr uint32_t EACH = 4, KEPT = 4;
constexpr uint32_t COMPARERS = 256, DECIDERS = 1024, WARPS = DECIDERS / 32, PARTS = COMPARERS / 32;
static_assert(EACH * PARTS == 32, "a block compares 32 with 32");
constexpr uint32_t MOST = 2048, CHUNKS = MOST / 32, WORDS = CHUNKS / 32, OWN = CHUNKS / WARPS;
// The most detections that are put in order in shared memory.
constexpr uint32_t STAGED = 512;

struct Small {
    Nms nms;
    uint32_t* ranks;  // [room]: how many candidates are stronger
    uint32_t* marks;  // [WORDS][room]: which of a candidate's words in the matrix are not zero
    uint32_t room;    // in a row of the matrix
    uint32_t unused;
};
static_assert(sizeof(Small) == 216, "as in src/detect/cuda/params.rs");

// The word, before or after other warps' writes.
__device__ __forceinline__ uint64_t look(const unsigned long long* word) {
    uint64_t seen;
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(word));
    asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(seen) : "r"(address) : "memory");
    return seen;
}

// A candidate that the threads of a warp compare theirs with.
struct alignas(16) Other {
    float4 box;
    uint64_t key;
    uint32_t klass;
    uint32_t unused;
};

// Whether two boxes, which have sizes, have more than outlines in common: only then may one suppress the other.
__device__ __forceinline__ bool overlap(float4 a, float4 b) {
    return a.x < b.z && b.x < a.z && a.y < b.w && b.y < a.w;
}

// What the candidates of a chunk gain from their comparison with another chunk's.
struct Gain {
    uint32_t rank[32], suppressors[32];  // of each: how many are stronger, and which suppress it
};

// Compares the candidates of chunk a, a thread each, with EACH of chunk b <= a, the warp's part of it. `others` is the warp's.
__device__ __forceinline__ void compare(const Nms& p, const Small& s, uint32_t n, uint32_t a, uint32_t b, Other* others,
                                        Gain& gain) {
    uint32_t lane = threadIdx.x % 32, i = a * 32 + lane, part = threadIdx.x / 32 * EACH, first = b * 32 + part;
    if (first >= n) return;
    uint32_t count = min(n - first, EACH), there = (1u << count) - 1;
    bool am = i < n;
    const uint64_t mine = am ? p.candidates.keys[i] : 0;
    const float4 box = am ? p.candidates.boxes[i] : float4{};
    const uint32_t klass = am ? p.candidates.classes[i] : 0;
    if (lane < count) {
        uint32_t other = first + lane;
        others[lane] = {p.candidates.boxes[other], p.candidates.keys[other], p.candidates.classes[other], 0};
    }
    __syncwarp();
    uint32_t stronger = 0, near = 0, their_rank = 0;
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) {
        const Other other = others[j];
        bool is_stronger = other.key < mine, same = p.among != SAME_CLASS || other.klass == klass;
        if (is_stronger) stronger |= 1u << j;
        if (same && overlap(other.box, box)) near |= 1u << j;
        uint32_t outranked = __popc(__ballot_sync(ALL, am && !is_stronger));
        if (lane == j) their_rank = outranked;
    }
    stronger &= there;
    near &= a != b ? there : stronger;
    uint32_t over = 0;
    if (am && near) {
        // Both have this class, or the limit is the same for all classes.
        float own = area(box), limit = p.limits.of(klass);
        for (; near; near &= near - 1) {
            uint32_t j = __ffs(near) - 1;
            float4 other = others[j].box;
            float common = intersection(other, box);
            if (common / (area(other) + own - common) > limit) over |= 1u << j;
        }
    }
    uint32_t bits = over & stronger, weaker = over & ~stronger;
    if (stronger) atomicAdd(&gain.rank[lane], __popc(stronger));
    if (bits) atomicOr(&gain.suppressors[lane], bits << part);
    if (a == b) return;
    if (lane < count && their_rank) atomicAdd(&s.ranks[first + lane], their_rank);
    // Few of the other chunk's are weaker and suppressed.
    if (!__any_sync(ALL, weaker)) return;
#pragma unroll
    for (uint32_t j = 0; j < EACH; j++) {
        uint32_t suppressors = __ballot_sync(ALL, weaker >> j & 1);
        if (lane == j && suppressors) {
            p.matrix[a * s.room + first + j] = suppressors;
            atomicOr(&s.marks[a / 32 * s.room + first + j], 1u << a % 32);
        }
    }
}

__device__ __forceinline__ Small small_of_row(const Small& batch) {
    Small s = batch;
    uint64_t block = blockIdx.z * batch.nms.row_bytes;
    s.ranks = moved(s.ranks, block);
    s.marks = moved(s.marks, block);
    return s;
}

extern "C" __global__ void __launch_bounds__(COMPARERS) compare_small(const __grid_constant__ Small batch) {
    const Nms p = of_row(batch.nms);
    const Small s = small_of_row(batch);
    __shared__ Other others[PARTS][EACH];
    // One is written while the other is read.
    __shared__ Gain gains[2];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, turn = 0;
    if (warp < 2) gains[warp].rank[lane] = gains[warp].suppressors[lane] = 0;
    __syncthreads();
    let_next_start();
    wait_for_previous();
    uint32_t n = min(p.counts->kept, p.capacity), chunks = (n + 31) / 32, pairs = chunks * (chunks + 1) / 2;
    if (n > MOST) return;
    for (uint32_t pair = blockIdx.x; pair < pairs; pair += gridDim.x, turn ^= 1) {
        uint32_t a = static_cast<uint32_t>((sqrtf(8.0f * static_cast<float>(pair) + 1.0f) - 1.0f) * 0.5f);
        while (a * (a + 1) / 2 > pair) a--;
        while ((a + 1) * (a + 2) / 2 <= pair) a++;
        uint32_t b = pair - a * (a + 1) / 2, i = a * 32 + lane;
        Gain& gain = gains[turn];
        compare(p, s, n, a, b, others[warp], gain);
        __syncthreads();
        if (warp > 0) continue;
        uint32_t rank = gain.rank[lane], suppressors = gain.suppressors[lane];
        gain.rank[lane] = gain.suppressors[lane] = 0;
        if (rank) atomicAdd(&s.ranks[i], rank);
        if (suppressors) {
            p.matrix[b * s.room + i] = suppressors;
            atomicOr(&s.marks[b / 32 * s.room + i], 1u << b % 32);
        }
    }
}

// So that it is in the first-level cache when it is read.
__device__ __forceinline__ void prefetch(const void* at) { asm volatile("prefetch.global.L1 [%0];" : : "l"(at)); }

// The next of a candidate's words.
__device__ __forceinline__ uint32_t next(uint64_t& left) {
    uint32_t at = __ffsll(left) - 1;
    left &= left - 1;
    return at;
}

extern "C" __global__ void __launch_bounds__(DECIDERS) decide_small(const __grid_constant__ Small batch) {
    const Nms p = of_row(batch.nms);
    const Small s = small_of_row(batch);
    __shared__ unsigned long long states[CHUNKS];  // undecided above selected
    __shared__ uint32_t by_rank[CHUNKS], before[CHUNKS], sums[WORDS];
    __shared__ Detection staged[STAGED];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    wait_for_previous();
    uint32_t ranks[OWN], kept[OWN][KEPT], pending = 0;
    uint64_t marks[OWN];
    // What does not depend on the number of candidates is read at once. Of those beyond it ranks and marks are 0.
#pragma unroll
    for (uint32_t q = 0; q < OWN; q++) {
        uint32_t i = (warp + q * WARPS) * 32 + lane;
        ranks[q] = 0;
        marks[q] = 0;
        if (i < s.room) {
            ranks[q] = __ldcg(&s.ranks[i]);
#pragma unroll
            for (uint32_t v = 0; v < WORDS; v++) marks[q] |= static_cast<uint64_t>(__ldcg(&s.marks[v * s.room + i])) << 32 * v;
        }
        if (i < p.capacity) {
            prefetch(p.candidates.boxes + i);
            prefetch(p.candidates.keys + i);
            prefetch(p.candidates.classes + i);
        }
    }
    float2 frame = *p.frame;
    uint32_t n = min(p.counts->kept, p.capacity), chunks = (n + 31) / 32;
    if (n > MOST) {
        refuse(p);
        return;
    }
    if (threadIdx.x < CHUNKS) by_rank[threadIdx.x] = 0;
#pragma unroll
    for (uint32_t q = 0; q < OWN; q++) {
        uint32_t chunk = warp + q * WARPS, i = chunk * 32 + lane;
        if (chunk >= chunks) continue;
        uint32_t open = __ballot_sync(ALL, i < n && ranks[q] < p.top_k_before);
        if (lane == 0) atomicExch(&states[chunk], static_cast<uint64_t>(open) << 32);
        pending |= 1u << q;
        uint64_t left = marks[q];
#pragma unroll
        for (uint32_t k = 0; k < KEPT; k++) {
            kept[q][k] = 0;
            if (left) kept[q][k] = __ldcg(&p.matrix[next(left) * s.room + i]);
        }
        while (left) prefetch(&p.matrix[next(left) * s.room + i]);
    }
    __syncthreads();
    while (pending) {
#pragma unroll
        for (uint32_t q = 0; q < OWN; q++) {
            if (!(pending >> q & 1)) continue;
            uint32_t chunk = warp + q * WARPS, i = chunk * 32 + lane;
            uint64_t state = look(&states[chunk]);
            uint32_t undecided = static_cast<uint32_t>(state >> 32), selected = static_cast<uint32_t>(state);
            uint32_t mine = undecided & (1u << lane);
            bool gone = false, open = false;
            if (mine) {
                uint64_t left = marks[q];
                auto see = [&](uint32_t word, uint32_t from) {
                    uint64_t theirs = look(&states[from]);
                    gone |= (word & static_cast<uint32_t>(theirs)) != 0;
                    open |= (word & static_cast<uint32_t>(theirs >> 32)) != 0;
                };
#pragma unroll
                for (uint32_t k = 0; k < KEPT; k++) {
                    if (left) see(kept[q][k], next(left));
                }
                while (left && !gone) {
                    uint32_t from = next(left);
                    see(p.matrix[from * s.room + i], from);
                }
            }
            uint32_t now = __ballot_sync(ALL, mine && !gone && !open), lost = __ballot_sync(ALL, mine && gone);
            undecided &= ~(now | lost);
            selected |= now;
            if (lane == 0 && (now | lost)) atomicExch(&states[chunk], static_cast<uint64_t>(undecided) << 32 | selected);
            __syncwarp();
            if (undecided) continue;
            pending &= ~(1u << q);
            if (selected >> lane & 1) atomicOr(&by_rank[ranks[q] / 32], 1u << ranks[q] % 32);
        }
    }
    __syncthreads();
    if (threadIdx.x < CHUNKS) {
        uint32_t count = __popc(by_rank[threadIdx.x]), sum = count;
        for (uint32_t step = 1; step < 32; step *= 2) {
            uint32_t other = __shfl_up_sync(ALL, sum, step);
            if (lane >= step) sum += other;
        }
        before[threadIdx.x] = sum - count;
        if (lane == 31) sums[warp] = sum;
    }
    __syncthreads();
    uint32_t found = min(sums[0] + sums[1], p.top_k_after);
#pragma unroll
    for (uint32_t q = 0; q < OWN; q++) {
        uint32_t chunk = warp + q * WARPS, i = chunk * 32 + lane;
        if (i >= n) continue;
        if (static_cast<uint32_t>(look(&states[chunk])) >> lane & 1) {
            uint32_t r = ranks[q], place = before[r / 32] + __popc(by_rank[r / 32] & ((1u << r % 32) - 1));
            if (r >= 1024) place += sums[0];
            if (place < p.top_k_after) {
                float4 box = p.candidates.boxes[i];
                float x = clamp(box.x, frame.x), y = clamp(box.y, frame.y);
                float w = clamp(box.z, frame.x) - x, h = clamp(box.w, frame.y) - y;
                Detection one = {x, y, w, h, confidence_of(p.candidates.keys[i]), p.candidates.classes[i]};
                (place < STAGED ? staged : p.selected)[place] = one;
            }
        }
        if (ranks[q]) s.ranks[i] = 0;
        if (marks[q]) {
#pragma unroll
            for (uint32_t v = 0; v < WORDS; v++) s.marks[v * s.room + i] = 0;
        }
    }
    __syncthreads();
    const uint2 *near = reinterpret_cast<const uint2*>(staged), *far = reinterpret_cast<const uint2*>(p.selected);
    uint2* to = reinterpret_cast<uint2*>(p.report->detections);
    constexpr uint32_t PIECES = sizeof(Detection) / sizeof(uint2);
    for (uint32_t k = threadIdx.x; k < found * PIECES; k += DECIDERS) to[k] = k < STAGED * PIECES ? near[k] : far[k];
    if (threadIdx.x == 0) {
        p.report->counts = {p.counts->kept, p.counts->candidates, p.counts->non_finite, found};
        *p.counts = {};
    }
}
