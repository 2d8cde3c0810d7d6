//! Reads a frame's outputs on the CPU, as their layout says: the confidence of each anchor, and the boxes of those that pass. The
//! kernels' counterpart is cuda/detect.cu, which computes the same in the same order.
//!
//! ```text
//! layout.scoring                scores of an anchor         read by
//! Classes, Peaks                apart, anchors beside       scan.rs, columns
//! Classes, Peaks                one after the other         scores.rs
//! Objectness, Root              one after the other         scores.rs
//! Objectness of raw heads       anywhere                    heads.rs
//! Final                         one, and a label            finals.rs
//! ```

mod beside;
mod boxes;
mod finals;
mod heads;
mod scan;
mod scores;
mod softmax;

use std::borrow::Cow;

use super::attached::element;
use super::candidates::Collector;
use super::layout::{Coding, Layout, Scoring};
use super::locate::{At, Located, LocatedLevel, Steps};
use crate::tensor::TensorView;

use boxes::Numbers;

pub(super) use beside::attach;

/// Collects the candidates of one frame, whose outputs have been located.
pub(super) fn read(layout: &Layout, located: &Located, outputs: &[TensorView<'_>], into: &mut Collector<'_>) {
    let values = Values::new(located, outputs);
    for (index, at) in located.levels.iter().enumerate() {
        let (scores, boxes) = (values.of(at.scores.output), values.of(at.boxes.output));
        let level = LevelReader { layout, located, values: &values, at, index, scores, boxes };
        match (&layout.scoring, &layout.coding) {
            (Scoring::Objectness, Coding::Anchored { .. }) => heads::read(&level, into),
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

/// Where an anchor's number `k` lies, counted from the first anchor's first.
fn after(at: At, steps: Steps, anchor: usize, k: usize) -> At {
    At { element: at.element + anchor * steps.anchor + k * steps.channel, ..at }
}

/// The outputs that candidates are read from, as float32; the others are empty.
struct Values<'a>(Vec<Cow<'a, [f32]>>);

impl<'a> Values<'a> {
    fn new(located: &Located, outputs: &[TensorView<'a>]) -> Self {
        let levels = located.levels.iter();
        let of_levels = levels.flat_map(|at| [Some(at.scores), Some(at.boxes), at.second]).flatten();
        let others = [located.offsets, located.labels].into_iter().flatten().map(|strided| strided.at);
        let mut values = vec![Cow::Borrowed(&[][..]); outputs.len()];
        for At { output, .. } in of_levels.chain(others) {
            if let (Some(slot), Some(tensor)) = (values.get_mut(output), outputs.get(output))
                && slot.is_empty()
            {
                *slot = tensor.to_f32();
            }
        }
        Self(values)
    }

    fn of(&self, output: usize) -> &[f32] {
        self.0.get(output).map_or(&[], |values| values)
    }
}

/// What is read of the anchors of one level; anchors count from its first.
struct LevelReader<'a> {
    layout: &'a Layout,
    located: &'a Located,
    values: &'a Values<'a>,
    at: &'a LocatedLevel,
    /// Which of the levels it is.
    index: usize,
    /// All numbers of the output with the scores.
    scores: &'a [f32],
    /// All numbers of the output with the boxes.
    boxes: &'a [f32],
}

impl LevelReader<'_> {
    /// Anchors of the level.
    fn anchors(&self) -> usize {
        self.at.cells.cells
    }

    /// The scores of an anchor, which follow one another.
    #[inline]
    fn scores_of(&self, anchor: usize) -> &[f32] {
        let Located { scores: steps, columns, .. } = self.located;
        &self.scores[self.at.scores.element + anchor * steps.anchor..][..*columns]
    }

    /// The number `k` of an anchor's box.
    #[inline]
    fn box_number(&self, anchor: usize, k: usize) -> f32 {
        self.boxes[after(self.at.boxes, self.located.boxes, anchor, k).element]
    }

    /// Takes a class of an anchor that passes, with its box; of peaks only where it is one.
    fn take(&self, into: &mut Collector<'_>, anchor: usize, class: u32, confidence: f32) {
        let numbered = self.at.cells.first + anchor;
        let Coding::Plain(coding) = &self.layout.coding else {
            if !matches!(self.layout.scoring, Scoring::Peaks) || self.is_peak(anchor, class) {
                into.take(numbered, class, confidence, self.corners(anchor, class));
            }
            return;
        };
        let number = |k| self.box_number(anchor, k);
        let numbers = [number(0), number(1), number(2), number(3)];
        match self.located.angle {
            None => into.take(numbered, class, confidence, boxes::plain(coding, numbers)),
            Some(place) => {
                let rotated = boxes::rotated(coding, numbers, number(place));
                into.take_rotated(numbered, class, confidence, &rotated);
            }
        }
    }

    /// The corners of the box of an anchor's class, in tensor pixels.
    fn corners(&self, anchor: usize, class: u32) -> [f32; 4] {
        let first = match &self.layout.coding {
            Coding::Centers(centers) if centers.of_each_class => centers.sides * class as usize,
            _ => 0,
        };
        let offset = |k: usize| {
            self.located.offsets.map_or(0.0, |offsets| {
                self.values.of(offsets.at.output)[after(offsets.at, offsets.steps, anchor, k).element]
            })
        };
        let numbers = Numbers { value: |k| self.box_number(anchor, first + k), offset };
        boxes::corners(self.layout, &self.at.cells, self.index, anchor, numbers)
    }

    /// Whether no neighbour of a cell is stronger in the map of this class, nor as strong and before it.
    fn is_peak(&self, cell: usize, class: u32) -> bool {
        let at = |cell| self.scores[after(self.at.scores, self.located.scores, cell, class as usize).element];
        let score = at(cell);
        !self.at.cells.around(cell).any(|other| at(other) > score || other < cell && at(other) == score)
    }
}
