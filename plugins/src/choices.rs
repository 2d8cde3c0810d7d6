//! Which enums properties have, under which names GObject knows them, and what `auto` means where a property leaves the choice to the
//! model. Words and sentences are those of the enums.

use cudainfer_kernels::tensor::TensorType::{self, Float16, Float32, Int8, Int32, UInt8};
use cudainfer_kernels::{detect, draw, ground, group, peaks, preproc, segment, track, zones};
use cudainfer_model as model;

use crate::property::registered;

registered! {
    preproc::Resize: "GstCudaInferResize", auto = "As in the sidecar, else letterbox";
    preproc::Interpolation: "GstCudaInferInterpolation", auto = "As in the sidecar, else bilinear";
    preproc::ChannelOrder: "GstCudaInferChannelOrder", auto = "As in the sidecar, else rgb, or gray for one channel";
    preproc::Layout: "GstCudaInferLayout", auto = "As the model requires";
    TensorType: "GstCudaInferElementType", auto = "As the model requires", only = &[Float32, Float16, UInt8, Int8, Int32];
    model::RoiCrop: "GstCudaInferRoiCrop", auto = "As in the sidecar, else pixels with a pil interpolation, else box";
    model::RoiFrom: "GstCudaInferRoiFrom", auto = "As in the sidecar, else objects";
    detect::DecoderKind: "GstCudaInferDecoder", auto = "As in the sidecar, else chosen by the outputs' shapes";
    model::NmsMode: "GstCudaInferNms",
        auto = "As in the sidecar, else class-wise, or none for heat maps, maps of text, detections and queries";
    detect::MergeMode: "GstCudaInferMerge", auto = "union, or suppress for rotated boxes";
    detect::Overlap: "GstCudaInferMergeOverlap";
    model::ClassMode: "GstCudaInferClassifyMode", auto = "As in the sidecar or as the model's file says, else classes";
    detect::Activation: "GstCudaInferClassActivation",
        auto = "As in the sidecar; else none if the scores are probabilities already, which the model or its first scores show; else softmax";
    model::MaskMode: "GstCudaInferMaskMode",
        auto = "As in the sidecar, else threshold for one channel, argmax for several and for class numbers; instances after gpunms";
    segment::Activation: "GstCudaInferMaskActivation", auto = "As in the sidecar, else none";
    model::MaskRange: "GstCudaInferMaskRange", auto = "As in the sidecar, else fixed";
    model::MapRange: "GstCudaInferMapRange", auto = "As in the sidecar, else fixed";
    model::Encoding: "GstCudaInferKeypointEncoding", auto = "As in the sidecar, else decided by the outputs' names and shapes";
    peaks::Mode: "GstCudaInferPeakMode", auto = "As in the sidecar, else local";
    peaks::Refinement: "GstCudaInferRefinement", auto = "As in the sidecar, else quadratic";
    peaks::Activation: "GstCudaInferPeakActivation", auto = "As in the sidecar, else none";
    peaks::Grid: "GstCudaInferGrid", auto = "As in the sidecar, else decided by the sizes of map and input";
    model::Grouping: "GstCudaInferGrouping", auto = "As in the sidecar, else frame";
    group::PafConvention: "GstCudaInferPafLayout", auto = "As in the sidecar, else sleap";
    track::Algorithm: "GstCudaInferTrackAlgorithm";
    zones::Anchor: "GstCudaInferZoneAnchor";
    zones::Units: "GstCudaInferZoneUnits";
    draw::blur::BlurMode: "GstCudaInferBlurMode";
    ground::SpeedUnit: "GstCudaInferSpeedUnit";
}
