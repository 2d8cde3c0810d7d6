//! The coordinates of one person's points.

use super::regressed::Announced;
use super::{CoordinateParams, KeypointsError};
use crate::geometry::Affine;
use crate::peaks::{Outcome, Peak};
use crate::tensor::{TensorDesc, TensorView};

/// Reads an output that holds the coordinates of points.
#[derive(Debug)]
pub struct PointReader {
    pub(super) announced: Announced,
}

impl PointReader {
    /// Prepares for an `output` `[1, K, 2]`, `[1, K, 3]` or `[1, 1, K, 3]`, float32 or float16, of a network whose input is
    /// `input` (width, height) pixels: two coordinates and, if there is a third value, a score of each point.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with `output` or `params`.
    pub fn new(
        output: &TensorDesc,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        match output.dims[..] {
            [None | Some(1), _, Some(2 | 3)] | [None | Some(1), Some(1), _, Some(3)] => {
                Ok(Self { announced: Announced::new(output, input, params)? })
            }
            _ => Err(KeypointsError::PointsShape(output.to_string())),
        }
    }

    /// The number of points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        let dims = &self.announced.output.dims;
        dims.len().checked_sub(2).and_then(|i| dims[i])
    }

    /// Replaces `peaks` by the points of the output's first row, in their order. `to_frame` leads from the input tensor's
    /// pixels to the frame's.
    ///
    /// # Errors
    /// [`KeypointsError::Changed`] for another output than the one announced.
    pub fn run(
        &mut self,
        output: &TensorView<'_>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, KeypointsError> {
        peaks.clear();
        self.announced.check(output.name, output.ty, &output.dims, 1)?;
        let each = output.dims.last().map_or(1, |values| (*values).max(1));
        let row = output.row(0).unwrap_or(*output).to_f32();
        let mut outcome = Outcome::default();
        for (channel, values) in (0..).zip(row.chunks_exact(each)) {
            let (point, non_finite) = self.announced.point(values, to_frame);
            outcome.non_finite += non_finite;
            peaks.extend(point.map(|at| Peak { channel, x: at.x, y: at.y, score: at.score }));
        }
        Ok(outcome)
    }
}
