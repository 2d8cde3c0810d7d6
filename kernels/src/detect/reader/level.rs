//! One level's numbers, wherever they lie, and the boxes of its anchors that pass.

use std::borrow::Cow;

use crate::detect::candidates::Collector;
use crate::detect::layout::{Coding, Layout, Scoring};
use crate::detect::locate::{At, Located, LocatedLevel, Steps};
use crate::tensor::TensorView;

use super::boxes::{self, Numbers};

/// Where an anchor's number `k` lies, counted from the first anchor's first.
pub fn after(at: At, steps: Steps, anchor: usize, k: usize) -> At {
    At { element: at.element + anchor * steps.anchor + k * steps.channel, ..at }
}

/// The outputs that candidates are read from, as float32; the others are empty.
pub struct Values<'a>(Vec<Cow<'a, [f32]>>);

impl<'a> Values<'a> {
    /// Of one frame's outputs.
    pub fn new(located: &Located, outputs: &[TensorView<'a>]) -> Self {
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

    /// All numbers of an output.
    pub fn of(&self, output: usize) -> &[f32] {
        self.0.get(output).map_or(&[], |values| values)
    }
}

/// What is read of the anchors of one level; anchors count from its first.
pub struct LevelReader<'a> {
    pub layout: &'a Layout,
    pub located: &'a Located,
    pub values: &'a Values<'a>,
    pub at: &'a LocatedLevel,
    /// Which of the levels it is.
    pub index: usize,
    /// All numbers of the output with the scores.
    pub scores: &'a [f32],
    /// All numbers of the output with the boxes.
    pub boxes: &'a [f32],
}

impl LevelReader<'_> {
    /// Anchors of the level.
    pub fn anchors(&self) -> usize {
        self.at.cells.cells
    }

    /// The scores of an anchor, which follow one another.
    #[inline]
    pub fn scores_of(&self, anchor: usize) -> &[f32] {
        let Located { scores: steps, columns, .. } = self.located;
        &self.scores[self.at.scores.element + anchor * steps.anchor..][..*columns]
    }

    /// The number `k` of an anchor's box.
    #[inline]
    pub fn box_number(&self, anchor: usize, k: usize) -> f32 {
        self.boxes[after(self.at.boxes, self.located.boxes, anchor, k).element]
    }

    /// Takes a class of an anchor that passes, with its box; of peaks only where it is one.
    pub fn take(&self, into: &mut Collector<'_>, anchor: usize, class: u32, confidence: f32) {
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
