//! Where what is known about a model comes from.

use std::collections::BTreeMap;
use std::fmt;

use super::sidecar::{Output, Peaks, Sidecar};
use super::{Skeleton, TensorIds};

/// Where statements about a model are written; the first of these that has any about a group of keys counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OriginKind {
    /// A property of an element.
    Property,
    /// The sidecar.
    Sidecar,
    /// The metadata in the model's file.
    Metadata,
    /// A file beside the model, by whoever made the model.
    FileBeside,
    /// The names of modules in the model's graph.
    Graph,
    /// Nowhere: it is what the shapes suggest, or the default.
    #[default]
    Assumed,
}

/// Where a statement is written, and the program that wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Where it is written.
    pub kind: OriginKind,
    /// The program that wrote it; empty for the user.
    pub maker: String,
}

impl Origin {
    /// The user's own words, or an assumption.
    pub fn of(kind: OriginKind) -> Self {
        Self { kind, maker: String::new() }
    }

    /// Whether it is from the model's maker, not the user.
    pub fn is_declared(&self) -> bool {
        matches!(self.kind, OriginKind::Metadata | OriginKind::FileBeside | OriginKind::Graph)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            OriginKind::Property => write!(f, "a property"),
            OriginKind::Sidecar => write!(f, "the sidecar"),
            OriginKind::Metadata => write!(f, "the file's metadata ({})", self.maker),
            OriginKind::FileBeside => write!(f, "a file beside it ({})", self.maker),
            OriginKind::Graph => write!(f, "the modules in its graph ({})", self.maker),
            OriginKind::Assumed => write!(f, "an assumption"),
        }
    }
}

/// Keys of the sidecar that belong together: the source of one of them counts for all, because they mean little without each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Width and height of the input.
    Size,
    /// The order of its channels.
    Channels,
    /// Scale, mean and std.
    Normalization,
    /// How the frame fills the input.
    Resize,
    /// How pixels are sampled.
    Interpolation,
    /// The bars of a letterbox.
    Padding,
    /// How objects are cut out.
    Regions,
    /// Decoder, format of boxes and scores, suppression.
    Decoding,
    /// Names of the classes.
    Labels,
    /// The number of keypoints, their names and edges.
    Keypoints,
    /// How points are found in confidence maps.
    Peaks,
    /// Which outputs hold coordinates of points, and how they are read and grouped.
    Coordinates,
    /// Which points and poses are good enough.
    Thresholds,
    /// How a classifier's scores are read.
    Classes,
    /// How logits become masks.
    Masks,
    /// Which values of maps and pictures become which samples.
    Maps,
    /// The names of the outputs for GStreamer's own elements.
    Tensors,
}

impl Group {
    /// All of them, in the order of the sidecar.
    pub const ALL: [Self; 17] = [
        Self::Size,
        Self::Channels,
        Self::Normalization,
        Self::Resize,
        Self::Interpolation,
        Self::Padding,
        Self::Regions,
        Self::Decoding,
        Self::Labels,
        Self::Keypoints,
        Self::Peaks,
        Self::Coordinates,
        Self::Thresholds,
        Self::Classes,
        Self::Masks,
        Self::Maps,
        Self::Tensors,
    ];

    /// Those of the image input.
    pub const INPUT: [Self; 7] = [
        Self::Size,
        Self::Channels,
        Self::Normalization,
        Self::Resize,
        Self::Interpolation,
        Self::Padding,
        Self::Regions,
    ];

    /// Whether any of its keys is there.
    pub fn is_set(self, words: &Sidecar) -> bool {
        let Sidecar { input, output, peaks, skeleton, classify, segment, map, tensors, .. } = words;
        match self {
            Self::Size => input.width.is_some() || input.height.is_some() || input.size_multiple.is_some(),
            Self::Channels => input.channels.is_some(),
            Self::Normalization => input.scale.is_some() || input.mean.is_some() || input.std.is_some(),
            Self::Resize => input.resize.is_some() || input.crop_ratio.is_some(),
            Self::Interpolation => input.interpolation.is_some(),
            Self::Padding => input.padding.is_some(),
            Self::Regions => {
                input.roi_padding.is_some()
                    || input.roi_size.is_some()
                    || input.roi_crop.is_some()
                    || input.roi_from.is_some()
                    || input.align.is_some()
            }
            Self::Decoding => {
                let Output { decoder, nms, strides, box_format, normalized, .. } = output;
                let Output { activation, background, size_unit, axis_order, row_format, multi_label, .. } =
                    output;
                let Output { map_threshold, unclip_ratio, clip_before_nms, .. } = output;
                decoder.is_some()
                    || nms.is_some()
                    || strides.is_some()
                    || box_format.is_some()
                    || normalized.is_some()
                    || activation.is_some()
                    || background.is_some()
                    || size_unit.is_some()
                    || axis_order.is_some()
                    || row_format.is_some()
                    || multi_label.is_some()
                    || clip_before_nms.is_some()
                    || map_threshold.is_some()
                    || unclip_ratio.is_some()
            }
            Self::Labels => !output.labels.is_empty() || output.labels_file.is_some(),
            Self::Keypoints => output.keypoints.is_some() || *skeleton != Skeleton::default(),
            Self::Peaks => {
                let Peaks { mode, refinement, blur_kernel, blur_sigma, blur_border, .. } = peaks;
                mode.is_some()
                    || refinement.is_some()
                    || blur_kernel.is_some()
                    || blur_sigma.is_some()
                    || blur_border.is_some()
                    || peaks.activation.is_some()
                    || peaks.grid.is_some()
                    || peaks.stride.is_some()
                    || peaks.offset_scale.is_some()
            }
            Self::Coordinates => {
                let Peaks {
                    output, scores, pose_scores, valid, line_scores, identity_scores, offsets, ..
                } = peaks;
                let names = [output, scores, pose_scores, valid, line_scores, identity_scores, offsets];
                names.into_iter().any(Option::is_some)
                    || !peaks.individuals.is_empty()
                    || peaks.encoding.is_some()
                    || peaks.normalized.is_some()
                    || peaks.axis_order.is_some()
                    || peaks.coordinate_scale.is_some()
                    || peaks.coordinate_range.is_some()
                    || peaks.point_format.is_some()
                    || peaks.pose_activation.is_some()
                    || peaks.pixel_origin.is_some()
                    || peaks.grouping.is_some()
                    || peaks.label.is_some()
            }
            Self::Thresholds => peaks.threshold.is_some() || peaks.min_score.is_some(),
            Self::Tensors => *tensors != TensorIds::default(),
            Self::Classes => classify.activation.is_some() || classify.mode.is_some(),
            Self::Masks => {
                segment.mode.is_some() || segment.activation.is_some() || segment.background.is_some()
            }
            Self::Maps => {
                let ends = map.range_min.is_some() || map.range_max.is_some();
                map.range.is_some() || ends || map.mean.is_some() || map.std.is_some()
            }
        }
    }

    /// Copies its keys, whether they are there or not.
    pub fn copy(self, from: &Sidecar, into: &mut Sidecar) {
        let (input, output) = (&mut into.input, &mut into.output);
        match self {
            Self::Size => {
                (input.width, input.height) = (from.input.width, from.input.height);
                input.size_multiple = from.input.size_multiple;
                input.bars_modulo = from.input.bars_modulo;
            }
            Self::Channels => input.channels = from.input.channels,
            Self::Normalization => {
                input.scale = from.input.scale;
                input.mean.clone_from(&from.input.mean);
                input.std.clone_from(&from.input.std);
            }
            Self::Resize => {
                (input.resize, input.crop_ratio) = (from.input.resize, from.input.crop_ratio);
            }
            Self::Interpolation => input.interpolation = from.input.interpolation,
            Self::Padding => input.padding = from.input.padding,
            Self::Regions => {
                (input.roi_padding, input.roi_size) = (from.input.roi_padding, from.input.roi_size);
                (input.roi_crop, input.roi_from) = (from.input.roi_crop, from.input.roi_from);
                (input.align, input.align_points) =
                    (from.input.align.clone(), from.input.align_points.clone());
            }
            Self::Decoding => {
                output.decoder = from.output.decoder;
                output.nms = from.output.nms;
                output.strides.clone_from(&from.output.strides);
                output.box_format = from.output.box_format;
                output.normalized = from.output.normalized;
                output.activation = from.output.activation;
                output.background = from.output.background;
                output.size_unit = from.output.size_unit;
                output.axis_order = from.output.axis_order;
                output.row_format = from.output.row_format;
                output.multi_label = from.output.multi_label;
                output.clip_before_nms = from.output.clip_before_nms;
                output.map_threshold = from.output.map_threshold;
                output.unclip_ratio = from.output.unclip_ratio;
            }
            Self::Labels => {
                output.labels.clone_from(&from.output.labels);
                output.labels_file.clone_from(&from.output.labels_file);
            }
            Self::Keypoints => {
                output.keypoints = from.output.keypoints;
                into.skeleton.clone_from(&from.skeleton);
            }
            Self::Peaks => {
                let peaks = &from.peaks;
                (into.peaks.mode, into.peaks.refinement) = (peaks.mode, peaks.refinement);
                into.peaks.blur_kernel = peaks.blur_kernel;
                (into.peaks.blur_sigma, into.peaks.blur_border) = (peaks.blur_sigma, peaks.blur_border);
                (into.peaks.activation, into.peaks.grid) = (peaks.activation, peaks.grid);
                (into.peaks.stride, into.peaks.offset_scale) = (peaks.stride, peaks.offset_scale);
            }
            Self::Coordinates => {
                let (into, from) = (&mut into.peaks, &from.peaks);
                into.output.clone_from(&from.output);
                into.scores.clone_from(&from.scores);
                into.pose_scores.clone_from(&from.pose_scores);
                into.valid.clone_from(&from.valid);
                into.line_scores.clone_from(&from.line_scores);
                into.identity_scores.clone_from(&from.identity_scores);
                into.individuals.clone_from(&from.individuals);
                into.offsets.clone_from(&from.offsets);
                (into.encoding, into.grouping) = (from.encoding, from.grouping);
                (into.normalized, into.axis_order) = (from.normalized, from.axis_order);
                (into.coordinate_scale, into.pixel_origin) = (from.coordinate_scale, from.pixel_origin);
                (into.coordinate_range, into.point_format) = (from.coordinate_range, from.point_format);
                into.pose_activation = from.pose_activation;
                into.label.clone_from(&from.label);
            }
            Self::Thresholds => {
                (into.peaks.threshold, into.peaks.min_score) = (from.peaks.threshold, from.peaks.min_score);
            }
            Self::Tensors => into.tensors.clone_from(&from.tensors),
            Self::Classes => {
                into.classify.activation = from.classify.activation;
                into.classify.mode = from.classify.mode;
            }
            Self::Masks => {
                into.segment.mode = from.segment.mode;
                into.segment.activation = from.segment.activation;
                into.segment.background = from.segment.background;
            }
            Self::Maps => {
                into.map.range = from.map.range;
                (into.map.range_min, into.map.range_max) = (from.map.range_min, from.map.range_max);
                into.map.mean.clone_from(&from.map.mean);
                into.map.std.clone_from(&from.map.std);
            }
        }
    }
}

/// The origin of each group; groups that no source states are not there.
pub type Origins = BTreeMap<Group, Origin>;
