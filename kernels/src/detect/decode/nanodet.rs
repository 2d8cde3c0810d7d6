//! NanoDet and its like (GFL heads): class scores and, for each side of a box, a distribution over distances
//! ("Distribution Focal Loss": Li et al., "Generalized Focal Loss", 2020, section 3.2).
//!
//! A side's distance from the cell's point is the expectation of its softmaxed bins times the stride. The point is the
//! cell's centre, `(i + 0.5) * stride`; in NanoDet-Plus, recognised by its fourth stride, the corner `i * stride`.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout as DeviceLayout, Output, Scoring, Span};
use super::super::grid::{Grid, Level};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, DecoderKind, DetectError};
use super::matrix::{Shaped, check, read, single};
use super::scan::take_wanted;

const KIND: DecoderKind = DecoderKind::Nanodet;
/// Bins that published heads use: reg_max 7 (NanoDet, NanoDet-Plus), 10, 15, 16 (GFL), plus one.
const USUAL_BINS: [usize; 4] = [8, 11, 16, 17];
/// More bins than any head has; keeps a wide class output from being taken for boxes.
const MOST_BINS: usize = 64;
/// Strides that tell NanoDet-Plus from NanoDet.
const PLUS_STRIDES: usize = 4;

#[derive(Clone, Debug)]
pub struct Plan {
    layout: Layout,
    classes: usize,
    bins: usize,
    grid: Grid,
    /// Where a cell's point lies in it, in cells.
    point: f32,
    activation: Activation,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Outputs of scores and of boxes, one each a stride; their rows say which stride.
    Apart { scores: Vec<usize>, boxes: Vec<usize> },
    /// One output, scores before boxes.
    Joined(usize),
}

pub fn wanted(offer: &Offer<'_>) -> String {
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

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let mut fits = single(offer, |plane| joined(offer, plane));
    fits.extend(apart(offer));
    fits
}

fn fit(offer: &Offer<'_>, evidence: Evidence, layout: Layout, classes: usize, bins: usize) -> Fit<Plan> {
    let reads = match &layout {
        Layout::Joined(_) => 1,
        Layout::Apart { scores, boxes } => scores.len() + boxes.len(),
    };
    let plan = Plan {
        layout,
        classes,
        bins,
        grid: offer.grid.clone(),
        point: if offer.grid.levels.len() < PLUS_STRIDES { 0.5 } else { 0.0 },
        activation: offer.hints.activation.unwrap_or(Activation::None),
    };
    Fit { evidence, plan, classes: Some(classes), reads, far_fetched: false }
}

/// One output: only the number of classes says where the scores end.
fn joined(offer: &Offer<'_>, plane: &Plane) -> Option<Fit<Plan>> {
    let classes = offer.hints.classes?;
    let bins = bins_in(plane.columns?.checked_sub(classes)?)?;
    let evidence = match plane.rows {
        None => Evidence::Open,
        Some(rows) => (rows == offer.grid.cells).then_some(Evidence::Exact)?,
    };
    Some(fit(offer, evidence, Layout::Joined(plane.output), classes, bins))
}

/// Two outputs a stride.
fn apart(offer: &Offer<'_>) -> Option<Fit<Plan>> {
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
    let outputs = |planes: &[Plane]| planes.iter().map(|p| p.output).collect();
    let layout = Layout::Apart { scores: outputs(&scores), boxes: outputs(&boxes) };
    Some(fit(offer, evidence, layout, classes, bins))
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

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let (classes, logits) = (self.classes, 4 * self.bins);
        match &self.layout {
            Layout::Joined(output) => {
                let shape = self.joined_shape(&outputs[*output])?;
                let all = read(&outputs[*output], shape);
                let mut rows = all.data.chunks_exact(all.columns);
                for level in &self.grid.levels {
                    for (cell, row) in rows.by_ref().take(level.cells).enumerate() {
                        self.cell(level, cell, &row[..classes], &row[classes..], into);
                    }
                }
            }
            Layout::Apart { scores, boxes } => {
                for level in &self.grid.levels {
                    let find = |among: &[usize], columns| {
                        self.of_level(outputs, among, level, columns)
                            .map(|view| read(view, [level.cells, columns]))
                    };
                    let (scores, boxes) = (find(scores, classes)?, find(boxes, logits)?);
                    let rows = scores.data.chunks_exact(classes).zip(boxes.data.chunks_exact(logits));
                    for (cell, (scores, boxes)) in rows.enumerate() {
                        self.cell(level, cell, scores, boxes, into);
                    }
                }
            }
        }
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<DeviceLayout, DetectError> {
        let (classes, logits) = (self.classes, 4 * self.bins);
        let layout = DeviceLayout::new(Scoring::Classes, self.activation, classes)?
            .distances(self.bins, self.point)?;
        match &self.layout {
            Layout::Joined(output) => {
                let tensor = &outputs[*output];
                let [_, columns] = self.joined_shape(tensor)?;
                self.grid.levels.iter().try_fold(layout.rows(columns, columns), |layout, level| {
                    let element = level.first * columns;
                    let boxes = At { tensor, element: element + classes };
                    layout.with(At { tensor, element }, boxes, Span::of(level))
                })
            }
            Layout::Apart { scores, boxes } => {
                self.grid.levels.iter().try_fold(layout.rows(classes, logits), |layout, level| {
                    let scores = self.of_level(outputs, scores, level, classes)?;
                    let boxes = self.of_level(outputs, boxes, level, logits)?;
                    let [scores, boxes] = [scores, boxes].map(|tensor| At { tensor, element: 0 });
                    layout.with(scores, boxes, Span::of(level))
                })
            }
        }
    }

    fn joined_shape(&self, tensor: &impl Shaped) -> Result<[usize; 2], DetectError> {
        let (cells, columns) = (self.grid.cells, self.classes + 4 * self.bins);
        check(KIND, tensor, || format!("[1, {cells}, {columns}]"), |r, c| (r, c) == (cells, columns))
    }

    /// The tensor of `level` among these outputs.
    fn of_level<'a, T: Shaped>(
        &self,
        outputs: &'a [T],
        among: &[usize],
        level: &Level,
        columns: usize,
    ) -> Result<&'a T, DetectError> {
        let tensor = by_rows(outputs, among, level.cells)?;
        let wanted = || self.wanted_rows(columns);
        check(KIND, tensor, wanted, |r, c| (r, c) == (level.cells, columns)).map(|_| tensor)
    }

    fn wanted_rows(&self, columns: usize) -> String {
        let rows: Vec<_> = self.grid.levels.iter().map(|l| l.cells.to_string()).collect();
        format!("[1, Ns, {columns}], one output for each Ns of {}", rows.join(", "))
    }

    fn cell(&self, level: &Level, cell: usize, scores: &[f32], logits: &[f32], into: &mut Collector<'_>) {
        let corners = || {
            let stride = level.stride as f32;
            let (column, row) = level.position(cell);
            let (x, y) = ((column + self.point) * stride, (row + self.point) * stride);
            let mut sides = [0.0; 4];
            for (side, logits) in sides.iter_mut().zip(logits.chunks_exact(self.bins)) {
                *side = expectation(logits) * stride;
            }
            let [left, top, right, bottom] = sides;
            [x - left, y - top, x + right, y + bottom]
        };
        take_wanted(scores, self.activation, into, |into, class, confidence| {
            into.take(level.first + cell, class, confidence, corners());
        });
    }
}

/// The tensor with `rows` rows; where there is none, the first, for its shape to be reported.
fn by_rows<'a, T: Shaped>(outputs: &'a [T], among: &[usize], rows: usize) -> Result<&'a T, DetectError> {
    let mut tensors = among.iter().filter_map(|&i| outputs.get(i));
    let found = tensors.clone().find(|t| t.shape().is_some_and(|[r, _]| r == rows));
    let given = outputs.len();
    found.or_else(|| tensors.next()).ok_or(DetectError::Outputs { given, wanted: 2 * among.len() })
}

/// The mean bin under the softmax of `logits`; NaN if one is NaN or +infinity.
fn expectation(logits: &[f32]) -> f32 {
    let highest = logits.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
    let (mut sum, mut weighted) = (0.0, 0.0);
    for (bin, logit) in logits.iter().enumerate() {
        let weight = (logit - highest).exp();
        sum += weight;
        weighted += weight * bin as f32;
    }
    weighted / sum
}
