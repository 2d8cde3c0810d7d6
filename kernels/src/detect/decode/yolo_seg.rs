//! Instance masks: `[1, 4 + C + M, N]` (YOLOv8-seg, v11-seg) or that transposed, `[1, N, 5 + C + M]` with objectness before the
//! class scores (YOLOv5-seg, v7-seg), or `[1, D, 6 + M]`, already suppressed (v26-seg), whose last M numbers are the coefficients
//! of the prototypes `[1, M, h, w]` (Bolya et al., "YOLACT", 2019).

use super::super::attached::{Extra, Meaning};
use super::super::offer::{Fit, Offer, Plane};
use super::super::{DecoderKind, DetectError};
use super::head::{Head, Reading};
use super::matrix::{Shaped, misshapen};
use super::yolov8::{Anchors, surest};

const KIND: DecoderKind = DecoderKind::YoloSeg;

#[derive(Clone, Debug)]
pub struct Plan {
    pub head: Head,
    /// The output of the prototypes.
    prototypes: usize,
    coefficients: usize,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    format!(
        "a float output [1, 4 + {0} + M, N], or that transposed, of decoded boxes, class scores and coefficients, or [1, N, 5 + {0} + M] \
         with objectness before the class scores, or [1, D, 6 + M], already suppressed, and the prototypes [1, M, h, w]",
        offer.class_term()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let [columns, rows] =
        Anchors::ALL.map(|anchors| each(offer, |plane, more| Head::raw(KIND, offer, plane, anchors, more)));
    let suppressed = each(offer, |plane, more| Head::suppressed(KIND, offer, plane, more));
    let objectness = each(offer, |plane, more| Head::with_objectness(KIND, offer, plane, more));
    surest([columns, suppressed, rows, objectness])
}

/// The fits of each plane beside prototypes, where `read` can read it with that many coefficients.
fn each(offer: &Offer<'_>, read: impl Fn(&Plane, usize) -> Option<Reading>) -> Vec<Fit<Plan>> {
    let pairs = offer.maps.iter().flat_map(|maps| offer.planes.iter().map(move |plane| (maps, plane)));
    let fits = pairs.filter(|(maps, plane)| maps.output != plane.output).filter_map(|(maps, plane)| {
        let coefficients = maps.dims[0];
        let (head, evidence, classes) = read(plane, coefficients)?;
        let plan = Plan { head, prototypes: maps.output, coefficients };
        Some(Fit { evidence, plan, classes, reads: 2, far_fetched: false })
    });
    fits.collect()
}

impl Plan {
    /// Index of the prototypes among the outputs.
    pub fn prototypes(&self) -> usize {
        self.prototypes
    }

    /// Coefficients of each object.
    pub fn coefficients(&self) -> usize {
        self.coefficients
    }

    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Extra, DetectError> {
        let prototypes = &outputs[self.prototypes];
        if prototypes.maps().is_none_or(|[maps, ..]| maps != self.coefficients) {
            return Err(misshapen(KIND, prototypes, format!("[1, {}, h, w]", self.coefficients)));
        }
        self.head.extra(outputs, Meaning::Coefficients(self.coefficients))
    }
}
