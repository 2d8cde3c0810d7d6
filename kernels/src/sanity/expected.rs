//! What outputs should be.

/// What turns the model's scores into confidences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing: they are probabilities.
    None,
    /// The logistic function of each.
    Sigmoid,
    /// Softmax over the scores of a row.
    Softmax,
}

impl Activation {
    /// Its name in sidecars and properties.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sigmoid => "sigmoid",
            Self::Softmax => "softmax",
        }
    }
}

/// What a model's outputs should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// What is applied to the scores.
    pub activation: Activation,
    /// Whether a [`super::Survey`] has the scores before the activation, not the confidences after it.
    pub raw: bool,
    /// How far outside of 0..1 confidences may be; `None` where they have no range.
    pub slack: Option<f32>,
    /// The least and the greatest confidence that are possible if the activation is applied to probabilities; see
    /// [`Expected::of_probabilities`].
    pub twice: Option<[f32; 2]>,
    /// The least confidence of a result; `None` where a frame always has a result.
    pub threshold: Option<f32>,
    /// Whether the model gives confidences to which no activation can be applied.
    pub final_scores: bool,
    /// Whether boxes are in 0..1 of the input tensor, not in its pixels; `None` where there are none, or their unit is not
    /// written in the outputs.
    pub normalized: Option<bool>,
    /// Whether no two boxes of a class should lie on each other, since the model has suppressed what overlaps.
    pub unique: bool,
    /// Number of the classes that have names; `None` where there are no names, or the outputs cannot have another class.
    pub labels: Option<usize>,
}

impl Expected {
    /// The range of the best of a row's confidences if `activation` is applied to probabilities, and the confidence is the
    /// product of `factors` of them. A row has `columns` scores, if that is known, the background's among them. `None` if
    /// these cannot be distinguished from logits.
    pub fn of_probabilities(
        activation: Activation,
        factors: i32,
        columns: Option<usize>,
    ) -> Option<[f32; 2]> {
        match (activation, columns) {
            (Activation::None, _) => None,
            (Activation::Sigmoid, _) => Some([0.5, sigmoid(1.0)].map(|end| end.powi(factors))),
            // Of probabilities that add up to 1, the exponentials add up to e + columns - 1 at most.
            (Activation::Softmax, Some(columns @ 2..)) => {
                let e = std::f32::consts::E;
                let sum = e + (columns - 1) as f32;
                Some([1.0 / sum, e / sum])
            }
            (Activation::Softmax, _) => None,
        }
    }

    /// The range that confidences must be in, if there is one.
    pub(super) fn range(&self) -> Option<[f32; 2]> {
        let slack = self.slack.filter(|_| self.activation == Activation::None)?;
        Some([-slack, 1.0 + slack])
    }

    /// The confidence of a surveyed number; `None` for the softmax of a row.
    pub(super) fn confidence(&self, score: f32) -> Option<f32> {
        match (self.raw, self.activation) {
            (true, Activation::Softmax) => None,
            (true, Activation::Sigmoid) => Some(sigmoid(score)),
            _ => Some(score),
        }
    }
}

fn sigmoid(score: f32) -> f32 {
    1.0 / (1.0 + (-score).exp())
}
