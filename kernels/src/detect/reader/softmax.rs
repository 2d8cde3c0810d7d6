//! The softmax of an anchor's scores.

/// The softmax of a row's scores.
pub struct Softmax {
    highest: f32,
    /// None where the strongest class is certainly below the lowest threshold.
    sum: Option<f32>,
}

impl Softmax {
    /// Of `row`, whose strongest class has the score `best`.
    pub fn new(row: &[f32], best: f32, background: &[f32], lowest: f32) -> Self {
        let background = background.first().copied().unwrap_or(f32::NEG_INFINITY);
        let highest = best.max(background);
        // Most anchors are background: two terms of the sum already rule them out, with a margin for rounding.
        let bound = 1.0 / (1.0 + (background - best).exp());
        let sum = || row.iter().map(|v| (v - highest).exp()).sum();
        Self { highest, sum: if bound * 1.001 < lowest { None } else { Some(sum()) } }
    }

    /// The share of a score.
    pub fn share(&self, score: f32) -> f32 {
        self.sum.map_or(0.0, |sum| (score - self.highest).exp() / sum)
    }
}
