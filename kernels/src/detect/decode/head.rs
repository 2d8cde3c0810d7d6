//! YOLO heads that say more of an object than its box and class: keypoints or coefficients, after the rest.

use crate::tensor::TensorView;

use super::super::attached::{Angle, Extra, Meaning};
use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output};
use super::super::offer::{Evidence, Offer, Plane};
use super::super::{Activation, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, is_tall};
use super::scores::Scores;
use super::yolov8::Anchors;
use super::{end_to_end, objectness, yolov5, yolov8};

/// How the rest is written.
#[derive(Clone, Debug)]
pub enum Head {
    /// As yolov8, in either orientation.
    Raw(yolov8::Plan),
    /// As yolov5.
    Objectness(yolov5::Plan),
    /// As end-to-end, one column a number.
    Final(end_to_end::Plan),
}

/// One way to read a plane: its head, how sure it is, and the classes where known.
pub type Reading = (Head, Evidence, Option<usize>);

impl Head {
    /// `plane` as `[4 + classes + more, N]` or `[N, 4 + classes + more]`, one class if their number is not set.
    pub fn raw(
        kind: DecoderKind,
        offer: &Offer<'_>,
        plane: &Plane,
        anchors: Anchors,
        more: usize,
    ) -> Option<Reading> {
        let [_, channels] = anchors.of(plane.rows, plane.columns);
        let classes = channels?.checked_sub(yolov8::BEFORE_CLASSES + more).filter(|c| *c > 0)?;
        if offer.hints.classes.is_some_and(|c| c != classes) {
            return None;
        }
        let evidence = yolov8::evidence(offer, plane, anchors)?;
        let plan = yolov8::Plan::new(kind, offer, plane, anchors, Some(classes), more);
        Some((Self::Raw(plan), evidence, Some(classes)))
    }

    /// `plane` as `[N, 5 + classes + more]`, with three anchors a cell.
    pub fn with_objectness(
        kind: DecoderKind,
        offer: &Offer<'_>,
        plane: &Plane,
        more: usize,
    ) -> Option<Reading> {
        let classes = plane.columns?.checked_sub(objectness::BEFORE_CLASSES + more).filter(|c| *c > 0)?;
        if offer.hints.classes.is_some_and(|c| c != classes) {
            return None;
        }
        let evidence = yolov5::evidence(offer, plane);
        let plan = || yolov5::Plan::new(kind, offer, plane, Some(classes), more);
        (evidence == Evidence::Exact || is_tall(plane.rows, plane.columns))
            .then(|| (Self::Objectness(plan()), evidence, Some(classes)))
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
            Self::Raw(plan) => Self::Raw(plan.rotated()),
            // No family has both.
            Self::Objectness(plan) => Self::Objectness(plan),
            Self::Final(plan) => Self::Final(plan.rotated()),
        }
    }

    /// Whether the model has suppressed overlaps itself.
    pub fn is_suppressed(&self) -> bool {
        matches!(self, Self::Final(_))
    }

    /// The output with boxes that the model has suppressed itself.
    pub fn final_boxes(&self) -> Option<usize> {
        if let Self::Final(plan) = self { Some(plan.output()) } else { None }
    }

    /// Whether neighbouring scores are those of neighbouring anchors.
    pub fn by_columns(&self) -> bool {
        matches!(self, Self::Raw(plan) if plan.by_columns())
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        match self {
            Self::Raw(plan) => plan.coding(),
            Self::Objectness(plan) => plan.coding(),
            Self::Final(plan) => plan.coding(),
        }
    }

    /// Tensor pixels per unit.
    pub fn unit(&self) -> [f32; 2] {
        self.coding().parts().1
    }

    /// How it scores.
    pub fn scores(&self) -> Scores {
        match self {
            Self::Objectness(plan) => Scores::with_objectness(plan.activation()),
            Self::Raw(_) | Self::Final(_) => Scores::of(self.activation()),
        }
    }

    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        match self {
            Self::Raw(plan) => plan.activation(),
            Self::Objectness(plan) => plan.activation(),
            Self::Final(_) => Activation::None,
        }
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        match self {
            Self::Raw(plan) => plan.decode(outputs, into),
            Self::Objectness(plan) => plan.decode(outputs, into),
            Self::Final(plan) => plan.decode(outputs, into),
        }
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        match self {
            Self::Raw(plan) => plan.layout(outputs),
            Self::Objectness(plan) => plan.layout(outputs),
            Self::Final(plan) => plan.layout(outputs),
        }
    }

    /// Where centre, size and angle of a rotated box are.
    pub fn rotated_box<T: Shaped>(&self, outputs: &[T]) -> Result<Extra, DetectError> {
        let place = |angle: usize| Meaning::Rotated(Angle { place: angle, unit: self.unit() });
        Ok(match self {
            Self::Raw(plan) => {
                let (output, element, [step, value_step]) = plan.behind_classes(outputs)?;
                let angle = element.checked_div(value_step).unwrap_or(0);
                Extra { output, element: 0, step, value_step, meaning: place(angle) }
            }
            Self::Objectness(plan) => {
                let (output, element, step) = plan.behind_classes(outputs)?;
                Extra { output, element: 0, step, value_step: 1, meaning: place(element) }
            }
            Self::Final(plan) => {
                let (output, columns) = plan.columns(outputs)?;
                Extra { output, element: 0, step: columns, value_step: 1, meaning: place(columns - 1) }
            }
        })
    }

    /// Where the numbers after the classes are.
    pub fn extra<T: Shaped>(&self, outputs: &[T], meaning: Meaning) -> Result<Extra, DetectError> {
        Ok(match self {
            Self::Raw(plan) => {
                let (output, element, [step, value_step]) = plan.behind_classes(outputs)?;
                Extra { output, element, step, value_step, meaning }
            }
            Self::Objectness(plan) => {
                let (output, element, step) = plan.behind_classes(outputs)?;
                Extra { output, element, step, value_step: 1, meaning }
            }
            Self::Final(plan) => {
                let (output, columns) = plan.columns(outputs)?;
                Extra { output, element: end_to_end::COLUMNS, step: columns, value_step: 1, meaning }
            }
        })
    }
}
