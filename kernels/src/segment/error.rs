//! What can be wrong with logits, prototypes, masks and parameters.

use crate::device::DeviceError;

/// A tensor, a mask or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SegmentError {
    /// Another element type.
    #[error(
        "'{0}' must be float16 or float32 to make masks of; choose another output of the model or dequantise it"
    )]
    Type(String),
    /// Integers that are not one number a cell.
    #[error(
        "'{0}' has whole numbers, which are read as the classes of cells, so it must be 1xHxW, 1x1xHxW, 1xHxWx1 or HxW; choose \
         the output after the model's argmax, or one with scores in float16 or float32"
    )]
    ClassMap(String),
    /// Parameters that class numbers do not allow.
    #[error(
        "'{0}' has the classes of cells, not their scores, so there is nothing to compare with a threshold, to smooth or to make \
         soft; set mode=argmax and smoothing=0, or choose an output with scores"
    )]
    NoScores(String),
    /// Not an image a channel, or dimensions that are open.
    #[error(
        "'{0}' must have the dimensions 1xCxHxW or 1xHxWxC, the same without the 1, or HxW, all of them known; choose the \
         model's output that holds the masks"
    )]
    Rank(String),
    /// More than one frame.
    #[error("'{0}' holds {1} frames; hand over one frame's values at a time")]
    Batch(String, usize),
    /// A dimension or size of 0.
    #[error("'{0}' for a {1}x{2} input has a size of 0; give every size at least 1")]
    Empty(String, usize, usize),
    /// More values than 31 bits count.
    #[error("'{0}' has more than 2^31 - 1 values; use a smaller output")]
    TooLarge(String),
    /// There is no memory for the state of the smoothing.
    #[error(
        "there is not enough memory to smooth '{0}' over the frames; set smoothing to 0 or use a smaller output"
    )]
    Memory(String),
    /// The layout is open and does not follow from the dimensions.
    #[error(
        "'{tensor}' can be read as {nchw} or as {nhwc}, and {fits} of them is an even reduction of the {width}x{height} \
         input; set the layout to nchw or nhwc"
    )]
    Layout {
        /// The tensor.
        tensor: String,
        /// Read channels first.
        nchw: String,
        /// Read channels last.
        nhwc: String,
        /// "each" or "neither".
        fits: &'static str,
        /// The input's width.
        width: usize,
        /// The input's height.
        height: usize,
    },
    /// Classes that one byte cannot number, or a single one.
    #[error(
        "'{tensor}' has {channels} channels, but mode=argmax looks for the greatest of 2 to 256. For one channel set \
         mode=threshold (with activation=sigmoid where it holds logits), for more than 256 choose another output"
    )]
    Channels {
        /// The tensor.
        tensor: String,
        /// How many it has.
        channels: usize,
    },
    /// A channel that does not exist.
    #[error(
        "channel {channel} is set, but '{tensor}' has {channels} channels, counted from 0. Set channel to less than {channels}"
    )]
    Channel {
        /// The tensor.
        tensor: String,
        /// How many it has.
        channels: usize,
        /// What was asked for.
        channel: usize,
    },
    /// The softmax of a single channel.
    #[error(
        "the softmax over the one channel of '{0}' is always 1. Set activation=sigmoid or activation=none"
    )]
    Softmax(String),
    /// The range of each frame where it means nothing.
    #[error("the range of each frame is for mode=soft and mode=threshold. Set range=fixed, or another mode")]
    Stretched,
    /// A threshold that is not a number.
    #[error("a threshold of NaN finds nothing; set a number, for probabilities one between 0 and 1")]
    Threshold,
    /// An unusable factor of smoothing.
    #[error("a smoothing of {0} is not possible: set 0 (none) or more, and less than 1")]
    Smoothing(f32),
    /// A square too large.
    #[error("a radius of {0} cells is too large for opening or closing a mask; set 0 (none) to 32")]
    Radius(u32),
    /// A tensor other than the one that was announced.
    #[error("'{got}' arrived where '{declared}' was announced; renegotiate with the new dimensions")]
    Changed {
        /// What came.
        got: String,
        /// What was announced.
        declared: String,
    },
    /// Room for another number of bytes.
    #[error(
        "a mask of {width}x{height} was handed {bytes} bytes in rows of {stride}; make them fit each other"
    )]
    Room {
        /// The mask's width.
        width: usize,
        /// Its height.
        height: usize,
        /// What there is.
        bytes: usize,
        /// From row to row.
        stride: usize,
    },
    /// A map from tensor to frame that has no inverse, or sizes that are too large.
    #[error(
        "a mask of {from:?} cells cannot be taken to a frame of {frame:?} pixels: sizes go from 1 to 32768, and the map \
         between them must be one that can be inverted"
    )]
    Map {
        /// The mask's width and height.
        from: [usize; 2],
        /// The frame's.
        frame: [usize; 2],
    },
    /// Coefficients, regions and room for the masks that do not go together.
    #[error(
        "{regions} objects with masks of {bytes} bytes in all were handed {coefficients} coefficients, {each} wanted for each, \
         and room for {room} bytes; hand over what Prototypes::regions or InstanceMasks::pixels returned"
    )]
    Instances {
        /// Objects.
        regions: usize,
        /// Bytes of their masks.
        bytes: usize,
        /// Coefficients that came.
        coefficients: usize,
        /// Coefficients an object has.
        each: usize,
        /// Room that there is.
        room: usize,
    },
    /// Maps of objects of another shape.
    #[error(
        "'{0}' has no map for each object, which must be 1xNxHxW, Nx1xHxW or NxHxW with H and W known; set tensor to the output \
         that holds the masks"
    )]
    Maps(String),
    /// Queries' classes and masks that do not go together.
    #[error(
        "'{classes}' must have the dimensions 1xQx(C+1), the logits of each query's class, and '{masks}' 1xQxHxW, those of its \
         mask, in float16 or float32, all of them known; set classes and tensor to these outputs"
    )]
    Queries {
        /// The output with the classes.
        classes: String,
        /// The output with the masks.
        masks: String,
    },
    /// An object's map that does not exist.
    #[error(
        "an object's mask is number {row} in '{tensor}', which has {rows}; hand over the masks of the objects' own frame"
    )]
    Row {
        /// The tensor.
        tensor: String,
        /// The map's number.
        row: u32,
        /// How many there are.
        rows: usize,
    },
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
