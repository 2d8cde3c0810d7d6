//! Tensors that are enlarged or shrunk, one axis after another.

use super::super::number::{float, real_length};
use super::super::{Coordinates, Resize, ResizeMode, Rounding};
use super::Operand;

/// ONNX's Resize.
pub fn resize(x: Operand<'_>, resize: &Resize, dims: &[usize]) -> Vec<f64> {
    let mut values = x.elements.numbers();
    let mut now = x.dims.to_vec();
    for axis in 0..dims.len() {
        let (old, new, scale) = (now[axis], dims[axis], resize.scales[axis]);
        if old == new && scale == 1.0 {
            continue;
        }
        let samples: Vec<Vec<(usize, f64)>> = (0..new)
            .map(|at| samples(resize.mode, coordinate(resize.coordinates, at, old, new, scale), old))
            .collect();
        let inner: usize = now[axis + 1..].iter().product();
        let mut made = Vec::with_capacity(values.len() / old.max(1) * new);
        for row in values.chunks((old * inner).max(1)) {
            for weighted in &samples {
                let sum =
                    |i: usize| weighted.iter().map(|(at, weight)| row[at * inner + i] * weight).sum::<f64>();
                made.extend((0..inner).map(sum));
            }
        }
        values = made;
        now[axis] = new;
    }
    values
}

/// Where a new sample lies among the old ones. Computed in float32, as ONNX Runtime does: which sample is the nearest depends on it.
fn coordinate(coordinates: Coordinates, at: usize, old: usize, new: usize, scale: f32) -> f32 {
    let length = |length: usize| float(real_length(length));
    let x = length(at);
    match coordinates {
        Coordinates::PytorchHalfPixel if new == 1 => 0.0,
        Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (x + 0.5) / scale - 0.5,
        Coordinates::Asymmetric => x / scale,
        Coordinates::AlignCorners if new == 1 => 0.0,
        Coordinates::AlignCorners => x * length(old - 1) / length(new - 1),
    }
}

/// The old samples that make a new one, with their weights.
fn samples(mode: ResizeMode, at: f32, old: usize) -> Vec<(usize, f64)> {
    let last = real_length(old) - 1.0;
    let at = f64::from(at);
    let index = |place: f64| super::super::number::integer(place.clamp(0.0, last)).unsigned_abs();
    let sample = |place: f64, weight: f64| (usize::try_from(index(place)).unwrap_or(0), weight);
    match mode {
        ResizeMode::Nearest(rounding) => {
            let place = match rounding {
                Rounding::PreferFloor => (at - 0.5).ceil(),
                Rounding::PreferCeil => (at + 0.5).floor(),
                Rounding::Floor => at.floor(),
                Rounding::Ceil => at.ceil(),
            };
            vec![sample(place, 1.0)]
        }
        ResizeMode::Linear => {
            let at = at.clamp(0.0, last);
            let part = at - at.floor();
            vec![sample(at.floor(), 1.0 - part), sample(at.floor() + 1.0, part)]
        }
        ResizeMode::Cubic { a } => {
            let tap = |i: f64| sample(at.floor() + i, keys(at - at.floor() - i, a.into()));
            [-1.0, 0.0, 1.0, 2.0].map(tap).to_vec()
        }
    }
}

/// Keys' kernel ("Cubic convolution interpolation for digital image processing", 1981).
fn keys(distance: f64, a: f64) -> f64 {
    let x = distance.abs();
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((x - 5.0) * x + 8.0) * x * a - 4.0 * a
    } else {
        0.0
    }
}
