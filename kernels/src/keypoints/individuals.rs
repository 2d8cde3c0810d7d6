//! Peaks that a network has found itself, with the individual that it takes each for: those of an individual are its points.

use super::coordinates::Coordinates;
use super::identities::identify;
use super::reader::{agrees, belong, first_rows, is_empty};
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
use crate::group::{Identity, Keypoint, Pose};
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorView};

/// The outputs that hold the peaks of a frame, in P places for each of K points of which some may be empty, and how much each looks
/// like each of C individuals.
#[derive(Clone, Copy, Debug)]
pub struct IndividualOutputs<'a> {
    /// `[1, K, P, 2]`: the coordinates.
    pub points: &'a TensorDesc,
    /// `[1, K, P]`: the scores.
    pub scores: &'a TensorDesc,
    /// `[1, K, P, C]`: the probability that a peak is that individual's.
    pub identities: &'a TensorDesc,
    /// `[1, K, P]`, of any type: 0 for an empty place. If there is no such output, a place of NaN is empty.
    pub valid: Option<&'a TensorDesc>,
}

/// Groups the peaks of [`IndividualOutputs`].
#[derive(Debug)]
pub struct IndividualReader {
    outputs: Vec<TensorDesc>,
    coordinates: Coordinates,
}

impl IndividualReader {
    /// Prepares for outputs of a network whose input is `input` (width, height) pixels, all but `valid` in float32 or float16.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs or `params`.
    pub fn new(
        outputs: &IndividualOutputs<'_>,
        input: [usize; 2],
        params: CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        let IndividualOutputs { points, scores, identities, valid } = *outputs;
        if !agrees(points, &[Some(1), None, None, Some(2)]) || points.dims[3].is_none() {
            return Err(KeypointsError::PeaksShape(points.to_string()));
        }
        let places = &points.dims[..3];
        let of_identities = [places, &[None]].concat();
        let others = [(scores, places), (identities, &of_identities)];
        belong(points, others.into_iter().chain(valid.map(|valid| (valid, places))))?;
        let numbers = [points, scores, identities];
        let coordinates = Coordinates::new(&numbers, input, params)?;
        Ok(Self { outputs: numbers.into_iter().chain(valid).cloned().collect(), coordinates })
    }

    /// The number of points, if the output's description has it.
    pub fn points(&self) -> Option<usize> {
        self.outputs.first()?.dims.get(1).copied().flatten()
    }
}

impl RowReader for IndividualReader {
    /// The individuals that are seen, in the network's order. A pose's score is the mean of its points', and its identity's
    /// probability likewise.
    type Found = Vec<Pose>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    /// Of each point, every individual gets one peak at most, and a peak whose likeliest individual gets another one belongs to
    /// nobody (`group_class_peaks` of sleap-nn's `inference/ops/identity.py`).
    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Pose>, Outcome), KeypointsError> {
        let rows = first_rows(&self.outputs, outputs)?;
        let [xy, scores, identities, valid @ ..] = &rows[..] else { return Ok(Default::default()) };
        let [_, points, places, _] = outputs[0].dims[..] else { return Ok(Default::default()) };
        let individuals = outputs[2].dims.last().copied().unwrap_or(0);
        let mut outcome = Outcome::default();
        let mut found: Vec<Vec<Option<(Keypoint, f32)>>> = vec![vec![None; points]; individuals];
        for point in 0..points {
            let (mut peaks, mut probabilities) = (Vec::new(), Vec::new());
            for at in point * places..(point + 1) * places {
                if is_empty(valid.first(), at) {
                    continue;
                }
                let (Some(place), Some(score), Some(of_peak)) = (
                    xy.get(2 * at..2 * at + 2),
                    scores.get(at),
                    identities.get(at * individuals..(at + 1) * individuals),
                ) else {
                    continue;
                };
                let (peak, non_finite) = self.coordinates.scored(place, *score, to_frame);
                outcome.non_finite += non_finite + of_peak.iter().filter(|value| !value.is_finite()).count();
                if let Some(peak) = peak {
                    peaks.push((peak, of_peak));
                    probabilities.extend(of_peak);
                }
            }
            for ((peak, of_peak), identity) in peaks.into_iter().zip(identify(&probabilities, individuals)) {
                let Some(Identity { index, probability }) = identity else { continue };
                let is_likeliest = of_peak.iter().all(|other| *other <= probability);
                if let Some(place) = found.get_mut(index).and_then(|points| points.get_mut(point))
                    && is_likeliest
                {
                    *place = Some((peak, probability));
                }
            }
        }
        let seen = found.into_iter().enumerate().filter(|(_, points)| points.iter().any(Option::is_some));
        let pose = |(index, points): (usize, Vec<Option<(Keypoint, f32)>>)| {
            let count = points.iter().flatten().count() as f32;
            let mean = |of: fn(&(Keypoint, f32)) -> f32| points.iter().flatten().map(of).sum::<f32>() / count;
            let identity = Some(Identity { index, probability: mean(|(_, probability)| *probability) });
            let score = mean(|(peak, _)| peak.score);
            Pose { score, identity, points: points.iter().map(|point| point.map(|(peak, _)| peak)).collect() }
        };
        let least = self.coordinates.params.min_score;
        Ok((seen.map(pose).filter(|pose| pose.score >= least).collect(), outcome))
    }
}
