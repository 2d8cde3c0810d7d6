//! How confidences come about.

use super::super::{Activation, Background};

/// What is known of it before the first tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// What is applied to a score.
    pub activation: Activation,
    /// Which column is the background.
    pub background: Background,
    /// Scores whose product a confidence is.
    pub factors: i32,
}

impl Scores {
    /// Of single scores, none of which is the background's.
    pub fn of(activation: Activation) -> Self {
        Self { activation, background: Background::None, factors: 1 }
    }

    /// Of products of objectness and class score.
    pub fn with_objectness(activation: Activation) -> Self {
        Self { factors: 2, ..Self::of(activation) }
    }
}
