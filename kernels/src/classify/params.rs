//! What is asked for, and what is chosen.

use crate::detect::Activation;
use crate::sanity::Expected;
use crate::tensor::TensorDesc;

/// How far outside of 0..1 probabilities may be, by the rounding of float16 and of quantised models.
const SLACK: f32 = 0.01;

/// The most classes that are kept of a row.
pub const MOST: usize = 16;

/// How scores are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// What makes the scores probabilities.
    pub activation: Activation,
    /// Classes kept of a row, 1 to [`MOST`].
    pub top_k: usize,
    /// Classes of a lower confidence, after the activation, are dropped.
    pub threshold: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self { activation: Activation::Softmax, top_k: 1, threshold: f32::NEG_INFINITY }
    }
}

impl Params {
    /// What the rows of `scores` should be.
    pub fn expected(&self, scores: &TensorDesc) -> Expected {
        let classes =
            scores.dims.iter().skip(1).try_fold(1, |product: usize, dim| product.checked_mul((*dim)?));
        let activation = self.activation.into();
        // Whoever sets another threshold means other units.
        let fraction = !self.threshold.is_finite() || (0.0..=1.0).contains(&self.threshold);
        Expected {
            activation,
            raw: true,
            slack: fraction.then_some(SLACK),
            twice: Expected::of_probabilities(activation, 1, classes),
            threshold: None,
            final_scores: false,
            normalized: None,
            labels: None,
        }
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
