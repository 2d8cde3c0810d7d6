//! What can be wrong with outputs and skeletons.

use super::{MOST_EDGES, MOST_POINTS, MOST_SAMPLES};
use crate::device::DeviceError;
use crate::peaks::PeaksError;
use crate::tensor::TensorType;

/// Outputs or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// The confidence maps.
    #[error(transparent)]
    Peaks(#[from] PeaksError),
    /// Another of the outputs.
    #[error("the {0} cannot be read: {1}")]
    Output(&'static str, PeaksError),
    /// The confidence maps are not one a point.
    #[error(
        "confidence map '{map}' has {got} channels, but the skeleton's {points} points want {wanted}: choose the output \
         with the maps, or name as many points as it has channels"
    )]
    Maps {
        /// The maps.
        map: String,
        /// How many channels they have.
        got: usize,
        /// How many points there are.
        points: usize,
        /// How many channels would do.
        wanted: String,
    },
    /// Fields, offsets or displacements that are not two a point or an edge.
    #[error(
        "the {what} '{output}' have {got} channels, but {wanted} are wanted, an x and a y for each of {count} {per}: \
         choose another output, or correct the skeleton"
    )]
    Channels {
        /// Which output.
        what: &'static str,
        /// Its description.
        output: String,
        /// How many channels it has.
        got: usize,
        /// How many it should have.
        wanted: usize,
        /// How many points or edges there are.
        count: usize,
        /// "points" or "edges".
        per: &'static str,
    },
    /// Maps without a tag for each.
    #[error(
        "confidence map '{map}' has {got} channels, but {wanted} are wanted. Set output, tags and fine-maps in the sidecar's [peaks] to \
         the outputs that have them, or correct the skeleton"
    )]
    TaggedMaps {
        /// The maps, or maps and tags.
        map: String,
        /// How many channels they have.
        got: usize,
        /// How many there should be, and of what.
        wanted: String,
    },
    /// Tags or finer maps that are not one a point.
    #[error(
        "the {what} '{output}' have {got} channels, but there are {points} confidence maps. Set tags and fine-maps in the sidecar's \
         [peaks] to the outputs that belong to the maps"
    )]
    ChannelOfPoint {
        /// Which output.
        what: &'static str,
        /// Its description.
        output: String,
        /// How many channels it has.
        got: usize,
        /// How many points there are.
        points: usize,
    },
    /// An order that does not name each point once.
    #[error(
        "the point-order does not have each of the {0} points once, by their numbers from 0 on. Correct it in the sidecar's [peaks], or \
         leave it out"
    )]
    PointOrder(usize),
    /// A distance that no two tags can have, or all.
    #[error("a tag-distance of {0} groups nothing. Set it in the sidecar's [peaks] to a number above 0")]
    TagDistance(String),
    /// There is nothing to group by.
    #[error(
        "the skeleton has no edges, but points are grouped along edges. Write edges into the sidecar's [skeleton]"
    )]
    NoEdges,
    /// An edge between points that do not exist or are the same.
    #[error(
        "the skeleton's edge {from}-{to} does not join two of its points, which are numbered from 0 to {last}. Correct edges in \
         the sidecar's [skeleton]"
    )]
    Edge {
        /// Its first end.
        from: usize,
        /// Its second end.
        to: usize,
        /// The last point's number.
        last: usize,
    },
    /// A list of channels that does not fit.
    #[error(
        "{got} PAF channels are given for {edges} edges. Set paf-channels in the sidecar's [peaks] to the number of the x channel \
         of each edge"
    )]
    PafChannels {
        /// How many were given.
        got: usize,
        /// How many edges there are.
        edges: usize,
    },
    /// Fields whose lines are not scored here.
    #[error(
        "paf-layout=deeplabcut joins points by lines that the network has scored (encoding=candidates), but part affinity fields are \
         given. Export the network with scripts/export deeplabcut, or set paf-layout to sleap or openpose"
    )]
    Unscored,
    /// Scores of lines without their samples.
    #[error(
        "paf-layout=openpose counts samples of part affinity fields, but the network has scored the lines itself \
         (encoding=candidates). Set paf-layout to sleap or deeplabcut"
    )]
    NoSamples,
    /// Edges from which instances cannot be assembled.
    #[error(
        "the skeleton's edges form a circle. Direct them away from one root, as the model was trained, in the sidecar's \
         [skeleton]"
    )]
    Circle,
    /// Edges that are not a tree.
    #[error(
        "the skeleton's edges are not a tree over its {0} points, but displacements lead along a tree. Write the tree that the \
         model was trained with into the sidecar's [skeleton]"
    )]
    Tree(usize),
    /// More than the kernels can count.
    #[error(
        "a skeleton of {0} points and {1} edges is too large: it may have {MOST_POINTS} points and {MOST_EDGES} edges. Correct the \
         sidecar's [skeleton]"
    )]
    TooLarge(usize, usize),
    /// An unusable number.
    #[error(
        "{0} samples a line cannot be taken. Set samples in the sidecar's [peaks] to 1 to {MOST_SAMPLES}"
    )]
    Samples(usize),
    /// Outputs that do not lie on the same grid.
    #[error(
        "the {what} have {got} cells, but the confidence maps {wanted}: choose the outputs that belong together"
    )]
    Grid {
        /// Which output.
        what: &'static str,
        /// Its width and height.
        got: String,
        /// The maps' width and height.
        wanted: String,
    },
    /// Another number of outputs than those that were announced.
    #[error("{got} outputs arrived where {wanted} were announced; hand over each of them")]
    Count {
        /// How many came.
        got: usize,
        /// How many were announced.
        wanted: usize,
    },
    /// Outputs of several types.
    #[error(
        "the {what} '{got}' are not {wanted} as the confidence maps: convert one of them, or compute on the CPU"
    )]
    Types {
        /// Which output.
        what: &'static str,
        /// Its description.
        got: String,
        /// The maps' type.
        wanted: TensorType,
    },
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
