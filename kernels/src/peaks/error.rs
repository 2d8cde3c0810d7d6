//! What can be wrong with a map or with parameters.

use crate::device::DeviceError;

/// A map or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeaksError {
    /// Another element type.
    #[error(
        "confidence map '{0}' must be float16 or float32; choose another output of the model or dequantise it"
    )]
    Type(String),
    /// Not an image a channel.
    #[error(
        "confidence map '{0}' must have the dimensions 1xCxHxW or 1xHxWxC, or the same without the 1; \
         choose the model's output that holds the maps"
    )]
    Rank(String),
    /// More than one frame.
    #[error("confidence map '{0}' holds {1} frames; hand over one frame's map at a time")]
    Batch(String, usize),
    /// Fewer frames than a batch has.
    #[error(
        "confidence map '{got}' does not hold the {wanted} frames of the batch; hand over one with that many along its \
         first dimension"
    )]
    Rows {
        /// What came.
        got: String,
        /// How many frames it must hold.
        wanted: usize,
    },
    /// A dimension or size of 0.
    #[error("confidence map '{0}' for a {1}x{2} input has a size of 0; give every size at least 1")]
    Empty(String, usize, usize),
    /// The layout is open and does not follow from the dimensions.
    #[error(
        "confidence map '{map}' can be read as {nchw} or as {nhwc}, and {fits} the {width}x{height} input. \
         Set the layout to nchw or nhwc, or correct the grid"
    )]
    Layout {
        /// The map.
        map: String,
        /// Read channels first.
        nchw: String,
        /// Read channels last.
        nhwc: String,
        /// Whether each of them fits, or neither, and what they should be: "each of them is an even reduction of".
        fits: &'static str,
        /// The input's width.
        width: usize,
        /// The input's height.
        height: usize,
    },
    /// A map other than the one that was announced.
    #[error(
        "a confidence map '{got}' arrived where '{declared}' was announced; renegotiate with the new dimensions"
    )]
    Changed {
        /// What came.
        got: String,
        /// What was announced to [`super::PeakFinder::new`].
        declared: String,
    },
    /// A threshold that is not a number.
    #[error("a threshold of NaN finds nothing; set a number, for scores one between 0 and 1")]
    Threshold,
    /// No peak may be kept.
    #[error("a top-k of 0 keeps no peak; set it to 1 or more")]
    TopK,
    /// More values than the GPU counts.
    #[error(
        "confidence map '{0}' has more than 2^28 values, or a batch of them 2^31; use a smaller one or smaller batches, \
         or compute on the CPU"
    )]
    TooLarge(String),
    /// A Gaussian that has no middle, or an extreme size.
    #[error(
        "a Gaussian of {0} cells cannot blur the maps; set the blur-kernel to an odd number from 3 to 31"
    )]
    Blur(usize),
    /// A standard deviation of no Gaussian, or an extreme one.
    #[error(
        "a standard deviation of {0} cells cannot blur the maps; set the blur-sigma to a number from 0.1 to 16"
    )]
    Sigma(String),
    /// The refinement needs an output that there is none of.
    #[error(
        "the refinement 'offsets' of confidence map '{0}' needs the output with the offsets; name it with offsets in the sidecar's [peaks]"
    )]
    NoOffsets(String),
    /// An output that is not the offsets of this map.
    #[error(
        "'{got}' are no offsets of confidence map '{map}', which have its type and dimensions with two channels for each of its own;          name another output"
    )]
    Offsets {
        /// The output.
        got: String,
        /// The map.
        map: String,
    },
    /// A factor of offsets that is no number.
    #[error(
        "an offset-scale of {0} places nothing; set a number from -1000 to 1000, for DeepLabCut its locref_std"
    )]
    OffsetScale(String),
    /// A distance of cells that is none.
    #[error("a stride of {0} pixels places no cell; set a number from 0.1 to 1024")]
    Stride(String),
    /// A distance of cells, and a grid that has its own.
    #[error(
        "the grids 'corners' and 'udp' follow from the sizes of map and input; leave out the stride, or set another grid"
    )]
    StrideOfCorners,
    /// More peaks in a batch than in any earlier one. There is room for them when it is started again.
    #[error(
        "the confidence maps have more peaks than there was room for; start the batch again, with room for all"
    )]
    NoRoom,
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
