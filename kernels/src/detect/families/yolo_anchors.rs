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

use crate::detect::family::{Family, Hint, Usual};
use crate::detect::grid::{Grid, Level};
use crate::detect::layout::{Coding, Field, Form, Layout, Scoring, Shape, Table};
use crate::detect::offer::{Evidence, Fit, Offer};
use crate::detect::{Activation, AnchorFormula, DecoderKind};
use crate::tensor::TensorDesc;

use super::heads::BEFORE_SCORES;

pub const FAMILY: Family = Family {
    kind: DecoderKind::YoloAnchors,
    wanted,
    fits,
    takes: &[Hint::Activation, Hint::Anchors],
    usual: Usual::SUPPRESSED,
};

/// Anchors of a cell that published models have, the usual number first.
const USUAL: [usize; 5] = [3, 5, 2, 4, 6];

/// The numbers of an anchor, in an output of `dims` after the batch's with that many anchors a cell.
fn values_of(form: Form, dims: &[Option<usize>], anchors: usize) -> Option<usize> {
    let (place, anchors) = match form {
        Form::Planes => (0, anchors),
        Form::ByAnchor | Form::ByCell => (3, 1),
        Form::Joined => (2, anchors),
    };
    let rank = if matches!(form, Form::Planes | Form::Joined) { 3 } else { 4 };
    let all = dims.get(place).copied().flatten().filter(|_| dims.len() == rank)?;
    (all.is_multiple_of(anchors) && all / anchors > BEFORE_SCORES).then_some(all / anchors)
}

/// An output's dimensions after that of the batch.
fn after_batch(output: &TensorDesc) -> Option<&[Option<usize>]> {
    match &output.dims[..] {
        [None | Some(1), rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Outputs that are raw heads, one of each level.
#[derive(Clone, Debug)]
struct Heads {
    outputs: Vec<usize>,
    form: Form,
    /// Numbers of an anchor.
    values: usize,
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
                .filter_map(|output| values_of(form, after_batch(&offer.outputs[output])?, anchors))
                .filter(|values| offer.hints.classes.is_none_or(|c| *values == BEFORE_SCORES + c))
                .collect();
            values.dedup();
            for values in values {
                let is_of = |output: usize, level: &Level| {
                    let wanted = form.dims(level, values);
                    after_batch(&offer.outputs[output]).is_some_and(|dims| {
                        dims.len() == wanted.len()
                            && values_of(form, dims, anchors) == Some(values)
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
                    let alone = levels
                        .iter()
                        .filter(|other| [other.columns, other.rows()] == [level.columns, level.rows()])
                        .count()
                        == 1;
                    alone && (known == 1 || open && known == 0)
                });
                if outputs.len() == levels.len() && one_each {
                    let evidence = if open { Evidence::Open } else { Evidence::Exact };
                    return Some((Self { outputs, form, values, grid }, evidence));
                }
            }
        }
        None
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

fn wanted(offer: &Offer<'_>) -> String {
    let anchors = offer.hints.anchors.as_ref();
    let count = anchors.map_or_else(|| "A".into(), |anchors| anchors.per_cell().to_string());
    let values = format!("5 + {}", offer.class_term());
    let cells = |level: &Level| format!("{}, {}", level.rows(), level.columns);
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

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let Some(anchors) = &offer.hints.anchors else { return Vec::new() };
    let Some((heads, evidence)) = Heads::find(offer, anchors.per_cell()) else { return Vec::new() };
    let Heads { outputs, form, values, grid } = heads;
    // Those of five dimensions need not be accounted for.
    let reads = outputs.iter().filter(|output| offer.outputs[**output].dims.len() < 5).count();
    let table = Table { outputs, shape: Shape::Heads { form, values } };
    let coding = Coding::Anchored { formula: anchors.formula, sizes: anchors.table().into() };
    let activation = offer.hints.activation.unwrap_or(usual_activation(anchors.formula));
    let layout = Layout {
        grid: Some(grid),
        scores: Field::new(0, BEFORE_SCORES),
        scoring: Scoring::Objectness,
        ..Layout::new(FAMILY.kind, vec![table], coding, activation)
    };
    vec![Fit::new(evidence, layout, Some(values - BEFORE_SCORES)).reading(reads)]
}
