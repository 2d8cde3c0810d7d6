//! Tags: associative embedding (Newell et al., "Associative Embedding: End-to-End Learning for Joint Detection and Grouping",
//! NeurIPS 2017, section 3.3), as HigherHRNet (Cheng et al., CVPR 2020) does it.
//!
//! 1. The maps of both sizes are averaged on the finer cells, on which tags are interpolated, too ([`interpolate`]).
//! 2. A peak is a cell that none of the 5x5 around it exceeds, of equals the first.
//! 3. Point after point, peaks are paired with the instances that there are, and a peak without a partner whose tag is near begins
//!    one ([`assemble`]). An instance's score is the mean of its points' scores, where those that were not found count as 0.
//! 4. A point that was not found is the cell of its map where the score is the greatest after the tag's distance, in whole numbers,
//!    has been taken off ([`TagParams::fill_missing`]).
//!
//! HigherHRNet looks for peaks in maps that have been enlarged to the picture's size, and averages those of the mirrored picture;
//! here they lie on the finer cells, refined by [`PeakParams::refinement`]. Where there are as many instances as may be, it begins
//! further ones, but no point joins them; here there are none.

mod assemble;
mod fill;
mod frame;
mod interpolate;
mod params;
mod plan;
#[cfg(test)]
mod tests;

pub use params::{COCO_ORDER, TagOutputs, TagParams};

use super::{GroupError, Keypoint, Pose, select};
use crate::geometry::Affine;
use crate::peaks::{Outcome, PeakFinder, PeakParams};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};
use assemble::{TaggedPeak, assemble};
use fill::Averaged;
use frame::Frame;
use plan::TagPlan;

/// How far from a peak no cell is greater.
const RADIUS: usize = 2;

/// Groups points by tags. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct TagGrouper {
    outputs: Vec<TensorDesc>,
    roles: TagOutputs<()>,
    plan: TagPlan,
    /// Finds the peaks of the averaged maps.
    finder: PeakFinder,
    averaged: Vec<f32>,
}

impl TagGrouper {
    /// Prepares for the outputs of a network whose input is `input` (width, height) pixels. `peaks` defines a peak; its mode is
    /// ignored.
    ///
    /// # Errors
    /// Every [`GroupError`] that says what is wrong with them; outputs with open dimensions are checked when they arrive.
    pub fn new(
        outputs: TagOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: PeakParams,
        params: &TagParams,
    ) -> Result<Self, GroupError> {
        let plan = TagPlan::new(outputs, input, peaks, params)?;
        let averaged = TensorDesc {
            name: "averaged maps".into(),
            ty: TensorType::Float32,
            dims: vec![Some(1), None, None, None],
        };
        // How many are kept is decided after the neighbourhood is known.
        let peaks = PeakParams { layout: Some(Layout::Nchw), top_k: usize::MAX, ..plan.peaks };
        let finder = PeakFinder::new(&averaged, input, peaks)?;
        let (roles, outputs) = (outputs.roles(), outputs.list().into_iter().cloned().collect());
        Ok(Self { outputs, roles, plan, finder, averaged: Vec::new() })
    }

    /// The outputs that it reads, in the order in which [`TagGrouper::run`] takes them: that of [`TagOutputs`].
    pub fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    /// The values in which the peaks of a frame are looked for.
    ///
    /// # Errors
    /// As [`TagGrouper::run`].
    pub fn maps(&mut self, outputs: &[TensorView<'_>]) -> Result<&[f32], GroupError> {
        self.read(outputs)?.average(&mut self.averaged);
        Ok(&self.averaged)
    }

    /// The instances of a frame, the best first, equals in the order in which they began. `to_frame` leads from the input tensor's
    /// pixels to the frame's. The outcome also counts peaks whose tags are not finite; they are left out.
    ///
    /// # Errors
    /// As [`PeakFinder::run`] for each output, and for open dimensions those of [`TagGrouper::new`].
    pub fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Pose>, Outcome), GroupError> {
        let frame = self.read(outputs)?;
        let Self { plan, finder, averaged, .. } = self;
        frame.average(averaged);
        let mut peaks: Vec<Vec<(Keypoint, usize)>> = vec![Vec::new(); frame.points];
        let [width, height] = frame.size;
        let dims = [1, frame.points, height, width];
        let (mut outcome, shape) = finder.find_in(averaged, &dims, to_frame, |peak, place| {
            let at = Keypoint { x: peak.x, y: peak.y, z: None, score: peak.score };
            let of_point = usize::try_from(peak.channel).ok().and_then(|point| peaks.get_mut(point));
            of_point.into_iter().for_each(|peaks| peaks.push((at, place.cell)));
        })?;
        let tags = frame.tags();
        let maps = averaged.chunks_exact(width * height);
        let tagged = peaks.iter_mut().zip(maps).enumerate().map(|(point, (peaks, map))| {
            peaks.retain(|(_, cell)| is_highest(map, width, *cell));
            outcome.truncated += peaks.len().saturating_sub(plan.peaks.top_k);
            peaks.truncate(plan.peaks.top_k);
            let tagged = peaks.iter().map(|(at, cell)| TaggedPeak { at: *at, tag: tags.at(point, *cell) });
            let (finite, others): (Vec<_>, Vec<_>) = tagged.partition(|peak| peak.tag.is_finite());
            outcome.non_finite += others.len();
            finite
        });
        let tagged: Vec<_> = tagged.collect();
        let (mut poses, limited) = assemble(&tagged, &plan.order(frame.points), &plan.params);
        outcome.limited = limited;
        select(&mut poses, plan.params.min_points, plan.params.min_score);
        if plan.params.fill_missing {
            let averaged = Averaged { values: averaged, shape, finder, peaks: &plan.peaks };
            averaged.fill(&frame, &plan.params, to_frame, &mut poses);
        }
        Ok((poses.into_iter().map(|each| each.pose).collect(), outcome))
    }

    fn read<'a>(&self, outputs: &[TensorView<'a>]) -> Result<Frame<'a>, GroupError> {
        let wanted = self.outputs.len();
        let count = || GroupError::Count { got: outputs.len(), wanted };
        let views = self.roles.of(outputs).ok_or_else(count)?;
        Ok(Frame::new(&views, self.plan.read(&views)?))
    }
}

/// Whether no cell around this one is greater, and none of those before it as great.
fn is_highest(map: &[f32], width: usize, cell: usize) -> bool {
    let (x, y) = (cell % width, cell / width);
    let rows = y.saturating_sub(RADIUS)..(y + RADIUS + 1).min(map.len() / width);
    let columns = x.saturating_sub(RADIUS)..(x + RADIUS + 1).min(width);
    rows.flat_map(|row| columns.clone().map(move |column| row * width + column)).all(|other| {
        let [here, there] = [map[cell], map[other]];
        !(there.is_finite() && (there > here || (there == here && other < cell)))
    })
}
