//! Resizing with a filter that is as wide as what it shrinks: products with constant matrices, one for each axis.

use super::super::call::Call;
use crate::graph::number::{integer, real_length, rounded, signed};
use crate::graph::{Coordinates, Elements, Refusal, ValueId};
use cudainfer_kernels::tensor::TensorType;

/// The most numbers of a matrix.
const MOST_ELEMENTS: usize = 1 << 26;

/// Which samples make a new one.
#[derive(Clone, Copy)]
pub struct Filter {
    /// Keys' `a` of a cubic filter; a linear one without.
    pub cubic: Option<f64>,
    /// Whether it becomes as wide as what is shrunk.
    pub antialias: bool,
    /// Whether samples outside of the tensor do not count; else the border counts for them.
    pub exclude_outside: bool,
}

impl Filter {
    fn support(self) -> f64 {
        if self.cubic.is_some() { 2.0 } else { 1.0 }
    }

    fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self.cubic {
            None => (1.0 - x).max(0.0),
            Some(a) if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Some(a) if x < 2.0 => ((x - 5.0) * x + 8.0) * x * a - 4.0 * a,
            Some(_) => 0.0,
        }
    }

    /// The weights of the old samples for a new one at `center`, where the old ones are at 0, 1, ...
    fn weights(self, center: f64, scale: f64, length: usize) -> Vec<f64> {
        let width = if self.antialias && scale < 1.0 { 1.0 / scale } else { 1.0 };
        let reach = self.support() * width;
        let last = signed(length) - 1;
        let mut weights = vec![0.0; length];
        let taps = integer((center - reach).ceil())..=integer((center + reach).floor());
        for tap in taps {
            let place = tap.clamp(0, last);
            if place == tap || !self.exclude_outside {
                let weight = self.weight((crate::graph::number::real(tap) - center) / width);
                weights[usize::try_from(place).unwrap_or(0)] += weight;
            }
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        weights
    }
}

/// Resizes `x` to `dims`.
///
/// # Errors
/// The coordinates are none of those that filters are for, or an axis is too long.
pub fn resample(
    call: &mut Call<'_>,
    mut x: ValueId,
    filter: Filter,
    coordinates: Coordinates,
    scales: &[f32],
    dims: &[usize],
) -> Result<ValueId, Refusal> {
    for (axis, to) in dims.iter().enumerate() {
        let (from, scale) = (call.builder.dims(x)[axis], f64::from(scales[axis]));
        if from == *to && scale == 1.0 {
            continue;
        }
        if from.saturating_mul(*to) > MOST_ELEMENTS {
            return Err(Refusal::unsupported(format!("it filters {from} samples to {to}")));
        }
        let center = |at: usize| match coordinates {
            Coordinates::HalfPixel => Ok((real_length(at) + 0.5) / scale - 0.5),
            Coordinates::PytorchHalfPixel if *to > 1 => Ok((real_length(at) + 0.5) / scale - 0.5),
            Coordinates::Asymmetric => Ok(real_length(at) / scale),
            other => Err(Refusal::unsupported(format!("it filters at coordinates {other:?}"))),
        };
        let mut matrix = vec![0.0; from * to];
        for at in 0..*to {
            for (row, weight) in filter.weights(center(at)?, scale, from).into_iter().enumerate() {
                matrix[row * to + at] = rounded(weight, TensorType::Float32);
            }
        }
        let ty = call.builder.ty(x);
        let matrix = call.builder.constant(ty, &[from, *to], Elements::Floats(matrix));
        let mut order: Vec<usize> = (0..dims.len()).collect();
        order.swap(axis, dims.len() - 1);
        let turned = call.builder.transpose(x, &order)?;
        let product = call.builder.multiply(turned, matrix)?;
        x = call.builder.transpose(product, &order)?;
    }
    Ok(x)
}
