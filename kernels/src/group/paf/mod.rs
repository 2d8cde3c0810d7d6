//! Part affinity fields: Cao et al., "Realtime Multi-Person 2D Pose Estimation using Part Affinity Fields", CVPR 2017.
//!
//! A field has two channels an edge, x and y of a vector that points from the edge's first point to its second where
//! there is such a limb. The score of a pair of peaks is the mean of the field's projection on the line between
//! them, at evenly spaced samples ([`lines`]). There are several conventions for the rest ([`PafConvention`]).

mod assemble;
mod cuda;
mod deeplabcut;
mod lines;
mod params;
mod parts;
mod plan;
mod scored;
#[cfg(test)]
mod tests;

pub use cuda::CudaPafGrouper;
pub use params::{MOST_EDGES, MOST_PEAKS, MOST_POINTS, MOST_SAMPLES, PafConvention, PafParams};

pub(crate) use scored::ScoredPeaks;

use super::{Field, GroupError, Pose};
use crate::geometry::Affine;
use crate::peaks::{Announced, Outcome, PeakFinder, PeakParams};
use crate::tensor::{TensorDesc, TensorView};
use lines::{End, LimbLine};
use parts::Parts;
use plan::PafPlan;

/// Parameters of the search in confidence maps: for the skeleton's points alone.
fn of_points(peaks: PeakParams, paf: &PafParams) -> PeakParams {
    PeakParams { channels: Some(paf.points), top_k: peaks.top_k.min(MOST_PEAKS), ..peaks }
}

/// Groups the peaks of confidence maps by part affinity fields. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct PafGrouper {
    finder: PeakFinder,
    fields: Announced,
    plan: PafPlan,
    parts: Parts,
    ends: Vec<End>,
    lines: Vec<LimbLine>,
}

impl PafGrouper {
    /// Prepares for the outputs `maps` and `fields`, which may be the same, of a network whose input is `input` (width,
    /// height) pixels. Layout and grid of `peaks` are those of both.
    ///
    /// # Errors
    /// Every [`GroupError`] that says what is wrong with them; outputs with open dimensions are checked when they arrive.
    pub fn new(
        maps: &TensorDesc,
        fields: &TensorDesc,
        input: [usize; 2],
        peaks: PeakParams,
        paf: &PafParams,
    ) -> Result<Self, GroupError> {
        let plan = PafPlan::of_fields(paf, maps.name == fields.name)?;
        let peaks = of_points(peaks, paf);
        let finder = PeakFinder::new(maps, input, peaks)?;
        let fields = Announced::new(fields, input, peaks).map_err(PafPlan::unreadable)?;
        plan.check(&finder.announced, &fields)?;
        Ok(Self { finder, fields, plan, parts: Parts::default(), ends: Vec::new(), lines: Vec::new() })
    }

    /// Replaces `poses` by the instances of a frame, the best first, equals in the order in which they were found. `to_frame`
    /// leads from the input tensor's pixels to the frame's. The outcome also counts samples of the fields that are not
    /// finite; they count as 0.
    ///
    /// # Errors
    /// As [`crate::peaks::PeakFinder::run`] for either output, and for open dimensions those of [`PafGrouper::new`].
    pub fn run(
        &mut self,
        maps: &TensorView<'_>,
        fields: &TensorView<'_>,
        to_frame: &Affine,
        poses: &mut Vec<Pose>,
    ) -> Result<Outcome, GroupError> {
        let Self { finder, fields: announced, plan, parts, ends, lines } = self;
        poses.clear();
        parts.found.clear();
        let shape = announced.read(fields.name, fields.ty, &fields.dims).map_err(PafPlan::unreadable)?;
        let (mut outcome, of_maps) =
            finder.find(maps, None, to_frame, |peak, place| parts.found.push((peak, place)))?;
        let first = plan.first_channel(maps.name, &of_maps, fields.name, &shape)?;
        let shape = announced.beside(shape, &of_maps);
        parts.index(plan.params.points);
        let values = fields.to_f32();
        let field = Field::new(&values, &shape);
        let scale = lines::Scale::new(&plan.params, &shape);
        ends.clear();
        ends.extend(parts.found.iter().map(|(_, place)| End::new(place, &shape)));
        outcome.non_finite += assemble::assemble(plan, parts, poses, |edge, matrix| {
            let [from, to] = plan.params.edges[edge];
            let of = |channel: usize| &ends[parts.starts[channel]..parts.starts[channel + 1]];
            let channel = plan.channel(edge, first);
            lines.clear();
            for a in of(from) {
                lines.extend(of(to).iter().map(|b| lines::score(&field, channel, [a, b], &scale, plan)));
            }
            matrix.extend_from_slice(lines);
        });
        Ok(outcome)
    }
}
