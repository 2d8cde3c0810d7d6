//! Peaks that a network has found itself, with the scores of the lines between them: only the assignment is left.

use super::coordinates::Coordinates;
use super::reader::{agrees, belong, first_rows, is_empty};
use super::{CoordinateParams, KeypointsError, RowReader};
use crate::geometry::Affine;
#[cfg(doc)]
use crate::group::PafConvention;
use crate::group::{PafParams, Pose, ScoredPeaks};
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
    /// float16. They are joined by [`PafConvention::Sleap`] or [`PafConvention::DeepLabCut`]; of `paf`, what says how fields are sampled
    /// is not used.
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
        let peaks = ScoredPeaks::new(paf)?;
        // One frame's, also where the batch is open.
        let wanted = [Some(1), Some(paf.points), None, Some(2)];
        if !agrees(points, &wanted) || points.dims[3].is_none() {
            return Err(KeypointsError::Candidates {
                what: "coordinates",
                output: points.to_string(),
                wanted: format!("1x{}xPx2", paf.points),
            });
        }
        let places = points.dims[2];
        let of_places = &[None, Some(paf.points), places][..];
        belong(points, std::iter::once(scores).chain(valid).map(|output| (output, of_places)))?;
        let of_edge = places.map(|places| places.saturating_mul(places));
        if !agrees(lines, &[None, Some(paf.edges.len()), of_edge]) {
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
            if is_empty(valid.first(), at) {
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
