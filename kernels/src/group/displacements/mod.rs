//! Offsets and displacements: PoseNet (Papandreou et al., "PersonLab", ECCV 2018, sections 3.1 to 3.3, as TensorFlow.js's
//! `decodeMultiplePoses` does it).
//!
//! Every peak of every map is a root, the strongest first. The others of an instance's points are reached from it along
//! a tree: by the displacement that the network gives at the cell nearest to the point reached last, then twice by the
//! offset of the cell nearest to there ([`decode`]). A root that lies near the same point of an instance found
//! earlier is dropped. An instance's score is the mean of its points' scores, where those near the same point of an
//! earlier instance count as 0.

mod cuda;
mod decode;
mod suppress;
#[cfg(test)]
mod tests;

pub use cuda::CudaDisplacementGrouper;

use super::{Field, GroupError, Pose};
use crate::geometry::Affine;
use crate::peaks::{Announced, Mode, Outcome, Params, PeakFinder, Refinement, Shape};
use crate::tensor::{TensorDesc, TensorView};
use decode::Outputs;
use suppress::Root;

/// Points of a skeleton.
const MOST_PARTS: usize = 64;

/// The tree of PoseNet over COCO's 17 points: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles, left before
/// right.
pub const POSENET_TREE: [[usize; 2]; 16] = [
    [0, 1],
    [1, 3],
    [0, 2],
    [2, 4],
    [0, 5],
    [5, 7],
    [7, 9],
    [5, 11],
    [11, 13],
    [13, 15],
    [0, 6],
    [6, 8],
    [8, 10],
    [6, 12],
    [12, 14],
    [14, 16],
];

/// How roots become instances.
#[derive(Clone, Debug, PartialEq)]
pub struct DisplacementParams {
    /// The tree as pairs of points, parent and child, in the order of the displacements' channels.
    pub tree: Vec<[usize; 2]>,
    /// Tensor pixels around an instance's point in which another one's counts as the same.
    pub nms_radius: f32,
    /// How many instances a frame has at most.
    pub max_poses: usize,
    /// Points below this score are left out of an instance, after its score has been taken.
    pub min_point_score: f32,
    /// The least points of an instance.
    pub min_points: usize,
    /// The least score of an instance.
    pub min_score: f32,
}

impl Default for DisplacementParams {
    /// The published values, for PoseNet.
    fn default() -> Self {
        Self {
            tree: POSENET_TREE.to_vec(),
            nms_radius: 20.0,
            max_poses: 5,
            min_point_score: 0.0,
            min_points: 0,
            min_score: 0.0,
        }
    }
}

/// One thing for each of the network's four outputs. Of `P` points and a tree of `E` edges they have, before or behind
/// height and width, so many channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplacementOutputs<T> {
    /// `P`: the confidence maps.
    pub maps: T,
    /// `2P`: how far a point is from the cell, in tensor pixels; all y, then all x.
    pub offsets: T,
    /// `2E`: from parent to child, likewise.
    pub forward: T,
    /// `2E`: from child to parent, likewise.
    pub backward: T,
}

impl<T> DisplacementOutputs<T> {
    fn further(&self) -> [(&'static str, &T); 3] {
        [
            ("offsets", &self.offsets),
            ("forward displacements", &self.forward),
            ("backward displacements", &self.backward),
        ]
    }
}

/// The checked parameters, and the outputs beside the maps as they were announced.
#[derive(Debug)]
struct Plan {
    params: DisplacementParams,
    peaks: Params,
    further: [Announced; 3],
}

impl Plan {
    fn new(
        outputs: &DisplacementOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: Params,
        params: &DisplacementParams,
    ) -> Result<Self, GroupError> {
        if params.tree.is_empty() {
            return Err(GroupError::NoEdges);
        }
        // A root is the cell itself: the offsets refine it.
        let peaks = Params { mode: Mode::Local, refinement: Refinement::None, ..peaks };
        let [a, b, c] = outputs.further().map(|(what, desc)| {
            Announced::new(desc, input, peaks).map_err(|error| GroupError::Output(what, error))
        });
        Ok(Self { params: params.clone(), peaks, further: [a?, b?, c?] })
    }

    /// Whether the outputs, as they were announced or have arrived, fit each other and the tree.
    fn check(&self, maps: &Shape, further: [&Shape; 3]) -> Result<(), GroupError> {
        let (points, tree) = (maps.channels, &self.params.tree);
        if points > MOST_PARTS {
            return Err(GroupError::TooLarge(points, tree.len()));
        }
        let counts = [(points, "points"), (tree.len(), "edges"), (tree.len(), "edges")];
        let names = ["offsets", "forward displacements", "backward displacements"];
        for (((shape, (count, per)), what), announced) in
            further.into_iter().zip(counts).zip(names).zip(&self.further)
        {
            if shape.channels != 2 * count {
                return Err(GroupError::Channels {
                    what,
                    output: announced.map.to_string(),
                    got: shape.channels,
                    wanted: 2 * count,
                    count,
                    per,
                });
            }
            if (shape.width, shape.height) != (maps.width, maps.height) {
                let cells = |shape: &Shape| format!("{}x{}", shape.width, shape.height);
                return Err(GroupError::Grid { what, got: cells(shape), wanted: cells(maps) });
            }
        }
        let mut reached = vec![false; points];
        for (i, [parent, child]) in tree.iter().enumerate() {
            if parent == child || *parent >= points || *child >= points {
                let last = points.saturating_sub(1);
                return Err(GroupError::Edge { from: *parent, to: *child, last });
            }
            // Every edge hangs a new point on one that is there.
            let hangs = i == 0 || reached[*parent];
            reached[*parent] = true;
            if !hangs || std::mem::replace(&mut reached[*child], true) {
                return Err(GroupError::Tree(points));
            }
        }
        if reached.contains(&false) { Err(GroupError::Tree(points)) } else { Ok(()) }
    }

    fn check_announced(&self, maps: &Announced) -> Result<(), GroupError> {
        let [a, b, c] = &self.further;
        match (&maps.shape, &a.shape, &b.shape, &c.shape) {
            (Some(maps), Some(a), Some(b), Some(c)) => self.check(maps, [a, b, c]),
            _ => Ok(()),
        }
    }
}

/// Groups points by offsets and displacements. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct DisplacementGrouper {
    finder: PeakFinder,
    plan: Plan,
    roots: Vec<Root>,
}

impl DisplacementGrouper {
    /// Prepares for the outputs of a network whose input is `input` (width, height) pixels. `peaks` says what a root is;
    /// mode and refinement are not looked at.
    ///
    /// # Errors
    /// Every [`GroupError`] that says what is wrong with them; outputs with open dimensions are checked when they arrive.
    pub fn new(
        outputs: &DisplacementOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: Params,
        params: &DisplacementParams,
    ) -> Result<Self, GroupError> {
        let plan = Plan::new(outputs, input, peaks, params)?;
        let finder = PeakFinder::new(outputs.maps, input, plan.peaks)?;
        plan.check_announced(&finder.announced)?;
        Ok(Self { finder, plan, roots: Vec::new() })
    }

    /// Replaces `poses` by the instances of a frame, the best first, equals in the order of their roots. `to_frame` leads
    /// from the input tensor's pixels to the frame's. The outcome counts what was read of the further outputs and is not
    /// finite, too: it counts as 0.
    ///
    /// # Errors
    /// As [`crate::peaks::PeakFinder::run`] for each output, and what [`DisplacementGrouper::new`] would have said.
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
        let (mut outcome, shape) = finder.find(&outputs.maps, to_frame, |peak, place| {
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
        let frame = suppress::Frame { plan, points: shape.channels, to_frame };
        outcome.non_finite += frame.suppress(roots, poses, |root, parts| {
            decode::walk(&outputs, &plan.params.tree, root, parts);
        });
        Ok(outcome)
    }
}
