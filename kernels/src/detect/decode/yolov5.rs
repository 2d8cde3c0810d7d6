//! YOLOv5, v6, v7, and YOLOX with the decoding in it: `[1, N, 5 + C]`, boxes as centre and size in tensor pixels. Their relatives
//! for masks have more columns after the classes.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, is_tall, read, single};
use super::objectness::{self, BEFORE_CLASSES};

/// Anchors in each cell: of v5 and v7; of v6 and YOLOX.
const PER_CELL: [usize; 2] = [3, 1];

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    output: usize,
    classes: Option<usize>,
    /// Columns after the class scores.
    more: usize,
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
            let plan = Plan::new(DecoderKind::Yolov5, offer, plane, classes, 0);
            Fit { evidence, plan, classes, reads: 1, far_fetched: false }
        })
    })
}

/// How sure it is that the plane's rows are the anchors of three for each cell.
pub fn evidence(offer: &Offer<'_>, plane: &Plane) -> Evidence {
    offer.evidence(plane.rows, PER_CELL[0], false)
}

impl Plan {
    /// Of `plane`, with `more` columns after those of the classes.
    pub fn new(
        kind: DecoderKind,
        offer: &Offer<'_>,
        plane: &Plane,
        classes: Option<usize>,
        more: usize,
    ) -> Self {
        Self {
            kind,
            output: plane.output,
            classes,
            more,
            boxes: BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input),
            activation: offer.hints.activation.unwrap_or(Activation::None),
        }
    }

    /// Index of the output, its first element after the classes, and the elements of a row.
    pub fn behind_classes<T: Shaped>(&self, outputs: &[T]) -> Result<(usize, usize, usize), DetectError> {
        let [_, columns] = self.shape(outputs)?;
        Ok((self.output, columns - self.more, columns))
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        &self.boxes
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let others = BEFORE_CLASSES + self.more;
        let wanted = || match self.classes {
            Some(c) => format!("[1, N, {}]", others + c),
            None => format!("[1, N, {others} + classes]"),
        };
        check(self.kind, &outputs[self.output], wanted, |_, columns| {
            columns > others && self.classes.is_none_or(|c| columns == others + c)
        })
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let rows = read(&outputs[self.output], self.shape(outputs)?);
        objectness::decode(&rows, self.more, self.activation, into, |_, values| self.boxes.corners(values));
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Objectness, self.activation, columns - BEFORE_CLASSES - self.more)?
            .rows(columns, columns)
            .coded(self.boxes.parts())
            .with(At { tensor, element: BEFORE_CLASSES }, At { tensor, element: 0 }, Span::all(rows))
    }
}
