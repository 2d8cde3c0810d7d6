//! The functions that read a network's outputs in DeepStream, and the decoders that read them here.

use cudainfer_model::kernels::detect::{Activation, DecoderKind};

use super::task::Task;
use crate::import::report::Verdict::{Differs, NotNeeded, NotTranslated};
use crate::import::section::Section;

/// The sidecar's keys about the outputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) decoder: Option<DecoderKind>,
    pub(super) activation: Option<Activation>,
}

/// Finds the decoder by the name of the function, which is in a library of nvinfer's user.
pub(super) fn find(property: Section<'_>, task: Task) -> Reading {
    let none = Reading::default();
    if task == Task::Classification {
        if let Some(function) = property.text("parse-classifier-func-name") {
            property.note(
                "parse-classifier-func-name",
                NotTranslated,
                format!("classify reads scores; {function} may read something else"),
            );
        }
        return none;
    }
    if !matches!(task, Task::Detection | Task::Instances) {
        return none;
    }
    let key =
        if task == Task::Detection { "parse-bbox-func-name" } else { "parse-bbox-instance-mask-func-name" };
    let Some(function) = property.text(key) else {
        if task == Task::Instances {
            property.about(
                NotTranslated,
                "without parse-bbox-instance-mask-func-name, nothing says how the outputs are read: if gpunms says that no decoder \
                 fits, set decoder in the sidecar",
            );
            return none;
        }
        property.about(
            Differs,
            "without parse-bbox-func-name, nvinfer reads DetectNet_v2's grid of coverage and boxes: decoder detectnet-v2 reads it \
             as well. nvinfer rounds corners to whole pixels of the network's input",
        );
        return Reading { decoder: Some(DecoderKind::DetectnetV2), activation: None };
    };
    match function {
        "NvDsInferParseYolo"
        | "NvDsInferParseYoloCuda"
        | "NvDsInferParseYoloE"
        | "NvDsInferParseYoloECuda" => {
            property.note(
                key,
                Differs,
                "it is DeepStream-Yolo's: read as rows of box, score and class. If the ONNX file has three outputs, as older \
                 exports, set decoder = \"detections\" in the sidecar",
            );
            Reading { decoder: Some(DecoderKind::EndToEnd), activation: None }
        }
        "NvDsInferParseCustomDDETRTAO" | "NvDsInferParseCustomRTDETRTAO" => {
            property.note(key, NotNeeded, "gpunms decoder=queries reads the same outputs");
            Reading { decoder: Some(DecoderKind::Queries), activation: Some(Activation::Sigmoid) }
        }
        "NvDsInferParseCustomTfSSD" | "NvDsInferParseCustomEfficientDetTAO" => {
            property.note(key, NotNeeded, "gpunms decoder=detections reads the same outputs");
            Reading { decoder: Some(DecoderKind::Detections), activation: None }
        }
        "NvDsInferParseCustomNMSTLT"
        | "NvDsInferParseCustomBatchedNMSTLT"
        | "NvDsInferParseCustomMrcnnTLT"
        | "NvDsInferParseCustomMrcnnTLTV2" => {
            property.note(key, NotTranslated, "such models end in an operator of TensorRT's that ONNX Runtime does not have: export the model without it");
            none
        }
        _ => {
            property.note(
                key,
                NotTranslated,
                "it is code of its own: gpunms chooses the decoder by the outputs' shapes; if it says that none or several fit, set \
                 decoder in the sidecar",
            );
            none
        }
    }
}
