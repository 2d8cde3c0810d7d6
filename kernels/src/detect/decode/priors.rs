//! Boxes as offsets from prior boxes: SSD (Liu et al., 2016, section 2.2) and RetinaFace (Deng et al., 2019), with landmarks.
//!
//! Of a prior box, the centre moves by the first variance times its size, and the size changes by the exponential of the second
//! variance times the number; landmarks move as the centre does.

use std::sync::Arc;

use crate::tensor::TensorView;

use super::super::attached::{Extra, Meaning, Spot};
use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, Background, DecoderKind, DetectError, Priors};
use super::boxes::centered;
use super::boxes_scores::Softmax;
use super::by_level::landmarks;
use super::matrix::{Shaped, check, read};
use super::scan::{strongest, take_scored, take_wanted};
use super::scores::Scores;

#[derive(Clone, Debug)]
pub struct Plan {
    kind: DecoderKind,
    boxes: usize,
    scores: usize,
    /// Columns of the scores, background included.
    columns: usize,
    /// Output and columns.
    landmarks: Option<[usize; 2]>,
    /// Centre and size of each anchor's prior box, in tensor pixels.
    priors: Arc<[[f32; 4]]>,
    variances: [f32; 2],
    activation: Activation,
    background: Background,
}

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

pub fn fits(kind: DecoderKind, offer: &Offer<'_>) -> Vec<Fit<Plan>> {
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
            let told_apart = columns != 4 || is_box(boxes) && !is_box(scores);
            let is_points = points.is_some_and(|[output, _]| output == scores.output);
            if is_points || !told_apart || offer.hints.keypoints.is_some() && points.is_none() {
                continue;
            }
            let open = [boxes, scores].iter().any(|plane| plane.rows.is_none());
            let plan = Plan {
                kind,
                boxes: boxes.output,
                scores: scores.output,
                columns,
                landmarks: points,
                priors: Arc::clone(&priors),
                variances: stated.variances,
                activation: offer.hints.activation.unwrap_or(Activation::None),
                background,
            };
            // Without landmarks they look as boxes that are decoded already.
            let far_fetched = has_landmarks(kind) && points.is_none();
            fits.push(Fit {
                evidence: if open { Evidence::Open } else { Evidence::Exact },
                plan,
                classes: Some(columns - own),
                reads: 2 + usize::from(points.is_some()),
                far_fetched,
            });
        }
    }
    fits
}

impl Plan {
    /// How it scores.
    pub fn scores(&self) -> Scores {
        Scores { background: self.background, ..Scores::of(self.activation) }
    }

    /// Keypoints of each object.
    pub fn points(&self) -> usize {
        self.landmarks.map_or(0, |[_, columns]| columns / 2)
    }

    /// Centre and size of each anchor's prior box, in tensor pixels.
    pub fn priors(&self) -> &[[f32; 4]] {
        &self.priors
    }

    fn check<T: Shaped>(&self, outputs: &[T]) -> Result<(), DetectError> {
        let all = [Some([self.boxes, 4]), Some([self.scores, self.columns]), self.landmarks];
        for [output, columns] in all.into_iter().flatten() {
            let rows = self.priors.len();
            let wanted = || format!("[1, {rows}, {columns}]");
            check(self.kind, &outputs[output], wanted, |r, c| (r, c) == (rows, columns))?;
        }
        Ok(())
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        self.check(outputs)?;
        let rows = self.priors.len();
        let scores = read(&outputs[self.scores], [rows, self.columns]);
        let boxes = read(&outputs[self.boxes], [rows, 4]);
        let rows = scores.data.chunks_exact(self.columns).zip(boxes.data.chunks_exact(4));
        for (anchor, ((row, values), prior)) in rows.zip(self.priors.iter()).enumerate() {
            let &[a, b, c, d] = values else { continue };
            let (classes, background) = match self.background {
                Background::None => (row, &row[..0]),
                Background::First => (&row[1..], &row[..1]),
                Background::Last => row.split_at(row.len() - 1),
            };
            if strongest(background).is_nan() {
                into.drop_non_finite();
                continue;
            }
            let take = |into: &mut Collector<'_>, class, confidence| {
                into.take(anchor, class, confidence, self.corners(prior, [a, b, c, d]));
            };
            if self.activation == Activation::Softmax {
                let softmax = Softmax::new(row, strongest(classes), background, into.lowest());
                take_scored(classes, into, |score| softmax.share(score), take);
            } else {
                take_wanted(classes, self.activation, into, take);
            }
        }
        Ok(())
    }

    fn corners(&self, [x, y, width, height]: &[f32; 4], [a, b, c, d]: [f32; 4]) -> [f32; 4] {
        let [center, size] = self.variances;
        let (x, y) = (x + a * (center * width), y + b * (center * height));
        centered(x, y, (c * size).exp() * width, (d * size).exp() * height)
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        self.check(outputs)?;
        let at = |output: usize| At { tensor: &outputs[output], element: 0 };
        Layout::new(Scoring::Classes, self.activation, self.columns)?
            .rows(self.columns, 4)
            .beside(self.background)
            .around_priors(self.variances)
            .with(at(self.scores), at(self.boxes), Span::all(self.priors.len()))?
            .beside_them(None, self.landmarks.map(|[output, _]| at(output)))
    }

    /// Where the landmarks are.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        self.check(outputs)?;
        Ok(self.landmarks.map(|[output, columns]| {
            let meaning = Meaning::Around(columns / 2);
            Extra { output, element: 0, step: columns, value_step: 1, meaning }
        }))
    }

    /// Where those of one anchor are.
    pub fn spot(&self, anchor: usize) -> Option<Spot> {
        let ([output, columns], [x, y, width, height]) = (self.landmarks?, *self.priors.get(anchor)?);
        let unit = [self.variances[0] * width, self.variances[0] * height];
        Some(Spot { output, element: anchor * columns, center: [x, y], unit })
    }
}
