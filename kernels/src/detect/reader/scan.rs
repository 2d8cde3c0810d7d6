//! The strongest of an anchor's scores, at memory speed.

use crate::detect::Activation;
use crate::detect::candidates::Collector;

/// Independent maxima per step, so that the loop vectorises.
const LANES: usize = 8;

/// The largest of `scores`, or NaN if one is NaN or +infinity; -infinity for none.
pub fn strongest(scores: &[f32]) -> f32 {
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let (mut top, mut any) = (f32::NEG_INFINITY, false);
    for &v in rest {
        top = if v > top { v } else { top };
        any |= is_bad(v);
    }
    if !chunks.is_empty() {
        let mut best = [f32::NEG_INFINITY; LANES];
        let mut bad = [0; LANES];
        for chunk in chunks {
            for (best, &v) in best.iter_mut().zip(chunk) {
                *best = if v > *best { v } else { *best };
            }
            for (bad, &v) in bad.iter_mut().zip(chunk) {
                *bad |= u32::from(is_bad(v));
            }
        }
        top = best.into_iter().fold(top, |top, v| if v > top { v } else { top });
        any |= bad.into_iter().any(|b| b != 0);
    }
    if any { f32::NAN } else { top }
}

/// NaN and +infinity; -infinity is a score below every other.
#[allow(
    clippy::neg_cmp_op_on_partial_ord,
    reason = "one comparison that NaN fails too; the loops around it vectorise"
)]
pub fn is_bad(score: f32) -> bool {
    !(score < f32::INFINITY)
}

/// Column of the first of the largest.
fn first_of(scores: &[f32], strongest: f32) -> usize {
    scores.iter().position(|v| *v == strongest).unwrap_or(0)
}

/// A column's index as a class.
fn class_index(column: usize) -> u32 {
    u32::try_from(column).unwrap_or(u32::MAX)
}

/// Anchors looked at together: their running maxima stay in the first-level cache.
const TILE: usize = 512;

/// Scans scores `[C, anchors]`, one row a class, and hands on the anchors whose best class `into` wants, or
/// each with all classes that it wants.
pub fn scan_columns(
    scores: &[f32],
    anchors: usize,
    activation: Activation,
    into: &mut Collector<'_>,
    mut take: impl FnMut(&mut Collector<'_>, usize, u32, f32),
) {
    for start in (0..anchors).step_by(TILE) {
        let tile = Tile::scan(scores, anchors, start);
        for i in 0..tile.len {
            let anchor = start + i;
            if tile.bad && scores.iter().skip(anchor).step_by(anchors).any(|v| is_bad(*v)) {
                into.drop_non_finite();
                continue;
            }
            let confidence = activation.probability(tile.best[i]);
            if into.multi_label() {
                if confidence >= into.lowest() {
                    let scores = scores.iter().copied().skip(anchor).step_by(anchors);
                    let each =
                        |into: &mut Collector<'_>, class, confidence| take(into, anchor, class, confidence);
                    take_all(scores, into, |score| activation.probability(score), each);
                }
            } else if confidence >= into.lowest() && into.wants(tile.class[i], confidence) {
                take(into, anchor, tile.class[i], confidence);
            }
        }
    }
}

/// Scans one anchor's scores, and hands on its best class if `into` wants that, or all classes that it wants.
pub fn take_wanted(
    scores: &[f32],
    activation: Activation,
    into: &mut Collector<'_>,
    take: impl FnMut(&mut Collector<'_>, u32, f32),
) {
    take_scored(scores, into, |score| activation.probability(score), take);
}

/// The same, where `confidence` makes a confidence of a score; it must not change their order.
pub fn take_scored(
    scores: &[f32],
    into: &mut Collector<'_>,
    confidence: impl Fn(f32) -> f32,
    mut take: impl FnMut(&mut Collector<'_>, u32, f32),
) {
    let best = strongest(scores);
    if best.is_nan() {
        into.drop_non_finite();
        return;
    }
    let highest = confidence(best);
    if highest < into.lowest() {
        return;
    }
    if into.multi_label() {
        take_all(scores.iter().copied(), into, confidence, take);
        return;
    }
    let class = class_index(first_of(scores, best));
    if into.wants(class, highest) {
        take(into, class, highest);
    }
}

/// Hands on every class of an anchor that `into` wants.
fn take_all(
    scores: impl Iterator<Item = f32>,
    into: &mut Collector<'_>,
    confidence: impl Fn(f32) -> f32,
    mut take: impl FnMut(&mut Collector<'_>, u32, f32),
) {
    for (class, score) in scores.enumerate() {
        let (class, confidence) = (class_index(class), confidence(score));
        if confidence >= into.lowest() && into.wants(class, confidence) {
            take(into, class, confidence);
        }
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
