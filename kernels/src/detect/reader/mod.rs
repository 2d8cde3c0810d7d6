//! Reads a frame's outputs on the CPU, as their layout says: the confidence of each anchor, and the boxes of those that pass. The
//! kernels' counterpart is cuda/detect.cu, which computes the same in the same order.
//!
//! ```text
//! scoring                    its scores                      read by
//! Classes, Peaks             [C, N]: a row a class           scores.rs, at memory speed by scan.rs
//! Classes, Peaks             [N, C]: a row an anchor         scores.rs, and softmax.rs
//! Objectness, Root           [N, C], and one more a row      scores.rs
//! Objectness of raw heads    in the order of their form      raw_heads.rs
//! Final                      [N], and labels                 finals.rs
//! ```
//!
//! Where an anchor passes, level.rs takes its box, which boxes.rs computes. beside.rs reads what else there is of the detections that
//! remain after the suppression.

mod beside;
mod boxes;
mod finals;
mod level;
mod raw_heads;
mod scan;
mod scores;

use super::attached::element;
use super::candidates::Collector;
use super::layout::{Coding, Layout, Scoring};
use super::locate::Located;
use crate::tensor::TensorView;

use level::{LevelReader, Values};

pub(super) use beside::attach;

/// Collects the candidates of one frame, whose outputs have been located.
pub(super) fn read(layout: &Layout, located: &Located, outputs: &[TensorView<'_>], into: &mut Collector<'_>) {
    let values = Values::new(located, outputs);
    for (index, at) in located.levels.iter().enumerate() {
        let (scores, boxes) = (values.of(at.scores.output), values.of(at.boxes.output));
        let level = LevelReader { layout, located, values: &values, at, index, scores, boxes };
        match (&layout.scoring, &layout.coding) {
            (Scoring::Objectness, Coding::Anchored { .. }) => raw_heads::read(&level, into),
            (Scoring::Objectness, _) => scores::read_with_objectness(&level, into),
            (Scoring::Root, _) => scores::read_roots(&level, into),
            (Scoring::Final(finals), _) => {
                let count = located.count.and_then(|at| Some(element(outputs.get(at.output)?, at.element)));
                finals::read(&level, finals.meaning, count, into);
            }
            (Scoring::Classes | Scoring::Peaks, _) if layout.by_columns() => {
                scores::read_columns(&level, into);
            }
            (Scoring::Classes | Scoring::Peaks, _) => scores::read_rows(&level, into),
        }
    }
}
