//! Which boxes overlap, and by how much.

use super::Pair;
use super::rotated::Oriented;
use crate::geometry::Rect;

/// The most pairs that are kept of a box: the best, and of equal ones the first. Only heaps of boxes in one place have more,
/// and they would take memory and time by the square of their number.
pub const MOST_PARTNERS: usize = 64;

/// Boxes that are wider than the median by this factor are compared with all, so that the search among the others is short.
const WIDE: f32 = 8.0;

/// Intersection over union of the boxes of `a` (rows) with those of `b` (columns) that overlap and, by `may_match` of row and
/// column, may match, written to `out` by ascending row and column; each score is above 0 and at most 1. Both sets must be in
/// the same coordinates. A box that is empty, or has a coordinate that is not finite, overlaps nothing. Of a row's pairs, at
/// most [`MOST_PARTNERS`] are kept.
///
/// Only boxes that meet on the x axis are compared, which are few of a crowd's.
pub fn iou_pairs(a: &[Rect], b: &[Rect], may_match: impl Fn(usize, usize) -> bool, out: &mut Vec<Pair>) {
    sweep(a, b, may_match, |row, col| Some(a.get(row)?.iou(b.get(col)?)), out);
}

/// As [`iou_pairs`] for boxes that are rotated about their centres: their overlap is exact but for rounding.
pub fn rotated_iou_pairs(
    a: &[Oriented],
    b: &[Oriented],
    may_match: impl Fn(usize, usize) -> bool,
    out: &mut Vec<Pair>,
) {
    let [rows, cols] = [a, b].map(|boxes| boxes.iter().map(Oriented::outline).collect::<Vec<_>>());
    sweep(&rows, &cols, may_match, |row, col| Some(a.get(row)?.iou(b.get(col)?)), out);
}

/// Scores the pairs whose boxes meet and that may match, and keeps those above 0.
pub(super) fn sweep(
    a: &[Rect],
    b: &[Rect],
    may_match: impl Fn(usize, usize) -> bool,
    mut score: impl FnMut(usize, usize) -> Option<f32>,
    out: &mut Vec<Pair>,
) {
    out.clear();
    if !b.iter().any(Rect::is_usable) {
        return;
    }
    let usable = || b.iter().enumerate().filter(|(_, rect)| rect.is_usable());
    let mut widths: Vec<f32> = usable().map(|(_, rect)| rect.w).collect();
    let middle = widths.len() / 2;
    let (_, median, _) = widths.select_nth_unstable_by(middle, f32::total_cmp);
    let (mut cols, wide): (Vec<_>, Vec<_>) = usable().partition(|(_, rect)| rect.w <= WIDE * *median);
    cols.sort_unstable_by(|(_, p), (_, q)| p.x.total_cmp(&q.x));
    let widest = cols.iter().map(|(_, rect)| rect.right() - rect.x).fold(0.0, f32::max);
    for (row, rect) in a.iter().enumerate().filter(|(_, rect)| rect.is_usable()) {
        let start = out.len();
        // Rounded outwards: by more than the product and the difference may be off.
        let reach = (rect.x - 1.000_001 * widest).next_down().next_down();
        let first = cols.partition_point(|(_, col)| col.x < reach);
        let met = cols.iter().skip(first).take_while(|(_, col)| col.x < rect.right());
        let met = met.chain(wide.iter().filter(|(_, col)| col.x < rect.right() && rect.x < col.right()));
        // Most of the boxes that meet on the x axis are above or below.
        let met = met.filter(|(_, col)| col.y < rect.bottom() && rect.y < col.bottom());
        for (col, _) in met.filter(|(col, _)| may_match(row, *col)) {
            if let Some(score) = score(row, *col).filter(|score| *score > 0.0 && score.is_finite()) {
                out.push(Pair { row, col: *col, score: score.min(1.0) });
            }
        }
        keep_best(out, start);
    }
}

/// Of the pairs from `start` on, keeps the best, by ascending column.
pub(crate) fn keep_best(pairs: &mut Vec<Pair>, start: usize) {
    let Some(row) = pairs.get_mut(start..) else { return };
    if row.len() > MOST_PARTNERS {
        row.select_nth_unstable_by(MOST_PARTNERS, |p, q| q.score.total_cmp(&p.score).then(p.col.cmp(&q.col)));
        pairs.truncate(start + MOST_PARTNERS);
    }
    if let Some(row) = pairs.get_mut(start..) {
        row.sort_unstable_by_key(|pair| pair.col);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
        Rect { x, y, w, h }
    }

    fn pairs(a: &[Rect], b: &[Rect]) -> Vec<(usize, usize, f32)> {
        let mut out = vec![Pair { row: 9, col: 9, score: 9.0 }];
        iou_pairs(a, b, |_, _| true, &mut out);
        out.iter().map(|pair| (pair.row, pair.col, pair.score)).collect()
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
        assert_eq!(pairs(&[good], &bad), []);
        assert_eq!(pairs(&bad, &[good]), []);
        assert_eq!(pairs(&[], &[good]), []);
        assert_eq!(pairs(&[good], &[]), []);
    }

    #[test]
    fn boxes_too_large_for_f32_areas_stay_within_zero_and_one() {
        let huge = rect(-1e38, -1e38, 2e38, 2e38);
        let found = pairs(&[huge], &[huge, rect(0.0, 0.0, 1.0, 1.0)]);
        assert!(found.iter().all(|(_, _, score)| *score <= 1.0), "{found:?}");
    }

    #[test]
    fn of_a_heap_the_best_partners_are_kept() {
        let stack: Vec<Rect> = (0..500u16).map(|i| rect(0.0, f32::from(i) / 100.0, 40.0, 90.0)).collect();
        let found = pairs(&stack, &stack);
        assert_eq!(found.len(), stack.len() * MOST_PARTNERS);
        // The partners of box 250 are those around it; of the two at the rim, the earlier one.
        let cols: Vec<usize> = found.iter().filter(|(row, ..)| *row == 250).map(|(_, col, _)| *col).collect();
        assert_eq!(cols, (218..282).collect::<Vec<_>>());
    }

    #[test]
    fn who_overlaps_the_widest_is_found_too() {
        let mut crowd: Vec<Rect> = (0..200u16).map(|i| rect(50.0 * f32::from(i), 0.0, 40.0, 90.0)).collect();
        crowd.push(rect(0.0, 40.0, 10_000.0, 10.0));
        // Each box meets itself and the wide one, which meets all; only the best of its pairs are kept.
        let found = pairs(&crowd, &crowd);
        assert_eq!(found.len(), 2 * 200 + MOST_PARTNERS);
        assert!((0..200).all(|i| found.iter().any(|(row, col, _)| (*row, *col) == (i, 200))));
    }

    fn boxes() -> impl Strategy<Value = Vec<Rect>> {
        let one = (0f32..500.0, 0f32..500.0, 1f32..300.0, 1f32..300.0);
        prop::collection::vec(one.prop_map(|(x, y, w, h)| rect(x, y, w, h)), 0..18)
    }

    fn far_boxes() -> impl Strategy<Value = Vec<Rect>> {
        let side = prop_oneof![6 => 0.1f32..60.0, 1 => Just(0.0), 1 => Just(f32::NAN), 1 => 1e5f32..1e7, 1 => Just(3e38f32)];
        // Many boxes touch each other, or miss each other by a bit.
        let place = prop_oneof![6 => (-20i8..20).prop_map(|v| 10.0 * f32::from(v)), 3 => -1e3f32..1e3, 1 => -3e38f32..3e38];
        let one = (place.clone(), place, side.clone(), side).prop_map(|(x, y, w, h)| rect(x, y, w, h));
        prop::collection::vec(one, 0..30)
    }

    proptest! {
        #[test]
        fn no_pair_that_overlaps_is_left_out(a in far_boxes(), b in far_boxes()) {
            let mut want = Vec::new();
            for (i, p) in a.iter().enumerate().filter(|(_, p)| p.is_usable()) {
                for (j, q) in b.iter().enumerate().filter(|(_, q)| q.is_usable()) {
                    let score = p.iou(q);
                    if score > 0.0 && score.is_finite() {
                        want.push((i, j, score.min(1.0)));
                    }
                }
            }
            prop_assert_eq!(pairs(&a, &b), want);
        }

        #[test]
        fn every_score_is_the_iou_of_its_row_and_column(a in boxes(), b in boxes()) {
            let found = pairs(&a, &b);
            for (i, ra) in a.iter().enumerate() {
                for (j, rb) in b.iter().enumerate() {
                    let got = found.iter().find(|(row, col, _)| (*row, *col) == (i, j)).map_or(0.0, |pair| pair.2);
                    // Corners near 800 carry an f32 error of 6e-5 px, over sides of at least 1 px.
                    prop_assert!((f64::from(got) - reference(ra, rb)).abs() < 5e-4);
                }
            }
        }
    }
}
