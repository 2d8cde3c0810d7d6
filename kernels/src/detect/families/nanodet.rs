//! NanoDet and its like (GFL heads): class scores and, for each side of a box, a distribution over distances
//! ("Distribution Focal Loss": Li et al., "Generalized Focal Loss", 2020, section 3.2).
//!
//! A side's distance from the cell's point is the expectation of its softmaxed bins times the stride. The point is the
//! cell's centre, `(i + 0.5) * stride`; in NanoDet-Plus, recognised by its fourth stride, the corner `i * stride`.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::grid::Level;
use crate::detect::layout::{Channels, Coding, Count, Field, Layout, Shape, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};

pub const FAMILY: Family =
    Family { kind: DecoderKind::Nanodet, wanted, fits, takes: &[Hint::Activation], usual: Usual::SUPPRESSED };

/// Bins that published heads use: reg_max 7 (NanoDet, NanoDet-Plus), 10, 15, 16 (GFL), plus one.
const USUAL_BINS: [usize; 4] = [8, 11, 16, 17];
/// More bins than any head has; keeps a wide class output from being taken for boxes.
const MOST_BINS: usize = 64;
/// Strides that tell NanoDet-Plus from NanoDet.
const PLUS_STRIDES: usize = 4;

fn wanted(offer: &Offer<'_>) -> String {
    let rows: Vec<_> = offer.grid.levels.iter().map(|l| l.cells.to_string()).collect();
    let classes = offer.class_term();
    format!(
        "for each stride a float output [1, Ns, {classes}] of class scores and one [1, Ns, 4 * bins] of DFL logits, \
         Ns = {} with {}; or, if the labels are known, one [1, {}, {classes} + 4 * bins] (name the model's strides in its sidecar, \
         and give its labels where both widths could be bins)",
        rows.join(", "),
        offer.grid_term(),
        offer.grid.cells
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let mut fits = offer.of_each_plane(|plane| joined(offer, plane));
    fits.extend(apart(offer));
    fits
}

/// Of these tables, with boxes and scores there.
fn layout(offer: &Offer<'_>, tables: Vec<Table>, (boxes, scores): (Field, Field), bins: usize) -> Layout {
    let point = if offer.grid.levels.len() < PLUS_STRIDES { 0.5 } else { 0.0 };
    let coding = Coding::Distances { bins, point };
    let layout = Layout::new(FAMILY.kind, tables, coding, offer.activation());
    Layout { boxes, scores, grid: Some(offer.grid.clone()), ..layout }
}

/// One output, scores before boxes: only the number of classes says where the scores end.
fn joined(offer: &Offer<'_>, plane: &Plane) -> Option<Fit> {
    let classes = offer.hints.classes?;
    let bins = bins_in(plane.columns?.checked_sub(classes)?)?;
    let evidence = match plane.rows {
        None => Evidence::Open,
        Some(rows) => (rows == offer.grid.cells).then_some(Evidence::Exact)?,
    };
    let channels = Channels::Exactly(classes + 4 * bins);
    let table = Table::rows(plane.output, Count::Exactly(offer.grid.cells), channels);
    let fields = (Field::new(0, classes), Field::new(0, 0));
    let layout = Layout { after_scores: 4 * bins, ..layout(offer, vec![table], fields, bins) };
    Some(Fit::new(evidence, layout, Some(classes)))
}

/// Two outputs a stride.
fn apart(offer: &Offer<'_>) -> Option<Fit> {
    let levels = &offer.grid.levels;
    let unique = |l: &Level| levels.iter().filter(|other| other.cells == l.cells).count() == 1;
    if offer.planes.len() != 2 * levels.len() || !levels.iter().all(unique) {
        return None;
    }
    let width = offer.planes.first()?.columns?;
    let (one, other): (Vec<Plane>, Vec<Plane>) =
        offer.planes.iter().copied().partition(|p| p.columns == Some(width));
    let other_width = other.first()?.columns?;
    if one.len() != other.len() || other.iter().any(|p| p.columns != Some(other_width)) {
        return None;
    }
    let (classes, bins) = roles(width, other_width, offer.hints.classes)?;
    let (scores, boxes) = if classes == width { (one, other) } else { (other, one) };
    let evidence = evidence(levels, &scores)?.min(evidence(levels, &boxes)?);
    let reads = scores.len() + boxes.len();
    let tables = [(scores, classes), (boxes, 4 * bins)].map(|(planes, channels)| Table {
        outputs: planes.iter().map(|plane| plane.output).collect(),
        shape: Shape::Levels { channels, times: 1 },
    });
    let fields = (Field::new(1, 0), Field::new(0, 0));
    let layout = layout(offer, tables.into(), fields, bins);
    Some(Fit::new(evidence, layout, Some(classes)).reading(reads))
}

/// Which of two different widths is the classes' and which the bins': by the number of classes, by what can be
/// bins at all, or by what usually is; none if that leaves a doubt.
fn roles(a: usize, b: usize, classes: Option<usize>) -> Option<(usize, usize)> {
    let mut readings: Vec<_> = [(a, b), (b, a)]
        .into_iter()
        .filter_map(|(scores, boxes)| Some((scores, bins_in(boxes)?)))
        .filter(|(scores, _)| *scores > 0 && classes.is_none_or(|c| c == *scores))
        .collect();
    if readings.len() > 1 {
        readings.retain(|(_, bins)| USUAL_BINS.contains(bins));
    }
    if let [reading] = readings[..] { Some(reading) } else { None }
}

/// The bins of one side in a row of `columns` logits.
fn bins_in(columns: usize) -> Option<usize> {
    let bins = columns / 4;
    (columns.is_multiple_of(4) && (2..=MOST_BINS).contains(&bins)).then_some(bins)
}

/// Whether the planes can be those of the levels, one each.
fn evidence(levels: &[Level], planes: &[Plane]) -> Option<Evidence> {
    let known: Vec<_> = planes.iter().filter_map(|p| p.rows).collect();
    let distinct = known.iter().all(|rows| known.iter().filter(|r| *r == rows).count() == 1);
    let of_levels = known.iter().all(|rows| levels.iter().any(|l| l.cells == *rows));
    let evidence = if known.len() == planes.len() { Evidence::Exact } else { Evidence::Open };
    (distinct && of_levels).then_some(evidence)
}
