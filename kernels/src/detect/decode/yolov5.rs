//! YOLOv5, v6, v7, and YOLOX with the decoding in it: `[1, N, 5 + C]`, boxes as centre and size in tensor pixels.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, is_tall, read, single};
use super::objectness::{self, BEFORE_CLASSES};

/// Anchors in each cell: of v5 and v7; of v6 and YOLOX.
const PER_CELL: [usize; 2] = [3, 1];

#[derive(Clone, Debug)]
pub struct Plan {
    output: usize,
    classes: Option<usize>,
    boxes: BoxCoding,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, N, 5 + {}] of decoded boxes, objectness and class scores, N = {} (or a third of it: v6, \
         YOLOX) with {}",
        offer.class_term(),
        PER_CELL[0] * offer.grid.cells,
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    single(offer, |plane| {
        let classes = offer.classes_in(plane.columns, BEFORE_CLASSES)?;
        let [three, one] = PER_CELL.map(|per_cell| offer.evidence(plane.rows, per_cell, false));
        // With one a cell, a number of rows that happens to be some pyramid's is not enough.
        let tall = is_tall(plane.rows, plane.columns);
        let evidence = if tall { three.max(one) } else { three };
        (evidence == Evidence::Exact || tall).then(|| {
            let plan = Plan {
                output: plane.output,
                classes,
                boxes: BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input),
                activation: offer.hints.activation.unwrap_or(Activation::None),
            };
            Fit { evidence, plan, classes, reads: 1, far_fetched: false }
        })
    })
}

impl Plan {
    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let wanted = || match self.classes {
            Some(c) => format!("[1, N, {}]", BEFORE_CLASSES + c),
            None => "[1, N, 5 + classes]".into(),
        };
        check(DecoderKind::Yolov5, &outputs[self.output], wanted, |_, columns| {
            columns > BEFORE_CLASSES && self.classes.is_none_or(|c| columns == BEFORE_CLASSES + c)
        })
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let rows = read(&outputs[self.output], self.shape(outputs)?);
        objectness::decode(&rows, self.activation, into, |_, values| self.boxes.corners(values));
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Objectness, self.activation, columns - BEFORE_CLASSES)?
            .rows(columns, columns)
            .coded(self.boxes.parts())
            .with(At { tensor, element: BEFORE_CLASSES }, At { tensor, element: 0 }, Span::all(rows))
    }
}
