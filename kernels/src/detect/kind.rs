//! The families of detectors and their names.

use std::fmt;
use std::str::FromStr;

use super::DetectError;

/// How a family of detectors writes its boxes. `N` is the number of anchors, `C` of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecoderKind {
    /// `[1, N, 5 + C]`: centre x, y, width, height in tensor pixels, objectness, class scores; the confidence is
    /// objectness times class score. YOLOv5 and v7 (`N` = 3 a cell), YOLOv6 (1 a cell: name this decoder).
    Yolov5,
    /// `[1, 4 + C, N]`: centre x, y, width, height in tensor pixels, class scores (v8, v9, v11, v12).
    Yolov8,
    /// `[1, N, 5 + C]` as yolov5, but in grid cells: needs strides and exp. (An export with the decoding in it is
    /// yolov5's layout: name that decoder.)
    Yolox,
    /// `[1, M, 6]`: x1, y1, x2, y2 in tensor pixels, confidence, class; already suppressed (v10, v26), so no NMS.
    EndToEnd,
    /// Class scores `[1, Ns, C]` and DFL logits `[1, Ns, 4 * bins]` for each stride, or both side by side in one
    /// `[1, N, C + 4 * bins]`. Four strides mean NanoDet-Plus, whose points lie on the cells' corners.
    Nanodet,
    /// `[1, N, 4]` boxes and `[1, N, C]` scores (SSD, DETR). Without hints: corners x1, y1, x2, y2 in 0..1 of the
    /// tensor, scores that are probabilities already, no background column.
    BoxesScores,
}

impl DecoderKind {
    /// Every decoder.
    pub const ALL: [Self; 6] =
        [Self::Yolov5, Self::Yolov8, Self::Yolox, Self::EndToEnd, Self::Nanodet, Self::BoxesScores];

    /// The name used in properties and sidecars.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yolov5 => "yolov5",
            Self::Yolov8 => "yolov8",
            Self::Yolox => "yolox",
            Self::EndToEnd => "end-to-end",
            Self::Nanodet => "nanodet",
            Self::BoxesScores => "boxes-scores",
        }
    }
}

impl fmt::Display for DecoderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DecoderKind {
    type Err = DetectError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|k| k.name() == s).ok_or_else(|| DetectError::Decoder(s.into()))
    }
}
