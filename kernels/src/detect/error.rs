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
         for, to be told what that one needs; docs/model-sidecar.md lists what each reads",
        input[0], input[1]
    )]
    NoFit {
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
         gpunms for masks, or peakfind for the points of confidence maps"
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
        "the model's outputs {offered} are ambiguous at an input of {}x{}: they fit the decoders {candidates}. \
         Set decoder= to the right one, or give the model's labels, whose number is that of its classes",
        input[0], input[1]
    )]
    Ambiguous {
        /// The outputs.
        offered: String,
        /// Width and height of the input tensor.
        input: [usize; 2],
        /// Names of the decoders that fit.
        candidates: String,
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
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
