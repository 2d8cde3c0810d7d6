//! Keys that order classes the same way on the CPU and the GPU, and the confidences that follow from them.

use super::{Class, ClassifyParams};
use crate::detect::Activation;

/// A class and its score as one number: ascending with the score, then descending with the class. None for a score that
/// is not finite, so that 0 is no key.
pub(super) fn key_of(score: f32, class: u32) -> Option<u64> {
    // -0 is 0.
    let bits = (score + 0.0).to_bits();
    let ordered = bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    score.is_finite().then(|| u64::from(ordered) << 32 | u64::from(!class))
}

/// The key's score.
pub(super) fn score_of(key: u64) -> f32 {
    // Lossless: the shift leaves 32 bits.
    let ordered = (key >> 32) as u32;
    f32::from_bits(ordered ^ if ordered >> 31 == 1 { 1 << 31 } else { u32::MAX })
}

/// Writes the classes of `keys`, which descend, to `classes`: those that reach the threshold. `sum` is that of exp(score - best
/// score) of all classes.
pub(super) fn classes_of(keys: &[u64], sum: f64, params: &ClassifyParams, classes: &mut Vec<Class>) {
    let best = keys.first().map_or(0.0, |key| f64::from(score_of(*key)));
    classes.clear();
    classes.extend(keys.iter().map(|key| {
        let score = f64::from(score_of(*key));
        let confidence = match params.activation {
            Activation::None => score,
            Activation::Sigmoid => 1.0 / (1.0 + (-score).exp()),
            Activation::Softmax => (score - best).exp() / sum,
        };
        // The low half of a key is the class's complement.
        Class { index: !(*key as u32), confidence: confidence as f32 }
    }));
    classes.retain(|class| class.confidence >= params.threshold);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_by_score_then_by_lower_class() {
        let descending = [
            (f32::MAX, 7),
            (1.5, 0),
            (1.0, 3),
            (1.0, 4),
            (f32::MIN_POSITIVE, 9),
            (0.0, 1),
            (-0.0, 2),
            (-1e-40, 0),
            (-2.0, u32::MAX),
            (f32::MIN, 5),
        ];
        let keys: Vec<u64> =
            descending.iter().map(|(score, class)| key_of(*score, *class).unwrap()).collect();
        assert!(keys.is_sorted_by(|a, b| a > b), "{keys:x?}");
        for (key, (score, class)) in keys.iter().zip(descending) {
            assert_eq!((score_of(*key), !(*key as u32)), (score, class));
        }
        assert!([f32::NAN, f32::INFINITY, f32::NEG_INFINITY].iter().all(|bad| key_of(*bad, 0).is_none()));
    }
}
