//! Peaks that a network has found itself, with the scores of the lines between them: only the assignment is left.

use super::coordinates::Coordinates;
use super::reader::first_rows;
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
use crate::group::{PafConvention, PafParams, Pose, ScoredPeaks};
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorView};

/// The outputs that hold the peaks of a frame, in P places for each of K points of which some may be empty, and the lines of E edges.
#[derive(Clone, Copy, Debug)]
pub struct CandidateOutputs<'a> {
    /// `[1, K, P, 2]`: the coordinates.
    pub points: &'a TensorDesc,
    /// `[1, K, P]`: the scores.
    pub scores: &'a TensorDesc,
    /// `[1, E, P*P]`: the score of the line from each peak of the edge's first point to each of its second, the first point's peaks
    /// row by row.
    pub lines: &'a TensorDesc,
    /// `[1, K, P]`, of any type: 0 for an empty place. If there is no such output, a place of NaN is empty.
    pub valid: Option<&'a TensorDesc>,
}

/// Groups the peaks of [`CandidateOutputs`].
#[derive(Debug)]
pub struct CandidateReader {
    outputs: Vec<TensorDesc>,
    coordinates: Coordinates,
    peaks: ScoredPeaks,
}

impl CandidateReader {
    /// Prepares for outputs of a network whose input is `input` (width, height) pixels, coordinates and scores in float32 or
    /// float16. They are assigned as [`PafConvention::Sleap`] does it; of `paf`, what says how fields are sampled is not used.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with the outputs, `params` or the skeleton.
    pub fn new(
        outputs: &CandidateOutputs<'_>,
        input: [usize; 2],
        params: CoordinateParams,
        paf: &PafParams,
    ) -> Result<Self, KeypointsError> {
        let CandidateOutputs { points, scores, lines, valid } = *outputs;
        let paf = &PafParams { convention: PafConvention::Sleap, ..paf.clone() };
        let peaks = ScoredPeaks::new(paf)?;
        let known = |of: &TensorDesc, dim: usize, wanted: usize| {
            of.dims.get(dim).is_some_and(|size| size.is_none_or(|size| size == wanted))
        };
        if !matches!(points.dims[..], [None | Some(1), _, _, Some(2)]) || !known(points, 1, paf.points) {
            return Err(KeypointsError::Candidates {
                what: "coordinates",
                output: points.to_string(),
                wanted: format!("1x{}xPx2", paf.points),
            });
        }
        let places = points.dims[2];
        for output in std::iter::once(scores).chain(valid) {
            let fits = output.dims.len() == 3
                && known(output, 1, paf.points)
                && places.is_none_or(|places| known(output, 2, places));
            if !fits {
                let (points, scores) = (points.to_string(), output.to_string());
                return Err(KeypointsError::Scores { points, scores });
            }
        }
        let fits = lines.dims.len() == 3
            && known(lines, 1, paf.edges.len())
            && places.is_none_or(|places| known(lines, 2, places * places));
        if !fits {
            return Err(KeypointsError::Candidates {
                what: "scores of lines",
                output: lines.to_string(),
                wanted: format!("1x{}xL with L = P*P", paf.edges.len()),
            });
        }
        let numbers = [points, scores, lines];
        let coordinates = Coordinates::new(&numbers, input, params)?;
        let outputs = numbers.into_iter().chain(valid).cloned().collect();
        Ok(Self { outputs, coordinates, peaks })
    }
}

impl RowReader for CandidateReader {
    /// The instances, the best first.
    type Found = Vec<Pose>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Pose>, Outcome), KeypointsError> {
        let Self { outputs: announced, coordinates, peaks } = self;
        let rows = first_rows(announced, outputs)?;
        let [points, scores, lines, valid @ ..] = &rows[..] else { return Ok(Default::default()) };
        let places = outputs[0].dims[2];
        let mut outcome = Outcome::default();
        peaks.clear();
        for (at, (xy, score)) in points.chunks_exact(2).zip(scores.iter()).enumerate() {
            if valid.first().is_some_and(|valid| valid.get(at).is_none_or(|valid| *valid == 0.0)) {
                continue;
            }
            let (found, non_finite) = coordinates.scored(xy, *score, to_frame);
            outcome.non_finite += non_finite;
            if let Some(found) = found {
                peaks.push(at / places.max(1), at % places.max(1), found);
            }
        }
        let line = |edge: usize, from: usize, to: usize| {
            lines.get((edge * places + from) * places + to).copied().unwrap_or(f32::NAN)
        };
        let (poses, non_finite) = peaks.group(line);
        outcome.non_finite += non_finite;
        Ok((poses, outcome))
    }
}
