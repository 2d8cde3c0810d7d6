//! What can be wrong with outputs or parameters.

use crate::device::DeviceError;
use crate::group::GroupError;

/// Outputs or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeypointsError {
    /// Another element type.
    #[error("output '{0}' must be float16 or float32; choose another output of the model or dequantise it")]
    Type(String),
    /// Not a vector a point.
    #[error("SimCC output '{0}' must have the dimensions 1xKxW: W scores along an axis for each of K points")]
    SimccShape(String),
    /// The outputs have different numbers of points.
    #[error(
        "the SimCC outputs '{x}' and '{y}' have {of_x} and {of_y} points; name the two that belong together in the \
         sidecar's [peaks]: simcc-x and simcc-y"
    )]
    SimccPoints {
        /// The output along x.
        x: String,
        /// The output along y.
        y: String,
        /// How many points the one along x has.
        of_x: usize,
        /// How many points the one along y has.
        of_y: usize,
    },
    /// The pixels of the two axes are split differently.
    #[error(
        "the SimCC outputs '{x}' and '{y}' split the pixels of the {width}x{height} input into {of_x} and {of_y} cells, \
         where both axes should have the same number for each pixel. If the outputs are in the other order, name them in \
         the sidecar's [peaks]: simcc-x and simcc-y"
    )]
    Split {
        /// The output along x.
        x: String,
        /// The output along y.
        y: String,
        /// The input's width.
        width: usize,
        /// The input's height.
        height: usize,
        /// Cells of a pixel along x.
        of_x: String,
        /// Cells of a pixel along y.
        of_y: String,
    },
    /// Not coordinates a point.
    #[error(
        "output '{0}' must have the dimensions 1xKx2, 1xKx3 or 1x1xKx3: two coordinates, and mostly a score, for each of K \
         points. If a point has other numbers, set point-format in the sidecar's [peaks]"
    )]
    PointsShape(String),
    /// Points of another number of numbers.
    #[error(
        "output '{output}' does not hold {numbers} numbers for each point, as point-format = \"{format}\" says. Correct point-format \
         in the sidecar's [peaks]"
    )]
    Format {
        /// The output's description.
        output: String,
        /// The word.
        format: &'static str,
        /// How many numbers a point of it has.
        numbers: usize,
    },
    /// A softmax over one number.
    #[error(
        "pose-activation = \"softmax\" is over several numbers of each pose, the first of which stands for nothing, but the output '{0}' of \
         pose-scores has one: set pose-activation to sigmoid or none"
    )]
    PoseNumbers(String),
    /// Scores in two places.
    #[error(
        "point-format = \"{0}\" says that points have scores, and the sidecar's [peaks] names another output with them: set \
         point-format to xy or xyz, or leave scores out"
    )]
    ScoredTwice(&'static str),
    /// Numbers that are not as many points.
    #[error(
        "the {all} numbers of output '{output}' are not two or three for each of the {points} points that are named. Name each of the \
         model's points in [skeleton], or set point-format in the sidecar's [peaks]"
    )]
    Named {
        /// The output's description.
        output: String,
        /// How many numbers an object has.
        all: usize,
        /// How many points have names.
        points: usize,
    },
    /// Numbers of which nothing says how many points they are.
    #[error(
        "output '{output}' has {all} numbers for an object, and nothing says how many points these are: name the points in \
         [skeleton] of the model's sidecar, or set point-format in [peaks], such as xy, xy-score or xyz"
    )]
    Undivided {
        /// The output's description.
        output: String,
        /// How many numbers an object has.
        all: usize,
    },
    /// Not points, a box and a score an instance.
    #[error(
        "output '{0}' must have the dimensions 1xNxV with V = 3*K + 5: two coordinates and a score for each of K points, a \
         box and a score"
    )]
    InstancesShape(String),
    /// Not coordinates of points of several poses.
    #[error(
        "output '{0}' must have the dimensions 1xNxKxV or 1xNxV: V numbers, two of which are coordinates, for each of K points of N \
         poses, or for all of a pose's points together"
    )]
    PosesShape(String),
    /// Not coordinates of peaks.
    #[error("output '{0}' must have the dimensions 1xKxPx2: two coordinates for each of P peaks of K points")]
    PeaksShape(String),
    /// Not what tells individuals apart.
    #[error(
        "output '{0}' must have the dimensions 1xC, a score for each of C individuals, beside outputs with the points and their scores"
    )]
    IdentitiesShape(String),
    /// Not a logit for each pixel of a cell.
    #[error(
        "output '{output}' must have the dimensions 1x65xH/8xW/8 or 1xH/8xW/8x65 for the {width}x{height} input, whose width and height are \
         multiples of 8: a logit for each pixel of 8x8, and one for none. Choose another output, or correct layout in the sidecar's [peaks]"
    )]
    CellsShape {
        /// The output's description.
        output: String,
        /// The input's width.
        width: usize,
        /// The input's height.
        height: usize,
    },
    /// Not lanes.
    #[error(
        "the outputs {0} do not hold lanes: those are 1xCxRxL, cells on R rows of L lanes (Ultra-Fast-Lane-Detection), or 1xNxV, N lines of 6 \
         numbers and an x for each row (CLRNet), or loc_row, loc_col, exist_row and exist_col of 4 lanes \
         (Ultra-Fast-Lane-Detection-v2). Set output to the one with them, or another encoding"
    )]
    LanesShape(String),
    /// Rows or columns that are not known.
    #[error(
        "output '{output}' has {count} {what} for each lane, and it is known of {known} where they are: set lane-{what} in the sidecar's \
         [peaks] to {count} numbers from 0 to 1, fractions of the whole picture's {side}"
    )]
    LaneAnchors {
        /// The output's description.
        output: String,
        /// How many there are.
        count: usize,
        /// How many are known, and fractions.
        known: usize,
        /// `rows` or `columns`.
        what: &'static str,
        /// `height` or `width`.
        side: &'static str,
    },
    /// No part of a picture.
    #[error(
        "nothing says which part of the picture the network with the output '{0}' sees: set lane-crop in the sidecar's [peaks] to a fraction \
         of the picture's height above 0, counted from the bottom, 1 for all of it"
    )]
    LaneCrop(String),
    /// Keys that lanes of this kind have no use for.
    #[error(
        "{keys} mean nothing for the lanes of the output '{output}': remove them from the sidecar's [peaks]"
    )]
    LaneKeys {
        /// The output's description.
        output: String,
        /// The keys.
        keys: &'static str,
    },
    /// A distance that is none.
    #[error("an nms-radius of {0} leaves no points; set it to 0 or more pixels")]
    Radius(String),
    /// Outputs that do not belong together.
    #[error(
        "output '{scores}' does not have the dimensions of '{points}' without the coordinates; name the outputs that belong \
         together in the sidecar's [peaks]"
    )]
    Scores {
        /// The output with the coordinates.
        points: String,
        /// The other one.
        scores: String,
    },
    /// Outputs that do not fit the skeleton.
    #[error(
        "the {what} '{output}' do not fit the skeleton, which wants {wanted} with P peaks a point. Choose another output, or correct \
         the sidecar's [skeleton]"
    )]
    Candidates {
        /// What the output holds.
        what: &'static str,
        /// Its description.
        output: String,
        /// The dimensions that it should have.
        wanted: String,
    },
    /// A skeleton that nothing can be grouped by.
    #[error(transparent)]
    Skeleton(#[from] GroupError),
    /// A scale that is no factor.
    #[error(
        "a coordinate-scale of {0} leaves no coordinates; set it to a number above 0, 1 for the input's pixels"
    )]
    Scale(String),
    /// A range that is none.
    #[error(
        "a coordinate-range from {0} to {1} leaves no coordinates; begin with the lesser of two numbers, as [-1, 1]"
    )]
    Range(String, String),
    /// Another number of outputs than were announced.
    #[error("{got} outputs arrived where {wanted} were announced; renegotiate with all that are read")]
    Count {
        /// How many came.
        got: usize,
        /// How many were announced.
        wanted: usize,
    },
    /// A dimension or size of 0.
    #[error("output '{0}' of a model with a {1}x{2} input has a size of 0; give every size at least 1")]
    Empty(String, usize, usize),
    /// Outputs other than those that were announced.
    #[error(
        "an output '{got}' arrived where '{declared}' was announced; renegotiate with the new dimensions"
    )]
    Changed {
        /// What came.
        got: String,
        /// What was announced.
        declared: String,
    },
    /// Fewer rows than a batch has.
    #[error(
        "output '{got}' does not hold the {wanted} rows of the batch; hand over one with that many along its first \
         dimension"
    )]
    Rows {
        /// What came.
        got: String,
        /// How many rows it must hold.
        wanted: usize,
    },
    /// A threshold that is not a number.
    #[error("a threshold of NaN finds nothing; set a number, for scores one between 0 and 1")]
    Threshold,
    /// More values than the GPU counts.
    #[error("output '{0}' has 2^31 values or more in a batch; use smaller batches, or compute on the CPU")]
    TooLarge(String),
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
