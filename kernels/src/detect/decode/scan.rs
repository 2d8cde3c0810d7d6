//! The strongest of an anchor's scores, at memory speed.

use super::super::Activation;

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
pub fn first_of(scores: &[f32], strongest: f32) -> usize {
    scores.iter().position(|v| *v == strongest).unwrap_or(0)
}

/// The probability that a score stands for. Softmax needs the whole row and is the caller's business.
pub fn probability(activation: Activation, score: f32) -> f32 {
    match activation {
        Activation::None | Activation::Softmax => score,
        Activation::Sigmoid => 1.0 / (1.0 + (-score).exp()),
    }
}
