//! The coordinates of one person's points.

use super::coordinates::Coordinates;
use super::identities::softmax;
use super::reader::{agrees, first_rows};
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
use crate::peaks::{Outcome, Peak};
use crate::tensor::{TensorDesc, TensorView};

/// The points of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// Those that were found, in their order.
    pub peaks: Vec<Peak>,
    /// The probability that the object is each of the individuals that the network tells apart; empty if it tells none.
    pub identities: Vec<f32>,
}

/// Reads outputs that hold the coordinates of points.
#[derive(Debug)]
pub struct PointReader {
    /// The coordinates, the scores if they have an output of their own, and with them that of the individuals if there is one.
    outputs: Vec<TensorDesc>,
    coordinates: Coordinates,
}

impl PointReader {
    /// Prepares for an output `points` `[1, K, 2]`, `[1, K, 3]` or `[1, 1, K, 3]`, float32 or float16, of a network whose input
    /// is `input` (width, height) pixels: two coordinates and, if there is a third value, a score of each point. The scores of
    /// `[1, K, 2]` may be the output `scores` `[1, K]`; a point whose coordinates are NaN is absent then, and `identities` `[1, C]`
    /// may say how much the object looks like each of C individuals, before the softmax.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        points: &TensorDesc,
        scores: Option<&TensorDesc>,
        identities: Option<&TensorDesc>,
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
        if let Some(wrong) = identities.filter(|output| scores.is_none() || !agrees(output, &[Some(1), None]))
        {
            return Err(KeypointsError::IdentitiesShape(wrong.to_string()));
        }
        let outputs: Vec<_> = std::iter::once(points).chain(scores).chain(identities).collect();
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
    type Found = Points;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Points, Outcome), KeypointsError> {
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
        let identities = rows.get(2).map(|logits| softmax(logits)).unwrap_or_default();
        Ok((Points { peaks, identities }, outcome))
    }
}
