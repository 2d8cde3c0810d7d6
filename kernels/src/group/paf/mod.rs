//! Part affinity fields: Cao et al., "Realtime Multi-Person 2D Pose Estimation using Part Affinity Fields", CVPR 2017.
//!
//! A field has two channels an edge, x and y of a vector that points from the edge's first point to its second where
//! there is such a limb. The score of a pair of peaks is the mean of the field's projection on the line between
//! them, at evenly spaced samples ([`lines`]). Two conventions of what follows are known ([`PafConvention`]).

mod assemble;
mod cuda;
mod lines;
mod plan;
#[cfg(test)]
mod tests;

pub use cuda::CudaPafGrouper;

use super::{Field, GroupError, Pose};
use crate::geometry::Affine;
use crate::peaks::{Announced, Outcome, Params, Peak, PeakFinder, Place};
use crate::tensor::{TensorDesc, TensorView};
use lines::{End, Line};
use plan::Plan;

/// Peaks of a channel that are looked at, the strongest: the least of this and [`Params::top_k`].
pub const MOST_PEAKS: usize = 256;
/// Points of a skeleton.
pub const MOST_POINTS: usize = 128;
/// Edges of a skeleton.
pub const MOST_EDGES: usize = 128;
/// Samples of a line.
pub const MOST_SAMPLES: usize = 32;

/// Whose networks' fields they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PafConvention {
    /// SLEAP's (Pereira et al., Nature Methods 2022, as sleap-nn does it): a sample is the field's nearest cell, pairs of an
    /// edge are assigned so that the sum of their scores is the largest, and those below
    /// [`PafParams::min_line_score`] are then dropped. Instances grow from the skeleton's root along a tree of its
    /// edges; edges that this tree does not reach are not used. The score of an instance is the sum of its lines'.
    Sleap,
    /// OpenPose's (Cao et al. 2017): a sample is interpolated between four cells, pairs of an edge are taken greedily, the
    /// best first, if enough of their samples are high, and pairs that have a point in common become one person. An edge
    /// that closes a circle of earlier ones begins no person. The score of a person is the mean over its points of the
    /// scores of points and lines.
    OpenPose,
}

/// How peaks are grouped by part affinity fields.
#[derive(Clone, Debug, PartialEq)]
pub struct PafParams {
    /// Whose fields they are.
    pub convention: PafConvention,
    /// How many points the skeleton has: the first so many channels of the confidence maps. One channel more is the
    /// background.
    pub points: usize,
    /// The skeleton's edges as numbers of points, from the field's tail to its tip.
    pub edges: Vec<[usize; 2]>,
    /// The channel that holds each edge's x; its y is the next. `None`: the fields' channels in the order of the edges, or the
    /// last ones where one tensor holds maps and fields.
    pub channels: Option<Vec<usize>>,
    /// Samples a line, ends included.
    pub samples: usize,
    /// How long a line may be without a penalty: a share of the input's longer side (SLEAP) or of its height (OpenPose).
    pub max_length: f32,
    /// How much of the penalty counts, which is `max_length / length - 1` for a longer line, from 0 down to -1.
    pub length_weight: f32,
    /// The least score of a line (OpenPose: more than this).
    pub min_line_score: f32,
    /// OpenPose: a sample is high above this.
    pub min_sample: f32,
    /// OpenPose: more than this share of a line's samples are high.
    pub min_share: f32,
    /// The least points of an instance.
    pub min_points: usize,
    /// The least score of an instance.
    pub min_score: f32,
}

impl PafParams {
    /// The published values.
    pub fn new(convention: PafConvention, points: usize, edges: &[[usize; 2]]) -> Self {
        let sleap = convention == PafConvention::Sleap;
        Self {
            convention,
            points,
            edges: edges.to_vec(),
            channels: None,
            samples: 10,
            max_length: if sleap { 0.25 } else { 0.5 },
            length_weight: 1.0,
            min_line_score: if sleap { 0.25 } else { 0.0 },
            min_sample: 0.05,
            min_share: 0.8,
            min_points: if sleap { 0 } else { 4 },
            min_score: if sleap { 0.0 } else { 0.4 },
        }
    }
}

/// The peaks of a frame, by channel, the strongest first.
#[derive(Debug, Default)]
struct Parts {
    found: Vec<(Peak, Place)>,
    /// Where each channel's begin, and where the last one's end.
    starts: Vec<usize>,
}

impl Parts {
    /// To be called when all are in `found`, by ascending channel.
    fn index(&mut self, points: usize) {
        let found = &self.found;
        let start = |channel| found.partition_point(|(peak, _)| (peak.channel as usize) < channel);
        self.starts.clear();
        self.starts.extend((0..=points).map(start));
    }

    fn of(&self, channel: usize) -> &[(Peak, Place)] {
        let bounds = self.starts.get(channel).zip(self.starts.get(channel + 1));
        bounds.and_then(|(start, end)| self.found.get(*start..*end)).unwrap_or_default()
    }
}

/// What confidence maps are searched for: the skeleton's points alone.
fn of_points(peaks: Params, paf: &PafParams) -> Params {
    Params { channels: Some(paf.points), top_k: peaks.top_k.min(MOST_PEAKS), ..peaks }
}

/// Groups the peaks of confidence maps by part affinity fields. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct PafGrouper {
    finder: PeakFinder,
    fields: Announced,
    plan: Plan,
    parts: Parts,
    ends: Vec<End>,
    lines: Vec<Line>,
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
        peaks: Params,
        paf: &PafParams,
    ) -> Result<Self, GroupError> {
        let plan = Plan::new(paf, maps.name == fields.name)?;
        let peaks = of_points(peaks, paf);
        let finder = PeakFinder::new(maps, input, peaks)?;
        let fields = Announced::new(fields, input, peaks).map_err(Plan::unreadable)?;
        plan.check(&finder.announced, &fields)?;
        Ok(Self { finder, fields, plan, parts: Parts::default(), ends: Vec::new(), lines: Vec::new() })
    }

    /// Replaces `poses` by the instances of a frame, the best first, equals in the order in which they were found. `to_frame`
    /// leads from the input tensor's pixels to the frame's. The outcome counts the fields' samples that are not finite, too:
    /// they count as 0.
    ///
    /// # Errors
    /// As [`crate::peaks::PeakFinder::run`] for either output, and what [`PafGrouper::new`] would have said.
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
        let shape = announced.read(fields.name, fields.ty, &fields.dims).map_err(Plan::unreadable)?;
        let (mut outcome, of_maps) =
            finder.find(maps, to_frame, |peak, place| parts.found.push((peak, place)))?;
        let first = plan.first_channel(maps.name, &of_maps, fields.name, &shape)?;
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
