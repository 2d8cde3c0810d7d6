//! From peaks to instances: which points belong to the same person or animal.
//!
//! A bottom-up pose network finds the points of all instances in the frame at once ([`crate::peaks`]); its further outputs
//! define which belong together. Three encodings are supported:
//!
//! - [`PafGrouper`] reads a vector field an edge of the skeleton, which points along the limb (part affinity fields). Every pair
//!   of peaks that an edge could join is scored by the field along the line between them, the pairs of an edge are assigned, and
//!   instances are assembled edge by edge.
//! - [`DisplacementGrouper`] reads an offset a point and a displacement an edge of a tree (PoseNet). Every peak is a root, from
//!   which the other points are reached by displacements; roots near an earlier instance are dropped.
//! - [`TagGrouper`] reads a tag for each cell of each map, a number that is about the same for all points of an instance
//!   (associative embedding: HigherHRNet).
//!
//! [`CudaPafGrouper`] and [`CudaDisplacementGrouper`] do the same on the GPU: peaks and pairs, or roots, in two launches
//! for all frames of a batch, with one wait. Tags are grouped on the host only.

mod displacements;
mod error;
mod paf;
mod tags;

pub use displacements::{
    CudaDisplacementGrouper, DisplacementGrouper, DisplacementOutputs, DisplacementParams, POSENET_TREE,
};
pub use error::GroupError;
pub(crate) use paf::ScoredPeaks;
pub use paf::{
    CudaPafGrouper, MOST_EDGES, MOST_PEAKS, MOST_POINTS, MOST_SAMPLES, PafConvention, PafGrouper, PafParams,
};
pub use tags::{COCO_ORDER, TagGrouper, TagOutputs, TagParams};

use crate::peaks::MapShape;

/// A point of an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keypoint {
    /// Across, in continuous frame pixels.
    pub x: f32,
    /// Down, likewise.
    pub y: f32,
    /// Its depth in frame pixels, where the network gives three coordinates; what is 0 is the network's.
    pub z: Option<f32>,
    /// The confidence map's activated value there.
    pub score: f32,
}

/// Which of the individuals that a network tells apart an object is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identity {
    /// The individual's number, from 0, in the network's order.
    pub index: usize,
    /// 0..1.
    pub probability: f32,
}

/// A person or an animal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pose {
    /// Its confidence; the functions that return poses define it.
    pub score: f32,
    /// Every point of the skeleton in its order; `None` where it was not found.
    pub points: Vec<Option<Keypoint>>,
    /// Who it is, where the network says it.
    pub identity: Option<Identity>,
}

impl Pose {
    /// How many points were found.
    pub fn found(&self) -> usize {
        self.points.iter().flatten().count()
    }
}

impl AsRef<Self> for Pose {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// Leaves the instances that have enough points and score, the best first.
fn select<T: AsRef<Pose>>(poses: &mut Vec<T>, min_points: usize, min_score: f32) {
    poses.retain(|each| each.as_ref().found() >= min_points && each.as_ref().score >= min_score);
    // Stable: equals stay in the order in which they were found.
    poses.sort_by(|a, b| b.as_ref().score.total_cmp(&a.as_ref().score));
}

/// One of the outputs beside the confidence maps, as values.
#[derive(Clone, Copy, Debug)]
struct Field<'a> {
    values: &'a [f32],
    width: usize,
    height: usize,
    strides: [usize; 3],
}

impl<'a> Field<'a> {
    fn new(values: &'a [f32], shape: &MapShape) -> Self {
        Self { values, width: shape.width, height: shape.height, strides: shape.strides() }
    }

    /// The value of a cell; NaN where there is no such cell.
    fn at(&self, channel: usize, x: usize, y: usize) -> f32 {
        let [by_channel, by_row, by_column] = self.strides;
        let value = self.values.get(channel * by_channel + y * by_row + x * by_column);
        value.copied().unwrap_or(f32::NAN)
    }
}

/// Elements from one frame, channel, row and column of an output to the next: `Strides` of `cuda/group.cu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Strides {
    frame: u64,
    channel: u32,
    row: u32,
    column: u32,
}
const _: () = assert!(size_of::<Strides>() == 24);

impl Strides {
    /// The strides of an output that [`crate::peaks`] accepts, so that 32 bits count its elements.
    fn of(shape: &MapShape) -> Self {
        let [channel, row, column] = shape.strides().map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Self { frame: (shape.channels * shape.height * shape.width) as u64, channel, row, column }
    }
}
