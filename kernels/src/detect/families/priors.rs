//! Boxes as offsets from prior boxes: SSD (Liu et al., 2016, section 2.2) and RetinaFace (Deng et al., 2019), with landmarks.
//!
//! Of a prior box, the centre moves by the first variance times its size, and the size changes by the exponential of the second
//! variance times the number; landmarks move as the centre does.

use std::sync::Arc;

use crate::detect::attached::Meaning;
use crate::detect::layout::{Channels, Coding, Count, Field, Layout, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};
use crate::detect::{Background, DecoderKind, Priors};

use super::levels::landmarks;

/// The prior boxes that the sidecar states, or those that are usual.
fn priors(kind: DecoderKind, offer: &Offer<'_>) -> Option<Priors> {
    let usual = || {
        let priors = Priors::retinaface();
        (kind == DecoderKind::Retinaface && offer.hints.strides.len() == priors.min_sizes.len())
            .then_some(priors)
    };
    offer.hints.priors.clone().or_else(usual)
}

/// Whether boxes have landmarks.
fn has_landmarks(kind: DecoderKind) -> bool {
    kind == DecoderKind::Retinaface
}

pub fn wanted(kind: DecoderKind, offer: &Offer<'_>) -> String {
    let count = priors(kind, offer).map(|priors| priors.boxes(offer.input, &offer.hints.strides).len());
    let rows = count.map_or_else(|| "N".into(), |n| n.to_string());
    let classes = match (offer.hints.classes, kind) {
        (None, DecoderKind::Retinaface) => "1".into(),
        _ => offer.class_term(),
    };
    let background = if background(offer) == Background::None { "" } else { " + background" };
    let points = if has_landmarks(kind) { ", and landmarks [1, N, 2 * K] if there are any" } else { "" };
    let stated = if count.is_none() { "; the prior boxes must be in [priors] of the sidecar" } else { "" };
    format!(
        "float outputs [1, N, 4] of offsets from prior boxes and [1, N, {classes}{background}] of scores{points}, N = {rows} with \
         {}{stated}",
        offer.grid_term()
    )
}

fn background(offer: &Offer<'_>) -> Background {
    offer.hints.background.unwrap_or(Background::First)
}

pub fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit> {
    let Some(stated) = priors(kind, offer) else { return Vec::new() };
    let points = if has_landmarks(kind) { landmarks(offer) } else { Some(Vec::new()) };
    let Some(points) = points else { return Vec::new() };
    let priors: Arc<[_]> = stated.boxes(offer.input, &offer.hints.strides).into();
    let background = background(offer);
    let own = usize::from(background != Background::None);
    let classes = offer.hints.classes.or((kind == DecoderKind::Retinaface).then_some(1));
    let is_of_all = |plane: &&Plane| plane.rows.is_none_or(|rows| rows == priors.len());
    let points = points.iter().filter(is_of_all).find_map(|plane| Some([plane.output, plane.columns?]));
    let is_box = |plane: &Plane| {
        let name = offer.outputs[plane.output].name.to_ascii_lowercase();
        ["box", "loc"].iter().any(|part| name.contains(part))
    };
    let mut fits = Vec::new();
    for boxes in offer.planes.iter().filter(is_of_all).filter(|plane| plane.columns == Some(4)) {
        for scores in offer.planes.iter().filter(is_of_all).filter(|plane| plane.output != boxes.output) {
            let Some(columns) = scores
                .columns
                .filter(|columns| *columns > own && classes.is_none_or(|classes| *columns == classes + own))
            else {
                continue;
            };
            // Where both could be the boxes only their names can tell.
            let distinguishable = columns != 4 || is_box(boxes) && !is_box(scores);
            let is_points = points.is_some_and(|[output, _]| output == scores.output);
            if is_points || !distinguishable || offer.hints.keypoints.is_some() && points.is_none() {
                continue;
            }
            let open = [boxes, scores].iter().any(|plane| plane.rows.is_none());
            let outputs = [boxes.output, scores.output];
            let coding =
                Coding::Priors { boxes: Arc::clone(&priors), variances: stated.variances, linear: false };
            let layout = layout(kind, offer, outputs, columns, points, coding);
            let layout = Layout { background, ..layout };
            // Without landmarks they look as boxes that are decoded already.
            let far_fetched = has_landmarks(kind) && points.is_none();
            let evidence = if open { Evidence::Open } else { Evidence::Exact };
            let fit = Fit::new(evidence, layout, Some(columns - own));
            fits.push(fit.reading(2 + usize::from(points.is_some())).far_fetched(far_fetched));
        }
    }
    fits
}

/// Boxes and scores of these outputs, the latter of that many columns, and landmarks: their output and columns.
fn layout(
    kind: DecoderKind,
    offer: &Offer<'_>,
    [boxes, scores]: [usize; 2],
    columns: usize,
    landmarks: Option<[usize; 2]>,
    coding: Coding,
) -> Layout {
    let count = if let Coding::Priors { boxes, .. } = &coding { boxes.len() } else { 0 };
    let all = [Some([boxes, 4]), Some([scores, columns]), landmarks].into_iter().flatten();
    let table = |[output, columns]: [usize; 2]| {
        Table::rows(output, Count::Exactly(count), Channels::Exactly(columns))
    };
    Layout {
        scores: Field::new(1, 0),
        extra: landmarks.map(|[_, columns]| (Field::new(2, 0), Meaning::Around(columns / 2))),
        ..Layout::new(kind, all.map(table).collect(), coding, offer.activation())
    }
}
