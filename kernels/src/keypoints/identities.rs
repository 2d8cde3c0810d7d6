//! Who is who, as a network that was trained to tell individuals apart states it.

use crate::associate::{Pair, assign_most};
use crate::group::Identity;

/// Gives each individual to one object at most, so that most of them are given and the sum of the probabilities is the highest.
/// `probabilities` are row-major `[objects, individuals]`; an object without an individual has `None`, as has one whose
/// probabilities are not finite.
///
/// As `get_class_inds_from_vectors` of sleap-nn's `inference/ops/identity.py`.
pub fn identify(probabilities: &[f32], individuals: usize) -> Vec<Option<Identity>> {
    let rows = probabilities.chunks_exact(individuals.max(1));
    let count = rows.len();
    let scored = |(row, probabilities): (usize, &[f32])| -> Vec<Pair> {
        let pairs = probabilities.iter().enumerate();
        pairs.map(|(col, score)| Pair { row, col, score: *score }).collect()
    };
    let pairs: Vec<Pair> = rows.enumerate().flat_map(scored).collect();
    let mut identities = vec![None; count];
    for (row, index) in assign_most(&pairs, count, individuals) {
        let probability = probabilities.get(row * individuals + index).copied().unwrap_or(f32::NAN);
        if let Some(identity) = identities.get_mut(row) {
            *identity = Some(Identity { index, probability });
        }
    }
    identities
}

/// Probabilities of what a network states before its softmax.
pub(super) fn softmax(logits: &[f32]) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponents: Vec<f32> = logits.iter().map(|logit| (logit - highest).exp()).collect();
    let sum: f32 = exponents.iter().sum();
    exponents.into_iter().map(|exponent| exponent / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(probabilities: &[f32], individuals: usize) -> Vec<Option<usize>> {
        identify(probabilities, individuals).into_iter().map(|found| found.map(|found| found.index)).collect()
    }

    #[test]
    fn the_sum_decides_who_is_who_and_nobody_is_two() {
        // Both look like the first; the second loses less.
        assert_eq!(indices(&[0.9, 0.1, 0.6, 0.4], 2), [Some(0), Some(1)]);
        assert_eq!(indices(&[0.6, 0.4, 0.9, 0.1], 2), [Some(1), Some(0)]);
        assert_eq!(indices(&[0.6, 0.4, 0.9, 0.1, 0.2, 0.8], 2), [None, Some(0), Some(1)]);
        assert_eq!(indices(&[f32::NAN, f32::NAN, 0.9, 0.1], 2), [None, Some(0)]);
        assert_eq!(indices(&[0.1, 0.2, 0.7], 3), [Some(2)]);
        assert_eq!(indices(&[], 0), []);
        assert_eq!(identify(&[0.25, 0.75], 2), [Some(Identity { index: 1, probability: 0.75 })]);
    }

    #[test]
    fn probabilities_sum_to_1_however_large_the_logits_are() {
        for logits in [[0.0, 0.0], [1000.0, 999.0], [-1000.0, -1001.0]] {
            let probabilities = softmax(&logits);
            assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{probabilities:?}");
            assert!(probabilities[0] >= probabilities[1]);
        }
    }
}
