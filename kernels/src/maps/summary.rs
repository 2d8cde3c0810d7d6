//! Statistics of a map's numbers.

/// Statistics of the numbers of a map that lie in the frame; for a picture, over all channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The least finite number; infinity if there is none.
    pub min: f32,
    /// The greatest finite number; -infinity if there is none.
    pub max: f32,
    /// The sum of the finite numbers, in float64; the order in which they are added differs between CPU and GPU.
    pub sum: f64,
    /// How many are finite.
    pub finite: u64,
    /// How many are NaN or infinite.
    pub non_finite: u64,
    /// How many finite ones are beyond [`super::Range::Fixed`].
    pub out_of_range: u64,
}

impl Summary {
    /// The summary of no number.
    pub const NONE: Self = Self {
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
        sum: 0.0,
        finite: 0,
        non_finite: 0,
        out_of_range: 0,
    };

    /// Least, mean and greatest of the finite numbers; `None` if there is none.
    pub fn min_mean_max(&self) -> Option<[f64; 3]> {
        let mean = self.sum / self.finite as f64;
        (self.finite > 0).then_some([f64::from(self.min), mean, f64::from(self.max)])
    }
}
