//! Rows of four box values, objectness and class scores, as YOLOv5 and YOLOX write them.

use super::super::Activation;
use super::super::candidates::Collector;
use super::matrix::Matrix;
use super::scan::{is_bad, probability, take_scored};

/// Columns before the class scores.
pub const BEFORE_CLASSES: usize = 5;

/// Collects the rows whose objectness times best class score passes, or times each of them; the last `more` columns are no class
/// scores, and `corners` decodes a row's box.
///
/// A row whose objectness alone fails is not looked at further, as in YOLOv5's own NMS: no class score exceeds 1.
pub fn decode(
    rows: &Matrix<'_>,
    more: usize,
    activation: Activation,
    into: &mut Collector<'_>,
    corners: impl Fn(usize, [f32; 4]) -> [f32; 4],
) {
    let lowest = into.lowest();
    for (anchor, row) in rows.data.chunks_exact(rows.columns).enumerate() {
        let &[a, b, c, d, objectness, ref scores @ ..] = row else { continue };
        if is_bad(objectness) {
            into.drop_non_finite();
            continue;
        }
        let objectness = probability(activation, objectness);
        if objectness < lowest {
            continue;
        }
        let scores = &scores[..scores.len().saturating_sub(more)];
        take_scored(
            scores,
            into,
            |score| objectness * probability(activation, score),
            |into, class, confidence| into.take(anchor, class, confidence, corners(anchor, [a, b, c, d])),
        );
    }
}
