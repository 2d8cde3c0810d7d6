//! What is asked for, and what is chosen.

use crate::detect::Activation;

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

/// A class that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Its column.
    pub index: u32,
    /// After the activation.
    pub confidence: f32,
}
