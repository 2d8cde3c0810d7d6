//! Detectors that suppress overlaps themselves (YOLOv10, v26): `[1, M, 6]`, x1, y1, x2, y2, confidence, class.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::scan::is_bad;
use super::{Plan as AnyPlan, read, single};

const COLUMNS: usize = 6;
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
    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let view = &outputs[self.output];
        let rows = read(DecoderKind::EndToEnd, view, || "[1, M, 6]".into(), |_, c| c == COLUMNS)?;
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
