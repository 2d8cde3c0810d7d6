//! YOLOX: `[1, N, 5 + C]`, boxes relative to the grid's cells (Ge et al., "YOLOX", 2021, section 2.1).

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::grid::Grid;
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, DecoderKind, DetectError};
use super::boxes::centered;
use super::matrix::{Shaped, check, is_tall, read, single};
use super::objectness::{self, BEFORE_CLASSES};

#[derive(Clone, Debug)]
pub struct Plan {
    output: usize,
    classes: Option<usize>,
    grid: Grid,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, {}, 5 + {}] of boxes in grid cells, objectness and class scores, for {} (name \
         the model's strides in its sidecar)",
        offer.grid.cells,
        offer.class_term(),
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    single(offer, |plane| {
        let classes = offer.classes_in(plane.columns, BEFORE_CLASSES)?;
        // The grid is needed to decode: with another number of cells the shape fits, but only for an error's sake.
        let evidence = match plane.rows {
            None => Evidence::Open,
            Some(rows) if rows == offer.grid.cells => Evidence::Exact,
            Some(_) => Evidence::Weak,
        };
        (evidence == Evidence::Exact || is_tall(plane.rows, plane.columns)).then(|| {
            let plan = Plan {
                output: plane.output,
                classes,
                grid: offer.grid.clone(),
                activation: offer.hints.activation.unwrap_or(Activation::None),
            };
            Fit { evidence, plan, classes, reads: 1, far_fetched: false }
        })
    })
}

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let cells = self.grid.cells;
        let wanted = || match self.classes {
            Some(c) => format!("[1, {cells}, {}]", BEFORE_CLASSES + c),
            None => format!("[1, {cells}, 5 + classes]"),
        };
        check(DecoderKind::Yolox, &outputs[self.output], wanted, |rows, columns| {
            rows == cells
                && columns > BEFORE_CLASSES
                && self.classes.is_none_or(|c| columns == BEFORE_CLASSES + c)
        })
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [_, columns] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        let layout = Layout::new(Scoring::Objectness, self.activation, columns - BEFORE_CLASSES)?;
        self.grid.levels.iter().try_fold(layout.rows(columns, columns).in_cells(), |layout, level| {
            let element = level.first * columns;
            let scores = At { tensor, element: element + BEFORE_CLASSES };
            layout.with(scores, At { tensor, element }, Span::of(level))
        })
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let rows = read(&outputs[self.output], self.shape(outputs)?);
        objectness::decode(&rows, 0, self.activation, into, |anchor, [x, y, w, h]| {
            let Some(level) = self.grid.level_of(anchor) else { return [f32::NAN; 4] };
            let (column, row) = level.position(anchor - level.first);
            let stride = level.stride as f32;
            centered((x + column) * stride, (y + row) * stride, w.exp() * stride, h.exp() * stride)
        });
        Ok(())
    }
}
