//! YOLOv8, v9, v11: `[1, 4 + C, N]`, boxes as centre and size in tensor pixels, one row a channel.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError};
use super::boxes::BoxCoding;
use super::scan::{is_bad, probability};
use super::{Plan as AnyPlan, Shaped, check, class_index, is_tall, read, single};

/// Rows before the class scores.
const BEFORE_CLASSES: usize = 4;
/// Anchors looked at together: their running maxima stay in the first-level cache.
const TILE: usize = 512;

#[derive(Clone, Debug)]
pub struct Plan {
    output: usize,
    classes: Option<usize>,
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

pub fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    single(offer, |plane| {
        let classes = offer.classes_in(plane.rows, BEFORE_CLASSES)?;
        let evidence = offer.evidence(plane.columns, 1, false);
        (evidence == Evidence::Exact || is_tall(plane.columns, plane.rows)).then(|| {
            let plan = Plan {
                output: plane.output,
                classes,
                boxes: BoxCoding::new(offer.hints, BoxFormat::CenterSize, false, offer.input),
                activation: offer.hints.activation.unwrap_or(Activation::None),
            };
            Fit { evidence, plan: AnyPlan::Yolov8(plan), classes, reads: 1 }
        })
    })
}

impl Plan {
    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let wanted = || match self.classes {
            Some(c) => format!("[1, {}, N]", BEFORE_CLASSES + c),
            None => "[1, 4 + classes, N]".into(),
        };
        check(DecoderKind::Yolov8, &outputs[self.output], wanted, |rows, _| {
            rows > BEFORE_CLASSES && self.classes.is_none_or(|c| rows == BEFORE_CLASSES + c)
        })
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, anchors] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        Layout::new(Scoring::Classes, self.activation, rows - BEFORE_CLASSES)?
            .columns(anchors)
            .coded(self.boxes.parts())
            .with(
                At { tensor, element: BEFORE_CLASSES * anchors },
                At { tensor, element: 0 },
                Span::all(anchors),
            )
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let all = read(&outputs[self.output], self.shape(outputs)?);
        let anchors = all.columns;
        let (boxes, scores) = all.data.split_at(BEFORE_CLASSES * anchors);
        for start in (0..anchors).step_by(TILE) {
            let tile = Tile::scan(scores, anchors, start);
            for i in 0..tile.len {
                let anchor = start + i;
                if tile.bad && (0..all.rows - BEFORE_CLASSES).any(|c| is_bad(scores[c * anchors + anchor])) {
                    into.drop_non_finite();
                    continue;
                }
                let confidence = probability(self.activation, tile.best[i]);
                if confidence >= into.lowest() && into.wants(tile.class[i], confidence) {
                    let values = [0, 1, 2, 3].map(|k| boxes[k * anchors + anchor]);
                    into.take(anchor, tile.class[i], confidence, self.boxes.corners(values));
                }
            }
        }
        Ok(())
    }
}

/// The best class of some neighbouring anchors.
struct Tile {
    len: usize,
    best: [f32; TILE],
    class: [u32; TILE],
    /// Whether a score of any of them is NaN or +infinity.
    bad: bool,
}

impl Tile {
    /// Runs along the rows of `scores`, `[C, anchors]`, one class after the other.
    fn scan(scores: &[f32], anchors: usize, start: usize) -> Self {
        let len = TILE.min(anchors - start);
        let mut tile = Self { len, best: [f32::NEG_INFINITY; TILE], class: [0; TILE], bad: false };
        let (best, class) = (&mut tile.best[..len], &mut tile.class[..len]);
        let mut bad = 0;
        for (c, row) in scores.chunks_exact(anchors).enumerate() {
            let c = class_index(c);
            for ((&v, best), class) in row[start..][..len].iter().zip(&mut *best).zip(&mut *class) {
                // Selects by mask, not by `if`: the compiler turns those into branches, at four times the time.
                let better = 0u32.wrapping_sub(u32::from(v > *best));
                *best = f32::from_bits(v.to_bits() & better | best.to_bits() & !better);
                *class = c & better | *class & !better;
                bad |= u32::from(is_bad(v));
            }
        }
        tile.bad = bad != 0;
        tile
    }
}
