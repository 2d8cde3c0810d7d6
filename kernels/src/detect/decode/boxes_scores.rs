//! Boxes and scores apart, `[1, N, 4]` and `[1, N, C]`: SSD and many exports with the decoding in them; queries, whose decoder
//! differs in what is assumed where nothing is said.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, Background, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, read};
use super::scan::{strongest, take_scored, take_wanted};
use super::scores::Scores;

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    boxes: usize,
    scores: usize,
    /// Columns of the scores, background included.
    columns: Option<usize>,
    coding: BoxCoding,
    activation: Activation,
    background: Background,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let background = if offer.hints.background_columns() > 0 { " + background" } else { "" };
    format!(
        "two float outputs, boxes [1, N, 4] and scores [1, N, {}{background}] (with four scores, one output's name \
         must contain 'box')",
        offer.class_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let fit = |pair: Pair| {
        let background = offer.hints.background.unwrap_or(Background::None);
        let activation = offer.hints.activation.unwrap_or(Activation::None);
        let classes = offer.classes_in(pair.scores.columns, background.columns())?;
        let coding = BoxCoding::new(offer.hints, BoxFormat::Corners, true, offer.input);
        let plan = Plan::new(DecoderKind::BoxesScores, pair, coding, activation, background);
        let plan = plan.with_classes(classes);
        Some(Fit { evidence: Evidence::Open, plan, classes, reads: 2, far_fetched: false })
    };
    pairs(offer).into_iter().filter_map(fit).collect()
}

/// Two outputs that can be boxes and scores of the same anchors.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub boxes: Plane,
    pub scores: Plane,
}

/// All of them.
pub fn pairs(offer: &Offer<'_>) -> Vec<Pair> {
    let is_box = |plane: &Plane| {
        let name = offer.outputs[plane.output].name.to_ascii_lowercase();
        name.contains("box") || name == "dets"
    };
    let mut pairs = Vec::new();
    for boxes in offer.planes.iter().filter(|p| p.columns == Some(4)) {
        for scores in offer.planes.iter().filter(|p| p.output != boxes.output) {
            let same_rows = match (boxes.rows, scores.rows) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            // Where both could be the boxes only their names can tell.
            let told_apart = scores.columns != Some(4) || is_box(boxes) && !is_box(scores);
            if same_rows && told_apart {
                pairs.push(Pair { boxes: *boxes, scores: *scores });
            }
        }
    }
    pairs
}

impl Plan {
    /// Of these outputs, with as many classes as there are columns.
    pub fn new(
        kind: DecoderKind,
        pair: Pair,
        coding: BoxCoding,
        activation: Activation,
        background: Background,
    ) -> Self {
        let Pair { boxes, scores } = pair;
        let [boxes, scores] = [boxes.output, scores.output];
        Self { kind, boxes, scores, columns: None, coding, activation, background }
    }

    /// With that many classes, if the number is known.
    pub fn with_classes(self, classes: Option<usize>) -> Self {
        Self { columns: classes.map(|classes| classes + self.background.columns()), ..self }
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// How it scores.
    pub fn scores(&self) -> Scores {
        Scores { background: self.background, ..Scores::of(self.activation) }
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        &self.coding
    }

    /// Of the boxes and of the scores.
    fn shapes<T: Shaped>(&self, outputs: &[T]) -> Result<[[usize; 2]; 2], DetectError> {
        let boxes = check(self.kind, &outputs[self.boxes], || "[1, N, 4]".into(), |_, c| c == 4)?;
        let wanted = || match self.columns {
            Some(c) => format!("[1, {}, {c}]", boxes[0]),
            None => format!("[1, {}, classes]", boxes[0]),
        };
        let fewest = 1 + self.background.columns();
        let scores = check(self.kind, &outputs[self.scores], wanted, |rows, columns| {
            rows == boxes[0] && columns >= fewest && self.columns.is_none_or(|c| columns == c)
        })?;
        Ok([boxes, scores])
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [[rows, box_columns], [_, score_columns]] = self.shapes(outputs)?;
        let [scores, boxes] =
            [self.scores, self.boxes].map(|output| At { tensor: &outputs[output], element: 0 });
        Layout::new(Scoring::Classes, self.activation, score_columns)?
            .rows(score_columns, box_columns)
            .coded(self.coding.parts())
            .beside(self.background)
            .with(scores, boxes, Span::all(rows))
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let [boxes, scores] = self.shapes(outputs)?;
        let (boxes, scores) = (read(&outputs[self.boxes], boxes), read(&outputs[self.scores], scores));
        let rows = scores.data.chunks_exact(scores.columns).zip(boxes.data.chunks_exact(4));
        for (anchor, (row, values)) in rows.enumerate() {
            let &[a, b, c, d] = values else { continue };
            let (classes, background) = self.split(row);
            if strongest(background).is_nan() {
                into.drop_non_finite();
                continue;
            }
            let take = |into: &mut Collector<'_>, class, confidence| {
                into.take(anchor, class, confidence, self.coding.corners([a, b, c, d]));
            };
            match self.activation {
                Activation::Softmax => {
                    let softmax = Softmax::new(row, strongest(classes), background, into.lowest());
                    take_scored(classes, into, |score| softmax.share(score), take);
                }
                activation => take_wanted(classes, activation, into, take),
            }
        }
        Ok(())
    }

    /// The classes' scores and the background's, at most one.
    fn split<'a>(&self, row: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        match self.background {
            Background::None => (row, &[]),
            Background::First => {
                let (background, classes) = row.split_at(1);
                (classes, background)
            }
            Background::Last => row.split_at(row.len() - 1),
        }
    }
}

/// The softmax of a row's scores.
pub struct Softmax {
    highest: f32,
    /// None where the strongest class is certainly below the lowest threshold.
    sum: Option<f32>,
}

impl Softmax {
    /// Of `row`, whose strongest class has the score `best`.
    pub fn new(row: &[f32], best: f32, background: &[f32], lowest: f32) -> Self {
        let background = background.first().copied().unwrap_or(f32::NEG_INFINITY);
        let highest = best.max(background);
        // Most anchors are background: two terms of the sum already rule them out, with a margin for rounding.
        let bound = 1.0 / (1.0 + (background - best).exp());
        let sum = || row.iter().map(|v| (v - highest).exp()).sum();
        Self { highest, sum: if bound * 1.001 < lowest { None } else { Some(sum()) } }
    }

    /// The share of a score.
    pub fn share(&self, score: f32) -> f32 {
        self.sum.map_or(0.0, |sum| (score - self.highest).exp() / sum)
    }
}
