//! The coordinates of several people's points, with a box each.

use super::coordinates::Coordinates;
use super::reader::first_rows;
use super::{CoordinateParams, KeypointsError, PointFormat, RowReader};
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
    outputs: [TensorDesc; 1],
    coordinates: Coordinates,
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
                let coordinates = Coordinates::new(&[output], input, params)?;
                Ok(Self { outputs: [output.clone()], coordinates })
            }
            _ => Err(KeypointsError::InstancesShape(output.to_string())),
        }
    }

    /// The number of points of an instance.
    pub fn points(&self) -> Option<usize> {
        let [output] = &self.outputs;
        let values = output.dims.last().copied().flatten()?;
        Some(values.checked_sub(EXTRA)? / 3)
    }
}

impl RowReader for InstanceReader {
    /// The instances that have the least score, the best first. One whose box or score is not finite is dropped.
    type Found = Vec<Instance>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Instance>, Outcome), KeypointsError> {
        let (coordinates, rows) = (&self.coordinates, first_rows(&self.outputs, outputs)?);
        let each = outputs.first().and_then(|output| output.dims.last()).map_or(1, |values| (*values).max(1));
        let (mut instances, mut outcome) = (Vec::new(), Outcome::default());
        for values in rows.iter().flat_map(|row| row.chunks_exact(each)) {
            let Some((points, &[a, b, c, d, score])) = values.split_last_chunk::<EXTRA>() else { continue };
            let (of_points, found): (Vec<_>, Vec<_>) = points
                .chunks_exact(3)
                .map(|values| coordinates.point(PointFormat::XyScore, values, to_frame))
                .unzip();
            let bad = [a, b, c, d, score].iter().filter(|v| !v.is_finite()).count();
            outcome.non_finite += found.iter().sum::<usize>() + bad;
            let score = activate(coordinates.params.activation, score);
            if bad > 0 || score < coordinates.params.min_score {
                continue;
            }
            let ([x1, y1], [x2, y2]) = (coordinates.place([a, b]), coordinates.place([c, d]));
            let rect = to_frame.rect(&Rect::from_corners(x1, y1, x2, y2));
            instances.push(Instance { rect, pose: Pose { score, points: of_points, identity: None } });
        }
        // Stable: equals stay in the network's order.
        instances.sort_by(|a, b| b.pose.score.total_cmp(&a.pose.score));
        Ok((instances, outcome))
    }
}
