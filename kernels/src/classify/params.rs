//! What a classifier chooses by, and what it has chosen.

use crate::detect::Activation;
use crate::sanity::Expected;
use crate::tensor::TensorDesc;

/// How far outside of 0..1 probabilities may be, by the rounding of float16 and of quantised models.
const SLACK: f32 = 0.01;

/// Up to this many classes are found one after the other; more are selected and sorted.
pub(super) const FEW: usize = 16;

/// How scores are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassifyParams {
    /// What makes the scores probabilities.
    pub activation: Activation,
    /// Most classes kept of a row; 0 for all.
    pub top_k: usize,
    /// Classes of a lower confidence, after the activation, are dropped.
    pub threshold: f32,
}

impl Default for ClassifyParams {
    fn default() -> Self {
        Self { activation: Activation::Softmax, top_k: 1, threshold: f32::NEG_INFINITY }
    }
}

impl ClassifyParams {
    /// What the rows of `scores` should be.
    pub fn expected(&self, scores: &TensorDesc) -> Expected {
        let classes =
            scores.dims.iter().skip(1).try_fold(1, |product: usize, dim| product.checked_mul((*dim)?));
        let activation = self.activation.into();
        // A threshold outside of 0..1 shows that confidences have another unit.
        let fraction = !self.threshold.is_finite() || (0.0..=1.0).contains(&self.threshold);
        Expected {
            activation,
            raw: true,
            slack: fraction.then_some(SLACK),
            twice: Expected::of_probabilities(activation, 1, classes),
            threshold: None,
            final_scores: false,
            normalized: None,
            unique: false,
            labels: None,
        }
    }

    /// How many of `classes` classes are kept at most.
    pub(super) fn kept(&self, classes: usize) -> usize {
        if self.top_k == 0 { classes } else { self.top_k.min(classes) }
    }
}

/// A class that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Its column.
    pub index: u32,
    /// After the activation.
    pub confidence: f32,
}

/// How far the sum of probabilities may be from 1: float16 rounds each of them by up to 2^-11 of itself.
const SUM_TOLERANCE: f64 = 1e-3;

/// What a row's scores are like, whatever was chosen of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Scores that are NaN or infinite.
    pub non_finite: usize,
    /// Finite scores that are less than 0 or more than 1.
    pub outside: usize,
    /// The sum of the finite scores.
    pub total: f64,
}

impl Outcome {
    /// Whether all scores are from 0 to 1, as probabilities are.
    pub fn in_unit(&self) -> bool {
        self.non_finite == 0 && self.outside == 0
    }

    /// Whether the scores are the probabilities of classes that exclude each other: they are from 0 to 1, and add up to 1
    /// within 1e-3.
    pub fn is_distribution(&self) -> bool {
        self.in_unit() && (self.total - 1.0).abs() <= SUM_TOLERANCE
    }
}
