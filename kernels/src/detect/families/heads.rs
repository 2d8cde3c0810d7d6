//! Heads of the YOLO family in one output: boxes and class scores, with or without objectness, or suppressed already, and what else
//! they may say of an object after the rest: keypoints, coefficients, an angle.

use crate::detect::attached::Meaning;
use crate::detect::layout::{
    Anchors, BoxCoding, Channels, Coding, Count, Field, Finals, Labels, Layout, Scoring, Shape, Table,
};
use crate::detect::offer::{Evidence, Fit, Offer, Plane, is_tall};
use crate::detect::{Activation, BoxFormat, DecoderKind, RowFormat};

/// Numbers of a box.
pub const BOX: usize = 4;
/// Numbers before the class scores, where the last of them is objectness.
pub const BEFORE_SCORES: usize = 5;
/// Anchors in each cell of YOLOv5 and v7.
const PER_CELL: usize = 3;

/// `plane` as `[4 + classes + more, N]` or `[N, 4 + classes + more]`; where the hints do not say otherwise, of centre and size in
/// tensor pixels. A family whose boxes are others replaces `coding`.
pub fn plain(
    kind: DecoderKind,
    offer: &Offer<'_>,
    plane: &Plane,
    anchors: Anchors,
    classes: Option<usize>,
    more: usize,
) -> Layout {
    let channels = Channels::of(BOX + more, classes);
    let shape = Shape::Matrix { anchors, count: Count::Any("N"), channels };
    let coding = BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input);
    let tables = vec![Table::new(plane.output, shape)];
    let layout = Layout::new(kind, tables, Coding::Plain(coding), offer.activation());
    Layout { after_scores: more, ..layout }
}

/// `plane` as `[N, 5 + classes + more]`, of boxes as in [`plain`].
pub fn with_objectness(
    kind: DecoderKind,
    offer: &Offer<'_>,
    plane: &Plane,
    classes: Option<usize>,
    more: usize,
) -> Layout {
    let channels = Channels::of(BEFORE_SCORES + more, classes);
    let tables = vec![Table::rows(plane.output, Count::Any("N"), channels)];
    let coding = BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input);
    Layout {
        scores: Field::new(0, BEFORE_SCORES),
        after_scores: more,
        scoring: Scoring::Objectness,
        ..Layout::new(kind, tables, Coding::Plain(coding), offer.activation())
    }
}

/// `plane` as `[M, columns + more]` of boxes in rows of this format.
pub fn suppressed(
    kind: DecoderKind,
    offer: &Offer<'_>,
    plane: &Plane,
    format: RowFormat,
    more: usize,
) -> Layout {
    let channels = Channels::Exactly(format.columns() + more);
    let tables = vec![Table::rows(plane.output, Count::Any("M"), channels)];
    let coding = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
    let (boxes, scores, labels) = format.places();
    // What their labels are is not checked: fewer names than classes have always been taken.
    let meaning = Labels::new(offer.hints, false, None);
    Layout {
        boxes: Field::new(0, boxes),
        scores: Field::new(0, scores),
        scoring: Scoring::Final(Finals {
            labels: labels.map(|place| Field::new(0, place)),
            count: None,
            meaning,
        }),
        ..Layout::new(kind, tables, Coding::Plain(coding), Activation::None)
    }
}

/// One way to read a plane: how, how sure it is, and the classes where known.
pub struct Reading {
    pub layout: Layout,
    pub evidence: Evidence,
    pub classes: Option<usize>,
}

impl Reading {
    /// As a fit that reads this output alone.
    pub fn fit(self) -> Fit {
        Fit::new(self.evidence, self.layout, self.classes)
    }

    /// The same, whose last `more` numbers of an anchor are those of this meaning.
    pub fn with_extra(self, more: usize, meaning: Meaning) -> Self {
        let extra = Some((Field::last(0, more), meaning));
        Self { layout: Layout { extra, ..self.layout }, ..self }
    }
}

/// `plane` as `[4 + classes + more, N]` or that transposed, where the number of classes follows from that of channels.
pub fn read_plain(
    kind: DecoderKind,
    offer: &Offer<'_>,
    plane: &Plane,
    anchors: Anchors,
    more: usize,
) -> Option<Reading> {
    let [_, channels] = anchors.of(plane.rows, plane.columns);
    let classes = classes_of(offer, channels?.checked_sub(BOX + more)?)?;
    let evidence = evidence(offer, plane, anchors)?;
    let layout = plain(kind, offer, plane, anchors, Some(classes), more);
    Some(Reading { layout, evidence, classes: Some(classes) })
}

/// `plane` as `[N, 5 + classes + more]`, with three anchors a cell.
pub fn read_with_objectness(
    kind: DecoderKind,
    offer: &Offer<'_>,
    plane: &Plane,
    more: usize,
) -> Option<Reading> {
    let classes = classes_of(offer, plane.columns?.checked_sub(BEFORE_SCORES + more)?)?;
    let evidence = offer.evidence(plane.rows, PER_CELL, false);
    let is_believable = evidence == Evidence::Exact || is_tall(plane.rows, plane.columns);
    let layout = || with_objectness(kind, offer, plane, Some(classes), more);
    is_believable.then(|| Reading { layout: layout(), evidence, classes: Some(classes) })
}

/// The order of a suppressed box's numbers, those of YOLO if the hints do not say otherwise.
pub fn row_format(offer: &Offer<'_>) -> RowFormat {
    offer.hints.row_format.unwrap_or(RowFormat::BoxScoreClass)
}

/// `plane` as `[M, 6 + more]`, or `[M, 7 + more]`, as the hints say.
pub fn read_suppressed(kind: DecoderKind, offer: &Offer<'_>, plane: &Plane, more: usize) -> Option<Reading> {
    // Its confidences are final.
    let format = row_format(offer);
    let fits = plane.columns == Some(format.columns() + more) && offer.hints.activation.is_none();
    let classes = if format.places().2.is_some() { offer.hints.classes } else { Some(1) };
    let layout = || suppressed(kind, offer, plane, format, more);
    fits.then(|| Reading { layout: layout(), evidence: Evidence::Open, classes })
}

/// That many classes, one at least, if the hints do not say otherwise.
fn classes_of(offer: &Offer<'_>, classes: usize) -> Option<usize> {
    (classes > 0 && offer.hints.classes.is_none_or(|c| c == classes)).then_some(classes)
}

/// How sure it is that the plane has its anchors there; none if it cannot have.
pub fn evidence(offer: &Offer<'_>, plane: &Plane, side: Anchors) -> Option<Evidence> {
    let [anchors, channels] = side.of(plane.rows, plane.columns);
    // Where the channels are open, it is the usual orientation or nothing is known.
    if side == Anchors::Rows && channels.is_none() {
        return None;
    }
    let evidence = offer.evidence(anchors, 1, false);
    // In the unusual orientation a number of anchors that happens to be some pyramid's is not enough.
    let sure = evidence == Evidence::Exact && side == Anchors::Columns;
    (sure || is_tall(anchors, channels)).then_some(evidence)
}

/// Of several ways to read the same planes, the usual ones first, the one with the best fit.
pub fn surest<const WAYS: usize>(readings: [Vec<Fit>; WAYS]) -> Vec<Fit> {
    let best = |fits: &Vec<Fit>| fits.iter().map(|fit| (!fit.far_fetched, fit.evidence)).max();
    let mut surest = Vec::new();
    for reading in readings {
        if best(&reading) > best(&surest) {
            surest = reading;
        }
    }
    surest
}
