//! How confidences come about, and how they are ranked.

use crate::detect::{Activation, Background, Hints};

use super::table::Field;

/// How an anchor's confidence comes about.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) enum Scoring {
    /// It is that of its best class, after the activation.
    Classes,
    /// Objectness, the number after the box's four, times its best class.
    Objectness,
    /// Its only score is the confidence of a box that the model has chosen, whose class is a label.
    Final(Finals),
    /// As [`Scoring::Classes`], if no neighbouring cell's score is higher in that class.
    Peaks,
    /// The root of its score times that in the level's second output of the same table, each in 0..1.
    Root,
}

/// What there is of final boxes besides boxes and confidences.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct Finals {
    /// A box's label; none where all boxes are of class 0.
    pub labels: Option<Field>,
    /// The number of boxes, if the model says it.
    pub count: Option<Field>,
    /// What labels mean.
    pub meaning: Labels,
}

/// Above 2^24 float32 cannot tell one class from the next.
const LAST_CLASS: f32 = 16_777_216.0;

/// What labels mean.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct Labels {
    /// The first class's label: 1 where 0 is the background.
    pub first: u32,
    /// The last class.
    pub last_class: f32,
}

impl Labels {
    /// As the hints say, and without them with the background first or not. Of that many `classes`, where that is known.
    pub fn new(hints: &Hints, background_first: bool, classes: Option<usize>) -> Self {
        let first = hints.background.map_or(background_first, |background| background == Background::First);
        let last_class = classes.map_or(LAST_CLASS, |classes| (classes as f32 - 1.0).min(LAST_CLASS));
        Self { first: u32::from(first), last_class }
    }
}

/// How the model's own library ranks classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) enum Ranking {
    /// The best class of each anchor.
    Best,
    /// All classes of all anchors, of which it keeps that many if the number is known.
    All {
        /// How many.
        kept: Option<usize>,
    },
}

/// What is known of the scores before the first tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) struct Scores {
    /// What is applied to a score.
    pub activation: Activation,
    /// Which column is the background.
    pub background: Background,
    /// Scores whose product a confidence is.
    pub factors: i32,
}
