//! How the image input is filled.

use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Layout, Resize};
use serde::{Deserialize, Serialize};

use crate::{RoiCrop, word};

/// Largest width and height of a tensor in caps.
pub const MAX_SIZE: usize = 16384;

/// `[input]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Name of the image input, if several inputs could be it.
    pub name: Option<String>,
    /// Size, where the model leaves it open.
    pub width: Option<u32>,
    /// Size, where the model leaves it open.
    pub height: Option<u32>,
    /// What an open size that nothing states is rounded up to a multiple of.
    pub size_multiple: Option<u32>,
    /// The pixels that the model's own library leaves out of the bars, if the size is open: multiples of this number. No key.
    #[serde(skip)]
    pub bars_modulo: Option<u32>,
    /// `nchw` or `nhwc`, if the shape does not tell.
    #[serde(with = "word")]
    pub layout: Option<Layout>,
    /// `rgb` or `bgr`.
    #[serde(with = "word")]
    pub channels: Option<ChannelOrder>,
    /// Factor on the pixel value (0..255).
    pub scale: Option<f32>,
    /// Value subtracted after scaling: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Divisor applied after that: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// `letterbox`, `letterbox-top-left`, `stretch`, `center-crop` or `pad`.
    #[serde(with = "word")]
    pub resize: Option<Resize>,
    /// Size of the tensor as a fraction of what the frame is resized to before it is cropped.
    pub crop_ratio: Option<f64>,
    /// `bilinear`, `nearest`, `area`, `pil-bilinear` or `pil-bicubic`.
    #[serde(with = "word")]
    pub interpolation: Option<Interpolation>,
    /// Pixel value of the letterbox bars.
    pub padding: Option<u8>,
    /// Real value of one step of an integer input.
    pub quant_scale: Option<f32>,
    /// Integer that represents 0.
    pub zero_point: Option<i32>,
    /// Factor on the width and height of objects' regions.
    pub roi_padding: Option<f32>,
    /// Number of frame pixels along the tensor's longer side in objects' regions; 0 uses the object's box.
    pub roi_size: Option<u32>,
    /// `box`, `mmpose`, `mmpose-udp`, `pixels` or `sleap`.
    #[serde(with = "word")]
    pub roi_crop: Option<RoiCrop>,
}
