//! Detectors that suppress overlaps themselves (YOLOv10, v26): `[1, M, 6]`, x1, y1, x2, y2, confidence, class.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::matrix::{Shaped, check, read, single};
use super::scan::is_bad;

pub const COLUMNS: usize = 6;
/// Columns before the confidence, which the class follows.
const BEFORE_CONFIDENCE: usize = 4;
/// Above 2^24 float32 cannot tell one class from the next.
const LAST_CLASS: f32 = 16_777_216.0;

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    output: usize,
    /// Columns behind the class.
    more: usize,
    /// Whether the last of them is the boxes' angle.
    rotated: bool,
    boxes: BoxCoding,
}

pub fn wanted(_: &Offer<'_>) -> String {
    "one float output [1, M, 6] of x1, y1, x2, y2, confidence and class, already suppressed".into()
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    single(offer, |plane| {
        let evidence = match plane.columns {
            Some(COLUMNS) => Evidence::Open,
            Some(_) => return None,
            None => Evidence::Weak,
        };
        let plan = Plan::new(DecoderKind::EndToEnd, offer, plane, 0);
        Some(Fit { evidence, plan, classes: offer.hints.classes, reads: 1, far_fetched: false })
    })
}

impl Plan {
    /// Of `plane`, with `more` columns behind the class.
    pub fn new(kind: DecoderKind, offer: &Offer<'_>, plane: &Plane, more: usize) -> Self {
        let boxes = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
        Self { kind, output: plane.output, more, rotated: false, boxes }
    }

    /// With boxes of centre and size that are rotated by the angle in the last column.
    pub fn rotated(self) -> Self {
        Self { rotated: true, boxes: self.boxes.centered(), ..self }
    }

    /// Index of the output and its columns.
    pub fn columns<T: Shaped>(&self, outputs: &[T]) -> Result<(usize, usize), DetectError> {
        self.shape(outputs).map(|[_, columns]| (self.output, columns))
    }

    /// Tensor pixels per unit.
    pub fn unit(&self) -> [f32; 2] {
        self.boxes.parts().1
    }

    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let columns = COLUMNS + self.more;
        check(self.kind, &outputs[self.output], || format!("[1, M, {columns}]"), |_, c| c == columns)
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Final, Activation::None, 1)?
            .rows(columns, columns)
            .coded(self.boxes.parts())
            .rotated(self.rotated.then_some(columns - 1))?
            .with(At { tensor, element: BEFORE_CONFIDENCE }, At { tensor, element: 0 }, Span::all(rows))
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let rows = read(&outputs[self.output], self.shape(outputs)?);
        for (anchor, row) in rows.data.chunks_exact(rows.columns).enumerate() {
            let &[a, b, c, d, confidence, class, ..] = row else { continue };
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
                match row.last().filter(|_| self.rotated) {
                    Some(angle) => {
                        let rotated = self.boxes.rotated([a, b, c, d], *angle);
                        into.take_rotated(anchor, class as u32, confidence, &rotated);
                    }
                    None => into.take(anchor, class as u32, confidence, self.boxes.corners([a, b, c, d])),
                }
            }
        }
        Ok(())
    }
}
