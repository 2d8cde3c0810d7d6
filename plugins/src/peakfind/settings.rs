//! peakfind's properties, and the search's parameters that follow from them, the sidecar and the defaults; grouping.rs has
//! the parameters of the grouping.

use std::sync::LazyLock;

use cudainfer_kernels::detect::AxisOrder;
use cudainfer_kernels::group::{DisplacementParams, MOST_PEAKS, PafConvention, PafParams, TagParams};
use cudainfer_kernels::keypoints::{CellParams, CoordinateParams, LaneAnchors, LaneParams, SimccParams};
use cudainfer_kernels::peaks::{Activation, Grid, Mode, PeakParams, Refinement};
use cudainfer_kernels::preproc::Layout;
use gst::prelude::*;

use crate::meta::analytics::{self, Metadata};
use crate::model::{Encoding, Grouping, ModelInfo};
use crate::property::{Table, property};
use crate::stats;

/// The convention of part affinity fields, unless the property or the sidecar has another one.
const CONVENTION: PafConvention = PafConvention::Sleap;

/// The least score of the object of `encoding = "points"`, as MediaPipe has it.
const PRESENT: f32 = 0.5;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub encoding: Option<Encoding>,
    pub output: String,
    mode: Option<Mode>,
    refinement: Option<Refinement>,
    activation: Option<Activation>,
    layout: Option<Layout>,
    grid: Option<Grid>,
    threshold: Option<f32>,
    max_peaks: Option<u32>,
    pub grouping: Option<Grouping>,
    pafs: String,
    paf_layout: Option<PafConvention>,
    pub min_line_score: Option<f32>,
    min_points: Option<u32>,
    pub min_score: Option<f32>,
    pub metadata: Metadata,
}

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    let (defaults, tags, cells) = (PeakParams::default(), TagParams::peaks(), CellParams::default());
    let [sleap, openpose, deeplabcut] =
        [PafConvention::Sleap, PafConvention::OpenPose, PafConvention::DeepLabCut].map(published);
    Table::new([
        property!(Settings, encoding, (), "Encoding", "What the model's outputs hold"),
        property!(
            Settings,
            output,
            (),
            "Output",
            "Name of the model output with the confidence maps, or with the coordinates. If not set: the sidecar's, else the \
             only output",
        ),
        property!(Settings, mode, (), "Mode", "Number of peaks for each channel"),
        property!(Settings, refinement, (), "Refinement", "How the position of a peak between cells is found"),
        property!(Settings, activation, (), "Activation", "What turns the maps into probabilities"),
        property!(
            Settings,
            layout,
            (),
            "Layout",
            "Order of the maps' dimensions; auto takes the sidecar's, else decides by their shape",
        ),
        property!(Settings, grid, (), "Grid", "Position of the maps' cells on the network's input"),
        property!(
            Settings,
            threshold?,
            -1e6..=1e6,
            defaults.threshold,
            "Threshold",
            format!(
                "Minimum value of a peak, after the activation. If not set: the sidecar's, else {}, or {} with grouping=tags and \
                 {} with encoding=cells",
                defaults.threshold, tags.threshold, cells.threshold
            ),
        )
        .shown(|settings| settings.shown_peaks().0.to_value()),
        property!(
            Settings,
            max_peaks?,
            1..=100_000,
            count(defaults.top_k),
            "Maximum peaks",
            format!(
                "Maximum number of peaks for each channel with mode=local, the highest first; {MOST_PEAKS} at most with \
                 grouping=paf. If not set: {}, or {} with grouping=tags and {} with encoding=cells",
                defaults.top_k, tags.top_k, cells.top_k
            ),
        )
        .shown(|settings| count(settings.shown_peaks().1).to_value()),
        property!(Settings, grouping, (), "Grouping", "How keypoints are grouped into objects"),
        property!(
            Settings,
            pafs,
            (),
            "Part affinity fields",
            "With grouping=paf: name of the model output with the part affinity fields. If not set: the sidecar's, else the \
             other output, or the only one",
        ),
        property!(
            Settings,
            paf_layout,
            (),
            "Convention of part affinity fields",
            "With grouping=paf and encoding=candidates: whose networks they are, which decides how points are joined",
        ),
        property!(
            Settings,
            min_line_score?,
            -1e6..=1e6,
            published(CONVENTION).min_line_score,
            "Minimum line score",
            format!(
                "With grouping=paf: minimum score of the line between two points that are joined. If not set: the \
                 sidecar's, else {} (sleap), {} (openpose) or {} (deeplabcut)",
                sleap.min_line_score, openpose.min_line_score, deeplabcut.min_line_score
            ),
        )
        .shown(|settings| settings.fields().min_line_score.to_value()),
        property!(
            Settings,
            min_points?,
            0..=100_000,
            count(published(CONVENTION).min_points),
            "Minimum points",
            format!(
                "With grouping=paf, displacements and tags: minimum number of points of an object. If not set: the sidecar's, \
                 else {}, or {} with paf-layout=openpose",
                sleap.min_points, openpose.min_points
            ),
        )
        .shown(|settings| count(settings.least().0).to_value()),
        property!(
            Settings,
            min_score?,
            -1e6..=1e6,
            published(CONVENTION).min_score,
            "Minimum score",
            format!(
                "With grouping=paf, displacements and tags, and encoding=instances, poses, points and lanes: minimum score of an object. If \
                 not set: the sidecar's, else {}, or {} with paf-layout=openpose, {} with encoding=instances, {PRESENT} with \
                 encoding=points and {} for CLRNet's lanes",
                sleap.min_score,
                openpose.min_score,
                CoordinateParams::default().min_score,
                LaneParams::LINES
            ),
        )
        .shown(|settings| settings.least().1.to_value()),
        property!(Settings, metadata, (), "Metadata", analytics::BLURB),
    ])
    .with([stats::param_spec(
        "; peaks, instances (objects made by grouping=paf, displacements and tags, and encoding=instances and lanes), non-finite (cells with NaN or infinity), \
         truncated (cut by max-peaks), limited (frames with as many \
         instances as max-poses allows, where others were left out)",
    )])
});

/// What counts as a peak where points are grouped so.
fn peaks(grouping: Option<Grouping>) -> PeakParams {
    if grouping == Some(Grouping::Tags) { TagParams::peaks() } else { PeakParams::default() }
}

/// The published values for fields of this convention, of any skeleton.
fn published(convention: PafConvention) -> PafParams {
    PafParams::new(convention, 0, &[])
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Settings {
    /// Whether neither the property nor the sidecar states what the outputs hold.
    pub fn is_encoding_open(&self, info: &ModelInfo) -> bool {
        self.encoding.or(info.peaks.encoding).is_none()
    }

    /// The kernel's parameters.
    pub fn params(&self, info: &ModelInfo) -> PeakParams {
        let defaults = peaks(self.grouping.or(info.peaks.grouping));
        let peaks = &info.peaks;
        PeakParams {
            mode: self.mode.or(peaks.mode).unwrap_or(defaults.mode),
            refinement: self.refinement.or(peaks.refinement).unwrap_or(defaults.refinement),
            activation: self.activation.or(peaks.activation).unwrap_or(defaults.activation),
            layout: self.layout.or(peaks.layout),
            grid: self.grid(info),
            stride: peaks.stride,
            blur: peaks.blur_kernel.unwrap_or(defaults.blur),
            sigma: peaks.blur_sigma.or(defaults.sigma),
            border: peaks.blur_border.unwrap_or(defaults.border),
            offset_scale: peaks.offset_scale.unwrap_or(defaults.offset_scale),
            threshold: self.threshold.or(peaks.threshold).unwrap_or(defaults.threshold),
            top_k: self.max_peaks.and_then(|n| usize::try_from(n).ok()).unwrap_or(defaults.top_k),
            channels: None,
        }
    }

    fn grid(&self, info: &ModelInfo) -> Option<Grid> {
        self.grid.or(info.peaks.grid)
    }

    /// The kernel's parameters for SimCC.
    pub fn simcc(&self, info: &ModelInfo) -> SimccParams {
        let PeakParams { threshold, activation, .. } = self.params(info);
        let grid = self.grid(info).unwrap_or(SimccParams::default().grid);
        SimccParams { threshold, activation, grid }
    }

    /// The kernel's parameters for points of interest.
    pub fn cells(&self, info: &ModelInfo) -> CellParams {
        let (peaks, defaults) = (&info.peaks, CellParams::default());
        CellParams {
            threshold: self.threshold.or(peaks.threshold).unwrap_or(defaults.threshold),
            nms_radius: peaks.nms_radius.unwrap_or(defaults.nms_radius),
            border: peaks.border.unwrap_or(defaults.border),
            top_k: self.max_peaks.and_then(|n| usize::try_from(n).ok()).unwrap_or(defaults.top_k),
            layout: self.layout.or(peaks.layout),
        }
    }

    /// The kernel's parameters for lanes.
    pub fn lanes(&self, info: &ModelInfo) -> LaneParams {
        let (peaks, defaults) = (&info.peaks, LaneParams::default());
        LaneParams {
            anchors: LaneAnchors {
                rows: peaks.lane_rows.clone(),
                columns: peaks.lane_columns.clone(),
                crop: peaks.lane_crop,
            },
            min_score: self.min_score.or(peaks.min_score),
            nms_distance: peaks.nms_radius.unwrap_or(defaults.nms_distance),
            max_lanes: peaks.max_poses.unwrap_or(defaults.max_lanes),
        }
    }

    /// The kernel's parameters for coordinates, which begin with `order` unless the sidecar says otherwise.
    pub fn coordinates(&self, info: &ModelInfo, order: AxisOrder) -> CoordinateParams {
        let PeakParams { threshold, activation, .. } = self.params(info);
        let (peaks, defaults) = (&info.peaks, CoordinateParams::default());
        CoordinateParams {
            threshold,
            activation,
            pose_activation: peaks.pose_activation.unwrap_or(defaults.pose_activation),
            format: peaks.point_format,
            points: [&info.skeleton.points, &info.output.labels].into_iter().map(Vec::len).find(|n| *n > 0),
            range: match (peaks.coordinate_range, peaks.normalized) {
                (Some(range), _) => Some(range),
                (None, Some(false)) => None,
                (None, _) => defaults.range,
            },
            scale: peaks.coordinate_scale.unwrap_or(defaults.scale),
            origin: peaks.pixel_origin.unwrap_or(defaults.origin),
            order: peaks.axis_order.unwrap_or(order),
            min_score: self.min_score.or(peaks.min_score).unwrap_or(defaults.min_score),
        }
    }

    /// The same for one object, which is there if an output of its score, if there is one, says that it is likely.
    pub fn of_one(&self, info: &ModelInfo, order: AxisOrder) -> CoordinateParams {
        self.with_min_score(PRESENT, self.coordinates(info, order), info)
    }

    /// The same for poses, which all are kept unless something says otherwise.
    pub fn scored(&self, info: &ModelInfo) -> CoordinateParams {
        self.with_min_score(0.0, self.coordinates(info, AxisOrder::Xy), info)
    }

    fn with_min_score(&self, default: f32, params: CoordinateParams, info: &ModelInfo) -> CoordinateParams {
        CoordinateParams { min_score: self.min_score.or(info.peaks.min_score).unwrap_or(default), ..params }
    }

    /// The property, if it is set.
    pub fn pafs(&self) -> Option<&str> {
        Some(self.pafs.as_str()).filter(|name| !name.is_empty())
    }

    /// The convention of part affinity fields.
    pub fn convention(&self, info: &ModelInfo) -> PafConvention {
        self.paf_layout.or(info.peaks.paf_layout).unwrap_or(CONVENTION)
    }

    /// The values for part affinity fields that apply where neither the properties nor the sidecar have others.
    fn fields(&self) -> PafParams {
        published(self.paf_layout.unwrap_or(CONVENTION))
    }

    /// The threshold and the number of peaks that apply likewise.
    fn shown_peaks(&self) -> (f32, usize) {
        if self.encoding == Some(Encoding::Cells) {
            let CellParams { threshold, top_k, .. } = CellParams::default();
            return (threshold, top_k);
        }
        let PeakParams { threshold, top_k, .. } = peaks(self.grouping);
        (threshold, top_k)
    }

    /// The number of points and the score of an object that apply likewise.
    fn least(&self) -> (usize, f32) {
        match self.encoding {
            Some(Encoding::Instances) => return (0, CoordinateParams::default().min_score),
            Some(Encoding::Points) => return (0, PRESENT),
            _ => {}
        }
        match self.grouping {
            Some(Grouping::Displacements) => {
                let defaults = DisplacementParams::default();
                return (defaults.min_points, defaults.min_score);
            }
            Some(Grouping::Tags) => {
                let defaults = TagParams::default();
                return (defaults.min_points, defaults.min_score);
            }
            _ => {}
        }
        let defaults = self.fields();
        (defaults.min_points, defaults.min_score)
    }

    /// The property, if it is set.
    pub fn min_points(&self) -> Option<usize> {
        self.min_points.and_then(|n| usize::try_from(n).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Through the element, since a table's specifications may be made with its class only: GObject holds a lock then.
    #[test]
    fn what_is_not_set_is_shown_as_it_applies() {
        gst::init().unwrap();
        let element: crate::peakfind::PeakFind = glib::Object::new();
        let shown = || {
            let line: f32 = element.property("min-line-score");
            (line, element.property::<u32>("min-points"), element.property::<f32>("min-score"))
        };
        assert_eq!(shown(), (0.25, 0, 0.0));
        element.set_property_from_str("paf-layout", "openpose");
        assert_eq!(shown(), (0.0, 4, 0.4));
        element.set_property_from_str("paf-layout", "deeplabcut");
        assert_eq!(shown(), (0.05, 0, 0.0));
        element.set_property_from_str("paf-layout", "openpose");
        element.set_property_from_str("grouping", "displacements");
        assert_eq!(shown(), (0.0, 0, 0.0), "there are no fields");
        let peaks = || (element.property::<f32>("threshold"), element.property::<u32>("max-peaks"));
        assert_eq!(peaks(), (0.3, 100));
        element.set_property_from_str("grouping", "tags");
        assert_eq!((shown(), peaks()), ((0.0, 0, 0.0), (0.1, 30)), "HigherHRNet's");
        element.set_property_from_str("encoding", "instances");
        assert_eq!(shown(), (0.0, 0, 0.25), "MoveNet's");
        element.set_property_from_str("encoding", "points");
        assert_eq!(shown(), (0.0, 0, 0.5), "MediaPipe's");
        element.set_property_from_str("encoding", "cells");
        assert_eq!(peaks(), (0.005, 1024), "SuperPoint's");
        element.set_property("min-line-score", 0.5f32);
        element.set_property("min-points", 7u32);
        element.set_property("min-score", -1.0f32);
        assert_eq!(shown(), (0.5, 7, -1.0));
    }
}
