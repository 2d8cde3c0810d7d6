//! How numbers become points.

use super::{CoordinateParams, KeypointsError, PixelOrigin, PointFormat};
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
        if let Some([first, last]) = params.range
            && !(first.is_finite() && last.is_finite() && first < last)
        {
            return Err(KeypointsError::Range(first.to_string(), last.to_string()));
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
        if let Some([first, last]) = self.params.range {
            return [(x - first) / (last - first) * width, (y - first) / (last - first) * height];
        }
        let first = match self.params.origin {
            PixelOrigin::Corner => 0.0,
            PixelOrigin::Center => 0.5,
        };
        [x, y].map(|v| v * self.params.scale + first)
    }

    /// A third coordinate in frame pixels. It has x's unit, and its 0 is the model's.
    fn depth(&self, z: f32, to_frame: &Affine) -> f32 {
        let unit = match self.params.range {
            Some([first, last]) => self.input[0] as f32 / (last - first),
            None => self.params.scale,
        };
        z * unit * to_frame.scale[0].hypot(to_frame.skew[1]) as f32
    }

    /// The point of these numbers, if it is valid; and how many of them are not finite. Without a score, it is 1.
    pub fn point(
        &self,
        format: PointFormat,
        numbers: &[f32],
        to_frame: &Affine,
    ) -> (Option<Keypoint>, usize) {
        let (at, scores) = numbers.split_at(format.coordinates().min(numbers.len()));
        let score = scores.iter().map(|score| activate(self.params.activation, *score)).reduce(f32::min);
        let non_finite = scores.iter().filter(|score| !score.is_finite()).count();
        let (found, of_coordinates) = self.at(at, score.unwrap_or(1.0), to_frame);
        (found.filter(|_| non_finite == 0), of_coordinates + non_finite)
    }

    /// The same where the score is in an output of its own. A point of which both coordinates are NaN is absent.
    pub fn scored(&self, at: &[f32], score: f32, to_frame: &Affine) -> (Option<Keypoint>, usize) {
        if let [a, b, ..] = *at
            && a.is_nan()
            && b.is_nan()
        {
            return (None, 0);
        }
        let is_number = score.is_finite();
        let (found, non_finite) = self.at(at, activate(self.params.activation, score), to_frame);
        (found.filter(|_| is_number), non_finite + usize::from(!is_number))
    }

    /// The point of these coordinates and this score.
    fn at(&self, at: &[f32], score: f32, to_frame: &Affine) -> (Option<Keypoint>, usize) {
        let non_finite = at.iter().filter(|v| !v.is_finite()).count();
        let [a, b, ref further @ ..] = *at else { return (None, non_finite) };
        if non_finite > 0 || score < self.params.threshold {
            return (None, non_finite);
        }
        let [x, y] = self.place([a, b]);
        let (x, y) = to_frame.point(x, y);
        let z = further.first().map(|z| self.depth(*z, to_frame));
        (Some(Keypoint { x, y, z, score }), 0)
    }
}
