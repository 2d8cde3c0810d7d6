//! Elements of constants.

use cudainfer_kernels::tensor::TensorType;

use super::super::Elements;
use super::super::number::{integer, is_float, real, rounded, wrapped};

impl Elements {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Integers(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element as a number.
    pub fn number(&self, index: usize) -> f64 {
        match self {
            Self::Floats(values) => values[index].into(),
            Self::Integers(values) => real(values[index]),
        }
    }

    /// All elements as numbers.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Floats(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Self::Integers(values) => values.iter().map(|value| real(*value)).collect(),
        }
    }

    /// Numbers as elements of a type: floats are rounded, integers cut off towards 0, and booleans are whether it is not 0.
    pub fn of_numbers(numbers: &[f64], ty: TensorType) -> Self {
        if is_float(ty) {
            return Self::Floats(numbers.iter().map(|value| rounded(*value, ty)).collect());
        }
        let whole = |value: f64| match ty {
            TensorType::Bool => i64::from(value != 0.0),
            _ => wrapped(integer(value), ty),
        };
        Self::Integers(numbers.iter().map(|value| whole(*value)).collect())
    }

    /// The same numbers in another type.
    pub fn cast(&self, ty: TensorType) -> Self {
        match self {
            Self::Integers(values) if !is_float(ty) => {
                Self::Integers(values.iter().map(|value| wrapped(*value, ty)).collect())
            }
            _ => Self::of_numbers(&self.numbers(), ty),
        }
    }

    /// The elements of these indices.
    pub fn pick(&self, indices: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Floats(values) => Self::Floats(indices.map(|index| values[index]).collect()),
            Self::Integers(values) => Self::Integers(indices.map(|index| values[index]).collect()),
        }
    }

    /// The elements of these indices; a number where there is none.
    pub fn pick_or(&self, indices: impl Iterator<Item = Option<usize>>, other: f32) -> Self {
        match self {
            Self::Floats(values) => {
                Self::Floats(indices.map(|index| index.map_or(other, |index| values[index])).collect())
            }
            Self::Integers(values) => {
                let other = integer(other.into());
                Self::Integers(indices.map(|index| index.map_or(other, |index| values[index])).collect())
            }
        }
    }

    /// These and others after them.
    pub fn extend(&mut self, others: &Self) {
        match (self, others) {
            (Self::Floats(values), Self::Floats(others)) => values.extend(others),
            (Self::Integers(values), Self::Integers(others)) => values.extend(others),
            (Self::Floats(values), others) => {
                values.extend(others.numbers().iter().map(|value| super::super::number::float(*value)));
            }
            (Self::Integers(values), others) => {
                values.extend(others.numbers().iter().map(|value| integer(*value)));
            }
        }
    }

    /// The one number that all of them are; none where they differ, or there are none.
    pub fn uniform(&self) -> Option<f64> {
        let first = (!self.is_empty()).then(|| self.number(0))?;
        let same = match self {
            Self::Floats(values) => values.iter().all(|value| value.to_bits() == values[0].to_bits()),
            Self::Integers(values) => values.iter().all(|value| *value == values[0]),
        };
        same.then_some(first)
    }
}
