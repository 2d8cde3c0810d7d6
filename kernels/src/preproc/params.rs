//! Parameters of the tensor, and their checks.

use super::PreprocError;
use super::limits::{MAX_SIDE, MIN_CROP_RATIO};
use crate::frame::FrameFormat;
use crate::tensor::TensorType;

/// How a frame of one shape fills a tensor of another; the module's page has the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// Keep the aspect ratio, centre, fill the rest with the padding value.
    Letterbox,
    /// Keep the aspect ratio, begin at the top left, fill the rest with the padding value (YOLOX, RTMDet).
    LetterboxTopLeft,
    /// Fill the tensor without keeping the aspect ratio.
    Stretch,
    /// Keep the aspect ratio, fill the tensor, cut the rest equally on both sides ([`PreprocParams::crop_ratio`]).
    CenterCrop,
    /// Keep the frame's own size, begin at the top left, fill the rest with the padding value. What a larger frame has further to
    /// the right and below is not shown.
    Pad,
}

crate::words! { Resize:
    Letterbox = "letterbox", "Keep the aspect ratio and pad with bars";
    LetterboxTopLeft = "letterbox-top-left",
        "Keep the aspect ratio, at the top left, and pad with bars at the right and bottom";
    Stretch = "stretch", "Ignore the aspect ratio";
    CenterCrop = "center-crop", "Keep the aspect ratio and crop";
    Pad = "pad", "Keep the size, at the top left, and pad at the right and bottom (SLEAP)";
}

/// How a tensor pixel is made from frame pixels. All are half-pixel-centred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Two by two neighbours, no antialiasing (OpenCV's INTER_LINEAR, PyTorch's bilinear, align_corners=False).
    Bilinear,
    /// The pixel that holds the sample's centre (PyTorch's nearest-exact).
    Nearest,
    /// Mean over the area that the tensor pixel covers (OpenCV's INTER_AREA when it shrinks).
    Area,
    /// Pillow's BILINEAR, which torchvision uses: antialiased, on 8-bit pixels.
    PilBilinear,
    /// Pillow's BICUBIC, in the same way.
    PilBicubic,
}

crate::words! { Interpolation:
    Bilinear = "bilinear", "Bilinear, pixel centres at half-integers";
    Nearest = "nearest", "Nearest neighbour";
    Area = "area", "Mean over the covered area";
    PilBilinear = "pil-bilinear", "Antialiased bilinear, as Pillow and torchvision do it";
    PilBicubic = "pil-bicubic", "Antialiased bicubic, as Pillow and torchvision do it";
}

/// The tensor's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelOrder {
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
    /// One channel: luma by the frame's own matrix, full range.
    Gray,
}

crate::words! { ChannelOrder:
    Rgb = "rgb", "Red, green, blue";
    Bgr = "bgr", "Blue, green, red";
    Gray = "gray", "One channel of luma";
}

impl ChannelOrder {
    /// Number of channels.
    pub fn channels(self) -> usize {
        if self == Self::Gray { 1 } else { 3 }
    }
}

/// The order of the tensor's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[1, C, H, W]`
    Nchw,
    /// `[1, H, W, C]`
    Nhwc,
}

crate::words! { Layout:
    Nchw = "nchw", "Batch, channel, height, width";
    Nhwc = "nhwc", "Batch, height, width, channel";
}

/// Parameters of the tensor. Each element is
/// `(pixel * scale - mean[c]) / std[c]` with `pixel` in 0..255 and `c` counted in the tensor's own channel order;
/// for uint8, int8 and int32 it is then divided by `quant_scale`, rounded half to even, moved by `zero_point` and saturated.
/// Float16 is rounded half to even.
#[derive(Clone, Debug, PartialEq)]
pub struct PreprocParams {
    /// Tensor width in pixels, at most [`MAX_SIDE`].
    pub width: usize,
    /// Tensor height in pixels, at most [`MAX_SIDE`].
    pub height: usize,
    /// How the frame fills it.
    pub resize: Resize,
    /// For [`Resize::CenterCrop`]: the tensor's sides as a fraction of the sides that the resized frame covers (timm's
    /// `crop_pct`; 0.875 for 224 of 256), 0.1 to 1.
    pub crop_ratio: f64,
    /// How pixels are sampled.
    pub interpolation: Interpolation,
    /// Its channels.
    pub channels: ChannelOrder,
    /// Its dimensions' order.
    pub layout: Layout,
    /// Element type: float32, float16, uint8, int8 or int32.
    pub ty: TensorType,
    /// Factor on the pixel value.
    pub scale: f32,
    /// Subtracted after scaling.
    pub mean: [f32; 3],
    /// Divided by after subtracting.
    pub std: [f32; 3],
    /// Real value of one integer step (uint8, int8, int32).
    pub quant_scale: f32,
    /// Integer that stands for 0 (uint8, int8, int32); itself a value of that type.
    pub zero_point: i32,
    /// Of what a letterbox's bars are, and regions beyond the frame's edge.
    pub padding: Padding,
}

/// The colour of what is not in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// This pixel value in every channel, before normalisation.
    Pixel(u8),
    /// Of each channel what normalises to 0 (to the rounding of float32): the mean.
    Mean,
}

/// In caps and properties, where the mean is -1.
impl From<Padding> for i32 {
    fn from(padding: Padding) -> Self {
        match padding {
            Padding::Pixel(value) => value.into(),
            Padding::Mean => -1,
        }
    }
}

/// From a number of caps and properties; the error is that number.
impl TryFrom<i32> for Padding {
    type Error = i32;

    fn try_from(number: i32) -> Result<Self, i32> {
        if number == -1 { Ok(Self::Mean) } else { u8::try_from(number).map(Self::Pixel).map_err(|_| number) }
    }
}

/// The least and the greatest integer of a tensor of this type; none if it holds no integers. Those of int32 are far
/// beyond the values of pixels, and within the range in which adding a large float rounds.
pub(super) fn integers(ty: TensorType) -> Option<(i32, i32)> {
    match ty {
        TensorType::UInt8 => Some((0, 255)),
        TensorType::Int8 => Some((-128, 127)),
        TensorType::Int32 => Some((-(1 << 20), 1 << 20)),
        _ => None,
    }
}

impl Default for PreprocParams {
    fn default() -> Self {
        Self {
            width: 0,
            height: 0,
            resize: Resize::Letterbox,
            crop_ratio: 1.0,
            interpolation: Interpolation::Bilinear,
            channels: ChannelOrder::Rgb,
            layout: Layout::Nchw,
            ty: TensorType::Float32,
            scale: 1.0 / 255.0,
            mean: [0.0; 3],
            std: [1.0; 3],
            quant_scale: 1.0,
            zero_point: 0,
            padding: Padding::Pixel(114),
        }
    }
}

impl PreprocParams {
    /// Checks everything that does not depend on how the parameters combine.
    pub(crate) fn check(&self, source: &FrameFormat) -> Result<(), PreprocError> {
        let sides = [
            ("frame width", source.width),
            ("frame height", source.height),
            ("tensor width", self.width),
            ("tensor height", self.height),
        ];
        for (what, pixels) in sides {
            if pixels == 0 {
                return Err(PreprocError::Empty(what));
            }
            if pixels > MAX_SIDE {
                return Err(PreprocError::TooLarge { what, pixels });
            }
        }
        if !(MIN_CROP_RATIO..=1.0).contains(&self.crop_ratio) {
            return Err(PreprocError::CropRatio(self.crop_ratio));
        }
        let factor = |name, value: f32| {
            if value.is_finite() && value != 0.0 { Ok(()) } else { Err(PreprocError::Factor { name, value }) }
        };
        factor("scale", self.scale)?;
        for (mean, std) in self.mean.into_iter().zip(self.std) {
            factor("std", std)?;
            if !mean.is_finite() {
                return Err(PreprocError::Mean(mean));
            }
        }
        let (low, high) = match self.ty {
            TensorType::Float32 | TensorType::Float16 => return Ok(()),
            ty => integers(ty).ok_or(PreprocError::Type(ty))?,
        };
        factor("quant_scale", self.quant_scale)?;
        if (low..=high).contains(&self.zero_point) {
            Ok(())
        } else {
            Err(PreprocError::ZeroPoint { value: self.zero_point, ty: self.ty, low, high })
        }
    }
}
