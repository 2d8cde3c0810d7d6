//! How keypoints are read.

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

/// How coordinates are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinateParams {
    /// The least score of a point, in activated units.
    pub threshold: f32,
    /// What makes scores of the output's values: those of points and of instances.
    pub activation: Activation,
    /// Whether coordinates are fractions of the input's width and height instead of its pixels. 0 is the edge of the first pixel
    /// then.
    pub normalized: bool,
    /// Pixels of the input for each unit of coordinates that are not normalized: 2 for those of a picture of half the size, which
    /// the network has made itself.
    pub scale: f32,
    /// Where coordinates that are not normalized begin.
    pub origin: PixelOrigin,
    /// Which coordinate comes first; of boxes, too.
    pub order: AxisOrder,
    /// The least score of an instance, in activated units.
    pub min_score: f32,
}

impl CoordinateParams {
    /// What the points should be; their scores may be of any height.
    pub fn expected(&self) -> Expected {
        Expected {
            activation: self.activation.into(),
            raw: true,
            slack: None,
            twice: None,
            threshold: None,
            final_scores: false,
            normalized: Some(self.normalized),
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
            normalized: true,
            scale: 1.0,
            origin: PixelOrigin::Corner,
            order: AxisOrder::Xy,
            min_score: 0.25,
        }
    }
}
