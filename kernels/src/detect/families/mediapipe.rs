//! MediaPipe's detectors: of faces (Bazarevsky et al., "BlazeFace", 2019), of palms and of people. For each anchor they give a box, points
//! and one score.
//!
//! Centre and points are counted from the centre of the anchor's cell, and they and the size are tensor pixels. Anchors lie cell by cell
//! as MediaPipe's `SsdAnchorsCalculator` makes them with the options of these models: the layers of one stride, which follow each other, share
//! its cells, each with two anchors of the same size.

use crate::detect::attached::Meaning;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Channels, Coding, Count, Field, Layout, Table};
use crate::detect::offer::{Evidence, Fit, Offer};
use crate::detect::{Activation, DecoderKind, Hints};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Mediapipe,
    wanted,
    fits,
    takes: &[Hint::Activation, Hint::Keypoints],
    usual: Usual { confidence: Some(0.5), ..Usual::SUPPRESSED },
};

/// Numbers of a box, before those of its points.
const BOX: usize = 4;

/// The strides of the layers: of faces near the camera and of palms; of people; of faces far away.
const LAYERS: [&[usize]; 3] = [&[8, 16, 16, 16], &[8, 16, 32, 32, 32], &[4]];

/// Those that the model may have: the strides that its sidecar states, if it does.
fn layers<'a>(offer: &'a Offer<'_>) -> Vec<&'a [usize]> {
    let stated = &offer.hints.strides;
    if *stated == Hints::default().strides { LAYERS.to_vec() } else { vec![stated.as_slice()] }
}

/// What an object with that many points is called: each model finds one kind.
pub fn label(points: usize) -> Option<&'static str> {
    match points {
        6 => Some("face"),
        7 => Some("palm"),
        4 => Some("person"),
        _ => None,
    }
}

/// Centre of each anchor's cell in tensor pixels, and 1 for its size. The only layer has one anchor a cell.
fn centers(layers: &[usize], input: [usize; 2]) -> Vec<[f32; 4]> {
    let per_layer = if layers.len() == 1 { 1 } else { 2 };
    let mut centers = Vec::new();
    for same in layers.chunk_by(|a, b| a == b) {
        let [columns, rows] = input.map(|side| side.div_ceil(same[0]));
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let at =
                |place: usize, count: usize, side: usize| (place as f32 + 0.5) / count as f32 * side as f32;
            let center = [at(column, columns, input[0]), at(row, rows, input[1]), 1.0, 1.0];
            centers.extend(std::iter::repeat_n(center, same.len() * per_layer));
        }
    }
    centers
}

fn wanted(offer: &Offer<'_>) -> String {
    let count = |layers: &[usize]| centers(layers, offer.input).len().to_string();
    let counts: Vec<_> = layers(offer).into_iter().map(count).collect();
    let columns = offer.hints.keypoints.map_or_else(|| "4 + 2 * K".into(), |k| (BOX + 2 * k).to_string());
    let [width, height] = offer.input;
    format!(
        "float outputs [1, N, {columns}] of boxes with their points and [1, N, 1] of scores, N = {} with an input of {width}x{height}",
        counts.join(" or ")
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let mut fits = Vec::new();
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return fits;
    }
    for boxes in &offer.planes {
        let numbers = boxes.columns.filter(|columns| *columns > BOX && columns.is_multiple_of(2));
        let Some(points) = numbers.map(|columns| (columns - BOX) / 2) else { continue };
        if offer.hints.keypoints.is_some_and(|keypoints| keypoints != points) {
            continue;
        }
        for scores in offer.planes.iter().filter(|plane| plane.columns == Some(1)) {
            // Their number alone tells which anchors they are.
            let rows = boxes.rows.or(scores.rows);
            let is_of = |centers: &Vec<[f32; 4]>| {
                rows == Some(centers.len()) && scores.rows.is_none_or(|rows| rows == centers.len())
            };
            let known = layers(offer).into_iter().map(|layers| centers(layers, offer.input)).find(is_of);
            fits.extend(known.map(|centers| {
                let layout = layout(offer, [boxes.output, scores.output], points, centers);
                Fit::new(Evidence::Exact, layout, Some(1)).reading(2)
            }));
        }
    }
    fits
}

/// Boxes with that many points, and scores, of these outputs.
fn layout(offer: &Offer<'_>, [boxes, scores]: [usize; 2], points: usize, centers: Vec<[f32; 4]>) -> Layout {
    let table =
        |output, channels| Table::rows(output, Count::Exactly(centers.len()), Channels::Exactly(channels));
    let tables = vec![table(boxes, BOX + 2 * points), table(scores, 1)];
    let coding = Coding::Priors { boxes: centers.into(), variances: [1.0; 2], linear: true };
    let activation = offer.hints.activation.unwrap_or(Activation::Sigmoid);
    Layout {
        scores: Field::new(1, 0),
        extra: Some((Field::new(0, BOX), Meaning::Around(points))),
        ..Layout::new(FAMILY.kind, tables, coding, activation)
    }
}
