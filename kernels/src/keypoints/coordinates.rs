//! How numbers become points.

use super::{CoordinateParams, KeypointsError, PixelOrigin};
use crate::detect::AxisOrder;
use crate::geometry::Affine;
use crate::group::Keypoint;
use crate::peaks::activate;
use crate::tensor::{TensorDesc, TensorType};

/// How the coordinates of outputs are read, for an input of this size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinates {
    input: [usize; 2],
    pub params: CoordinateParams,
}

impl Coordinates {
    /// Of `outputs`, of which all but the shape is checked. `input` is the width and height of the network's input.
    pub fn new(
        outputs: &[&TensorDesc],
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        if params.threshold.is_nan() || params.min_score.is_nan() {
            return Err(KeypointsError::Threshold);
        }
        if !(params.scale > 0.0 && params.scale.is_finite()) {
            return Err(KeypointsError::Scale(params.scale.to_string()));
        }
        for output in outputs {
            if !matches!(output.ty, TensorType::Float32 | TensorType::Float16) {
                return Err(KeypointsError::Type(output.to_string()));
            }
            if input.contains(&0) || output.dims.contains(&Some(0)) {
                return Err(KeypointsError::Empty(output.to_string(), input[0], input[1]));
            }
        }
        Ok(Self { input, params })
    }

    /// Two coordinates in continuous tensor pixels: x and y.
    pub fn place(&self, coordinates: [f32; 2]) -> [f32; 2] {
        let [a, b] = coordinates;
        let [x, y] = match self.params.order {
            AxisOrder::Xy => [a, b],
            AxisOrder::Yx => [b, a],
        };
        let [width, height] = self.input.map(|size| size as f32);
        if self.params.normalized {
            return [x * width, y * height];
        }
        let first = match self.params.origin {
            PixelOrigin::Corner => 0.0,
            PixelOrigin::Center => 0.5,
        };
        [x, y].map(|v| v * self.params.scale + first)
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

    /// The same where the score is in an output of its own. A point of which both coordinates are NaN is absent.
    pub fn scored(&self, at: &[f32], score: f32, to_frame: &Affine) -> (Option<Keypoint>, usize) {
        match *at {
            [a, b] if !(a.is_nan() && b.is_nan()) => self.point(&[a, b, score], to_frame),
            _ => (None, 0),
        }
    }
}
