//! Boxes that the model has chosen itself: each has one confidence and one label. How they are read, wherever they lie.

use crate::tensor::TensorView;

use super::super::attached::element;
use super::super::candidates::Collector;
use super::super::{Background, Hints};
use super::boxes::BoxCoding;
use super::scan::is_bad;

/// Above 2^24 float32 cannot tell one class from the next.
const LAST_CLASS: f32 = 16_777_216.0;

/// What labels mean.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    /// The first class's label: 1 where 0 is the background.
    pub first: u32,
    /// The last class.
    pub last_class: f32,
}

/// What one label says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Label {
    Class(u32),
    /// No box: padding, which models label -1, or background.
    Nothing,
    /// No label at all.
    Invalid,
}

impl Labels {
    /// As the hints say, and without them with the background first or not. Of that many `classes`, where that is known.
    pub fn new(hints: &Hints, background_first: bool, classes: Option<usize>) -> Self {
        let first = hints.background.map_or(background_first, |background| background == Background::First);
        let last_class = classes.map_or(LAST_CLASS, |classes| (classes as f32 - 1.0).min(LAST_CLASS));
        Self { first: u32::from(first), last_class }
    }

    fn read(&self, label: f32) -> Label {
        if !label.is_finite() {
            return Label::Invalid;
        }
        let label = label.round();
        if label == -1.0 || self.first > 0 && label == 0.0 {
            return Label::Nothing;
        }
        let class = label - self.first as f32;
        if (0.0..=self.last_class).contains(&class) { Label::Class(class as u32) } else { Label::Invalid }
    }
}

/// Numbers of a tensor, one or several for each box.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// All of the tensor's.
    pub values: &'a [f32],
    /// Index of the first box's first.
    pub first: usize,
    /// To the next box's.
    pub step: usize,
}

impl Column<'_> {
    /// The box's number `k`; NaN, which is counted, where there is none.
    fn value(&self, row: usize, k: usize) -> f32 {
        self.values.get(self.first + row * self.step + k).copied().unwrap_or(f32::NAN)
    }
}

/// A frame's boxes.
#[derive(Clone, Copy, Debug)]
pub struct Finals<'a> {
    pub boxes: Column<'a>,
    /// Of boxes that are rotated.
    pub angles: Option<Column<'a>>,
    pub scores: Column<'a>,
    /// None where all are of class 0.
    pub labels: Option<Column<'a>>,
    /// Boxes that there is room for.
    pub rows: usize,
    /// Boxes that there are, if the model says it.
    pub count: Option<f32>,
}

impl Finals<'_> {
    /// Collects them. A count that is negative, NaN or more than there is room for is counted as not finite, and so is
    /// a label that no class has.
    pub fn decode(&self, labels: Labels, coding: &BoxCoding, into: &mut Collector<'_>) {
        for row in 0..self.rows_in_use(into) {
            let confidence = self.scores.value(row, 0);
            if is_bad(confidence) {
                into.drop_non_finite();
                continue;
            }
            if confidence < into.lowest() {
                continue;
            }
            match self.labels.map_or(Label::Class(0), |column| labels.read(column.value(row, 0))) {
                Label::Class(class) if into.wants(class, confidence) => {
                    let values = [0, 1, 2, 3].map(|k| self.boxes.value(row, k));
                    match self.angles {
                        Some(angles) => {
                            let rotated = coding.rotated(values, angles.value(row, 0));
                            into.take_rotated(row, class, confidence, &rotated);
                        }
                        None => into.take(row, class, confidence, coding.corners(values)),
                    }
                }
                Label::Class(_) | Label::Nothing => {}
                Label::Invalid => into.drop_non_finite(),
            }
        }
    }

    fn rows_in_use(&self, into: &mut Collector<'_>) -> usize {
        let Some(count) = self.count else { return self.rows };
        let room = self.rows as f32;
        if !(0.0..=room).contains(&count) {
            into.drop_non_finite();
        }
        if count >= room { self.rows } else { count.max(0.0) as usize }
    }
}

/// The number of boxes that the output says; nothing if there is no such output.
pub fn count(outputs: &[TensorView<'_>], output: Option<usize>) -> Option<f32> {
    output.and_then(|output| outputs.get(output)).map(|tensor| element(tensor, 0))
}
