//! Similarity matrices.

use crate::geometry::Rect;

/// Intersection over union of every box of `a` with every box of `b`, written to `out`.
///
/// `out` becomes row-major `[a.len(), b.len()]`, each value in 0..1. Both sets must be in the same coordinates. A box
/// that is empty, or has a coordinate that is not finite, overlaps nothing: its row or column is 0, never NaN.
///
/// Only boxes that meet on the x axis are compared, which are few of a crowd's.
pub fn iou_matrix(a: &[Rect], b: &[Rect], out: &mut Vec<f32>) {
    out.clear();
    out.resize(a.len() * b.len(), 0.0);
    let mut cols: Vec<(usize, &Rect)> = b.iter().enumerate().filter(|(_, rect)| is_usable(rect)).collect();
    cols.sort_unstable_by(|(_, p), (_, q)| p.x.total_cmp(&q.x));
    let widest = cols.iter().map(|(_, rect)| rect.right() - rect.x).fold(0.0, f32::max);
    for (row, scores) in a.iter().zip(out.chunks_mut(b.len().max(1))).filter(|(row, _)| is_usable(row)) {
        // Rounded outwards: by more than `widest` and by more than the difference may be off.
        let reach = (row.x - 1.000_001 * widest).next_down().next_down();
        let first = cols.partition_point(|(_, col)| col.x < reach);
        for (index, col) in cols.iter().skip(first).take_while(|(_, col)| col.x < row.right()) {
            if let Some(score) = scores.get_mut(*index) {
                *score = bounded(row.iou(col));
            }
        }
    }
}

/// Whether the box has an inside. `f32::min` and `max` ignore a NaN, so an unchecked one could pass for an overlap.
pub(crate) fn is_usable(rect: &Rect) -> bool {
    rect.x.is_finite() && rect.y.is_finite() && positive(rect.w) && positive(rect.h)
}

fn positive(size: f32) -> bool {
    size.is_finite() && size > 0.0
}

/// Areas of boxes near `f32::MAX` overflow, which makes their ratio infinite or NaN.
fn bounded(iou: f32) -> f32 {
    if iou.is_finite() { iou.clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
        Rect { x, y, w, h }
    }

    /// Textbook IoU in f64, from corners.
    fn reference(a: &Rect, b: &Rect) -> f64 {
        let corners = |r: &Rect| {
            let (x, y, w, h) = (f64::from(r.x), f64::from(r.y), f64::from(r.w), f64::from(r.h));
            (x, y, x + w, y + h)
        };
        let ((ax, ay, ar, ab), (bx, by, br, bb)) = (corners(a), corners(b));
        let inter = (ar.min(br) - ax.max(bx)).max(0.0) * (ab.min(bb) - ay.max(by)).max(0.0);
        inter / ((ar - ax) * (ab - ay) + (br - bx) * (bb - by) - inter)
    }

    #[test]
    fn boxes_that_are_nan_infinite_or_empty_overlap_nothing() {
        let good = rect(0.0, 0.0, 10.0, 10.0);
        let bad = [
            rect(f32::NAN, 0.0, 10.0, 10.0),
            rect(0.0, f32::NAN, 10.0, 10.0),
            rect(0.0, 0.0, f32::NAN, 10.0),
            rect(0.0, 0.0, 10.0, f32::NAN),
            rect(f32::NEG_INFINITY, 0.0, f32::INFINITY, 10.0),
            rect(0.0, 0.0, 0.0, 10.0),
            rect(5.0, 5.0, -5.0, -5.0),
        ];
        let mut out = vec![9.0];
        iou_matrix(&[good], &bad, &mut out);
        assert_eq!(out, [0.0; 7]);
        iou_matrix(&bad, &[good], &mut out);
        assert_eq!(out, [0.0; 7]);
    }

    #[test]
    fn boxes_too_large_for_f32_areas_stay_within_zero_and_one() {
        let huge = rect(-1e38, -1e38, 2e38, 2e38);
        let mut out = Vec::new();
        iou_matrix(&[huge], &[huge, rect(0.0, 0.0, 1.0, 1.0)], &mut out);
        assert!(out.iter().all(|v| (0.0..=1.0).contains(v)), "{out:?}");
    }

    #[test]
    fn an_empty_set_gives_an_empty_matrix() {
        let mut out = vec![1.0];
        iou_matrix(&[], &[rect(0.0, 0.0, 1.0, 1.0)], &mut out);
        assert!(out.is_empty());
        iou_matrix(&[rect(0.0, 0.0, 1.0, 1.0)], &[], &mut out);
        assert!(out.is_empty());
    }

    fn boxes() -> impl Strategy<Value = Vec<Rect>> {
        let one = (0f32..500.0, 0f32..500.0, 1f32..300.0, 1f32..300.0);
        prop::collection::vec(one.prop_map(|(x, y, w, h)| rect(x, y, w, h)), 0..18)
    }

    fn far_boxes() -> impl Strategy<Value = Vec<Rect>> {
        let side = prop_oneof![6 => 0.1f32..60.0, 1 => Just(0.0), 1 => Just(f32::NAN), 1 => 1e5f32..1e7, 1 => Just(3e38f32)];
        // Many touch each other, or miss each other by a bit.
        let place = prop_oneof![6 => (-20i8..20).prop_map(|v| 10.0 * f32::from(v)), 3 => -1e3f32..1e3, 1 => -3e38f32..3e38];
        let one = (place.clone(), place, side.clone(), side).prop_map(|(x, y, w, h)| rect(x, y, w, h));
        prop::collection::vec(one, 0..30)
    }

    proptest! {
        #[test]
        fn no_pair_that_overlaps_is_left_out(a in far_boxes(), b in far_boxes()) {
            let mut out = Vec::new();
            iou_matrix(&a, &b, &mut out);
            for (i, p) in a.iter().enumerate() {
                for (j, q) in b.iter().enumerate() {
                    let want = if is_usable(p) && is_usable(q) { bounded(p.iou(q)) } else { 0.0 };
                    prop_assert_eq!(out[i * b.len() + j], want, "{:?} {:?}", p, q);
                }
            }
        }

        #[test]
        fn every_entry_is_the_iou_of_its_row_and_column(a in boxes(), b in boxes()) {
            let mut out = Vec::new();
            iou_matrix(&a, &b, &mut out);
            prop_assert_eq!(out.len(), a.len() * b.len());
            for (i, ra) in a.iter().enumerate() {
                for (j, rb) in b.iter().enumerate() {
                    // Corners near 800 carry an f32 error of 6e-5 px, over sides of at least 1 px.
                    prop_assert!((f64::from(out[i * b.len() + j]) - reference(ra, rb)).abs() < 5e-4);
                }
            }
        }
    }
}
