//! What outputs with coordinates have in common: how they were announced, and how a coordinate is read.

use super::{CoordinateParams, KeypointsError};
use crate::detect::AxisOrder;
use crate::geometry::Affine;
use crate::group::Keypoint;
use crate::peaks::activate;
use crate::tensor::{TensorDesc, TensorType};

/// An output with coordinates as it was announced.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub output: TensorDesc,
    pub input: [usize; 2],
    pub params: CoordinateParams,
}

impl Announced {
    /// All but the shape is checked.
    pub fn new(
        output: &TensorDesc,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        if params.threshold.is_nan() || params.min_score.is_nan() {
            return Err(KeypointsError::Threshold);
        }
        if !matches!(output.ty, TensorType::Float32 | TensorType::Float16) {
            return Err(KeypointsError::Type(output.to_string()));
        }
        if input.contains(&0) || output.dims.contains(&Some(0)) {
            return Err(KeypointsError::Empty(output.to_string(), input[0], input[1]));
        }
        Ok(Self { output: output.clone(), input, params })
    }

    /// Whether an output is the one that was announced, and holds at least `rows` rows.
    pub fn check(
        &self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        rows: usize,
    ) -> Result<(), KeypointsError> {
        let declared = &self.output.dims;
        let written = || TensorDesc::fixed(name, ty, dims).to_string();
        let same = ty == self.output.ty
            && dims.len() == declared.len()
            && dims.iter().zip(declared).skip(1).all(|(got, want)| want.is_none_or(|want| want == *got));
        if !same {
            return Err(KeypointsError::Changed { got: written(), declared: self.output.to_string() });
        }
        match dims.first() {
            Some(first) if *first >= rows => Ok(()),
            _ => Err(KeypointsError::Rows { got: written(), wanted: rows }),
        }
    }

    /// Two coordinates in continuous tensor pixels: x and y.
    pub fn place(&self, coordinates: [f32; 2]) -> [f32; 2] {
        let [a, b] = coordinates;
        let [x, y] = match self.params.order {
            AxisOrder::Xy => [a, b],
            AxisOrder::Yx => [b, a],
        };
        let [width, height] = self.input.map(|size| size as f32);
        if self.params.normalized { [x * width, y * height] } else { [x, y] }
    }

    /// The point of two coordinates and mostly a score (1 if there is none), if it is valid; and how many of the values are
    /// not finite.
    pub fn point(&self, values: &[f32], to_frame: &Affine) -> (Option<Keypoint>, usize) {
        let non_finite = values.iter().filter(|v| !v.is_finite()).count();
        let (a, b, score) = match *values {
            [a, b] => (a, b, 1.0),
            [a, b, score] => (a, b, activate(self.params.activation, score)),
            _ => return (None, non_finite),
        };
        if non_finite > 0 || score < self.params.threshold {
            return (None, non_finite);
        }
        let [x, y] = self.place([a, b]);
        let (x, y) = to_frame.point(x, y);
        (Some(Keypoint { x, y, score }), 0)
    }
}
