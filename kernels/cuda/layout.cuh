// Where a decoder's numbers lie in its tensors, and what they mean. Mirrored in src/detect/cuda/layout.rs.
#pragma once
#include "prelude.cuh"

constexpr uint32_t MAX_LEVELS = 8;
// From a level's source to the one with its anchors' second scores, and their landmarks as boxes; of four levels at most.
constexpr uint32_t BESIDE = MAX_LEVELS / 2;

// The numbers of Rust's BoxFormat, Activation, Background and SizeUnit, and six codings that belong to their decoders.
enum Coding : uint32_t { CENTER_SIZE, CORNERS, CORNERS_YX, TOP_LEFT_SIZE, GRID, DISTANCES, CENTERS, SIDES, PRIORS, ANCHORED, LINEAR_PRIORS };
enum Activation : uint32_t { NO_ACTIVATION, SIGMOID, SOFTMAX };
enum Background : uint32_t { NO_BACKGROUND, FIRST, LAST };
enum SizeUnit : uint32_t { CELLS, PIXELS, LOG_CELLS };
// How an anchor's confidence is found: its best class; objectness (after the box) times best class; written there, beside a label; its
// best class, if no neighbouring cell's score is higher in that class; the root of its score times a second one in another tensor.
enum Scoring : uint32_t { CLASSES, OBJECTNESS, FINAL, PEAKS, ROOT };

// Where the numbers of a raw head's anchors lie, of A a cell and V numbers each: [A * V, h, w]; [A, h, w, V]; [h, w, A, V]
// and the same as [h, w, A * V].
enum Form : uint32_t { PLANES, BY_ANCHOR, BY_CELL, JOINED };
// The numbers of Rust's AnchorFormula.
enum Formula : uint32_t { YOLOV3, YOLOV5, NEW_COORDS };

// The anchors of one level, or all.
struct Source {
    const void* scores;
    const void* boxes;
    uint64_t score_row, box_row;  // bytes from one row of the batch to the next
    uint32_t score_type, box_type;
    uint32_t anchors;
    uint32_t first;    // number of its first anchor
    uint32_t columns;  // cells in a row
    float stride;      // tensor pixels a cell
};

struct Layout {
    uint64_t score_step;                // elements from anchor to anchor
    uint64_t box_step, box_value_step;  // the same of boxes, and between the values of a box
    uint32_t coding, activation, background, scoring;
    uint32_t score_columns;  // background included
    uint32_t bins;           // of DISTANCES, a side
    float point;             // where a cell's point lies in it, in cells
    // Tensor pixels per unit of a box, of CENTERS only where sizes are in pixels; of both PRIORS the factors on offsets of centre and size.
    float unit[2];
    uint32_t levels;
    Source sources[MAX_LEVELS];
    uint64_t class_step;   // elements between the scores of an anchor
    uint64_t offset_step;  // of CENTERS, from here on; the offsets' values are as far apart as those of the sizes
    uint32_t sides;        // 2: width, height; 4: the distances of left, top, right, bottom
    uint32_t size_unit;
    uint32_t y_first;      // y before x, height before width, top before left
    uint32_t has_offsets;  // they are the boxes of sources[1], which is no level
    uint64_t label_step;   // of FINAL, from here on: elements between labels, the scores of sources[1], which is no level; null: class 0
    uint32_t has_count;    // the number of boxes is the first of the boxes of sources[1]
    uint32_t first_label;  // of the first class
    float last_class;
    uint32_t per_anchor;  // of all again: candidates that an anchor may become, one, or one for each column of its scores
    uint32_t angle;       // of rotated boxes: which of the numbers that follow a box's first it is
    uint32_t per_cell;    // anchors of a cell, one after the other
    const float4* anchor_sizes;  // of ANCHORED, from here on: width, height and scale of the centre, per_cell of each level
    uint32_t form;
    uint32_t formula;
    uint64_t class_box_step;  // of CENTERS: elements from the box of an anchor's class to that of its next; 0 where all have the same
};

// Whether boxes are counted from prior boxes.
__device__ inline bool has_priors(const Layout& l) {
    return l.coding == PRIORS || l.coding == LINEAR_PRIORS;
}

static_assert(sizeof(Source) == 56 && sizeof(Layout) == 600, "as in src/detect/cuda/layout.rs");
