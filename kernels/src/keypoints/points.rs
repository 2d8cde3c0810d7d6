//! The coordinates of one person's points.

use super::coordinates::Coordinates;
use super::identities::softmax;
use super::layout::PointLayout;
use super::reader::{agrees, first_rows, holds};
use super::{CoordinateParams, KeypointsError, PointFormat, RowReader};
use crate::geometry::Affine;
use crate::group::Keypoint;
use crate::peaks::{Outcome, Peak};
use crate::tensor::{TensorDesc, TensorView};

/// The points of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// All in their order; `None` where one was not found. Empty if there is no object.
    pub points: Vec<Option<Keypoint>>,
    /// The object's score, if it has an output of its own.
    pub score: Option<f32>,
    /// The probability that the object is each of the individuals that the network tells apart; empty if it tells none.
    pub identities: Vec<f32>,
}

impl Points {
    /// Those that were found.
    pub fn peaks(&self) -> impl Iterator<Item = Peak> {
        let points = self.points.iter().zip(0..);
        points
            .filter_map(|(at, channel)| at.map(|Keypoint { x, y, score, .. }| Peak { channel, x, y, score }))
    }
}

/// The outputs that hold the points of one object.
#[derive(Clone, Copy, Debug)]
pub struct PointOutputs<'a> {
    /// `[1, K, V]`, `[1, 1, K, V]` or, all in one dimension, `[1, V*K]`: V numbers for each of K points, the first two of them
    /// coordinates.
    pub points: &'a TensorDesc,
    /// K numbers: the score of each point. One whose coordinates are NaN is absent then.
    pub scores: Option<&'a TensorDesc>,
    /// One number: the score of the object.
    pub pose: Option<&'a TensorDesc>,
    /// `[1, C]`: how much the object looks like each of C individuals, before the softmax; only with `scores`.
    pub identities: Option<&'a TensorDesc>,
}

impl<'a> PointOutputs<'a> {
    /// Of an output that has everything.
    pub fn of(points: &'a TensorDesc) -> Self {
        Self { points, scores: None, pose: None, identities: None }
    }

    /// Those that there are, in the order in which they are read.
    fn all(&self) -> impl Iterator<Item = &'a TensorDesc> {
        std::iter::once(self.points).chain(self.scores).chain(self.pose).chain(self.identities)
    }
}

/// Reads outputs that hold the coordinates of points.
#[derive(Debug)]
pub struct PointReader {
    outputs: Vec<TensorDesc>,
    has_scores: bool,
    has_pose: bool,
    has_identities: bool,
    layout: PointLayout,
    coordinates: Coordinates,
}

impl PointReader {
    /// Prepares for outputs in float32 or float16 of a network whose input is `input` (width, height) pixels.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        outputs: &PointOutputs<'_>,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        let PointOutputs { points, scores, pose, identities } = *outputs;
        let [has_scores, has_pose, has_identities] =
            [scores, pose, identities].map(|output| output.is_some());
        let shape = || KeypointsError::PointsShape(points.to_string());
        let Some((None | Some(1), mut object)) = points.dims.split_first() else { return Err(shape()) };
        // The dimensions of 1 that converters add.
        while let Some((Some(1), rest)) = object.split_first()
            && (rest.len() >= 2 || matches!(rest, [Some(4..)]))
        {
            object = rest;
        }
        let layout = PointLayout::new(points, object, has_scores, &params)?;
        if let Some(pose) = pose.filter(|_| !params.pose_activation.takes(Some(1))) {
            return Err(KeypointsError::PoseNumbers(pose.to_string()));
        }
        let misfit = [(scores, layout.points), (pose, Some(1))]
            .into_iter()
            .filter_map(|(output, numbers)| output.filter(|output| !holds(output, numbers)));
        if let Some(output) = misfit.into_iter().next() {
            return Err(KeypointsError::Scores { points: points.to_string(), scores: output.to_string() });
        }
        if let Some(wrong) = identities.filter(|output| !has_scores || !agrees(output, &[Some(1), None])) {
            return Err(KeypointsError::IdentitiesShape(wrong.to_string()));
        }
        let all: Vec<_> = outputs.all().collect();
        let coordinates = Coordinates::new(&all, input, params)?;
        let outputs = all.into_iter().cloned().collect();
        Ok(Self { outputs, has_scores, has_pose, has_identities, layout, coordinates })
    }

    /// The number of points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        self.layout.points
    }

    /// The numbers of each point.
    pub fn format(&self) -> PointFormat {
        self.layout.format
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
        let Self { coordinates, layout: PointLayout { format, .. }, .. } = self;
        let mut rows = first_rows(&self.outputs, outputs)?.into_iter();
        let Some(points) = rows.next() else { return Ok(Default::default()) };
        let mut next = |is_there: bool| if is_there { rows.next() } else { None };
        let [scores, pose, identities] =
            [next(self.has_scores), next(self.has_pose), next(self.has_identities)];
        let (params, mut outcome) = (&coordinates.params, Outcome::default());
        let pose = pose.map(|pose| params.pose_activation.score(pose.get(..1).unwrap_or_default()));
        outcome.non_finite += usize::from(pose.is_some_and(|score| !score.is_finite()));
        if pose.is_some_and(|score| !(score.is_finite() && score >= params.min_score)) {
            return Ok((Points { score: pose, ..Points::default() }, outcome));
        }
        let mut found = Vec::new();
        for (point, numbers) in format.points(&points).enumerate() {
            let (at, non_finite) = match &scores {
                None => coordinates.point(*format, &numbers, to_frame),
                Some(scores) => {
                    let score = scores.get(point).copied().unwrap_or(f32::NAN);
                    coordinates.scored(&numbers, score, to_frame)
                }
            };
            outcome.non_finite += non_finite;
            found.push(at);
        }
        let identities = identities.map(|logits| softmax(&logits)).unwrap_or_default();
        Ok((Points { points: found, score: pose, identities }, outcome))
    }
}
