//! YOLO heads that say more of an object than its box and class: keypoints or coefficients, behind the rest.

use crate::tensor::TensorView;

use super::super::attached::{Angle, Extra, Meaning};
use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output};
use super::super::offer::{Evidence, Offer, Plane};
use super::super::{Activation, DecoderKind, DetectError};
use super::matrix::Shaped;
use super::{end_to_end, yolov8};

/// How the rest is written.
#[derive(Clone, Debug)]
pub enum Head {
    /// As yolov8, one row a number.
    Columns(yolov8::Plan),
    /// As end-to-end, one column a number.
    Final(end_to_end::Plan),
}

/// One way to read a plane: its head, how sure it is, and the classes where known.
pub type Reading = (Head, Evidence, Option<usize>);

impl Head {
    /// `plane` as `[4 + classes + more, N]`, one class if their number is not set.
    pub fn columns(kind: DecoderKind, offer: &Offer<'_>, plane: &Plane, more: usize) -> Option<Reading> {
        let rows = plane.rows?;
        let classes = rows.checked_sub(yolov8::BEFORE_CLASSES + more).filter(|c| *c > 0)?;
        if offer.hints.classes.is_some_and(|c| c != classes) {
            return None;
        }
        let evidence = yolov8::evidence(offer, plane)?;
        let plan = yolov8::Plan::new(kind, offer, plane, Some(classes), more);
        Some((Self::Columns(plan), evidence, Some(classes)))
    }

    /// `plane` as `[M, 6 + more]`.
    pub fn suppressed(kind: DecoderKind, offer: &Offer<'_>, plane: &Plane, more: usize) -> Option<Reading> {
        // Its confidences are final.
        let fits = plane.columns == Some(end_to_end::COLUMNS + more) && offer.hints.activation.is_none();
        let plan = || Self::Final(end_to_end::Plan::new(kind, offer, plane, more));
        fits.then(|| (plan(), Evidence::Open, offer.hints.classes))
    }

    /// With boxes that are rotated by the last number.
    pub fn rotated(self) -> Self {
        match self {
            Self::Columns(plan) => Self::Columns(plan.rotated()),
            Self::Final(plan) => Self::Final(plan.rotated()),
        }
    }

    /// Whether the model has suppressed overlaps itself.
    pub fn is_suppressed(&self) -> bool {
        matches!(self, Self::Final(_))
    }

    /// Tensor pixels per unit.
    pub fn unit(&self) -> [f32; 2] {
        match self {
            Self::Columns(plan) => plan.unit(),
            Self::Final(plan) => plan.unit(),
        }
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        match self {
            Self::Columns(plan) => plan.activation(),
            Self::Final(_) => Activation::None,
        }
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        match self {
            Self::Columns(plan) => plan.decode(outputs, into),
            Self::Final(plan) => plan.decode(outputs, into),
        }
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        match self {
            Self::Columns(plan) => plan.layout(outputs),
            Self::Final(plan) => plan.layout(outputs),
        }
    }

    /// Where centre, size and angle of a rotated box are.
    pub fn rotated_box<T: Shaped>(&self, outputs: &[T]) -> Result<Extra, DetectError> {
        let place = |angle: usize| Meaning::Rotated(Angle { place: angle, unit: self.unit() });
        Ok(match self {
            Self::Columns(plan) => {
                let (output, row, anchors) = plan.behind_classes(outputs)?;
                Extra { output, element: 0, step: 1, value_step: anchors, meaning: place(row) }
            }
            Self::Final(plan) => {
                let (output, columns) = plan.columns(outputs)?;
                Extra { output, element: 0, step: columns, value_step: 1, meaning: place(columns - 1) }
            }
        })
    }

    /// Where what lies behind the classes is.
    pub fn extra<T: Shaped>(&self, outputs: &[T], meaning: Meaning) -> Result<Extra, DetectError> {
        Ok(match self {
            Self::Columns(plan) => {
                let (output, row, anchors) = plan.behind_classes(outputs)?;
                Extra { output, element: row * anchors, step: 1, value_step: anchors, meaning }
            }
            Self::Final(plan) => {
                let (output, columns) = plan.columns(outputs)?;
                Extra { output, element: end_to_end::COLUMNS, step: columns, value_step: 1, meaning }
            }
        })
    }
}
