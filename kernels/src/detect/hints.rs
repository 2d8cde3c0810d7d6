//! What the sidecar knows about a model that the shapes of its tensors do not show.

use super::{AnchorSizes, DetectError, Priors};

/// What the four numbers of a box are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoxFormat {
    /// Centre x, centre y, width, height.
    CenterSize,
    /// Left, top, right, bottom.
    Corners,
    /// Top, left, bottom, right (TensorFlow's order).
    CornersYx,
    /// Left, top, width, height.
    TopLeftSize,
}

crate::words! { BoxFormat:
    CenterSize = "center-size", "Centre x, centre y, width, height";
    Corners = "corners", "Left, top, right, bottom";
    CornersYx = "corners-yx", "Top, left, bottom, right";
    TopLeftSize = "top-left-size", "Left, top, width, height";
}

/// What turns the model's scores into probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// Nothing: they are probabilities.
    None,
    /// The logistic function, each score by itself (objectness too).
    Sigmoid,
    /// Softmax over an anchor's scores, background included.
    Softmax,
}

crate::words! { Activation:
    None = "none", "None: the model has applied it";
    Sigmoid = "sigmoid", "Sigmoid of each score: several classes may apply";
    Softmax = "softmax", "Softmax over all scores: one class applies";
}

impl Activation {
    /// The probability that a score stands for. Softmax needs the whole row and is the caller's business.
    pub(super) fn probability(self, score: f32) -> f32 {
        match self {
            Self::None | Self::Softmax => score,
            Self::Sigmoid => 1.0 / (1.0 + (-score).exp()),
        }
    }
}

/// Which column of the scores is no class but "nothing here".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Background {
    /// Every column is a class.
    None,
    /// The first (SSD); class 0 is the second column.
    First,
    /// The last (DETR).
    Last,
}

crate::words! { Background:
    None = "none", "Every column is a class";
    First = "first", "The first column is no class";
    Last = "last", "The last column is no class";
}

impl Background {
    /// Columns of the scores that are background.
    pub(super) fn columns(self) -> usize {
        usize::from(self != Self::None)
    }
}

/// In which unit a heat-map's sizes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// Cells of the map.
    Cells,
    /// Pixels of the input tensor.
    Pixels,
    /// The natural logarithm of the number of cells.
    LogCells,
}

crate::words! { SizeUnit:
    Cells = "cells", "Cells of the map";
    Pixels = "pixels", "Pixels of the input";
    LogCells = "log-cells", "The logarithm of the number of cells";
}

/// Which axis comes first where a heat-map's decoder has a number of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisOrder {
    /// x and width first; left, top, right, bottom.
    Xy,
    /// y and height first; top, left, bottom, right.
    Yx,
}

crate::words! { AxisOrder:
    Xy = "xy", "x first";
    Yx = "yx", "y first";
}

/// In which order an already suppressed box's row has its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowFormat {
    /// Box, confidence, class (YOLOv10, v26).
    BoxScoreClass,
    /// Class, confidence, box (PaddleDetection).
    ClassScoreBox,
    /// Number of the picture in the batch, box, class, confidence (YOLOv7's end-to-end export).
    BatchBoxClassScore,
    /// Number of the picture in the batch, box, confidence (YOLO-NAS-Pose).
    BatchBoxScore,
}

crate::words! { RowFormat:
    BoxScoreClass = "box-score-class", "Box, confidence, class";
    ClassScoreBox = "class-score-box", "Class, confidence, box";
    BatchBoxClassScore = "batch-box-class-score", "Number of the batch entry, box, class, confidence";
    BatchBoxScore = "batch-box-score", "Number of the batch entry, box, confidence; all are of one class";
}

impl RowFormat {
    /// Numbers of a row.
    pub fn columns(self) -> usize {
        match self {
            Self::BoxScoreClass | Self::ClassScoreBox | Self::BatchBoxScore => 6,
            Self::BatchBoxClassScore => 7,
        }
    }

    /// The columns where the box begins, of the confidence and of the class, if there is one.
    pub(super) fn places(self) -> (usize, usize, Option<usize>) {
        match self {
            Self::BoxScoreClass => (0, 4, Some(5)),
            Self::ClassScoreBox => (2, 1, Some(0)),
            Self::BatchBoxClassScore => (1, 6, Some(5)),
            Self::BatchBoxScore => (1, 5, None),
        }
    }

    /// The columns in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::BoxScoreClass => "x1, y1, x2, y2, confidence and class",
            Self::ClassScoreBox => "class, confidence, x1, y1, x2 and y2",
            Self::BatchBoxClassScore => "number in the batch, x1, y1, x2, y2, class and confidence",
            Self::BatchBoxScore => "number in the batch, x1, y1, x2, y2 and confidence",
        }
    }
}

/// What the tensors' shapes do not say. A hint that the chosen decoder has no use for is an error, not ignored.
#[derive(Clone, Debug, PartialEq)]
pub struct Hints {
    /// Number of classes, background not counted; settles most ambiguous shapes.
    pub classes: Option<usize>,
    /// Strides of the detection heads, in the order in which the model concatenates them.
    pub strides: Vec<usize>,
    /// Format of the boxes, instead of the decoder's own (yolov5, yolov8, end-to-end, detections,
    /// boxes-scores, queries).
    pub box_format: Option<BoxFormat>,
    /// Whether boxes are in 0..1 of the tensor, not in its pixels (yolov5, yolov8, end-to-end, detections,
    /// boxes-scores, queries).
    pub normalized: Option<bool>,
    /// What turns scores into probabilities (not end-to-end, detections; sigmoid for yolo-anchors if not set; softmax for boxes-scores, queries, ssd and
    /// retinaface only).
    pub activation: Option<Activation>,
    /// Which column of the scores is the background (boxes-scores, queries; ssd and retinaface, where it is the first if not
    /// set); `First`: labels count from 1 (end-to-end, detections).
    pub background: Option<Background>,
    /// Order of the columns (end-to-end).
    pub row_format: Option<RowFormat>,
    /// Number of keypoints of an object (detections, yolo-pose, centerface, scrfd, yunet, retinaface, mediapipe).
    pub keypoints: Option<usize>,
    /// Unit of the sizes: cells if not set, their logarithm for centerface (centernet, centerface).
    pub size_unit: Option<SizeUnit>,
    /// Order of the axes: x first if not set, y first for centerface (centernet, centerface).
    pub axis_order: Option<AxisOrder>,
    /// Cells above it are text: 0.3 if not set (db).
    pub map_threshold: Option<f32>,
    /// How much a line is widened, by its area and perimeter: 1.5 if not set (db).
    pub unclip_ratio: Option<f32>,
    /// The boxes that offsets are counted from (ssd, retinaface).
    pub priors: Option<Priors>,
    /// The sizes that boxes are multiples of (yolo-anchors).
    pub anchors: Option<AnchorSizes>,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            classes: None,
            strides: vec![8, 16, 32],
            box_format: None,
            normalized: None,
            activation: None,
            background: None,
            row_format: None,
            keypoints: None,
            size_unit: None,
            axis_order: None,
            map_threshold: None,
            unclip_ratio: None,
            priors: None,
            anchors: None,
        }
    }
}

impl Hints {
    /// Checks what is wrong whatever the decoder.
    pub(super) fn validate(&self) -> Result<(), DetectError> {
        let bad = |hint, wanted: &str| Err(DetectError::Hint { hint, wanted: wanted.into() });
        if self.classes == Some(0) {
            return bad("classes", "is 0, but a detector has at least one class");
        }
        if self.keypoints == Some(0) {
            return bad(
                "keypoints",
                "is 0, but a pose has at least one point: drop it where objects have none",
            );
        }
        if self.strides.is_empty() || self.strides.contains(&0) {
            return bad("strides", "must be one or more numbers above 0, for example 8, 16, 32");
        }
        if self.map_threshold.is_some_and(|v| !(0.0..=1.0).contains(&v)) {
            return bad("map threshold", "must be between 0 and 1");
        }
        if self.unclip_ratio.is_some_and(|v| !(0.0..=10.0).contains(&v)) {
            return bad("unclip ratio", "must be between 0 and 10");
        }
        let strides = self.strides.len();
        self.priors.as_ref().map_or(Ok(()), |priors| priors.validate(strides))?;
        self.anchors.as_ref().map_or(Ok(()), |anchors| anchors.validate(strides))
    }

    /// Columns of the scores that are background.
    pub(super) fn background_columns(&self) -> usize {
        self.background.map_or(0, Background::columns)
    }
}
