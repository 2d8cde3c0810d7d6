//! Detectors that suppress overlaps themselves (YOLOv10, v26): `[1, M, 6]`, x1, y1, x2, y2, confidence, class.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::scan::is_bad;
use super::{Plan as AnyPlan, Shaped, check, read, single};

const COLUMNS: usize = 6;
/// Columns before the confidence, which the class follows.
const BEFORE_CONFIDENCE: usize = 4;
/// Above 2^24 float32 cannot tell one class from the next.
const LAST_CLASS: f32 = 16_777_216.0;

#[derive(Clone, Debug)]
pub struct Plan {
    output: usize,
    boxes: BoxCoding,
}

pub fn wanted(_: &Offer<'_>) -> String {
    "one float output [1, M, 6] of x1, y1, x2, y2, confidence and class, already suppressed".into()
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    single(offer, |plane| {
        let evidence = match plane.columns {
            Some(COLUMNS) => Evidence::Open,
            Some(_) => return None,
            None => Evidence::Weak,
        };
        let boxes = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
        let plan = AnyPlan::EndToEnd(Plan { output: plane.output, boxes });
        Some(Fit { evidence, plan, classes: offer.hints.classes, reads: 1 })
    })
}

impl Plan {
    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        check(DecoderKind::EndToEnd, &outputs[self.output], || "[1, M, 6]".into(), |_, c| c == COLUMNS)
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, _] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Final, Activation::None, 1)?
            .rows(COLUMNS, COLUMNS)
            .coded(self.boxes.parts())
            .with(At { tensor, element: BEFORE_CONFIDENCE }, At { tensor, element: 0 }, Span::all(rows))
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let rows = read(&outputs[self.output], self.shape(outputs)?);
        for (anchor, row) in rows.data.chunks_exact(COLUMNS).enumerate() {
            let &[a, b, c, d, confidence, class] = row else { continue };
            if is_bad(confidence) {
                into.drop_non_finite();
                continue;
            }
            if confidence < into.lowest() {
                continue;
            }
            if !class.is_finite() {
                into.drop_non_finite();
                continue;
            }
            // Models pad with class -1.
            let class = class.round();
            if (0.0..=LAST_CLASS).contains(&class) && into.wants(class as u32, confidence) {
                into.take(anchor, class as u32, confidence, self.boxes.corners([a, b, c, d]));
            }
        }
        Ok(())
    }
}
