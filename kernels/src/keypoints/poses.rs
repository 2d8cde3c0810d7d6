//! The coordinates of several people's or animals' points, with the scores in outputs of their own.

use super::coordinates::Coordinates;
use super::identities::{identify, softmax};
use super::reader::{belong, first_rows, is_empty};
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
use crate::group::Pose;
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorView};

/// The outputs that hold the poses of a frame, in N places of which some may be empty.
#[derive(Clone, Copy, Debug)]
pub struct PoseOutputs<'a> {
    /// `[1, N, K, 2]`: the coordinates of the K points of each pose; `[1, N, 2]` where a pose has one point. An absent point is
    /// NaN.
    pub points: &'a TensorDesc,
    /// `[1, N, K]`, or `[1, N]`: the score of each point.
    pub scores: &'a TensorDesc,
    /// `[1, N]`: the score of each pose; the mean of its points' scores, if there is no such output.
    pub poses: Option<&'a TensorDesc>,
    /// `[1, N, C]`: how much each looks like each of C individuals, before the softmax.
    pub identities: Option<&'a TensorDesc>,
    /// `[1, N]`, of any type: 0 for an empty place. If there is no such output, a place without points is empty.
    pub valid: Option<&'a TensorDesc>,
}

/// Reads [`PoseOutputs`].
#[derive(Debug)]
pub struct PoseReader {
    outputs: Vec<TensorDesc>,
    has_poses: bool,
    has_identities: bool,
    has_valid: bool,
    coordinates: Coordinates,
}

impl PoseReader {
    /// Prepares for outputs, the coordinates and scores in float32 or float16, of a network whose input is `input` (width, height)
    /// pixels.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        outputs: &PoseOutputs<'_>,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        let PoseOutputs { points, scores, poses, identities, valid } = *outputs;
        let (Some((Some(2), before)), Some(None | Some(1)), 3 | 4) =
            (points.dims.split_last(), points.dims.first(), points.dims.len())
        else {
            return Err(KeypointsError::PosesShape(points.to_string()));
        };
        let places = &before[..2];
        let of_identities = [places, &[None]].concat();
        let others = std::iter::once((scores, before))
            .chain(poses.into_iter().chain(valid).map(|output| (output, places)))
            .chain(identities.map(|output| (output, &of_identities[..])));
        belong(points, others)?;
        let numbers: Vec<_> = [points, scores].into_iter().chain(poses).chain(identities).collect();
        let coordinates = Coordinates::new(&numbers, input, params)?;
        let outputs = numbers.into_iter().chain(valid).cloned().collect();
        let [has_poses, has_identities, has_valid] =
            [poses, identities, valid].map(|output| output.is_some());
        Ok(Self { outputs, has_poses, has_identities, has_valid, coordinates })
    }

    /// The number of a pose's points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        match self.outputs.first()?.dims[..] {
            [_, _, points, _] => points,
            _ => Some(1),
        }
    }
}

impl RowReader for PoseReader {
    /// The poses that have the least score, the best first.
    type Found = Vec<Pose>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Pose>, Outcome), KeypointsError> {
        let (coordinates, rows) = (&self.coordinates, first_rows(&self.outputs, outputs)?);
        let [points, scores, others @ ..] = &rows[..] else { return Ok(Default::default()) };
        let each = match outputs[0].dims[..] {
            [_, _, points, _] => points.max(1),
            _ => 1,
        };
        let of_poses = others.first().filter(|_| self.has_poses);
        let identities = others.get(usize::from(self.has_poses)).filter(|_| self.has_identities);
        let individuals = identities.map_or(0, |all| all.len() / (scores.len() / each).max(1));
        let valid = others.last().filter(|_| self.has_valid);
        let (mut poses, mut outcome, mut probabilities) = (Vec::new(), Outcome::default(), Vec::new());
        for (place, (points, scores)) in
            points.chunks_exact(2 * each).zip(scores.chunks_exact(each)).enumerate()
        {
            if is_empty(valid, place) {
                continue;
            }
            let (points, non_finite): (Vec<_>, Vec<_>) = points
                .chunks_exact(2)
                .zip(scores)
                .map(|(at, score)| coordinates.scored(at, *score, to_frame))
                .unzip();
            outcome.non_finite += non_finite.iter().sum::<usize>();
            let mut pose = Pose { points, ..Pose::default() };
            pose.score = match of_poses {
                Some(of_poses) => of_poses.get(place).copied().unwrap_or(f32::NAN),
                None => {
                    pose.points.iter().flatten().map(|point| point.score).sum::<f32>() / pose.found() as f32
                }
            };
            outcome.non_finite += usize::from(of_poses.is_some() && !pose.score.is_finite());
            let is_nothing = valid.is_none() && pose.found() == 0;
            if !is_nothing && pose.score >= coordinates.params.min_score {
                poses.push(pose);
                let of_pose = place * individuals..(place + 1) * individuals;
                probabilities
                    .extend(softmax(identities.and_then(|all| all.get(of_pose)).unwrap_or_default()));
            }
        }
        if identities.is_some() {
            for (pose, identity) in poses.iter_mut().zip(identify(&probabilities, individuals)) {
                pose.identity = identity;
            }
        }
        // Stable: equals stay in the network's order.
        poses.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok((poses, outcome))
    }
}
