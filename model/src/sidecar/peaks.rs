//! How keypoints are read.

use cudainfer_kernels::detect::AxisOrder;
use cudainfer_kernels::group::PafConvention;
use cudainfer_kernels::keypoints::{PixelOrigin, PointFormat, PoseActivation};
use cudainfer_kernels::peaks;
use cudainfer_kernels::preproc::Layout;
use serde::{Deserialize, Serialize};

use crate::{Encoding, Grouping, word};

/// `[peaks]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peaks {
    /// `maps`, `simcc`, `points`, `instances`, `poses`, `candidates`, `cells` or `lanes`.
    #[serde(with = "word")]
    pub encoding: Option<Encoding>,
    /// The output that holds the confidence maps, or the coordinates.
    pub output: Option<String>,
    /// The output of SimCC that holds the scores along x.
    pub simcc_x: Option<String>,
    /// The output of SimCC that holds the scores along y.
    pub simcc_y: Option<String>,
    /// The output that holds the scores of the points.
    pub scores: Option<String>,
    /// The output that holds the scores of the poses.
    pub pose_scores: Option<String>,
    /// What makes them probabilities: `none`, `sigmoid` or `softmax`.
    #[serde(with = "word")]
    pub pose_activation: Option<PoseActivation>,
    /// The output that says which places hold something.
    pub valid: Option<String>,
    /// The output that holds the scores of the lines between peaks.
    pub line_scores: Option<String>,
    /// The output that holds how much an object, or a peak, looks like each of the individuals that the network tells apart.
    pub identity_scores: Option<String>,
    /// The names of these individuals, in the network's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub individuals: Vec<String>,
    /// The numbers of each point: `xy`, `xy-score`, `xyz`, `xyz-score`, `xy-then-scores` or `xyz-visibility-presence`.
    #[serde(with = "word")]
    pub point_format: Option<PointFormat>,
    /// The coordinates of the input's first and last edge.
    pub coordinate_range: Option<[f32; 2]>,
    /// Pixels of the input for each unit of the coordinates.
    pub coordinate_scale: Option<f32>,
    /// Where coordinates begin: `corner` or `center` of the first pixel.
    #[serde(with = "word")]
    pub pixel_origin: Option<PixelOrigin>,
    /// Whether coordinates are in 0..1 of the input instead of its pixels.
    pub normalized: Option<bool>,
    /// Which coordinate comes first: `xy` or `yx`.
    #[serde(with = "word")]
    pub axis_order: Option<AxisOrder>,
    /// `global` or `local`.
    #[serde(with = "word")]
    pub mode: Option<peaks::Mode>,
    /// `none`, `quadratic`, `integral`, `shift`, `dark`, `dark-udp` or `offsets`.
    #[serde(with = "word")]
    pub refinement: Option<peaks::Refinement>,
    /// Width in cells of the Gaussian of `dark` and `dark-udp`.
    pub blur_kernel: Option<usize>,
    /// Its standard deviation in cells.
    pub blur_sigma: Option<f32>,
    /// The values beyond the map's edge.
    #[serde(with = "word")]
    pub blur_border: Option<peaks::Border>,
    /// `none` or `sigmoid`.
    #[serde(with = "word")]
    pub activation: Option<peaks::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// Position of the maps' cells on the input.
    #[serde(with = "word")]
    pub grid: Option<peaks::Grid>,
    /// Pixels of the input from cell to cell, where the maps cover more than the input.
    pub stride: Option<f32>,
    /// Minimum value of a peak.
    pub threshold: Option<f32>,
    /// `frame`, `each`, `paf`, `displacements` or `tags`.
    #[serde(with = "word")]
    pub grouping: Option<Grouping>,
    /// Label of an instance.
    pub label: Option<String>,
    /// The output that holds the part affinity fields.
    pub pafs: Option<String>,
    /// `sleap`, `openpose` or `deeplabcut`.
    #[serde(with = "word")]
    pub paf_layout: Option<PafConvention>,
    /// Channel of each edge's x.
    pub paf_channels: Option<Vec<usize>>,
    /// Number of samples on a line.
    pub samples: Option<usize>,
    /// Maximum length of a line without a penalty, as a fraction of the input.
    pub max_length: Option<f32>,
    /// Weight of that penalty.
    pub length_weight: Option<f32>,
    /// Minimum score of a line.
    pub min_line_score: Option<f32>,
    /// Value above which a sample is high.
    pub min_sample: Option<f32>,
    /// Fraction of a line's samples that must be high.
    pub min_share: Option<f32>,
    /// The output that holds the offsets of cells: PoseNet's, or those of the refinement `offsets`.
    pub offsets: Option<String>,
    /// Pixels of the input for each unit of the refinement's offsets.
    pub offset_scale: Option<f32>,
    /// The output that holds the displacements from parent to child.
    pub forward: Option<String>,
    /// The output that holds those from child to parent.
    pub backward: Option<String>,
    /// The output that holds the tags.
    pub tags: Option<String>,
    /// The output that holds maps with more cells.
    pub fine_maps: Option<String>,
    /// By how much a point's tag differs from its instance's at most.
    pub tag_distance: Option<f32>,
    /// The order in which points are grouped by tags.
    pub point_order: Option<Vec<usize>>,
    /// Whether points that no peak gave are looked for in the whole map.
    pub fill_missing: Option<bool>,
    /// Where a network finds lanes on rows, as fractions of the picture's height.
    pub lane_rows: Option<Vec<f32>>,
    /// Where it finds them on columns, as fractions of the picture's width.
    pub lane_columns: Option<Vec<f32>>,
    /// The part of the picture, its lower one, that its input shows.
    pub lane_crop: Option<f32>,
    /// Radius in tensor pixels around a point of an instance, or a point of interest, in which another one is a duplicate; for lanes
    /// their mean distance.
    pub nms_radius: Option<f32>,
    /// Pixels at each edge of the input in which there are no points of interest.
    pub border: Option<usize>,
    /// Maximum number of instances in a frame.
    pub max_poses: Option<usize>,
    /// Minimum score of a point.
    pub min_point_score: Option<f32>,
    /// Minimum number of points of an instance.
    pub min_points: Option<usize>,
    /// Minimum score of an instance.
    pub min_score: Option<f32>,
}
