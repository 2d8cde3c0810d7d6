//! How lanes are read.

use super::anchors::LaneAnchors;

/// How lanes are read.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneParams {
    /// Where the rows and columns of Ultra-Fast-Lane-Detection are; what is open is as in its makers' networks of as many.
    pub anchors: LaneAnchors,
    /// The least score of a lane. `None`: [`Self::LINES`] for CLRNet, and 0 for the others, which say themselves which lanes there are.
    pub min_score: Option<f32>,
    /// CLRNet: a line is the same lane as a surer one if they are less than this apart on average, in pixels across.
    pub nms_distance: f32,
    /// CLRNet: how many lanes a frame has at most, the surest.
    pub max_lanes: usize,
}

impl LaneParams {
    /// The least score of CLRNet's lanes, unless another one is set.
    pub const LINES: f32 = 0.4;
}

impl Default for LaneParams {
    /// CLRNet's values for TuSimple; those for CULane have a lane less.
    fn default() -> Self {
        Self { anchors: LaneAnchors::default(), min_score: None, nms_distance: 50.0, max_lanes: 5 }
    }
}
