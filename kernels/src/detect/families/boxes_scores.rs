//! Boxes and scores apart, `[1, N, 4]` and `[1, N, C]`: SSD and many exports with the decoding in them; queries, whose decoder
//! differs in what is assumed where nothing is said.

use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{BoxCoding, Channels, Coding, Count, Field, Layout, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};
use crate::detect::{Activation, Background, BoxFormat, DecoderKind};

pub const FAMILY: Family = Family {
    kind: DecoderKind::BoxesScores,
    wanted,
    fits,
    takes: &[
        Hint::BoxFormat,
        Hint::Normalized,
        Hint::Activation,
        Hint::Softmax,
        Hint::Background,
        Hint::BackgroundLast,
    ],
    usual: Usual::SUPPRESSED,
};

fn wanted(offer: &Offer<'_>) -> String {
    let background = if offer.hints.background_columns() > 0 { " + background" } else { "" };
    format!(
        "two float outputs, boxes [1, N, 4] and scores [1, N, {}{background}] (with four scores, one output's name \
         must contain 'box')",
        offer.class_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let fit = |pair: Pair| {
        let background = offer.hints.background.unwrap_or(Background::None);
        let classes = offer.classes_in(pair.scores.columns, background.columns())?;
        let coding = BoxCoding::new(offer.hints, BoxFormat::Corners, true, offer.input);
        let layout = apart(FAMILY.kind, pair, coding, (offer.activation(), background), classes);
        Some(Fit::new(Evidence::Open, layout, classes).reading(2))
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
            let distinguishable = scores.columns != Some(4) || is_box(boxes) && !is_box(scores);
            if same_rows && distinguishable {
                pairs.push(Pair { boxes: *boxes, scores: *scores });
            }
        }
    }
    pairs
}

/// Boxes and scores of these outputs, of that many classes if the number is known.
pub fn apart(
    kind: DecoderKind,
    pair: Pair,
    coding: BoxCoding,
    (activation, background): (Activation, Background),
    classes: Option<usize>,
) -> Layout {
    let channels = Channels::of(background.columns(), classes);
    let tables = vec![
        Table::rows(pair.boxes.output, Count::Any("N"), Channels::Exactly(4)),
        Table::rows(pair.scores.output, Count::Same, channels),
    ];
    let scores = Field::new(1, 0);
    Layout { scores, background, ..Layout::new(kind, tables, Coding::Plain(coding), activation) }
}
