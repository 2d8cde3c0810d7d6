//! Vectors of length 1, whose product is the cosine of the angle between them.

use multiversion::multiversion;

/// Sums that are added up beside each other: the same on every processor, whatever the width of its registers.
const LANES: usize = 16;

/// The vector of length 1 in the same direction; `None` for one of zeros, and where a number is not finite.
pub fn unit(values: &[f32]) -> Option<Vec<f32>> {
    let length = values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
    (length.is_finite() && length > 0.0)
        .then(|| values.iter().map(|v| (f64::from(*v) / length) as f32).collect())
}

/// The scalar product of two vectors of the same length.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
