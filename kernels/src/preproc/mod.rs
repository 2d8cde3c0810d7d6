//! Colour conversion, resize, normalisation and layout in one pass, from a video frame to the network's input tensor.

mod cpu;

use crate::frame::{Frame, FrameFormat};
use crate::geometry::Affine;
use crate::tensor::TensorType;

/// How a frame of one shape fills a tensor of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resize {
    /// Keep the aspect ratio, centre, fill the rest with the padding value.
    Letterbox,
    /// Fill the tensor, whatever that does to the aspect ratio.
    Stretch,
    /// Keep the aspect ratio, fill the tensor, cut what does not fit, equally on both sides.
    CenterCrop,
}

/// How a tensor pixel is made from frame pixels. All are half-pixel-centred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Two by two neighbours, no antialiasing (OpenCV's INTER_LINEAR, PyTorch's bilinear, align_corners=False).
    Bilinear,
    /// The pixel that holds the sample's centre.
    Nearest,
    /// Mean over the area that the tensor pixel covers (OpenCV's INTER_AREA when it shrinks).
    Area,
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

/// What the tensor shall be. Each element is
/// `(pixel * scale - mean[c]) / std[c]` with `pixel` in 0..255 and `c` counted in the tensor's own channel order;
/// for uint8 and int8 it is then divided by `quant_scale`, rounded half to even, moved by `zero_point` and saturated.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Tensor width in pixels.
    pub width: usize,
    /// Tensor height in pixels.
    pub height: usize,
    /// How the frame fills it.
    pub resize: Resize,
    /// How pixels are sampled.
    pub interpolation: Interpolation,
    /// Its channels.
    pub channels: ChannelOrder,
    /// Its dimensions' order.
    pub layout: Layout,
    /// Element type: float32, float16, uint8 or int8.
    pub ty: TensorType,
    /// Factor on the pixel value.
    pub scale: f32,
    /// Subtracted after scaling.
    pub mean: [f32; 3],
    /// Divided by after subtracting.
    pub std: [f32; 3],
    /// Real value of one integer step (uint8, int8).
    pub quant_scale: f32,
    /// Integer that stands for 0 (uint8, int8).
    pub zero_point: i32,
    /// Pixel value (0..255) of what letterboxing adds, before normalisation, the same in every channel.
    pub padding: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            width: 0,
            height: 0,
            resize: Resize::Letterbox,
            interpolation: Interpolation::Bilinear,
            channels: ChannelOrder::Rgb,
            layout: Layout::Nchw,
            ty: TensorType::Float32,
            scale: 1.0 / 255.0,
            mean: [0.0; 3],
            std: [1.0; 3],
            quant_scale: 1.0,
            zero_point: 0,
            padding: 114,
        }
    }
}

/// Parameters that cannot be met.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PreprocError {
    /// A width or height of 0.
    #[error("a {0} of 0 pixels cannot be resized")]
    Empty(&'static str),
    // ... the helper adds what is needed
}

/// A prepared conversion from one frame format to one tensor: index tables and coefficients are made once.
#[derive(Debug)]
pub struct Preproc {
    source: FrameFormat,
    params: Params,
}

impl Preproc {
    /// Prepares the conversion.
    ///
    /// # Errors
    /// Sizes of 0 or too large, a standard deviation or scale that is 0 or not finite, an element type that is none of the four.
    pub fn new(source: FrameFormat, params: Params) -> Result<Self, PreprocError> {
        Ok(Self { source, params })
    }

    /// The tensor's dimensions, in its layout.
    pub fn dims(&self) -> [usize; 4] {
        let p = &self.params;
        match p.layout {
            Layout::Nchw => [1, p.channels.channels(), p.height, p.width],
            Layout::Nhwc => [1, p.height, p.width, p.channels.channels()],
        }
    }

    /// The tensor's size in bytes.
    pub fn bytes(&self) -> usize {
        self.dims().iter().product::<usize>() * self.params.ty.size()
    }

    /// Where tensor pixels lie in the frame.
    pub fn affine(&self) -> Affine {
        Affine::IDENTITY
    }

    /// Fills `tensor` (of [`Preproc::bytes`] bytes) from `frame`.
    pub fn run(&mut self, frame: &Frame<'_>, tensor: &mut [u8]) {
        let _ = (frame, tensor);
    }
}
