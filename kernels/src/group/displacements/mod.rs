//! Offsets and displacements: PoseNet (Papandreou et al., "PersonLab", ECCV 2018, sections 3.1 to 3.3, as TensorFlow.js's
//! `decodeMultiplePoses` does it).
//!
//! Every peak of every map is a root, the strongest first. The instance's other points are reached from it along a tree: by
//! the displacement that the network gives at the cell nearest to the previous point, then twice by the offset of the nearest
//! cell ([`decode`]). A root that lies near the same point of an earlier instance is dropped. An instance's score is the mean
//! of its points' scores, where those near the same point of an earlier instance count as 0.

mod cuda;
mod decode;
mod params;
mod plan;
mod suppress;
#[cfg(test)]
mod tests;

pub use cuda::CudaDisplacementGrouper;
pub use params::{DisplacementOutputs, DisplacementParams, POSENET_TREE};

use super::{Field, GroupError, Pose};
use crate::geometry::Affine;
use crate::peaks::{Outcome, PeakFinder, PeakParams};
use crate::tensor::{TensorDesc, TensorView};
use decode::{Outputs, Root};
use plan::DisplacementPlan;

/// Groups points by offsets and displacements. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct DisplacementGrouper {
    finder: PeakFinder,
    plan: DisplacementPlan,
    roots: Vec<Root>,
}

impl DisplacementGrouper {
    /// Prepares for the outputs of a network whose input is `input` (width, height) pixels. `peaks` defines a root; its
    /// mode and refinement are ignored.
    ///
    /// # Errors
    /// Every [`GroupError`] that says what is wrong with them; outputs with open dimensions are checked when they arrive.
    pub fn new(
        outputs: &DisplacementOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: PeakParams,
        params: &DisplacementParams,
    ) -> Result<Self, GroupError> {
        let plan = DisplacementPlan::new(outputs, input, peaks, params)?;
        let finder = PeakFinder::new(outputs.maps, input, plan.peaks)?;
        plan.check_announced(&finder.announced)?;
        Ok(Self { finder, plan, roots: Vec::new() })
    }

    /// Replaces `poses` by the instances of a frame, the best first, equals in the order of their roots. `to_frame` leads
    /// from the input tensor's pixels to the frame's. The outcome also counts values of the further outputs that are not
    /// finite; they count as 0.
    ///
    /// # Errors
    /// As [`crate::peaks::PeakFinder::run`] for each output, and for open dimensions those of [`DisplacementGrouper::new`].
    pub fn run(
        &mut self,
        outputs: &DisplacementOutputs<TensorView<'_>>,
        to_frame: &Affine,
        poses: &mut Vec<Pose>,
    ) -> Result<Outcome, GroupError> {
        let Self { finder, plan, roots } = self;
        poses.clear();
        roots.clear();
        let [a, b, c] = outputs.further().map(|(what, _)| what);
        let read = |i: usize, what, view: &TensorView<'_>| {
            let shape = plan.further[i].read(view.name, view.ty, &view.dims);
            shape.map_err(|error| GroupError::Output(what, error))
        };
        let further =
            [read(0, a, &outputs.offsets)?, read(1, b, &outputs.forward)?, read(2, c, &outputs.backward)?];
        let (mut outcome, shape) = finder.find(&outputs.maps, None, to_frame, |peak, place| {
            roots.push(Root {
                channel: peak.channel as usize,
                cell: place.cell,
                value: place.value,
                record: 0,
            });
        })?;
        plan.check(&shape, [&further[0], &further[1], &further[2]])?;
        let values =
            [&outputs.maps, &outputs.offsets, &outputs.forward, &outputs.backward].map(TensorView::to_f32);
        let [maps, offsets, forward, backward] = &values;
        let outputs = Outputs {
            maps: Field::new(maps, &shape),
            offsets: Field::new(offsets, &further[0]),
            forward: Field::new(forward, &further[1]),
            backward: Field::new(backward, &further[2]),
            shape,
        };
        let suppression = suppress::Suppression { plan, points: shape.channels, to_frame };
        let walk = |root: &Root, parts: &mut Vec<_>| decode::walk(&outputs, &plan.params.tree, root, parts);
        suppression.suppress(roots, poses, walk, &mut outcome);
        Ok(outcome)
    }
}
