//! What can be wrong with parameters, a frame or a tensor.

use super::limits::{MAX_BATCH, MAX_RESIZED, MAX_SIDE, MIN_CROP_RATIO};
use crate::device::DeviceError;
use crate::frame::FrameError;
use crate::tensor::TensorType;

/// Parameters that cannot be met, or memory that does not fit them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PreprocError {
    /// A width or height of 0.
    #[error("a {0} of 0 pixels cannot be resized; give it at least 1")]
    Empty(&'static str),
    /// A width or height beyond [`MAX_SIDE`].
    #[error("a {what} of {pixels} pixels is beyond the limit; make it at most {MAX_SIDE}")]
    TooLarge {
        /// Which side of what.
        what: &'static str,
        /// Its length.
        pixels: usize,
    },
    /// A tensor that the machine's address space cannot hold.
    #[error("a {width}x{height} {ty} tensor does not fit in this machine's memory; make it smaller")]
    Overflow {
        /// Tensor width in pixels.
        width: usize,
        /// Tensor height in pixels.
        height: usize,
        /// Element type.
        ty: TensorType,
    },
    /// A crop's ratio that is out of range.
    #[error("crop-ratio is {0}; give {MIN_CROP_RATIO} to 1, as 0.875 for 224 pixels of 256")]
    CropRatio(f64),
    /// A frame that would be resized to too many pixels before it is cropped.
    #[error(
        "a side of the resized frame is {0} pixels, beyond {MAX_RESIZED}; make the tensor smaller or crop-ratio larger"
    )]
    Enlarged(usize),
    /// A factor or divisor that is 0, infinite or not a number.
    #[error(
        "{name} is {value}, which makes every element the same or not a number; give a finite {name} other than 0"
    )]
    Factor {
        /// The parameter's name.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// A mean that is infinite or not a number.
    #[error("mean is {0}, which makes every element infinite or not a number; give a finite mean")]
    Mean(f32),
    /// Finite parameters whose combination is not.
    #[error(
        "scale, mean, std and quant_scale of channel {0} combine to more than float32 can hold; bring them closer to 1"
    )]
    Combination(usize),
    /// An element type that is not made here.
    #[error("a tensor of {0} cannot be made from a frame; choose float32, float16, uint8, int8 or int32")]
    Type(TensorType),
    /// A zero point that the element type cannot hold.
    #[error("zero_point {value} is no {ty} value; choose one from {low} to {high}")]
    ZeroPoint {
        /// The zero point.
        value: i32,
        /// Element type.
        ty: TensorType,
        /// Its least value.
        low: i32,
        /// Its greatest value.
        high: i32,
    },
    /// Memory for the tensor that is longer or shorter than [`super::Preproc::bytes`] (a frame of the batch).
    #[error(
        "the tensor needs exactly {wanted} bytes, but {given} were given; allocate what Preproc::bytes says"
    )]
    Tensor {
        /// The tensor's bytes.
        wanted: usize,
        /// The slice's bytes.
        given: usize,
    },
    /// A frame that is smaller than the format this conversion was prepared for.
    #[error("the frame is not of the format this conversion was prepared for, prepare another: {0}")]
    Frame(#[from] FrameError),
    /// A batch on the GPU of no frames, or of more than [`MAX_BATCH`].
    #[error("a batch of {0} frames cannot be made in one launch; give 1 to {MAX_BATCH}")]
    Batch(usize),
    /// A map from the tensor to the frame that cannot be followed.
    #[error(
        "region {0}'s map to the frame is not finite, or leads too far out of it; make its map with preproc::region"
    )]
    Region(usize),
    /// One of Pillow's filters for a region that may be turned.
    #[error(
        "a region that may be turned cannot be resized with Pillow's filters; choose bilinear, nearest or area, or \
         roi-crop=pixels"
    )]
    RegionFilter,
    /// Padding that differs between channels, for regions of a grey frame on a GPU.
    #[error(
        "regions of a grey frame cannot have another padding in each channel on a GPU; choose a pixel value for it"
    )]
    GreyRegions,
    /// A part of a frame that does not lie in it.
    #[error("part {0} is empty or does not lie in the frame; make it with preproc::part")]
    Part(usize),
    /// A tensor on the GPU whose address is not a multiple of its elements' size.
    #[error("the tensor's device address {address:#x} does not suit {ty}; align it to {} bytes", .ty.size())]
    Unaligned {
        /// Where the tensor begins.
        address: u64,
        /// Its element type.
        ty: TensorType,
    },
    /// The GPU refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
