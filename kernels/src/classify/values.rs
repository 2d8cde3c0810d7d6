//! From numbers of a model that are no scores of classes to values.
//!
//! Each number is a value, `activation(x) * scale + offset`; or the numbers are scores of bins, as models of ages (Rothe et al., "Deep
//! expectation of real and apparent age from a single image", IJCV 2018) and of gaze (Abdelrahman et al., "L2CS-Net", 2022) give
//! them. Then the value is the mean of the bins' values, weighted with their probabilities: `scale * sum(p * (first + step * i)) /
//! sum(p) + offset`.
//!
//! All of it is computed in f64. A value that follows from NaN or infinity is none.

use crate::detect::Activation;

/// How the values of a slice follow from its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueParams {
    /// What is applied to the numbers first: a softmax is that of the slice.
    pub activation: Activation,
    /// The value of the first bin, and that of each bin more; `None` where each number is a value.
    pub bins: Option<[f64; 2]>,
    /// Factor on the value.
    pub scale: f64,
    /// What is added then.
    pub offset: f64,
}

impl ValueParams {
    /// Appends the values of a slice: one of bins, else one for each number. `None` stands for a value that is not finite.
    pub fn read(&self, slice: &[f32], values: &mut Vec<Option<f64>>) {
        let finish = |value: f64| Some(value * self.scale + self.offset).filter(|value| value.is_finite());
        let activated = self.activated(slice);
        let Some([first, step]) = self.bins else {
            values.extend(activated.map(finish));
            return;
        };
        let (sum, weighted) = activated.zip(0u32..).fold((0.0, 0.0), |(sum, weighted), (weight, bin)| {
            (sum + weight, weighted + weight * (first + step * f64::from(bin)))
        });
        values.push(finish(weighted / sum));
    }

    fn activated(&self, slice: &[f32]) -> impl Iterator<Item = f64> {
        let activation = self.activation;
        let (mut best, mut sum) = (0.0, 1.0);
        if activation == Activation::Softmax {
            best = slice.iter().fold(f64::NEG_INFINITY, |best, x| best.max(f64::from(*x)));
            sum = slice.iter().map(|x| (f64::from(*x) - best).exp()).sum();
        }
        slice.iter().map(move |x| match activation {
            Activation::None => f64::from(*x),
            Activation::Sigmoid => 1.0 / (1.0 + (-f64::from(*x)).exp()),
            Activation::Softmax => (f64::from(*x) - best).exp() / sum,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ValueParams =
        ValueParams { activation: Activation::None, bins: None, scale: 1.0, offset: 0.0 };

    fn values(params: ValueParams, slice: &[f32]) -> Vec<Option<f64>> {
        let mut values = Vec::new();
        params.read(slice, &mut values);
        values
    }

    #[track_caller]
    fn assert_near(got: &[Option<f64>], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len(), "{got:?}");
        for (got, wanted) in got.iter().zip(wanted) {
            // All is f64; the numbers of the tests are exact in float32.
            assert!((got.unwrap() - wanted).abs() < 1e-9, "{got:?}, not {wanted}");
        }
    }

    #[test]
    fn each_number_is_activated_then_scaled_then_moved() {
        assert_near(&values(PLAIN, &[0.3125, -2.0]), &[0.3125, -2.0]);
        let years = ValueParams { scale: 100.0, offset: 0.25, ..PLAIN };
        assert_near(&values(years, &[0.3125]), &[31.5]);
        let sigmoid = ValueParams { activation: Activation::Sigmoid, scale: 2.0, ..PLAIN };
        assert_near(&values(sigmoid, &[0.0, 1.0]), &[1.0, 2.0 / (1.0 + (-1f64).exp())]);
        let softmax = ValueParams { activation: Activation::Softmax, offset: 1.0, ..PLAIN };
        let sum = 1f64.exp() + 1.0;
        assert_near(&values(softmax, &[1.0, 0.0]), &[1.0 + 1f64.exp() / sum, 1.0 + 1.0 / sum]);
    }

    #[test]
    fn bins_have_one_value_the_mean_by_their_probabilities() {
        // L2CS: 90 bins of 4 degrees from -180 on; here 4 of them.
        let degrees = ValueParams { activation: Activation::Softmax, bins: Some([-180.0, 4.0]), ..PLAIN };
        let logits = [0.0f32, 2.0, 1.0, -50.0];
        let powers = logits.map(|logit| f64::from(logit).exp());
        let weighted: f64 =
            powers.iter().zip([-180.0, -176.0, -172.0, -168.0]).map(|(power, bin)| power * bin).sum();
        assert_near(&values(degrees, &logits), &[weighted / powers.iter().sum::<f64>()]);
        // Large logits do not overflow.
        assert_near(&values(degrees, &[-9000.0, 9000.0]), &[-176.0]);
        // Probabilities, also where rounding has taken something of their sum.
        let years = ValueParams { activation: Activation::None, ..degrees };
        assert_near(&values(years, &[0.5, 0.0, 0.5]), &[-176.0]);
        assert_near(&values(years, &[0.25, 0.0, 0.25]), &[-176.0]);
        assert_near(&values(ValueParams { scale: 0.5, offset: 1.0, ..years }, &[0.0, 1.0]), &[-87.0]);
    }

    #[test]
    fn what_follows_from_nan_or_infinity_is_no_value() {
        assert_eq!(values(PLAIN, &[f32::NAN, 1.0, f32::INFINITY]), [None, Some(1.0), None]);
        let bins = ValueParams { activation: Activation::Softmax, bins: Some([0.0, 1.0]), ..PLAIN };
        assert_eq!(values(bins, &[f32::NAN, 1.0]), [None]);
        assert_eq!(values(bins, &[f32::INFINITY, 1.0]), [None]);
        let probabilities = ValueParams { activation: Activation::None, ..bins };
        assert_eq!(values(probabilities, &[0.0, 0.0]), [None], "nothing has a probability");
    }
}
