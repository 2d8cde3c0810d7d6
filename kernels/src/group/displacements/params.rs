//! Parameters of grouping by offsets and displacements, and the outputs that hold them.

/// Points of a skeleton.
pub(super) const MOST_PARTS: usize = 64;

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
    /// Radius in tensor pixels around an instance's point in which the same point of another instance is suppressed.
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

/// A value for each of the network's four outputs. Each field gives the number of channels, which come before or after height
/// and width, for `P` points and a tree of `E` edges.
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
    pub(super) fn further(&self) -> [(&'static str, &T); 3] {
        [
            ("offsets", &self.offsets),
            ("forward displacements", &self.forward),
            ("backward displacements", &self.backward),
        ]
    }
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
