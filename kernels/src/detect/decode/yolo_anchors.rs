//! Raw heads with anchors: YOLOv3 and v4, YOLOv5 and v7 without their last layer. One output for each stride, in any order, with
//! the numbers of A anchors a cell: four of the box, objectness and C class scores.
//!
//! ```text
//! [1, A * (5 + C), h, w]   Darknet, pytorch-YOLOv4, PaddleDetection
//! [1, A, h, w, 5 + C]      YOLOv5 and v7, exported for training
//! [1, h, w, A, 5 + C]      tensorflow-yolov4-tflite, the ONNX model zoo
//! [1, h, w, A * (5 + C)]   Keras
//! ```
//!
//! What a box is made of them by is [`AnchorFormula`]; the sizes of the anchors are in no tensor. Anchors are numbered stride by
//! stride, anchor by anchor, row by row, whatever the form.

use std::sync::Arc;

use crate::tensor::{TensorDesc, TensorView};

use super::super::anchor_sizes::AnchorFormula;
use super::super::candidates::Collector;
use super::super::cuda::{Anchored, At, Layout, Output, Scoring, Span};
use super::super::grid::{Grid, Level};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, DecoderKind, DetectError};
use super::boxes::centered;
use super::matrix::{Shaped, misshapen};
use super::objectness::BEFORE_CLASSES;
use super::scan::{is_bad, probability, take_scored};

const KIND: DecoderKind = DecoderKind::YoloAnchors;
/// Anchors of a cell that published models have, the usual number first.
const USUAL: [usize; 5] = [3, 5, 2, 4, 6];

/// The order of an output's dimensions; numbered as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `[A * V, h, w]`
    Planes = 0,
    /// `[A, h, w, V]`
    ByAnchor = 1,
    /// `[h, w, A, V]`
    ByCell = 2,
    /// `[h, w, A * V]`, which lies in memory as the last one does.
    Joined = 3,
}

impl Form {
    const ALL: [Self; 4] = [Self::Planes, Self::ByAnchor, Self::ByCell, Self::Joined];

    /// The dimensions of a level after the batch's, of that many values an anchor.
    fn dims(self, level: &Level, values: usize) -> Vec<usize> {
        let (anchors, [w, h]) = (level.per_cell, size(level));
        match self {
            Self::Planes => vec![anchors * values, h, w],
            Self::ByAnchor => vec![anchors, h, w, values],
            Self::ByCell => vec![h, w, anchors, values],
            Self::Joined => vec![h, w, anchors * values],
        }
    }

    /// The values of an anchor, in an output of `dims` after the batch's with that many anchors a cell.
    fn values(self, dims: &[Option<usize>], anchors: usize) -> Option<usize> {
        let (place, anchors) = match self {
            Self::Planes => (0, anchors),
            Self::ByAnchor | Self::ByCell => (3, 1),
            Self::Joined => (2, anchors),
        };
        let rank = if matches!(self, Self::Planes | Self::Joined) { 3 } else { 4 };
        let all = dims.get(place).copied().flatten().filter(|_| dims.len() == rank)?;
        (all.is_multiple_of(anchors) && all / anchors > BEFORE_CLASSES).then_some(all / anchors)
    }

    /// Element of the first value of an anchor of a level, and elements from one value to the next.
    fn place(self, level: &Level, anchor: usize, values: usize) -> [usize; 2] {
        let cells = level.cells / level.per_cell;
        let (shape, cell) = (anchor / cells, anchor % cells);
        match self {
            Self::Planes => [shape * values * cells + cell, cells],
            Self::ByAnchor => [anchor * values, 1],
            Self::ByCell | Self::Joined => [(cell * level.per_cell + shape) * values, 1],
        }
    }
}

/// An output's dimensions after that of the batch.
fn behind_batch(output: &TensorDesc) -> Option<&[Option<usize>]> {
    match &output.dims[..] {
        [None | Some(1), rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Columns and rows of a level's cells.
fn size(level: &Level) -> [usize; 2] {
    [level.columns, level.cells / level.per_cell / level.columns.max(1)]
}

/// Outputs that are raw heads, one of each level.
#[derive(Clone, Debug)]
struct Heads {
    outputs: Vec<usize>,
    form: Form,
    /// Values of an anchor.
    values: usize,
    /// Anchors of a cell.
    per_cell: usize,
    grid: Grid,
}

impl Heads {
    /// Those among an offer's outputs, with that many anchors a cell, and how sure that is.
    fn find(offer: &Offer<'_>, anchors: usize) -> Option<(Self, Evidence)> {
        let grid = Grid::of_anchors(offer.input, &offer.hints.strides, |_| anchors);
        let levels = &grid.levels;
        let floats = || (0..offer.outputs.len()).filter(|output| offer.is_float(*output));
        for form in Form::ALL {
            let mut values: Vec<_> = floats()
                .filter_map(|output| form.values(behind_batch(&offer.outputs[output])?, anchors))
                .filter(|values| offer.hints.classes.is_none_or(|c| *values == BEFORE_CLASSES + c))
                .collect();
            values.dedup();
            for values in values {
                let is_of = |output: usize, level: &Level| {
                    let wanted = form.dims(level, values);
                    behind_batch(&offer.outputs[output]).is_some_and(|dims| {
                        dims.len() == wanted.len()
                            && form.values(dims, anchors) == Some(values)
                            && dims.iter().zip(&wanted).all(|(d, w)| d.is_none_or(|d| d == *w))
                    })
                };
                let outputs: Vec<_> =
                    floats().filter(|output| levels.iter().any(|level| is_of(*output, level))).collect();
                let is_open = |output: &usize| offer.outputs[*output].dims[1..].contains(&None);
                let open = outputs.iter().any(is_open);
                let one_each = levels.iter().all(|level| {
                    let known =
                        outputs.iter().filter(|output| !is_open(output) && is_of(**output, level)).count();
                    let alone = levels.iter().filter(|other| size(other) == size(level)).count() == 1;
                    alone && (known == 1 || open && known == 0)
                });
                if outputs.len() == levels.len() && one_each {
                    let evidence = if open { Evidence::Open } else { Evidence::Exact };
                    return Some((Self { outputs, form, values, per_cell: anchors, grid }, evidence));
                }
            }
        }
        None
    }

    /// Index of the output of `level`.
    fn of_level<T: Shaped>(&self, outputs: &[T], level: &Level) -> Result<usize, DetectError> {
        let is_of = |tensor: &T, level: &Level| {
            let [batch, rest @ ..] = tensor.dims() else { return false };
            tensor.holds(*batch) && *rest == self.form.dims(level, self.values)
        };
        let tensors = || self.outputs.iter().filter_map(|&i| Some((i, outputs.get(i)?)));
        if let Some((i, _)) = tensors().find(|(_, tensor)| is_of(tensor, level)) {
            return Ok(i);
        }
        // One that is of no level, if there is one, is what is wrong.
        let is_known = |tensor: &T| self.grid.levels.iter().any(|level| is_of(tensor, level));
        let wrong = tensors().find(|(_, tensor)| !is_known(tensor)).or_else(|| tensors().next());
        let Some((_, wrong)) = wrong else {
            return Err(DetectError::Outputs { given: outputs.len(), wanted: self.outputs.len() });
        };
        let dims = |level: &Level| {
            let dims: Vec<_> = self.form.dims(level, self.values).iter().map(ToString::to_string).collect();
            format!("[1, {}]", dims.join(", "))
        };
        let all: Vec<_> = self.grid.levels.iter().map(dims).collect();
        Err(misshapen(KIND, wrong, format!("outputs {}, in any order", all.join(", "))))
    }
}

/// Whether an offer's outputs look like raw heads, whose anchors are not stated.
pub fn needs_anchors(offer: &Offer<'_>) -> bool {
    offer.hints.anchors.is_none() && USUAL.iter().any(|anchors| Heads::find(offer, *anchors).is_some())
}

/// What makes objectness and class scores probabilities, if that is not set.
fn usual_activation(formula: AnchorFormula) -> Activation {
    match formula {
        AnchorFormula::Yolov3 | AnchorFormula::Yolov5 => Activation::Sigmoid,
        AnchorFormula::NewCoords => Activation::None,
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    heads: Heads,
    formula: AnchorFormula,
    /// Width, height and scale of the centre of each anchor of a cell, level by level.
    sizes: Arc<[[f32; 4]]>,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let anchors = offer.hints.anchors.as_ref();
    let count = anchors.map_or_else(|| "A".into(), |anchors| anchors.per_cell().to_string());
    let values = format!("5 + {}", offer.class_term());
    let cells = |level: &Level| {
        let [w, h] = size(level);
        format!("{h}, {w}")
    };
    let cells: Vec<_> = offer.grid.levels.iter().map(cells).collect();
    let stated =
        if anchors.is_none() { "; the anchors' sizes must be in [anchors] of the sidecar" } else { "" };
    format!(
        "for each stride one float output [1, {count} * ({values}), h, w], [1, {count}, h, w, {values}], \
         [1, h, w, {count}, {values}] or [1, h, w, {count} * ({values})], h, w being {} with {}{stated}",
        cells.join(" or "),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let Some(anchors) = &offer.hints.anchors else { return Vec::new() };
    let Some((heads, evidence)) = Heads::find(offer, anchors.per_cell()) else { return Vec::new() };
    let classes = Some(heads.values - BEFORE_CLASSES);
    // Those of five dimensions need not be accounted for.
    let reads = heads.outputs.iter().filter(|output| offer.outputs[**output].dims.len() < 5).count();
    let plan = Plan {
        heads,
        formula: anchors.formula,
        sizes: anchors.table().into(),
        activation: offer.hints.activation.unwrap_or(usual_activation(anchors.formula)),
    };
    vec![Fit { evidence, plan, classes, reads, far_fetched: false }]
}

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Width, height and scale of the centre of each anchor of a cell, level by level.
    pub fn sizes(&self) -> &[[f32; 4]] {
        &self.sizes
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let Heads { form, values, per_cell, grid, .. } = &self.heads;
        let mut scores = Vec::with_capacity(values - BEFORE_CLASSES);
        let all = grid.levels.iter().map(|level| Ok((level, self.heads.of_level(outputs, level)?)));
        let all = all.collect::<Result<Vec<_>, DetectError>>()?;
        for ((level, output), sizes) in all.into_iter().zip(self.sizes.chunks_exact(*per_cell)) {
            let data = outputs[output].to_f32();
            let cells = level.cells / level.per_cell;
            for anchor in 0..level.cells {
                let [first, step] = form.place(level, anchor, *values);
                let value = |i: usize| data[first + i * step];
                let objectness = value(BEFORE_CLASSES - 1);
                if is_bad(objectness) {
                    into.drop_non_finite();
                    continue;
                }
                let objectness = probability(self.activation, objectness);
                // As for decoded outputs: no class score exceeds 1.
                if objectness < into.lowest() {
                    continue;
                }
                scores.clear();
                scores.extend((BEFORE_CLASSES..*values).map(value));
                let confidence = |score| objectness * probability(self.activation, score);
                take_scored(&scores, into, confidence, |into, class, confidence| {
                    let corners =
                        self.corners(level, anchor % cells, &sizes[anchor / cells], [0, 1, 2, 3].map(value));
                    into.take(level.first + anchor, class, confidence, corners);
                });
            }
        }
        Ok(())
    }

    /// The box of a cell's anchor of this size, in tensor pixels.
    fn corners(&self, level: &Level, cell: usize, [w, h, scale, _]: &[f32; 4], t: [f32; 4]) -> [f32; 4] {
        let share = |t: f32| probability(Activation::Sigmoid, t);
        let stride = level.stride as f32;
        let [column, row] = [cell % level.columns, cell / level.columns].map(|n| n as f32);
        let [x, y, width, height] = match self.formula {
            AnchorFormula::Yolov3 => {
                let of = |t: f32| share(t) * scale - (scale - 1.0) * 0.5;
                [of(t[0]), of(t[1]), t[2].exp(), t[3].exp()]
            }
            AnchorFormula::Yolov5 => {
                let of = |t: f32| share(t) * 2.0 - 0.5;
                let [a, b] = [t[2], t[3]].map(|t| share(t) * 2.0);
                [of(t[0]), of(t[1]), a * a, b * b]
            }
            AnchorFormula::NewCoords => {
                let of = |v: f32| v * scale - (scale - 1.0) * 0.5;
                let [a, b] = [t[2] * 2.0, t[3] * 2.0];
                [of(t[0]), of(t[1]), a * a, b * b]
            }
        };
        centered((column + x) * stride, (row + y) * stride, width * w, height * h)
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let Heads { form, values, per_cell, grid, .. } = &self.heads;
        let anchored = Anchored { form: *form as u32, formula: self.formula as u32, per_cell: *per_cell };
        let layout =
            Layout::new(Scoring::Objectness, self.activation, values - BEFORE_CLASSES)?.anchored(anchored)?;
        grid.levels.iter().try_fold(layout, |layout, level| {
            let at = At { tensor: &outputs[self.heads.of_level(outputs, level)?], element: 0 };
            layout.with(at, at, Span::of(level))
        })
    }
}
