// Where a decoder's numbers lie in its tensors, and what they mean. Mirrored in src/detect/cuda/layout.rs.
#pragma once
#include "prelude.cuh"

constexpr uint32_t MAX_LEVELS = 8;

// The numbers of Rust's BoxFormat, Activation and Background, and two codings that belong to their decoders.
enum Coding : uint32_t { CENTER_SIZE, CORNERS, CORNERS_YX, TOP_LEFT_SIZE, GRID, DISTANCES };
enum Activation : uint32_t { NO_ACTIVATION, SIGMOID, SOFTMAX };
enum Background : uint32_t { NO_BACKGROUND, FIRST, LAST };
// How an anchor's confidence is found: its best class; objectness (behind the box) times best class; written there.
enum Scoring : uint32_t { CLASSES, OBJECTNESS, FINAL };

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
    uint64_t score_step;               // elements from class to class (decode_columns), else from anchor to anchor
    uint64_t box_step, box_value_step;  // elements from anchor to anchor, and between the values of a box
    uint32_t coding, activation, background, scoring;
    uint32_t score_columns;  // background included
    uint32_t bins;           // of DISTANCES, a side
    float point;             // where a cell's point lies in it, in cells
    float unit[2];           // tensor pixels per unit of a box
    uint32_t levels;
    Source sources[MAX_LEVELS];
};

static_assert(sizeof(Source) == 56 && sizeof(Layout) == 512, "as in src/detect/cuda/layout.rs");
