//! The operations on one value, in the order of cuda/segment.cu, so that the results are the same to the bit.

use super::Activation;

/// 1.5 * 2^23: a number added to it is rounded to a whole number, halfway to the even one, in the sum's last bits.
const ROUND: f32 = 12_582_912.0;

/// exp(x) within 2 units in the last place, from Cephes' expf (Moshier): 0 below -87 and for NaN, infinite above 88.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * 0.693_359_4;
    let r = r - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_6e-1;
    let p = p * r + 0.5;
    let y = p * (r * r) + r + 1.0;
    let scale = f32::from_bits(shifted.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127) << 23);
    if x > 88.0 {
        f32::INFINITY
    } else if x >= -87.0 {
        y * scale
    } else {
        0.0
    }
}

/// The probability of a value, where that depends on no other channel. NaN stays.
#[inline(always)]
pub(super) fn activate(activation: Activation, v: f32) -> f32 {
    match activation {
        Activation::Sigmoid if !v.is_nan() => 1.0 / (1.0 + exp(-v)),
        _ => v,
    }
}

/// A channel's share of the sum that softmax divides by.
#[inline(always)]
pub(super) fn share(v: f32, of: f32) -> f32 {
    // Equal infinities have no difference.
    exp(if v == of { 0.0 } else { v - of })
}

/// The probability from the sum of the shares. NaN stays.
#[inline(always)]
pub(super) fn softmax(of: f32, sum: f32) -> f32 {
    if of.is_nan() { of } else { 1.0 / sum }
}

/// A probability as a byte.
#[inline(always)]
pub(super) fn byte(p: f32) -> u8 {
    // Truncates to 0..=255, NaN to 0.
    (p * 255.0 + 0.5) as u8
}

/// The new state after a value, not yet rounded to its type; `keep` and `take` are the shares of the state and the value.
#[inline(always)]
pub(super) fn blend(state: f32, v: f32, keep: f32, take: f32) -> f32 {
    let mixed = keep * state + take * v;
    let kept = if v.is_nan() { state } else { mixed };
    if state.is_finite() { kept } else { v }
}
