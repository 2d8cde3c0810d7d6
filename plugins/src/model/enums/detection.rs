//! Decoders and kinds of suppression: values of properties and of sidecars.

use cudainfer_kernels::detect::{AnchorFormula, DecoderKind};

use crate::property::Words;

/// The format of a detector's outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferDecoder")]
#[allow(missing_docs)]
pub enum Decoder {
    #[default]
    #[enum_value(name = "As in the sidecar, else chosen by the outputs' shapes", nick = "auto")]
    Auto,
    #[enum_value(name = "[1,N,5+C]: box, objectness, classes (v5, v6, v7, decoded YOLOX)", nick = "yolov5")]
    Yolov5,
    #[enum_value(name = "[1,4+C,N] or [1,N,4+C]: box, classes (v8, v9, v11, RTMDet)", nick = "yolov8")]
    Yolov8,
    #[enum_value(name = "[1,N,5+C] in grid cells", nick = "yolox")]
    Yolox,
    #[enum_value(name = "[1,M,6]: corners, confidence, class; needs no NMS (v10, v26)", nick = "end-to-end")]
    EndToEnd,
    #[enum_value(
        name = "Boxes, scores and labels apart; need no NMS (torchvision, TensorFlow, RT-DETR)",
        nick = "detections"
    )]
    Detections,
    #[enum_value(name = "Class scores and distributed boxes (DFL) for several strides", nick = "nanodet")]
    Nanodet,
    #[enum_value(name = "[1,N,4] boxes and [1,N,C] scores (SSD)", nick = "boxes-scores")]
    BoxesScores,
    #[enum_value(
        name = "[1,Q,4] boxes and [1,Q,C] scores of queries; need no NMS (DETR, RT-DETR, D-FINE, RF-DETR)",
        nick = "queries"
    )]
    Queries,
    #[enum_value(name = "[1,4+C+3K,N]: box, classes, keypoints (v8-pose, v11-pose)", nick = "yolo-pose")]
    YoloPose,
    #[enum_value(
        name = "[1,4+C+M,N] and prototypes [1,M,h,w]: masks (v5-seg, v8-seg, v11-seg)",
        nick = "yolo-seg"
    )]
    YoloSeg,
    #[enum_value(
        name = "[1,4+C+1,N]: box, classes, angle: rotated boxes (v8-obb, v11-obb)",
        nick = "yolo-obb"
    )]
    YoloObb,
    #[enum_value(name = "Class heat map, sizes, offsets", nick = "centernet")]
    Centernet,
    #[enum_value(name = "CenterNet for faces, with landmarks", nick = "centerface")]
    Centerface,
    #[enum_value(name = "[1,1,h,w]: a map of text: rotated boxes of its lines (DBNet, PP-OCR)", nick = "db")]
    Db,
    #[enum_value(
        name = "Faces for several strides: scores, distances, landmarks (InsightFace)",
        nick = "scrfd"
    )]
    Scrfd,
    #[enum_value(name = "Faces for several strides: two scores, boxes, landmarks (OpenCV)", nick = "yunet")]
    Yunet,
    #[enum_value(name = "[1,N,4] offsets from prior boxes and [1,N,1+C] scores", nick = "ssd")]
    Ssd,
    #[enum_value(name = "The same for faces, with landmarks", nick = "retinaface")]
    Retinaface,
    #[enum_value(
        name = "Raw heads for several strides, with anchors from the sidecar (v3, v4, v5, v7)",
        nick = "yolo-anchors"
    )]
    YoloAnchors,
    #[enum_value(
        name = "[1,C,h,w] coverage and [1,4C,h,w] distances (PeopleNet, TrafficCamNet)",
        nick = "detectnet-v2"
    )]
    DetectnetV2,
}

impl Words for Decoder {}

impl Decoder {
    pub(crate) fn kernel(self) -> Option<DecoderKind> {
        match self {
            Self::Auto => None,
            Self::Yolov5 => Some(DecoderKind::Yolov5),
            Self::Yolov8 => Some(DecoderKind::Yolov8),
            Self::Yolox => Some(DecoderKind::Yolox),
            Self::EndToEnd => Some(DecoderKind::EndToEnd),
            Self::Detections => Some(DecoderKind::Detections),
            Self::Nanodet => Some(DecoderKind::Nanodet),
            Self::BoxesScores => Some(DecoderKind::BoxesScores),
            Self::Queries => Some(DecoderKind::Queries),
            Self::YoloPose => Some(DecoderKind::YoloPose),
            Self::YoloSeg => Some(DecoderKind::YoloSeg),
            Self::YoloObb => Some(DecoderKind::YoloObb),
            Self::Centernet => Some(DecoderKind::Centernet),
            Self::Centerface => Some(DecoderKind::Centerface),
            Self::Db => Some(DecoderKind::Db),
            Self::Scrfd => Some(DecoderKind::Scrfd),
            Self::Yunet => Some(DecoderKind::Yunet),
            Self::Ssd => Some(DecoderKind::Ssd),
            Self::Retinaface => Some(DecoderKind::Retinaface),
            Self::YoloAnchors => Some(DecoderKind::YoloAnchors),
            Self::DetectnetV2 => Some(DecoderKind::DetectnetV2),
        }
    }
}

/// How a raw head's numbers become a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferAnchorFormula")]
#[allow(missing_docs)]
pub enum Formula {
    #[default]
    #[enum_value(name = "Sizes by the exponential (YOLOv3, v4)", nick = "yolov3")]
    Yolov3,
    #[enum_value(name = "Sizes by the squared logistic function (YOLOv5, v7)", nick = "yolov5")]
    Yolov5,
    #[enum_value(name = "As yolov5, of numbers in 0..1 (Darknet's new_coords)", nick = "new-coords")]
    NewCoords,
}

impl Words for Formula {}

impl Formula {
    pub(crate) fn kernel(self) -> AnchorFormula {
        match self {
            Self::Yolov3 => AnchorFormula::Yolov3,
            Self::Yolov5 => AnchorFormula::Yolov5,
            Self::NewCoords => AnchorFormula::NewCoords,
        }
    }
}

/// How overlapping boxes are suppressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferNms")]
#[allow(missing_docs)]
pub enum NmsMode {
    #[default]
    #[enum_value(
        name = "As in the sidecar, else class-wise, or none for heat maps, maps of text, detections and queries",
        nick = "auto"
    )]
    Auto,
    #[enum_value(name = "Boxes suppress weaker boxes of the same class", nick = "class-wise")]
    ClassWise,
    #[enum_value(name = "Boxes suppress weaker boxes of any class", nick = "class-agnostic")]
    Agnostic,
    #[enum_value(name = "Soft-NMS: overlap reduces the confidence linearly", nick = "soft-linear")]
    SoftLinear,
    #[enum_value(name = "Soft-NMS: overlap reduces the confidence by a Gaussian", nick = "soft-gaussian")]
    SoftGaussian,
    #[enum_value(name = "Nothing is suppressed", nick = "none")]
    None,
}

impl Words for NmsMode {}
