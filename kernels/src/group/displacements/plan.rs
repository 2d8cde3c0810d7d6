//! Parameters, checked against the outputs.

use super::params::{DisplacementOutputs, DisplacementParams, MOST_PARTS};
use crate::group::GroupError;
use crate::peaks::{Announced, MapShape, Mode, PeakParams, Refinement};
use crate::tensor::TensorDesc;

/// The checked parameters, and the outputs beside the maps as they were announced.
#[derive(Debug)]
pub(super) struct DisplacementPlan {
    pub(super) params: DisplacementParams,
    pub(super) peaks: PeakParams,
    pub(super) further: [Announced; 3],
}

impl DisplacementPlan {
    pub(super) fn new(
        outputs: &DisplacementOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: PeakParams,
        params: &DisplacementParams,
    ) -> Result<Self, GroupError> {
        if params.tree.is_empty() {
            return Err(GroupError::NoEdges);
        }
        // A root is the cell itself: the offsets refine it.
        let peaks = PeakParams { mode: Mode::Local, refinement: Refinement::None, ..peaks };
        let [a, b, c] = outputs.further().map(|(what, desc)| {
            Announced::new(desc, input, peaks).map_err(|error| GroupError::Output(what, error))
        });
        Ok(Self { params: params.clone(), peaks, further: [a?, b?, c?] })
    }

    /// Whether the outputs, as they were announced or have arrived, fit each other and the tree.
    pub(super) fn check(&self, maps: &MapShape, further: [&MapShape; 3]) -> Result<(), GroupError> {
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
                let cells = |shape: &MapShape| format!("{}x{}", shape.width, shape.height);
                return Err(GroupError::Grid { what, got: cells(shape), wanted: cells(maps) });
            }
        }
        let mut reached = vec![false; points];
        for (i, [parent, child]) in tree.iter().enumerate() {
            if parent == child || *parent >= points || *child >= points {
                let last = points.saturating_sub(1);
                return Err(GroupError::Edge { from: *parent, to: *child, last });
            }
            // Every edge must add a new point to one that has been reached.
            let hangs = i == 0 || reached[*parent];
            reached[*parent] = true;
            if !hangs || std::mem::replace(&mut reached[*child], true) {
                return Err(GroupError::Tree(points));
            }
        }
        if reached.contains(&false) { Err(GroupError::Tree(points)) } else { Ok(()) }
    }

    pub(super) fn check_announced(&self, maps: &Announced) -> Result<(), GroupError> {
        let [a, b, c] = &self.further;
        match (&maps.shape, &a.shape, &b.shape, &c.shape) {
            (Some(maps), Some(a), Some(b), Some(c)) => self.check(maps, [a, b, c]),
            _ => Ok(()),
        }
    }
}
