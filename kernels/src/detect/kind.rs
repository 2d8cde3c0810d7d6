//! The families of detectors and their names.

use std::fmt;
use std::str::FromStr;

use crate::words::Words as _;

/// How a family of detectors writes its boxes. `N` is the number of anchors, `C` of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecoderKind {
    /// `[1, N, 5 + C]`: centre x, y, width, height in tensor pixels, objectness, class scores; the confidence is
    /// objectness times class score. YOLOv5 and v7 (`N` = 3 a cell), YOLOv6 and YOLOX with the decoding in it (1 a cell).
    Yolov5,
    /// `[1, 4 + C, N]`: centre x, y, width, height in tensor pixels, class scores (v8, v9, v11, v12). Or `[1, N, 4 + C]`,
    /// if there are more anchors than channels.
    Yolov8,
    /// `[1, N, 5 + C]` as yolov5, but in grid cells: needs strides and exp. (An export with the decoding in it is
    /// yolov5's layout: only the name tells them apart.)
    Yolox,
    /// `[1, M, 6]`: x1, y1, x2, y2 in tensor pixels, confidence, class; already suppressed (v10, v26), so no NMS if
    /// it is not asked for. Or in another order, [`super::RowFormat`].
    EndToEnd,
    /// Boxes, scores and labels in outputs of their own, `[1, N, 4]`, `[1, N]` and `[1, N]`, or boxes with scores
    /// `[1, N, 5]` and labels; final, so no NMS if it is not asked for. N may change from frame to frame, and there may be
    /// an output with the number of boxes, and one of keypoints, `[1, N, K, 3]` or `[1, N, K, 2]`, by its name; beside keypoints,
    /// labels may be missing (RTMO). Without hints: corners in tensor pixels, labels from 0. TensorFlow's Object
    /// Detection API, known by its outputs' names: top, left, bottom, right in 0..1, labels from 1.
    Detections,
    /// Class scores `[1, Ns, C]` and DFL logits `[1, Ns, 4 * bins]` for each stride, or both side by side in one
    /// `[1, N, C + 4 * bins]`. Four strides mean NanoDet-Plus, whose points lie on the cells' corners.
    Nanodet,
    /// `[1, N, 4]` boxes and `[1, N, C]` scores (SSD). Without hints: corners x1, y1, x2, y2 in 0..1 of the
    /// tensor, scores that are probabilities already, no background column.
    BoxesScores,
    /// `[1, Q, 4]` boxes and `[1, Q, C]` logits of a transformer's Q queries (DETR and its descendants), or both side by side,
    /// `[1, Q, 4 + C]`, with scores that are probabilities (RT-DETR as Ultralytics exported it to 8.4.50). Centre x, y, width,
    /// height in 0..1 of the tensor; none twice, so no NMS. With sigmoid every class of a query may be an object and the
    /// strongest Q remain (Deformable DETR, RT-DETR, D-FINE, RF-DETR); with softmax a query's best class alone, and the last
    /// column is the background (DETR, YOLOS).
    Queries,
    /// `[1, 4 + C + 3 * K, N]`: as yolov8, then x, y in tensor pixels and visibility of each of K keypoints (v8-pose,
    /// v11-pose), or `2 * K` without visibility; or that transposed. Or suppressed already: `[1, M, 6 + 3 * K]` (v26-pose).
    YoloPose,
    /// `[1, 4 + C + M, N]`: as yolov8, then the coefficients of M prototypes `[1, M, h, w]` (v8-seg, v11-seg); or that
    /// transposed. Or as yolov5, `[1, N, 5 + C + M]` with three anchors a cell (v5-seg, v7-seg). Or suppressed already:
    /// `[1, D, 6 + M]` (v26-seg).
    YoloSeg,
    /// `[1, 4 + C + 1, N]`: as yolov8, but boxes are rotated about their centre by the last number, an angle in radians,
    /// clockwise on the screen (v8-obb, v11-obb). Or suppressed already: `[1, M, 7]` of centre x, y, width, height in
    /// tensor pixels, confidence, class and angle (v26-obb, exports with `nms=True`). What overlaps is decided by the
    /// probabilistic IoU, and Fast NMS suppresses, as Ultralytics does (`rotated_nms.rs`).
    YoloObb,
    /// A class heat-map `[1, C, h, w]` or `[1, h, w, C]`, sizes on the same grid (width and height, or the distances of
    /// left, top, right, bottom) and, if the model has them, offsets of the centres. Only a 3x3 maximum of its class's
    /// map is a candidate (Zhou et al., "Objects as Points", 2019), so nothing needs to be suppressed.
    Centernet,
    /// The same of faces: logarithmic sizes, y before x, centres counted from the cells' centres, and landmarks in
    /// fractions of the box (Xu et al., "CenterFace", 2019).
    Centerface,
    /// `[1, 1, h, w]`: a map of how surely each pixel is text. Lines are rotated boxes around its areas (Liao et al.,
    /// "Real-time Scene Text Detection with Differentiable Binarization", 2020); nothing needs to be suppressed.
    Db,
    /// For each stride scores `[1, N, 1]`, distances of left, top, right and bottom `[1, N, 4]` and, if the model has them,
    /// landmarks `[1, N, 2 * K]`, in cells from the corner of the anchor's cell, of which each has two anchors, or one (SCRFD of
    /// InsightFace). The batch's dimension may be missing.
    Scrfd,
    /// For each stride class scores and objectness `[1, N, 1]`, boxes `[1, N, 4]` in grid cells as yolox and, if the model has
    /// them, landmarks `[1, N, 2 * K]` in cells from the corner of the cell; the confidence is the root of the product of both
    /// scores (YuNet of OpenCV's zoo).
    Yunet,
    /// Offsets from prior boxes `[1, N, 4]` and scores `[1, N, 1 + C]`, the first of which is the background's; with the prior
    /// boxes that the hints have (SSD).
    Ssd,
    /// The same of faces, with scores `[1, N, 2]` and landmarks `[1, N, 2 * K]`. Without hints its own prior boxes,
    /// [`super::Priors::retinaface`]. Never assumed without landmarks.
    Retinaface,
    /// For each stride the raw numbers of A anchors a cell, four of the box, objectness and C class scores:
    /// `[1, A * (5 + C), h, w]`, `[1, A, h, w, 5 + C]`, `[1, h, w, A, 5 + C]` or `[1, h, w, A * (5 + C)]`; the confidence is
    /// objectness times class score. YOLOv3, v4, v5 and v7 without their last layer, with the anchors that the hints have.
    YoloAnchors,
    /// Coverage `[1, C, h, w]` and boxes `[1, 4 * C, h, w]`: the distances of left, top, right and bottom from the cell's point, in
    /// units of 35 tensor pixels. Every class of a cell may be an object, with a box of its own (DetectNet_v2 of NVIDIA's TAO
    /// toolkit). Never assumed but by the outputs' names.
    DetectnetV2,
    /// Boxes with their points `[1, N, 4 + 2 * K]` and scores `[1, N, 1]`, in tensor pixels from the centres of MediaPipe's anchors, whose
    /// number must be N (BlazeFace, palms, people).
    Mediapipe,
}

crate::words! { DecoderKind:
    Yolov5 = "yolov5", "[1,N,5+C]: box, objectness, classes (v5, v6, v7, decoded YOLOX)";
    Yolov8 = "yolov8", "[1,4+C,N] or [1,N,4+C]: box, classes (v8, v9, v11, RTMDet)";
    Yolox = "yolox", "[1,N,5+C] in grid cells";
    EndToEnd = "end-to-end", "[1,M,6]: corners, confidence, class; needs no NMS (v10, v26)";
    Detections = "detections", "Boxes, scores and labels apart; need no NMS (torchvision, TensorFlow, RT-DETR)";
    Nanodet = "nanodet", "Class scores and distributed boxes (DFL) for several strides";
    BoxesScores = "boxes-scores", "[1,N,4] boxes and [1,N,C] scores (SSD)";
    Queries = "queries", "[1,Q,4] boxes and [1,Q,C] scores of queries; need no NMS (DETR, RT-DETR, D-FINE, RF-DETR)";
    YoloPose = "yolo-pose", "[1,4+C+3K,N]: box, classes, keypoints (v8-pose, v11-pose)";
    YoloSeg = "yolo-seg", "[1,4+C+M,N] and prototypes [1,M,h,w]: masks (v5-seg, v8-seg, v11-seg)";
    YoloObb = "yolo-obb", "[1,4+C+1,N]: box, classes, angle: rotated boxes (v8-obb, v11-obb)";
    Centernet = "centernet", "Class heat map, sizes, offsets";
    Centerface = "centerface", "CenterNet for faces, with landmarks";
    Db = "db", "[1,1,h,w]: a map of text: rotated boxes of its lines (DBNet, PP-OCR)";
    Scrfd = "scrfd", "Faces for several strides: scores, distances, landmarks (InsightFace)";
    Yunet = "yunet", "Faces for several strides: two scores, boxes, landmarks (OpenCV)";
    Ssd = "ssd", "[1,N,4] offsets from prior boxes and [1,N,1+C] scores";
    Retinaface = "retinaface", "The same for faces, with landmarks";
    YoloAnchors = "yolo-anchors", "Raw heads for several strides, with anchors from the sidecar (v3, v4, v5, v7)";
    DetectnetV2 = "detectnet-v2", "[1,C,h,w] coverage and [1,4C,h,w] distances (PeopleNet, TrafficCamNet)";
    Mediapipe = "mediapipe", "[1,N,4+2K] boxes with points and [1,N,1] scores: faces, palms, people (MediaPipe)";
}

impl DecoderKind {
    /// Whether there is a version on the GPU. Without one, the host reads the tensors.
    pub fn is_on_gpu(self) -> bool {
        self != Self::Db
    }
}

/// A decoder's name that is none of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a decoder; the decoders are {names}", names = DecoderKind::list())]
pub struct UnknownDecoder(pub String);

impl fmt::Display for DecoderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for DecoderKind {
    type Err = UnknownDecoder;

    fn from_str(s: &str) -> Result<Self, UnknownDecoder> {
        Self::of_word(s).ok_or_else(|| UnknownDecoder(s.into()))
    }
}
