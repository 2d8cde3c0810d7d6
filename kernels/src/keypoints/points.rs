//! The coordinates of one person's points.

use super::coordinates::Coordinates;
use super::reader::first_rows;
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
use crate::peaks::{Outcome, Peak};
use crate::tensor::{TensorDesc, TensorView};

/// Reads outputs that hold the coordinates of points.
#[derive(Debug)]
pub struct PointReader {
    /// The coordinates, and the scores if they have an output of their own.
    outputs: Vec<TensorDesc>,
    coordinates: Coordinates,
}

impl PointReader {
    /// Prepares for an output `points` `[1, K, 2]`, `[1, K, 3]` or `[1, 1, K, 3]`, float32 or float16, of a network whose input
    /// is `input` (width, height) pixels: two coordinates and, if there is a third value, a score of each point. The scores of
    /// `[1, K, 2]` may be the output `scores` `[1, K]`; a point whose coordinates are NaN is absent then.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        points: &TensorDesc,
        scores: Option<&TensorDesc>,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        let fits = match (&points.dims[..], scores.map(|scores| &scores.dims[..])) {
            ([None | Some(1), _, Some(2 | 3)] | [None | Some(1), Some(1), _, Some(3)], None) => true,
            ([None | Some(1), of_points, Some(2)], Some([None | Some(1), of_scores])) => {
                of_points.is_none() || of_scores.is_none() || of_points == of_scores
            }
            _ => false,
        };
        match scores {
            _ if fits => {}
            Some(scores) => {
                return Err(KeypointsError::Scores {
                    points: points.to_string(),
                    scores: scores.to_string(),
                });
            }
            None => return Err(KeypointsError::PointsShape(points.to_string())),
        }
        let outputs: Vec<_> = std::iter::once(points).chain(scores).collect();
        let coordinates = Coordinates::new(&outputs, input, params)?;
        Ok(Self { outputs: outputs.into_iter().cloned().collect(), coordinates })
    }

    /// The number of points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        let dims = &self.outputs.first()?.dims;
        dims.len().checked_sub(2).and_then(|i| dims[i])
    }
}

impl RowReader for PointReader {
    /// The points, in their order.
    type Found = Vec<Peak>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Peak>, Outcome), KeypointsError> {
        let rows = first_rows(&self.outputs, outputs)?;
        let each = outputs.first().and_then(|points| points.dims.last()).map_or(1, |values| (*values).max(1));
        let (mut peaks, mut outcome) = (Vec::new(), Outcome::default());
        let points = rows.first().into_iter().flat_map(|row| row.chunks_exact(each));
        for (point, values) in points.enumerate() {
            let (found, non_finite) = match rows.get(1) {
                None => self.coordinates.point(values, to_frame),
                Some(scores) => {
                    let score = scores.get(point).copied().unwrap_or(f32::NAN);
                    self.coordinates.scored(values, score, to_frame)
                }
            };
            outcome.non_finite += non_finite;
            let channel = u32::try_from(point).unwrap_or(u32::MAX);
            peaks.extend(found.map(|at| Peak { channel, x: at.x, y: at.y, score: at.score }));
        }
        Ok((peaks, outcome))
    }
}
