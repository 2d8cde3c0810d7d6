//! The functions of single elements: computed in float64 by what evaluates graphs, rounded to float32.

use crate::graph::{Binary, Unary, of_number, of_numbers};

/// A function of one number.
pub fn unary(function: Unary, x: f32) -> f32 {
    of_number(function, f64::from(x)) as f32
}

/// A function of two numbers.
pub fn binary(function: Binary, a: f32, b: f32) -> f32 {
    of_numbers(function, f64::from(a), f64::from(b)) as f32
}
