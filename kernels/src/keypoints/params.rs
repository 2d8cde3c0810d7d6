//! How keypoints are read.

use super::PointFormat;
use super::identities::softmax;
use crate::detect::AxisOrder;
use crate::peaks::{Activation, Grid};
use crate::sanity::Expected;

/// How the two outputs of SimCC are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimccParams {
    /// The least score of a point, in activated units. A score of 0 or less is never a point, as in mmpose, unless there is
    /// an activation.
    pub threshold: f32,
    /// What makes scores of the outputs' values.
    pub activation: Activation,
    /// Where the cells lie along each axis of the input, of which each pixel is split into the same number of cells.
    /// [`Grid::Strided`] is mmpose's: cell `i` is pixel `i / ratio`.
    pub grid: Grid,
}

impl Default for SimccParams {
    fn default() -> Self {
        Self { threshold: 0.3, activation: Activation::None, grid: Grid::Strided }
    }
}

/// Where the coordinates of pixels begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelOrigin {
    /// At the first pixel's upper left corner, so that its centre is at 0.5.
    Corner,
    /// At the first pixel's centre, as in SLEAP and mmpose.
    Center,
}

crate::words! { PixelOrigin:
    Corner = "corner", "0 is the first pixel's upper left corner";
    Center = "center", "0 is the first pixel's centre (SLEAP, mmpose)";
}

/// What makes probabilities of the scores of whole poses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoseActivation {
    /// They are probabilities.
    None,
    /// Each is a logit of its own: `1 / (1 + exp(-v))`.
    Sigmoid,
    /// They are logits that exclude each other, of which the first stands for nothing.
    Softmax,
}

crate::words! { PoseActivation:
    None = "none", "None: the model has applied it";
    Sigmoid = "sigmoid", "Sigmoid of each number: they are logits";
    Softmax = "softmax", "Softmax over a pose's numbers, the first of which stands for nothing: they are logits";
}

impl PoseActivation {
    /// The score of a pose: the highest of its numbers after the activation, but for that which stands for nothing. NaN where there is none.
    pub(super) fn score(self, numbers: &[f32]) -> f32 {
        let highest = |numbers: &[f32]| numbers.iter().copied().reduce(f32::max).unwrap_or(f32::NAN);
        match self {
            Self::None => highest(numbers),
            Self::Sigmoid => 1.0 / (1.0 + (-highest(numbers)).exp()),
            Self::Softmax => highest(softmax(numbers).get(1..).unwrap_or_default()),
        }
    }

    /// Whether it can be applied to that many numbers of a pose; `None` where that is open.
    pub(super) fn takes(self, numbers: Option<usize>) -> bool {
        self != Self::Softmax || numbers.is_none_or(|numbers| numbers > 1)
    }
}

/// How far outside of 0..1 a point's score may be.
const SLACK: f32 = 0.01;

/// How coordinates are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateParams {
    /// The least score of a point, in activated units.
    pub threshold: f32,
    /// What makes scores of the output's values: those of points and of instances.
    pub activation: Activation,
    /// What makes scores of the values of an output with the scores of poses.
    pub pose_activation: PoseActivation,
    /// The numbers of each point; `None` where the dimensions tell them.
    pub format: Option<PointFormat>,
    /// How many points have names. They divide an output that holds the numbers of all points in one dimension.
    pub points: Option<usize>,
    /// The coordinates of the input's first and last edge, both across and down: 0 and 1 if they are fractions of its size. `None`
    /// if they are pixels.
    pub range: Option<[f32; 2]>,
    /// Pixels of the input for each unit of coordinates without a range: 2 for those of a picture of half the size, which
    /// the network has made itself.
    pub scale: f32,
    /// Where coordinates without a range begin.
    pub origin: PixelOrigin,
    /// Which coordinate comes first; of boxes, too.
    pub order: AxisOrder,
    /// The least score of an instance, in activated units.
    pub min_score: f32,
}

impl CoordinateParams {
    /// The range of coordinates that are fractions of the input's size.
    pub const FRACTIONS: [f32; 2] = [0.0, 1.0];

    /// What the points should be.
    pub fn expected(&self) -> Expected {
        Expected {
            activation: self.activation.into(),
            raw: true,
            // Scores in an output of their own, as those of maps, may be of any height.
            slack: self.format.filter(|format| format.scores() > 0).map(|_| SLACK),
            twice: None,
            threshold: None,
            final_scores: false,
            normalized: Some(self.range.is_some()),
            unique: false,
            labels: None,
        }
    }
}

impl Default for CoordinateParams {
    fn default() -> Self {
        Self {
            threshold: 0.3,
            activation: Activation::None,
            pose_activation: PoseActivation::None,
            format: None,
            points: None,
            range: Some(Self::FRACTIONS),
            scale: 1.0,
            origin: PixelOrigin::Corner,
            order: AxisOrder::Xy,
            min_score: 0.25,
        }
    }
}
