//! YOLOv8, v9, v11: `[1, 4 + C, N]`, boxes as centre and size in tensor pixels, one row a channel. Their relatives for
//! poses and masks have more rows behind the classes.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, is_tall, read, single};
use super::scan::scan_columns;

/// Rows before the class scores.
pub const BEFORE_CLASSES: usize = 4;

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    output: usize,
    classes: Option<usize>,
    /// Rows behind the class scores.
    more: usize,
    /// Whether the last of them is the boxes' angle.
    rotated: bool,
    boxes: BoxCoding,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "one float output [1, 4 + {}, N] of decoded boxes and class scores, N = {} with {}",
        offer.class_term(),
        offer.grid.cells,
        offer.grid_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    single(offer, |plane| {
        let classes = offer.classes_in(plane.rows, BEFORE_CLASSES)?;
        let evidence = evidence(offer, plane)?;
        let plan = Plan::new(DecoderKind::Yolov8, offer, plane, classes, 0);
        Some(Fit { evidence, plan, classes, reads: 1, far_fetched: false })
    })
}

/// How sure it is that the plane's columns are anchors; none if they cannot be.
pub fn evidence(offer: &Offer<'_>, plane: &Plane) -> Option<Evidence> {
    let evidence = offer.evidence(plane.columns, 1, false);
    (evidence == Evidence::Exact || is_tall(plane.columns, plane.rows)).then_some(evidence)
}

impl Plan {
    /// Of `plane`, with `more` rows behind those of the classes.
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
            rotated: false,
            boxes: BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input),
            activation: offer.hints.activation.unwrap_or(Activation::None),
        }
    }

    /// With boxes that are rotated by the angle in the last row.
    pub fn rotated(self) -> Self {
        Self { rotated: true, boxes: self.boxes.centered(), ..self }
    }

    /// Index of the output, its first row behind the classes, and its anchors.
    pub fn behind_classes<T: Shaped>(&self, outputs: &[T]) -> Result<(usize, usize, usize), DetectError> {
        let [rows, anchors] = self.shape(outputs)?;
        Ok((self.output, rows - self.more, anchors))
    }

    /// Tensor pixels per unit.
    pub fn unit(&self) -> [f32; 2] {
        self.boxes.parts().1
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let others = BEFORE_CLASSES + self.more;
        let wanted = || match self.classes {
            Some(c) => format!("[1, {}, N]", others + c),
            None => format!("[1, {others} + classes, N]"),
        };
        check(self.kind, &outputs[self.output], wanted, |rows, _| {
            rows > others && self.classes.is_none_or(|c| rows == others + c)
        })
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, anchors] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Classes, self.activation, rows - BEFORE_CLASSES - self.more)?
            .columns(anchors)
            .coded(self.boxes.parts())
            .rotated(self.rotated.then_some(rows - 1))?
            .with(
                At { tensor, element: BEFORE_CLASSES * anchors },
                At { tensor, element: 0 },
                Span::all(anchors),
            )
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let all = read(&outputs[self.output], self.shape(outputs)?);
        let anchors = all.columns;
        let (boxes, rest) = all.data.split_at(BEFORE_CLASSES * anchors);
        let scores = &rest[..rest.len() - self.more * anchors];
        scan_columns(scores, anchors, self.activation, into, |into, anchor, class, confidence| {
            let values = [0, 1, 2, 3].map(|k| boxes[k * anchors + anchor]);
            if self.rotated {
                let angle = rest[rest.len() - anchors + anchor];
                into.take_rotated(anchor, class, confidence, &self.boxes.rotated(values, angle));
            } else {
                into.take(anchor, class, confidence, self.boxes.corners(values));
            }
        });
        Ok(())
    }
}
