//! The coordinates of several people's points, with a box each.

use super::regressed::Announced;
use super::{CoordinateParams, KeypointsError};
use crate::geometry::{Affine, Rect};
use crate::group::Pose;
use crate::peaks::{Outcome, activate};
use crate::tensor::{TensorDesc, TensorView};

/// Values of the box and the score, which follow the points.
const EXTRA: usize = 5;

/// A person or an animal with its box.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The box, in continuous frame pixels.
    pub rect: Rect,
    /// Its points, and how sure it is.
    pub pose: Pose,
}

/// Reads an output that holds the points and the box of several instances.
#[derive(Debug)]
pub struct InstanceReader {
    pub(super) announced: Announced,
}

impl InstanceReader {
    /// Prepares for an `output` `[1, N, 3*K + 5]`, float32 or float16, of a network whose input is `input` (width, height)
    /// pixels. Each row has two coordinates and a score of each point, two corners of a box and the instance's score:
    /// MoveNet MultiPose's `[1, 6, 56]`.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with `output` or `params`.
    pub fn new(
        output: &TensorDesc,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        match output.dims[..] {
            [None | Some(1), _, Some(values)] if values > EXTRA && (values - EXTRA).is_multiple_of(3) => {
                Ok(Self { announced: Announced::new(output, input, params)? })
            }
            _ => Err(KeypointsError::InstancesShape(output.to_string())),
        }
    }

    /// The number of points of an instance.
    pub fn points(&self) -> Option<usize> {
        let values = self.announced.output.dims.last().copied().flatten()?;
        Some(values.checked_sub(EXTRA)? / 3)
    }

    /// Replaces `instances` by those of the output's first row that have the least score, the best first. `to_frame` leads
    /// from the input tensor's pixels to the frame's. An instance whose box or score is not finite is dropped.
    ///
    /// # Errors
    /// [`KeypointsError::Changed`] for another output than the one announced.
    pub fn run(
        &mut self,
        output: &TensorView<'_>,
        to_frame: &Affine,
        instances: &mut Vec<Instance>,
    ) -> Result<Outcome, KeypointsError> {
        instances.clear();
        let announced = &self.announced;
        announced.check(output.name, output.ty, &output.dims, 1)?;
        let each = output.dims.last().map_or(1, |values| (*values).max(1));
        let row = output.row(0).unwrap_or(*output).to_f32();
        let mut outcome = Outcome::default();
        for values in row.chunks_exact(each) {
            let Some((points, &[a, b, c, d, score])) = values.split_last_chunk::<EXTRA>() else { continue };
            let (of_points, found): (Vec<_>, Vec<_>) =
                points.chunks_exact(3).map(|values| announced.point(values, to_frame)).unzip();
            let bad = [a, b, c, d, score].iter().filter(|v| !v.is_finite()).count();
            outcome.non_finite += found.iter().sum::<usize>() + bad;
            let score = activate(announced.params.activation, score);
            if bad > 0 || score < announced.params.min_score {
                continue;
            }
            let ([x1, y1], [x2, y2]) = (announced.place([a, b]), announced.place([c, d]));
            let rect = to_frame.rect(&Rect::from_corners(x1, y1, x2, y2));
            instances.push(Instance { rect, pose: Pose { score, points: of_points } });
        }
        // Stable: equals stay in the network's order.
        instances.sort_by(|a, b| b.pose.score.total_cmp(&a.pose.score));
        Ok(outcome)
    }
}
