//! Parameters of grouping by part affinity fields, and their limits.

/// Peaks of a channel that are used, the strongest: the least of this and [`crate::peaks::PeakParams::top_k`].
pub const MOST_PEAKS: usize = 256;

/// The most points of a skeleton.
pub const MOST_POINTS: usize = 128;

/// The most edges of a skeleton.
pub const MOST_EDGES: usize = 128;

/// The most samples of a line.
pub const MOST_SAMPLES: usize = 32;

/// The program whose networks' fields these are.
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
    /// DeepLabCut's (Lauer et al., Nature Methods 2022, as the Assembler of DeepLabCut 3 does it), for peaks whose lines the
    /// network has scored itself. The [`PafParams::max_poses`] strongest peaks of an edge's points are assigned as SLEAP's are.
    /// All edges are used, whatever circles they form: first where links connect a complete animal and nothing else, then from
    /// the strongest link on. The score of an animal is the mean of its links', of which it has two at least.
    DeepLabCut,
}

crate::words! { PafConvention:
    Sleap = "sleap", "SLEAP: separate fields, optimal assignment of each edge";
    OpenPose = "openpose", "OpenPose: with background map, greedy assignment";
    DeepLabCut = "deeplabcut", "DeepLabCut: lines that the network has scored (encoding=candidates), along all edges";
}

/// How peaks are grouped by part affinity fields.
#[derive(Clone, Debug, PartialEq)]
pub struct PafParams {
    /// Whose fields they are.
    pub convention: PafConvention,
    /// How many points the skeleton has. They are the first channels of the confidence maps; one channel more is the
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
    /// DeepLabCut: the most instances of a frame, and the most peaks of a point.
    pub max_poses: usize,
    /// The least points of an instance.
    pub min_points: usize,
    /// The least score of an instance.
    pub min_score: f32,
}

impl PafParams {
    /// The published values.
    pub fn new(convention: PafConvention, points: usize, edges: &[[usize; 2]]) -> Self {
        let openpose = convention == PafConvention::OpenPose;
        let min_line_score = match convention {
            PafConvention::Sleap => 0.25,
            PafConvention::OpenPose => 0.0,
            PafConvention::DeepLabCut => 0.05,
        };
        Self {
            convention,
            points,
            edges: edges.to_vec(),
            channels: None,
            samples: 10,
            max_length: if openpose { 0.5 } else { 0.25 },
            length_weight: 1.0,
            min_line_score,
            min_sample: 0.05,
            min_share: 0.8,
            max_poses: usize::MAX,
            min_points: if openpose { 4 } else { 0 },
            min_score: if openpose { 0.4 } else { 0.0 },
        }
    }
}
