//! Errors between a model's outputs and its boxes.

use crate::device::DeviceError;

use super::{DecoderKind, UnknownDecoder};

/// Why outputs cannot be decoded, or parameters are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// A decoder's name that is none of ours.
    #[error(transparent)]
    Decoder(#[from] UnknownDecoder),
    /// No decoder reads these outputs.
    #[error(
        "no decoder fits the model's outputs {offered} at an input of {}x{}. Set decoder= to the one that the model was made \
         for, and the error says what that one needs; docs/model-sidecar.md lists what each reads",
        input[0], input[1]
    )]
    NoFit {
        /// The outputs.
        offered: String,
        /// Width and height of the input tensor.
        input: [usize; 2],
    },
    /// The outputs hold rows whose columns may be in several orders.
    #[error(
        "the model's outputs {offered} have rows of 6 or 7 numbers, a box with its confidence and class, but do not tell \
         their order. Set decoder = \"end-to-end\" and row-format in [output] of the model's sidecar. It is \
         \"box-score-class\" for YOLOv10 and the like, \"class-score-box\" for PaddleDetection and \
         \"batch-box-class-score\", with 7 numbers, for YOLOv7's end-to-end export"
    )]
    RowFormat {
        /// The outputs.
        offered: String,
    },
    /// The outputs are those of queries, and nothing tells what makes their scores probabilities.
    #[error(
        "the model's outputs {offered} are boxes and scores of queries, but do not tell what makes the scores probabilities. Set \
         activation in [output] of the model's sidecar, \"softmax\" for DETR and YOLOS, \"sigmoid\" for Deformable DETR, RT-DETR, \
         D-FINE and RF-DETR. The labels tell it as well: with softmax there is one column more than labels, the background's"
    )]
    Queries {
        /// The outputs.
        offered: String,
    },
    /// The outputs are raw heads, and nothing tells their anchors.
    #[error(
        "the model's outputs {offered} look like the raw heads of a YOLOv3, v4, v5 or v7 at an input of {}x{}, but no tensor tells \
         the sizes of their anchors. Write sizes and formula into [anchors] of the model's sidecar, or export the model with its \
         decoding",
        input[0], input[1]
    )]
    Anchors {
        /// The outputs.
        offered: String,
        /// Width and height of the input tensor.
        input: [usize; 2],
    },
    /// The outputs are a classifier's.
    #[error(
        "no decoder fits the model's outputs {offered}, which look like a classifier's scores. Put classify in place of \
         gpunms"
    )]
    Classifier {
        /// The outputs.
        offered: String,
    },
    /// The output is one of masks or confidence maps.
    #[error(
        "no decoder fits the model's output {offered}, which looks like masks or confidence maps. Put segmask in place of \
         gpunms for masks, or peakfind for the points of confidence maps, or set decoder=db for a map of text"
    )]
    Maps {
        /// The output.
        offered: String,
    },
    /// A decoder would fit with another number of classes.
    #[error(
        "{labels} {} given, but the model's outputs {offered} have {found}. Give one label for each class, in the sidecar's \
         [output] or by trtinfer's property labels",
        if *labels == 1 { "label is" } else { "labels are" }
    )]
    Labels {
        /// The outputs.
        offered: String,
        /// How many classes they hold, by decoder.
        found: String,
        /// How many labels there are.
        labels: usize,
    },
    /// A decoder would fit with another number of keypoints.
    #[error(
        "{keypoints} {} expected for each object, but the model's outputs {offered} have {found}. Correct keypoints in the \
         sidecar's [output], or the points of its [skeleton]",
        if *keypoints == 1 { "keypoint is" } else { "keypoints are" }
    )]
    Keypoints {
        /// The outputs.
        offered: String,
        /// How many keypoints they hold, by decoder.
        found: String,
        /// How many are expected.
        keypoints: usize,
    },
    /// The shapes do not say which decoder it is.
    #[error(
        "the model's outputs {offered} are ambiguous at an input of {}x{}: they fit the decoders {}. The shapes do not tell \
         which of them the model was made for. Name it in the model's sidecar, [output] decoder = \"{}\" for example, or \
         by the property decoder{}",
        input[0], input[1], listed(candidates), candidates[0].0, labels_advice(candidates)
    )]
    Ambiguous {
        /// The outputs.
        offered: String,
        /// Width and height of the input tensor.
        input: [usize; 2],
        /// The decoders that fit, one at least, and how many classes each would read, where that is known.
        candidates: Vec<(DecoderKind, Option<usize>)>,
    },
    /// Several outputs would do for the requested decoder.
    #[error(
        "several of the model's outputs {offered} fit decoder {kind}. Give one label for each class, or export the model with \
         only the output to decode"
    )]
    SeveralOutputs {
        /// The decoder asked for.
        kind: DecoderKind,
        /// The outputs.
        offered: String,
    },
    /// The requested decoder cannot read these outputs.
    #[error(
        "decoder {kind} does not fit the model's outputs {offered} at an input of {}x{}: it needs {wanted}. Set decoder= to the \
         one that the model was made for, or remove it",
        input[0], input[1]
    )]
    Unfit {
        /// The decoder asked for.
        kind: DecoderKind,
        /// The outputs.
        offered: String,
        /// Width and height of the input tensor.
        input: [usize; 2],
        /// What it reads.
        wanted: String,
    },
    /// A hint that is wrong, or that the decoder would have to ignore.
    #[error("the hint '{hint}' {wanted}")]
    Hint {
        /// The hint.
        hint: &'static str,
        /// What is wrong with it and what to do.
        wanted: String,
    },
    /// A parameter out of range.
    #[error("the detection parameter {name} is {value}, but it must be {wanted}")]
    Param {
        /// The parameter.
        name: String,
        /// What it was set to.
        value: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// Another number of tensors than the decoder was chosen for.
    #[error(
        "{given} output tensors arrived, but the decoder was chosen for {wanted}. Pass all outputs of the model, in its order"
    )]
    Outputs {
        /// The tensors that arrived.
        given: usize,
        /// The tensors there should be.
        wanted: usize,
    },
    /// A tensor whose actual shape the decoder cannot read.
    #[error(
        "output '{name}' has the shape {dims:?}, but decoder {kind} needs {wanted}. Set decoder= to the one that the model was \
         made for"
    )]
    Shape {
        /// The decoder.
        kind: DecoderKind,
        /// The tensor's name.
        name: String,
        /// Its dimensions.
        dims: Vec<usize>,
        /// What they should be.
        wanted: String,
    },
    /// Many more candidates than in any frame before. There is room for them when the batch is started again.
    #[error("a frame has more candidates than there was room for; start the batch again, with room for all")]
    NoRoom,
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// "yolov5 (80 classes), yolov8 (81 classes)".
fn listed(candidates: &[(DecoderKind, Option<usize>)]) -> String {
    let listed = candidates.iter().map(|(kind, classes)| match classes {
        Some(1) => format!("{kind} (1 class)"),
        Some(classes) => format!("{kind} ({classes} classes)"),
        None => kind.to_string(),
    });
    listed.collect::<Vec<_>>().join(", ")
}

/// What else helps where the candidates differ in the number of classes.
fn labels_advice(candidates: &[(DecoderKind, Option<usize>)]) -> &'static str {
    let differ = candidates.windows(2).any(|pair| pair[0].1 != pair[1].1);
    if differ { "; the model's labels, which count its classes, narrow the choice" } else { "" }
}
