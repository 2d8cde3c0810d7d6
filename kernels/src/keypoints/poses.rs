//! The coordinates of several people's or animals' points, mostly with the scores in outputs of their own.

use std::borrow::Cow;

use super::coordinates::Coordinates;
use super::identities::{identify, softmax};
use super::layout::PointLayout;
use super::reader::{belong, first_rows, is_empty};
use super::{CoordinateParams, KeypointsError, PointFormat, RowReader};
use crate::geometry::Affine;
use crate::group::Pose;
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorView};

/// The outputs that hold the poses of a frame, in N places of which some may be empty.
#[derive(Clone, Copy, Debug)]
pub struct PoseOutputs<'a> {
    /// `[1, N, K, V]`, or `[1, N, V*K]`: V numbers for each of the K points of each pose, the first two of them coordinates;
    /// `[1, N, 2]` where a pose has one point.
    pub points: &'a TensorDesc,
    /// `[1, N, K]`; `[1, N]` where a pose has one point: the score of each point. One whose coordinates are NaN is absent then.
    pub scores: Option<&'a TensorDesc>,
    /// `[1, N]`, or `[1, N, C]` of which the highest counts: the score of each pose; the mean of its points' scores, if there is no such output.
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
    layout: PointLayout,
    has_scores: bool,
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
        let (places, object) = match &points.dims[..] {
            [None | Some(1), _, object @ ..] if matches!(object.len(), 1 | 2) => points.dims.split_at(2),
            _ => return Err(KeypointsError::PosesShape(points.to_string())),
        };
        let columns = [places, &[None]].concat();
        if let Some(poses) = poses.filter(|poses| !params.pose_activation.takes(numbers_of_a_pose(poses))) {
            return Err(KeypointsError::PoseNumbers(poses.to_string()));
        }
        let (layout, of_points) = match object {
            // One point.
            [Some(2)] => {
                (PointLayout::new(points, &[Some(1), Some(2)], scores.is_some(), &params)?, places.to_vec())
            }
            _ => {
                let layout = PointLayout::new(points, object, scores.is_some(), &params)?;
                (layout, [places, &[layout.points]].concat())
            }
        };
        let others = scores
            .map(|output| (output, &of_points[..]))
            .into_iter()
            .chain(valid.map(|output| (output, places)))
            .chain(poses.map(|output| (output, if output.dims.len() == 2 { places } else { &columns })))
            .chain(identities.map(|output| (output, &columns[..])));
        belong(points, others)?;
        let numbers: Vec<_> = std::iter::once(points).chain(scores).chain(poses).chain(identities).collect();
        let coordinates = Coordinates::new(&numbers, input, params)?;
        let outputs = numbers.into_iter().chain(valid).cloned().collect();
        let [has_scores, has_poses, has_identities, has_valid] =
            [scores, poses, identities, valid].map(|output| output.is_some());
        Ok(Self { outputs, layout, has_scores, has_poses, has_identities, has_valid, coordinates })
    }

    /// The number of a pose's points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        self.layout.points
    }

    /// The numbers of each point.
    pub fn format(&self) -> PointFormat {
        self.layout.format
    }
}

/// How many scores an output has for each pose.
fn numbers_of_a_pose(scores: &TensorDesc) -> Option<usize> {
    scores.dims.get(2).copied().unwrap_or(Some(1))
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
        let mut rows = rows.into_iter();
        let Some(points) = rows.next() else { return Ok(Default::default()) };
        let mut next = |is_there: bool| if is_there { rows.next() } else { None };
        let [scores, of_poses, identities, valid] =
            [next(self.has_scores), next(self.has_poses), next(self.has_identities), next(self.has_valid)];
        let (format, places) = (self.layout.format, outputs[0].dims[1].max(1));
        let numbers = (points.len() / places).max(1);
        let each = numbers / format.numbers();
        let [individuals, of_pose] =
            [&identities, &of_poses].map(|output| output.as_ref().map_or(0, |all| all.len() / places));
        let (mut poses, mut outcome, mut probabilities) = (Vec::new(), Outcome::default(), Vec::new());
        for (place, points) in points.chunks_exact(numbers).enumerate() {
            if is_empty(valid.as_ref(), place) {
                continue;
            }
            let point = |(point, numbers): (usize, Cow<'_, [f32]>)| match &scores {
                None => coordinates.point(format, &numbers, to_frame),
                Some(scores) => {
                    let score = scores.get(place * each + point).copied().unwrap_or(f32::NAN);
                    coordinates.scored(&numbers, score, to_frame)
                }
            };
            let (points, non_finite): (Vec<_>, Vec<_>) = format.points(points).enumerate().map(point).unzip();
            outcome.non_finite += non_finite.iter().sum::<usize>();
            let mut pose = Pose { points, ..Pose::default() };
            pose.score = match &of_poses {
                Some(scores) => {
                    let own = scores.get(place * of_pose..(place + 1) * of_pose).unwrap_or_default();
                    coordinates.params.pose_activation.score(own)
                }
                None => {
                    pose.points.iter().flatten().map(|point| point.score).sum::<f32>() / pose.found() as f32
                }
            };
            outcome.non_finite += usize::from(of_poses.is_some() && !pose.score.is_finite());
            let is_nothing = valid.is_none() && pose.found() == 0;
            if !is_nothing && pose.score >= coordinates.params.min_score {
                poses.push(pose);
                let own = place * individuals..(place + 1) * individuals;
                probabilities
                    .extend(softmax(identities.as_ref().and_then(|all| all.get(own)).unwrap_or_default()));
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
