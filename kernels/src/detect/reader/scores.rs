//! Scores of which an anchor has one for each class, or one alone.

use crate::detect::candidates::Collector;
use crate::detect::{Activation, Background};

use super::level::LevelReader;
use super::scan::{is_bad, scan_columns, strongest, take_scored, take_wanted};

/// Scores `[C, anchors]`: one row a class.
pub fn read_columns(level: &LevelReader<'_>, into: &mut Collector<'_>) {
    let (anchors, activation) = (level.anchors(), level.layout.activation);
    let scores = &level.scores[level.at.scores.element..][..level.located.columns * anchors];
    scan_columns(scores, anchors, activation, into, |into, anchor, class, confidence| {
        level.take(into, anchor, class, confidence);
    });
}

/// Scores of which those of an anchor follow one another, with or without one of the background.
pub fn read_rows(level: &LevelReader<'_>, into: &mut Collector<'_>) {
    let (activation, side) = (level.layout.activation, level.layout.background);
    for anchor in 0..level.anchors() {
        let row = level.scores_of(anchor);
        let (classes, background) = split(row, side);
        if side != Background::None && strongest(background).is_nan() {
            into.drop_non_finite();
            continue;
        }
        let take = |into: &mut Collector<'_>, class, confidence| level.take(into, anchor, class, confidence);
        if activation == Activation::Softmax {
            let softmax = Softmax::new(row, strongest(classes), background, into.lowest());
            take_scored(classes, into, |score| softmax.share(score), take);
        } else {
            take_wanted(classes, activation, into, take);
        }
    }
}

/// The classes' scores and the background's, at most one.
fn split(row: &[f32], background: Background) -> (&[f32], &[f32]) {
    match background {
        Background::None => (row, &[]),
        Background::First => {
            let (background, classes) = row.split_at(1);
            (classes, background)
        }
        Background::Last => row.split_at(row.len() - 1),
    }
}

/// The number of a box that is its objectness.
const OBJECTNESS: usize = 4;

/// Objectness times class score. An anchor whose objectness alone fails is not looked at further, as in YOLOv5's own NMS: no class
/// score exceeds 1.
pub fn read_with_objectness(level: &LevelReader<'_>, into: &mut Collector<'_>) {
    let (activation, lowest) = (level.layout.activation, into.lowest());
    for anchor in 0..level.anchors() {
        let objectness = level.box_number(anchor, OBJECTNESS);
        if is_bad(objectness) {
            into.drop_non_finite();
            continue;
        }
        let objectness = activation.probability(objectness);
        if objectness < lowest {
            continue;
        }
        take_scored(
            level.scores_of(anchor),
            into,
            |score| objectness * activation.probability(score),
            |into, class, confidence| level.take(into, anchor, class, confidence),
        );
    }
}

/// The root of the product of two scores, each in 0..1.
pub fn read_roots(level: &LevelReader<'_>, into: &mut Collector<'_>) {
    let activation = level.layout.activation;
    let Some(second) = level.at.second else { return };
    let others = level.values.of(second.output);
    let share = |score: f32| activation.probability(score).clamp(0.0, 1.0);
    for anchor in 0..level.anchors() {
        let other = others[second.element + anchor * level.located.scores.anchor];
        if is_bad(other) {
            into.drop_non_finite();
            continue;
        }
        let confidence = |score: f32| (share(score) * share(other)).sqrt();
        take_scored(level.scores_of(anchor), into, confidence, |into, class, confidence| {
            level.take(into, anchor, class, confidence);
        });
    }
}

/// The softmax of a row's scores.
struct Softmax {
    highest: f32,
    /// None where the strongest class is certainly below the lowest threshold.
    sum: Option<f32>,
}

impl Softmax {
    /// Of `row`, whose strongest class has the score `best`.
    fn new(row: &[f32], best: f32, background: &[f32], lowest: f32) -> Self {
        let background = background.first().copied().unwrap_or(f32::NEG_INFINITY);
        let highest = best.max(background);
        // Most anchors are background: two terms of the sum already rule them out, with a margin for rounding.
        let bound = 1.0 / (1.0 + (background - best).exp());
        let sum = || row.iter().map(|v| (v - highest).exp()).sum();
        Self { highest, sum: if bound * 1.001 < lowest { None } else { Some(sum()) } }
    }

    /// The share of a score.
    fn share(&self, score: f32) -> f32 {
        self.sum.map_or(0.0, |sum| (score - self.highest).exp() / sum)
    }
}
