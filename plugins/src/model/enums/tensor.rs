//! Properties of a tensor, as elements, sidecars and caps name them. `auto` leaves them to the model.

use cudainfer_kernels::preproc;

use crate::property::Words;

/// How the frame fills the tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferResize")]
#[allow(missing_docs)]
pub enum Resize {
    #[default]
    #[enum_value(name = "As in the sidecar, else letterbox", nick = "auto")]
    Auto,
    #[enum_value(name = "Keep the aspect ratio and pad with bars", nick = "letterbox")]
    Letterbox,
    #[enum_value(
        name = "Keep the aspect ratio, at the top left, and pad with bars at the right and bottom",
        nick = "letterbox-top-left"
    )]
    LetterboxTopLeft,
    #[enum_value(name = "Ignore the aspect ratio", nick = "stretch")]
    Stretch,
    #[enum_value(name = "Keep the aspect ratio and crop", nick = "center-crop")]
    CenterCrop,
}

impl Words for Resize {}

impl Resize {
    pub(crate) fn kernel(self) -> Option<preproc::Resize> {
        match self {
            Self::Auto => None,
            Self::Letterbox => Some(preproc::Resize::Letterbox),
            Self::LetterboxTopLeft => Some(preproc::Resize::LetterboxTopLeft),
            Self::Stretch => Some(preproc::Resize::Stretch),
            Self::CenterCrop => Some(preproc::Resize::CenterCrop),
        }
    }
}

/// How pixels are sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferInterpolation")]
#[allow(missing_docs)]
pub enum Interpolation {
    #[default]
    #[enum_value(name = "As in the sidecar, else bilinear", nick = "auto")]
    Auto,
    #[enum_value(name = "Bilinear, pixel centres at half-integers", nick = "bilinear")]
    Bilinear,
    #[enum_value(name = "Nearest neighbour", nick = "nearest")]
    Nearest,
    #[enum_value(name = "Mean over the covered area", nick = "area")]
    Area,
    #[enum_value(name = "Antialiased bilinear, as Pillow and torchvision do it", nick = "pil-bilinear")]
    PilBilinear,
    #[enum_value(name = "Antialiased bicubic, as Pillow and torchvision do it", nick = "pil-bicubic")]
    PilBicubic,
}

impl Words for Interpolation {}

impl Interpolation {
    pub(crate) fn kernel(self) -> Option<preproc::Interpolation> {
        match self {
            Self::Auto => None,
            Self::Bilinear => Some(preproc::Interpolation::Bilinear),
            Self::Nearest => Some(preproc::Interpolation::Nearest),
            Self::Area => Some(preproc::Interpolation::Area),
            Self::PilBilinear => Some(preproc::Interpolation::PilBilinear),
            Self::PilBicubic => Some(preproc::Interpolation::PilBicubic),
        }
    }
}

/// How an object's region is cut from the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferRoiCrop")]
#[allow(missing_docs)]
pub enum RoiCrop {
    #[default]
    #[enum_value(name = "As in the sidecar, else pixels with a pil interpolation, else box", nick = "auto")]
    Auto,
    #[enum_value(
        name = "The box itself, between pixels and turned with it; padding outside the frame",
        nick = "box"
    )]
    Box,
    #[enum_value(name = "As mmpose's TopdownAffine: half a pixel from box", nick = "mmpose")]
    Mmpose,
    #[enum_value(name = "As mmpose's TopdownAffine with use_udp", nick = "mmpose-udp")]
    MmposeUdp,
    #[enum_value(
        name = "Whole pixels inside the frame, resized like a frame of their own, as BoxMOT and Pillow's crop",
        nick = "pixels"
    )]
    Pixels,
}

impl Words for RoiCrop {}

/// The order of the tensor's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferChannelOrder")]
#[allow(missing_docs)]
pub enum ChannelOrder {
    #[default]
    #[enum_value(name = "As in the sidecar, else rgb, or gray for one channel", nick = "auto")]
    Auto,
    #[enum_value(name = "Red, green, blue", nick = "rgb")]
    Rgb,
    #[enum_value(name = "Blue, green, red", nick = "bgr")]
    Bgr,
    #[enum_value(name = "One channel of luma", nick = "gray")]
    Gray,
}

impl Words for ChannelOrder {}

impl ChannelOrder {
    pub(crate) fn kernel(self) -> Option<preproc::ChannelOrder> {
        match self {
            Self::Auto => None,
            Self::Rgb => Some(preproc::ChannelOrder::Rgb),
            Self::Bgr => Some(preproc::ChannelOrder::Bgr),
            Self::Gray => Some(preproc::ChannelOrder::Gray),
        }
    }
}

/// The order of a tensor's dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferLayout")]
#[allow(missing_docs)]
pub enum Layout {
    #[default]
    #[enum_value(name = "As the model requires", nick = "auto")]
    Auto,
    #[enum_value(name = "Batch, channel, height, width", nick = "nchw")]
    Nchw,
    #[enum_value(name = "Batch, height, width, channel", nick = "nhwc")]
    Nhwc,
}

impl Words for Layout {}

impl Layout {
    /// The kernels' layout; `None` for `auto`.
    pub fn kernel(self) -> Option<preproc::Layout> {
        match self {
            Self::Auto => None,
            Self::Nchw => Some(preproc::Layout::Nchw),
            Self::Nhwc => Some(preproc::Layout::Nhwc),
        }
    }
}

/// A tensor's element type; the nicks are `TensorType`'s names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferElementType")]
#[allow(missing_docs)]
pub enum ElementType {
    #[default]
    #[enum_value(name = "As the model requires", nick = "auto")]
    Auto,
    #[enum_value(name = "32-bit float", nick = "float32")]
    Float32,
    #[enum_value(name = "16-bit float", nick = "float16")]
    Float16,
    #[enum_value(name = "Unsigned 8-bit integer", nick = "uint8")]
    UInt8,
    #[enum_value(name = "Signed 8-bit integer", nick = "int8")]
    Int8,
    #[enum_value(name = "Signed 32-bit integer", nick = "int32")]
    Int32,
}

impl Words for ElementType {}
