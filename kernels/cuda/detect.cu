// Decodes a detector's outputs for a batch of frames: the best class of every anchor, or each of its classes, threshold and
// class filter, box, map to the frame, size filter. What is left is appended to the frame's list.
//
// Memory: tensors of any element type, read where they lie. decode_columns reads scores [C, A] (YOLOv8): neighbouring
// threads are neighbouring anchors, and each of a block's 8 warps scans an eighth of the classes of the same 32
// anchors. decode_rows reads scores [A, C], a stride apart (all others): 8 neighbouring threads are one anchor's.
// decode_objects reads such scores where the box has an objectness: a thread looks at that of an anchor, and those that pass are
// shared out, 8 threads each. decode_anchors reads raw heads of any order, a thread an anchor, neighbouring threads neighbouring cells. In the first two
// one warp takes a block's 32 anchors to boxes, one thread an anchor. The kernels of rotated boxes are their own, so that the
// others need not have the registers for sines; what they keep is the upright box around a box.
// Bytes that must move: every score once; where there is an objectness that fails, only its 32-byte sector. Of
// candidates the box, and 28 bytes out.
// Launch: 256 threads, of decode_objects 128; grid.x = ceil(anchors / 32), of raw heads ceil(anchors / 256), of decode_objects
// ceil(anchors / 128), grid.y = the model's levels (1 where they do not matter), grid.z = the
// batch's rows, at most 56.
#include "detect.cuh"
#include "rotated.cuh"
#include "values.cuh"

constexpr uint32_t ANCHORS = 32, LANES = 8, WARPS = 8, OBJECTS = 128, MOST_ROWS = 56;
constexpr uint32_t ALL = 0xffffffffu;
// Numbers of an anchor that a thread reads before it looks at the first: several reads take hardly longer than one.
constexpr uint32_t AT_ONCE = 10;
// Blocks of 256 threads that a multiprocessor has registers for, so that many of a batch's reads are under way at the same time.
// Those before compute capability 8.0 have room for no more threads than these.
#if __CUDA_ARCH__ >= 800
constexpr uint32_t BLOCKS = 6;
#else
constexpr uint32_t BLOCKS = 4;
#endif
// The class of an anchor that has a score that is NaN or +infinity.
constexpr uint32_t BAD = 0xffffffffu;
// Within the 4 KB that parameters may have: they are there when the kernel begins, with no copy before it.
struct Decode {
    uint64_t row_bytes;  // from one row's buffers, the next three, to the next row's
    Counts* counts;
    Row* row;  // for the kernels that follow
    Candidates candidates;
    ClassTable thresholds;
    float lowest;
    float min_size[2];
    uint32_t first_row;  // of this launch
    uint32_t capacity;   // of candidates
    uint32_t clip_before_nms;
    Layout layout;
    Row rows[MOST_ROWS];
};

static_assert(sizeof(Decode) == 3824, "as in src/detect/cuda/params.rs");

struct Score {
    float confidence;
    uint32_t klass;
};

// A running maximum, the first of equals.
struct Best {
    float score;
    uint32_t klass;
    bool bad;

    __device__ void see(float v, uint32_t c) {
        bad |= is_bad(v);
        if (v > score) {
            score = v;
            klass = c;
        }
    }
    __device__ void merge(float other, uint32_t other_class, bool other_bad) {
        bad |= other_bad;
        if (other > score || (other == score && other_class < klass)) {
            score = other;
            klass = other_class;
        }
    }
    // Where every score is -infinity, the first class is the best.
    __device__ uint32_t first() const { return klass == ~0u ? 0 : klass; }
};

__device__ __forceinline__ Best nothing_yet() { return {-infinity(), ~0u, false}; }

// The share of the best class in the softmax of a row; 0 where it is certainly below the lowest threshold. As in the
// CPU's: most anchors are background, and two terms of the sum already rule them out.
template <uint32_t TYPE>
__device__ float softmax(const Decode& p, const Source& s, uint64_t row, float best, float background,
                         uint32_t lane, uint32_t group) {
    float bound = 1.0f / (1.0f + expf(background - best));
    if (bound * 1.001f < p.lowest) return 0.0f;
    float highest = best > background ? best : background, sum = 0.0f;
    for (uint32_t c = lane; c < p.layout.score_columns; c += LANES) {
        sum += expf(load<TYPE>(s.scores, s.score_type, row + c) - highest);
    }
    for (uint32_t step = LANES / 2; step > 0; step /= 2) sum += __shfl_xor_sync(group, sum, step);
    return expf(best - highest) / sum;
}

// The score of one anchor, by its `LANES` threads (`group` is their mask); all of them get it.
template <uint32_t TYPE>
__device__ Score score_row(const Decode& p, const Source& s, uint32_t cell, uint32_t lane, uint32_t group) {
    const Layout& l = p.layout;
    uint64_t row = cell * l.score_step;
    float objectness = 1.0f;
    if (l.scoring == OBJECTNESS) {
        objectness = load<TYPE>(s.boxes, s.box_type, cell * l.box_step + 4);
        if (is_bad(objectness)) return {0.0f, BAD};
        objectness = probability(l.activation, objectness);
        if (objectness < p.lowest) return {-infinity(), 0};
    }
    if (l.scoring == ROOT) {
        Source beside = of_row(l.sources[blockIdx.y + BESIDE], p.first_row + blockIdx.z);
        objectness = load<ANY>(beside.scores, beside.score_type, cell * l.score_step);
        if (is_bad(objectness)) return {0.0f, BAD};
        objectness = clamp(probability(l.activation, objectness), 1.0f);
    }
    uint32_t before = l.background == FIRST, classes = l.score_columns - (l.background != NO_BACKGROUND);
    Best best = nothing_yet();
    for (uint32_t first = lane; first < classes; first += AT_ONCE * LANES) {
        float v[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            uint32_t c = first + k * LANES;
            v[k] = c < classes ? load<TYPE>(s.scores, s.score_type, row + before + c) : -infinity();
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) best.see(v[k], first + k * LANES);
    }
    for (uint32_t step = LANES / 2; step > 0; step /= 2) {
        float score = __shfl_xor_sync(group, best.score, step);
        uint32_t klass = __shfl_xor_sync(group, best.klass, step);
        best.merge(score, klass, __shfl_xor_sync(group, best.bad, step));
    }
    float background = -infinity();
    if (l.background != NO_BACKGROUND) {
        background = load<TYPE>(s.scores, s.score_type, row + (before ? 0 : classes));
    }
    if (best.bad || is_bad(background)) return {0.0f, BAD};
    if (l.scoring == ROOT) {
        return {sqrtf(clamp(probability(l.activation, best.score), 1.0f) * objectness), best.first()};
    }
    float confidence = l.activation == SOFTMAX
                           ? softmax<TYPE>(p, s, row, best.score, background, lane, group)
                           : objectness * probability(l.activation, best.score);
    return {confidence, best.first()};
}

// Confidence and class of a box that the model has chosen itself.
__device__ Score score_final(const Decode& p, const Source& s, const Source& labels, uint32_t cell) {
    const Layout& l = p.layout;
    float confidence = load<ANY>(s.scores, s.score_type, cell * l.score_step);
    if (is_bad(confidence)) return {0.0f, BAD};
    if (confidence < p.lowest) return {-infinity(), 0};
    if (!labels.scores) return {confidence, 0};
    float label = load<ANY>(labels.scores, labels.score_type, cell * l.label_step);
    if (!is_finite(label)) return {0.0f, BAD};
    label = roundf(label);
    // Models pad with label -1; before the first class is the background.
    if (label == -1.0f || (l.first_label > 0 && label == 0.0f)) return {-infinity(), 0};
    float klass = label - static_cast<float>(l.first_label);
    if (!(klass >= 0.0f && klass <= l.last_class)) return {0.0f, BAD};
    return {confidence, static_cast<uint32_t>(klass)};
}

// Boxes of this block's row that there are, of those that there is room for; all where the model does not say. One that
// there is no room for, or is no number, is counted by one thread of the row.
__device__ uint32_t rows_in_use(const Decode& p, const Source& lists, uint32_t rows) {
    if (!p.layout.has_count) return rows;
    float count = load<ANY>(lists.boxes, lists.box_type, 0), room = static_cast<float>(rows);
    if (!(count >= 0.0f && count <= room) && blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
        atomicAdd(&moved(p.counts, (p.first_row + blockIdx.z) * p.row_bytes)->non_finite, 1u);
    }
    return count >= room ? rows : count > 0.0f ? static_cast<uint32_t>(count) : 0;
}

// The mean bin under the softmax of a side's logits; NaN if one is NaN or +infinity.
template <uint32_t TYPE>
__device__ float expectation(const Source& s, uint64_t from, uint32_t bins) {
    float highest = -infinity(), sum = 0.0f, weighted = 0.0f;
    for (uint32_t first = 0; first < bins; first += AT_ONCE) {
        float logits[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            logits[k] = first + k < bins ? load<TYPE>(s.boxes, s.box_type, from + first + k) : -infinity();
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) highest = logits[k] > highest ? logits[k] : highest;
    }
#pragma unroll 4
    for (uint32_t bin = 0; bin < bins; bin++) {
        float weight = expf(load<TYPE>(s.boxes, s.box_type, from + bin) - highest);
        sum += weight;
        weighted += weight * static_cast<float>(bin);
    }
    return weighted / sum;
}

// Where the anchors of this block's row lie.
__device__ __forceinline__ Source source_of(const Decode& p, uint32_t level) {
    return of_row(p.layout.sources[level], p.first_row + blockIdx.z);
}

// Lets the next kernel get ready, waits for what came before, and tells the next one the frame and the map to it.
__device__ __forceinline__ void hand_on_row(const Decode& p) {
    let_next_start();
    wait_for_previous();
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
        *moved(p.row, (p.first_row + blockIdx.z) * p.row_bytes) = p.rows[blockIdx.z];
    }
}

// Whether no neighbour of the cell is stronger in the map of this class, nor as strong and before it.
__device__ bool is_peak(const Layout& l, const Source& s, uint32_t cell, uint32_t klass) {
    uint32_t column = cell % s.columns, row = cell / s.columns, rows = s.anchors / s.columns;
    auto score_of = [&](uint32_t at) {
        return load<ANY>(s.scores, s.score_type, at * l.score_step + klass * l.class_step);
    };
    float score = score_of(cell);
    for (uint32_t y = row > 0 ? row - 1 : 0; y <= row + 1 && y < rows; y++) {
        for (uint32_t x = column > 0 ? column - 1 : 0; x <= column + 1 && x < s.columns; x++) {
            uint32_t other = y * s.columns + x;
            if (other == cell) continue;
            float theirs = score_of(other);
            if (theirs > score || (other < cell && theirs == score)) return false;
        }
    }
    return true;
}

// The upright box around a box of the tensor, in the frame. One whose corners are the wrong way round comes out without
// a size, a broken one not finite.
__device__ float4 in_frame(const Row& row, float4 t) {
    float2 first = in_frame(row, t.x, t.y), last = in_frame(row, t.z, t.w);
    if (row.skew[0] == 0.0 && row.skew[1] == 0.0) return {first.x, first.y, last.x, last.y};
    if (!(t.z > t.x && t.w > t.y)) {
        float broken = first.x + first.y + last.x + last.y;
        if (is_finite(broken)) return {first.x, first.y, first.x, first.y};
        return {broken, broken, broken, broken};
    }
    float2 a = in_frame(row, t.z, t.y), b = in_frame(row, t.x, t.w);
    return {smaller(smaller(first.x, last.x), smaller(a.x, b.x)), smaller(smaller(first.y, last.y), smaller(a.y, b.y)),
            larger(larger(first.x, last.x), larger(a.x, b.x)), larger(larger(first.y, last.y), larger(a.y, b.y))};
}

// The upright box around the rotated box of a cell, in the frame.
__device__ __forceinline__ float4 rotated_in_frame(const Decode& p, const Row& row, const Source& s, uint32_t cell) {
    const Layout& l = p.layout;
    auto value = [&](uint32_t i) {
        return load<ANY>(s.boxes, s.box_type, cell * l.box_step + i * l.box_value_step);
    };
    return hull(row, {value(0) * l.unit[0], value(1) * l.unit[1], value(2) * l.unit[0], value(3) * l.unit[1],
                      value(l.angle)});
}

// Takes one class of each anchor of one warp, an anchor a thread: what passes becomes a candidate, what is broken is counted.
template <bool ROTATED>
__device__ void collect_class(const Decode& p, const Source& s, uint32_t cell, Score score, const float* distances) {
    const Row& row = p.rows[blockIdx.z];
    uint64_t block = (p.first_row + blockIdx.z) * p.row_bytes;
    bool bad = score.klass == BAD, counted = false, kept = false;
    float4 box = {};
    if (!bad && score.confidence >= p.lowest && score.confidence >= p.thresholds.of(score.klass) &&
        (p.layout.scoring != PEAKS || is_peak(p.layout, s, cell, score.klass))) {
        box = ROTATED ? rotated_in_frame(p, row, s, cell)
                      : in_frame(row, corners(p.layout, s, source_of(p, 1), cell, score.klass, distances));
        counted = is_finite(box.x) && is_finite(box.y) && is_finite(box.z - box.x) && is_finite(box.w - box.y);
        bad = !counted;
        float4 inside = {clamp(box.x, row.frame.x), clamp(box.y, row.frame.y), clamp(box.z, row.frame.x),
                         clamp(box.w, row.frame.y)};
        float w = inside.z - inside.x, h = inside.w - inside.y;
        kept = counted && w > 0.0f && h > 0.0f && w >= p.min_size[0] && h >= p.min_size[1];
        if (p.clip_before_nms) box = inside;
    }
    uint32_t all_kept = __ballot_sync(ALL, kept), all_counted = __ballot_sync(ALL, counted);
    uint32_t all_bad = __ballot_sync(ALL, bad), lane = threadIdx.x % 32, slot = 0;
    if (lane == 0) {
        Counts* counts = moved(p.counts, block);
        if (all_kept) slot = atomicAdd(&counts->kept, __popc(all_kept));
        if (all_counted) atomicAdd(&counts->candidates, __popc(all_counted));
        if (all_bad) atomicAdd(&counts->non_finite, __popc(all_bad));
    }
    slot = __shfl_sync(ALL, slot, 0) + __popc(all_kept & ((1u << lane) - 1));
    // The counts tell what there is no room for.
    if (kept && slot < p.capacity) {
        uint32_t index = s.first + cell;
        if (p.layout.per_anchor > 1) index = index * p.layout.per_anchor + score.klass;
        moved(p.candidates.keys, block)[slot] = to_key(score.confidence, index);
        moved(p.candidates.boxes, block)[slot] = box;
        moved(p.candidates.classes, block)[slot] = score.klass;
    }
}

// The softmax of an anchor's scores.
struct Softmax {
    float highest, sum;
};

__device__ Softmax softmax_of(const Layout& l, const Source& s, uint32_t cell) {
    Softmax softmax = {-infinity(), 0.0f};
    uint64_t row = cell * l.score_step;
    for (uint32_t c = 0; c < l.score_columns; c++) {
        float score = load<ANY>(s.scores, s.score_type, row + c * l.class_step);
        softmax.highest = score > softmax.highest ? score : softmax.highest;
    }
    for (uint32_t c = 0; c < l.score_columns; c++) {
        softmax.sum += expf(load<ANY>(s.scores, s.score_type, row + c * l.class_step) - softmax.highest);
    }
    return softmax;
}

// Takes the anchors of one warp, one a thread, whose best class and its confidence is `score`: that class, or all classes.
template <bool ROTATED>
__device__ void collect(const Decode& p, const Source& s, uint32_t cell, Score score, const float* distances) {
    const Layout& l = p.layout;
    if (l.per_anchor <= 1) {
        collect_class<ROTATED>(p, s, cell, score, distances);
        return;
    }
    const Score nothing = {-infinity(), 0};
    bool bad = score.klass == BAD, some = !bad && score.confidence >= p.lowest;
    // Counts the broken ones, once each.
    if (__ballot_sync(ALL, bad)) collect_class<ROTATED>(p, s, cell, bad ? score : nothing, distances);
    if (!__ballot_sync(ALL, some)) return;
    Softmax softmax = {};
    if (some && l.activation == SOFTMAX) softmax = softmax_of(l, s, cell);
    float objectness = 1.0f;
    if (some && l.scoring == OBJECTNESS) {
        objectness = probability(l.activation, load<ANY>(s.boxes, s.box_type, cell * l.box_step + 4));
    }
    uint32_t before = l.background == FIRST, classes = l.score_columns - (l.background != NO_BACKGROUND);
    for (uint32_t c = 0; c < classes; c++) {
        Score one = nothing;
        if (some) {
            float v = load<ANY>(s.scores, s.score_type, cell * l.score_step + (before + c) * l.class_step);
            one = {l.activation == SOFTMAX ? expf(v - softmax.highest) / softmax.sum
                                           : objectness * probability(l.activation, v),
                   c};
        }
        if (__ballot_sync(ALL, one.confidence >= p.lowest)) collect_class<ROTATED>(p, s, cell, one, distances);
    }
}

// The score of one anchor and, where its box needs them, the distances of its sides: a thread a side.
template <uint32_t TYPE>
__device__ Score read_row(const Decode& p, const Source& s, uint32_t cell, uint32_t lane, uint32_t group,
                          float* sides) {
    const Layout& l = p.layout;
    if (l.scoring == FINAL) return score_final(p, s, source_of(p, 1), cell);
    Score score = score_row<TYPE>(p, s, cell, lane, group);
    if (l.coding == DISTANCES && lane < 4 && score.confidence >= p.lowest) {
        sides[lane] = expectation<TYPE>(s, cell * l.box_step + lane * l.bins, l.bins);
    }
    return score;
}

template <bool ROTATED>
__device__ __forceinline__ void all_rows(const Decode& p) {
    __shared__ Score scores[ANCHORS];
    __shared__ float sides[ANCHORS][4];
    Source s = source_of(p, blockIdx.y);
    if (p.layout.scoring == FINAL) s.anchors = rows_in_use(p, source_of(p, 1), s.anchors);
    uint32_t first = blockIdx.x * ANCHORS, row = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    hand_on_row(p);
    uint32_t cell = first + row, group = 0xffu << (threadIdx.x % 32 / LANES * LANES);
    if (first >= s.anchors) return;
    Score score = {-infinity(), 0};
    if (cell < s.anchors) {
        uint32_t type = s.score_type == s.box_type ? s.score_type : ANY;
        if (type == FLOAT32) score = read_row<FLOAT32>(p, s, cell, lane, group, sides[row]);
        else if (type == FLOAT16) score = read_row<FLOAT16>(p, s, cell, lane, group, sides[row]);
        else score = read_row<ANY>(p, s, cell, lane, group, sides[row]);
    }
    if (lane == 0) scores[row] = score;
    __syncthreads();
    if (threadIdx.x < ANCHORS) collect<ROTATED>(p, s, first + threadIdx.x, scores[threadIdx.x], sides[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(ANCHORS* LANES, BLOCKS) decode_rows(const __grid_constant__ Decode p) {
    all_rows<false>(p);
}

extern "C" __global__ void __launch_bounds__(ANCHORS* LANES, BLOCKS) decode_rows_rotated(const __grid_constant__ Decode p) {
    all_rows<true>(p);
}

extern "C" __global__ void __launch_bounds__(OBJECTS, 8) decode_objects(const __grid_constant__ Decode p) {
    __shared__ uint32_t passing[OBJECTS], count;
    __shared__ Score scores[OBJECTS];
    const Layout& l = p.layout;
    const Source s = source_of(p, blockIdx.y);
    hand_on_row(p);
    uint32_t first = blockIdx.x * OBJECTS, cell = first + threadIdx.x;
    if (first >= s.anchors) return;
    if (threadIdx.x == 0) count = 0;
    bool passes = false;
    if (cell < s.anchors) {
        float objectness = load<ANY>(s.boxes, s.box_type, cell * l.box_step + 4);
        passes = is_bad(objectness) || probability(l.activation, objectness) >= p.lowest;
    }
    __syncthreads();
    uint32_t all = __ballot_sync(ALL, passes), lane = threadIdx.x % 32, place = 0;
    if (lane == 0 && all) place = atomicAdd(&count, __popc(all));
    place = __shfl_sync(ALL, place, 0) + __popc(all & ((1u << lane) - 1));
    if (passes) passing[place] = cell;
    __syncthreads();
    uint32_t n = count, within = threadIdx.x % LANES, group = 0xffu << (lane / LANES * LANES);
    uint32_t type = s.score_type == s.box_type ? s.score_type : ANY;
    // Where many pass, one group of threads takes several after each other: so that their scores are there when it comes to them.
    uint32_t element = s.score_type == FLOAT32 ? 4 : s.score_type == FLOAT16 ? 2 : 1;
    uint32_t last = (l.score_columns - 1) * element, lines = last / 128 + 2;
    for (uint32_t k = threadIdx.x; k < n * lines; k += OBJECTS) {
        uint64_t at = passing[k / lines] * l.score_step * element + min(k % lines * 128, last);
        asm volatile("prefetch.global.L1 [%0];" : : "l"(static_cast<const char*>(s.scores) + at));
    }
    for (uint32_t k = threadIdx.x / LANES; k < n; k += OBJECTS / LANES) {
        Score score;
        if (type == FLOAT32) score = score_row<FLOAT32>(p, s, passing[k], within, group);
        else if (type == FLOAT16) score = score_row<FLOAT16>(p, s, passing[k], within, group);
        else score = score_row<ANY>(p, s, passing[k], within, group);
        if (within == 0) scores[k] = score;
    }
    __syncthreads();
    if (threadIdx.x - lane >= n) return;
    bool is_one = threadIdx.x < n;
    collect<false>(p, s, is_one ? passing[threadIdx.x] : 0, is_one ? scores[threadIdx.x] : Score{-infinity(), 0}, nullptr);
}

template <uint32_t TYPE>
__device__ Best scan_columns(const Decode& p, const Source& s, uint32_t anchor, uint32_t from, uint32_t to) {
    Best best = nothing_yet();
#pragma unroll 10
    for (uint32_t c = from; c < to; c++) {
        best.see(load<TYPE>(s.scores, s.score_type, c * p.layout.class_step + anchor), c);
    }
    return best;
}

template <bool ROTATED>
__device__ __forceinline__ void all_columns(const Decode& p) {
    __shared__ Best partial[WARPS][ANCHORS];
    const Source s = source_of(p, 0);
    hand_on_row(p);
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, anchor = blockIdx.x * ANCHORS + lane;
    uint32_t classes = p.layout.score_columns, from = warp * classes / WARPS, to = (warp + 1) * classes / WARPS;
    Best best = nothing_yet();
    if (!ROTATED && warp < 4 && anchor < s.anchors) {
        // The boxes, or those of the first class, are few bytes, and are there when the candidates among them are known.
        uint64_t at = anchor * p.layout.box_step + warp * p.layout.box_value_step;
        const void* box = s.box_type == FLOAT32 ? static_cast<const void*>(static_cast<const float*>(s.boxes) + at)
                                                : static_cast<const half_t*>(s.boxes) + at;
        if (s.box_type <= FLOAT16) asm volatile("prefetch.global.L1 [%0];" : : "l"(box));
    }
    if (anchor < s.anchors) {
        if (s.score_type == FLOAT32) best = scan_columns<FLOAT32>(p, s, anchor, from, to);
        else if (s.score_type == FLOAT16) best = scan_columns<FLOAT16>(p, s, anchor, from, to);
        else best = scan_columns<ANY>(p, s, anchor, from, to);
    }
    if (warp > 0) partial[warp][lane] = best;
    __syncthreads();
    if (warp > 0) return;
    for (uint32_t w = 1; w < WARPS; w++) {
        Best other = partial[w][lane];
        best.merge(other.score, other.klass, other.bad);
    }
    Score score = {-infinity(), 0};
    if (anchor < s.anchors) {
        score = best.bad ? Score{0.0f, BAD} : Score{probability(p.layout.activation, best.score), best.first()};
    }
    collect<ROTATED>(p, s, anchor, score, nullptr);
}

extern "C" __global__ void __launch_bounds__(ANCHORS* WARPS, BLOCKS) decode_columns(const __grid_constant__ Decode p) {
    all_columns<false>(p);
}

extern "C" __global__ void __launch_bounds__(ANCHORS* WARPS, BLOCKS) decode_columns_rotated(const __grid_constant__ Decode p) {
    all_columns<true>(p);
}

// Where an anchor's numbers lie in its level's tensor.
struct Place {
    uint64_t first, step;
    uint32_t shape, cell;  // which of its cell's anchors it is, and its cell
};

__device__ __forceinline__ Place place_of(const Layout& l, const Source& s, uint32_t anchor) {
    uint32_t cells = s.anchors / l.per_cell, shape = anchor / cells, cell = anchor % cells;
    uint64_t values = 5 + l.score_columns;
    if (l.form == PLANES) return {shape * values * cells + cell, cells, shape, cell};
    uint64_t before = l.form == BY_ANCHOR ? anchor : static_cast<uint64_t>(cell) * l.per_cell + shape;
    return {before * values, 1, shape, cell};
}

// Confidence and best class of an anchor, and its objectness where that passes.
template <uint32_t TYPE>
__device__ Score score_anchor(const Decode& p, const Source& s, const Place& at, float& objectness) {
    const Layout& l = p.layout;
    objectness = load<TYPE>(s.scores, s.score_type, at.first + 4 * at.step);
    if (is_bad(objectness)) return {0.0f, BAD};
    objectness = probability(l.activation, objectness);
    if (objectness < p.lowest) return {-infinity(), 0};
    Best best = nothing_yet();
#pragma unroll 5
    for (uint32_t c = 0; c < l.score_columns; c++) {
        best.see(load<TYPE>(s.scores, s.score_type, at.first + (5 + c) * at.step), c);
    }
    if (best.bad) return {0.0f, BAD};
    return {objectness * probability(l.activation, best.score), best.first()};
}

// The box of an anchor: left, top, right, bottom in tensor pixels.
__device__ void anchored_box(const Layout& l, const Source& s, uint32_t level, const Place& at, float* box) {
    float4 size = l.anchor_sizes[level * l.per_cell + at.shape];
    auto value = [&](uint32_t i) { return load<ANY>(s.boxes, s.box_type, at.first + i * at.step); };
    float x = value(0), y = value(1), w = value(2), h = value(3);
    if (l.formula != NEW_COORDS) {
        x = probability(SIGMOID, x);
        y = probability(SIGMOID, y);
    }
    if (l.formula == YOLOV5) {
        x = x * 2.0f - 0.5f;
        y = y * 2.0f - 0.5f;
        float a = probability(SIGMOID, w) * 2.0f, b = probability(SIGMOID, h) * 2.0f;
        w = a * a;
        h = b * b;
    } else {
        float reach = (size.z - 1.0f) * 0.5f;
        x = x * size.z - reach;
        y = y * size.z - reach;
        if (l.formula == NEW_COORDS) {
            float a = w * 2.0f, b = h * 2.0f;
            w = a * a;
            h = b * b;
        } else {
            w = expf(w);
            h = expf(h);
        }
    }
    x = (static_cast<float>(at.cell % s.columns) + x) * s.stride;
    y = (static_cast<float>(at.cell / s.columns) + y) * s.stride;
    w *= size.x;
    h *= size.y;
    box[0] = x - w * 0.5f;
    box[1] = y - h * 0.5f;
    box[2] = x + w * 0.5f;
    box[3] = y + h * 0.5f;
}

extern "C" __global__ void __launch_bounds__(ANCHORS* WARPS, BLOCKS) decode_anchors(const __grid_constant__ Decode p) {
    const Layout& l = p.layout;
    const Source s = source_of(p, blockIdx.y);
    hand_on_row(p);
    uint32_t anchor = blockIdx.x * blockDim.x + threadIdx.x;
    const Score nothing = {-infinity(), 0};
    Score score = nothing;
    Place at = {};
    float objectness = 0.0f, box[4] = {};
    if (anchor < s.anchors) {
        at = place_of(l, s, anchor);
        if (s.score_type == FLOAT32) score = score_anchor<FLOAT32>(p, s, at, objectness);
        else if (s.score_type == FLOAT16) score = score_anchor<FLOAT16>(p, s, at, objectness);
        else score = score_anchor<ANY>(p, s, at, objectness);
    }
    bool bad = score.klass == BAD, some = !bad && score.confidence >= p.lowest;
    if (!__ballot_sync(ALL, bad || some)) return;
    if (some) anchored_box(l, s, blockIdx.y, at, box);
    if (l.per_anchor <= 1) {
        collect_class<false>(p, s, anchor, score, box);
        return;
    }
    // Counts the broken ones, once each.
    if (__ballot_sync(ALL, bad)) collect_class<false>(p, s, anchor, bad ? score : nothing, box);
    if (!__ballot_sync(ALL, some)) return;
    for (uint32_t c = 0; c < l.score_columns; c++) {
        Score one = nothing;
        if (some) {
            float v = load<ANY>(s.scores, s.score_type, at.first + (5 + c) * at.step);
            one = {objectness * probability(l.activation, v), c};
        }
        if (__ballot_sync(ALL, one.confidence >= p.lowest)) collect_class<false>(p, s, anchor, one, box);
    }
}
