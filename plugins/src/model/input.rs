//! The image input of a model: which of its inputs it is, and the caps that it needs.

use std::path::Path;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use glib::prelude::*;

use super::limits::MAX_SIZE;
use super::{ModelError, ModelInfo};
use crate::caps::BARS_MODULO;
use crate::model::enums::tensor::{ChannelOrder, Layout};
use crate::nick::nick;

/// The input of the model that takes the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageInput {
    /// The model's name for it.
    pub name: String,
    /// float32, float16, uint8, int8 or int32.
    pub ty: TensorType,
    /// The order of its dimensions.
    pub layout: Layout,
    /// Whether its first dimension is the batch; a picture alone is `[C,H,W]` or `[H,W,C]`.
    pub batched: bool,
    /// Number of frames in a run; `None` if any number is possible.
    pub batch: Option<usize>,
    /// 1 or 3.
    pub channels: usize,
    /// In pixels; `None` if any size is possible.
    pub width: Option<usize>,
    /// In pixels; `None` if any size is possible.
    pub height: Option<usize>,
}

impl ImageInput {
    /// Finds the image among a model's inputs: the one that the sidecar names, else the only one of rank 4 with 1 or
    /// 3 channels, else the only one of rank 3.
    ///
    /// # Errors
    /// [`ModelError::Unfit`] lists the model's inputs and what is supported.
    pub fn of(inputs: &[TensorDesc], info: &ModelInfo, model: &Path) -> Result<Self, ModelError> {
        if inputs.is_empty() {
            return Err(ModelError::Unfit(
                model.to_owned(),
                "none of its inputs takes an image, which is of type float32, float16, uint8, int8 or int32. Export the model with \
                 such an input"
                    .into(),
            ));
        }
        let list = inputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let wrong =
            |why: String| ModelError::Unfit(model.to_owned(), format!("its inputs are {list}, but {why}"));
        if let Some(name) = &info.input.name {
            let desc = inputs.iter().find(|d| d.name == *name);
            let desc = desc
                .ok_or_else(|| wrong(format!("the sidecar names '{name}'. Correct name in its [input]")))?;
            return Self::image(desc, info)
                .map_err(|why| wrong(format!("'{name}' takes no image: {why}. Correct name in the sidecar's [input], or export the model with another input")));
        }
        let images: Vec<_> = inputs.iter().filter_map(|d| Self::image(d, info).ok()).collect();
        // Beside a batch of pictures, three dimensions are boxes or points.
        let (batches, alone): (Vec<_>, Vec<_>) = images.into_iter().partition(|image| image.batched);
        match if batches.is_empty() { &alone } else { &batches }.as_slice() {
            [one] => Ok(one.clone()),
            [] => {
                let why = inputs.first().and_then(|d| Self::image(d, info).err()).unwrap_or_default();
                Err(wrong(format!(
                    "none takes an image: {why}. Export the model with an image input, or name it in the sidecar: [input] \
                     name = \"…\""
                )))
            }
            _ => Err(wrong(
                "several could take the image. Name the right one in the sidecar: [input] name = \"…\""
                    .into(),
            )),
        }
    }

    fn image(desc: &TensorDesc, info: &ModelInfo) -> Result<Self, String> {
        let (batched, batch, [a, b, c]) = match desc.dims[..] {
            [batch, a, b, c] => (true, batch, [a, b, c]),
            [a, b, c] => (false, Some(1), [a, b, c]),
            _ => {
                return Err(format!(
                    "it has {} dimensions, and an image has 4, [N,C,H,W] or [N,H,W,C], or 3, [C,H,W] or [H,W,C]",
                    desc.dims.len()
                ));
            }
        };
        if batch == Some(0) {
            return Err("its batch is 0, and must be open, or 1 or more".into());
        }
        if !matches!(
            desc.ty,
            TensorType::Float32
                | TensorType::Float16
                | TensorType::UInt8
                | TensorType::Int8
                | TensorType::Int32
        ) {
            return Err(format!(
                "it is of type {}, and must be float32, float16, uint8, int8 or int32",
                desc.ty
            ));
        }
        let serves = |channels: Option<usize>| matches!(channels, None | Some(1 | 3));
        let known = |channels: Option<usize>| matches!(channels, Some(1 | 3));
        let layout = info.input.layout.unwrap_or(match (known(a), known(c)) {
            (false, true) => Layout::Nhwc,
            _ => Layout::Nchw,
        });
        let (channels, height, width) = if layout == Layout::Nchw { (a, b, c) } else { (c, a, b) };
        if !serves(channels) || !batched && info.input.layout.is_none() && channels.is_none() {
            return Err(format!(
                "it has {} channels as {}, and must have 1 or 3",
                channels.map_or_else(|| "any number of".to_owned(), |channels| channels.to_string()),
                nick(layout)
            ));
        }
        let gray = info.input.channels.map(|order| order == ChannelOrder::Gray);
        if let (Some(gray), Some(channels)) = (gray, channels)
            && gray != (channels == 1)
        {
            return Err(format!(
                "it has {channels} channels, which the sidecar's input.channels does not fit"
            ));
        }
        if width == Some(0) || height == Some(0) {
            return Err("its width or height is 0".into());
        }
        if [width, height].into_iter().flatten().any(|size| size > MAX_SIZE) {
            let words = |size: Option<usize>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
            return Err(format!(
                "it has {}x{} pixels, and may have up to {MAX_SIZE}x{MAX_SIZE}",
                words(width),
                words(height)
            ));
        }
        Ok(Self {
            name: desc.name.clone(),
            ty: desc.ty,
            layout,
            batched,
            batch,
            channels: channels.unwrap_or(if gray == Some(true) { 1 } else { 3 }),
            width,
            height,
        })
    }

    /// The dimensions of a frame's tensor at a given size.
    pub fn dims(&self, width: usize, height: usize) -> [usize; 4] {
        match self.layout {
            Layout::Nhwc => [1, height, width, self.channels],
            Layout::Nchw | Layout::Auto => [1, self.channels, height, width],
        }
    }

    /// Whether tensors of frames may have this type: the model's own, or another float type if that is a float type.
    pub fn takes(&self, ty: TensorType) -> bool {
        let is_float = |ty| matches!(ty, TensorType::Float32 | TensorType::Float16);
        ty == self.ty || is_float(ty) && is_float(self.ty)
    }

    /// As [`ImageInput::required`], in the other types, which are converted.
    pub fn convertible(&self) -> impl Iterator<Item = gst::Structure> {
        let others = TensorType::ALL.into_iter().filter(|ty| *ty != self.ty && self.takes(*ty));
        others.map(|ty| {
            let mut structure = self.required();
            structure.set("tensor-type", ty.name());
            structure
        })
    }

    /// The caps fields that an input tensor must have.
    pub fn required(&self) -> gst::Structure {
        let mut s = gst::Structure::builder("required")
            .field("tensor-name", self.name.as_str())
            .field("tensor-type", self.ty.name())
            .field("tensor-layout", nick(self.layout))
            .field("tensor-channels", i32::try_from(self.channels).unwrap_or(3))
            .build();
        for (field, size) in [("tensor-width", self.width), ("tensor-height", self.height)] {
            match size {
                Some(size) => s.set(field, i32::try_from(size).unwrap_or(i32::MAX)),
                None => s.set(field, gst::IntRange::new(1, i32::try_from(MAX_SIZE).unwrap_or(i32::MAX))),
            }
        }
        s
    }

    /// The same with the sidecar's values, which fusedpreproc uses where its own properties are not set.
    pub fn preferred(&self, info: &ModelInfo) -> gst::Structure {
        let mut s = self.required();
        let input = &info.input;
        let sizes = [("tensor-width", self.width, input.width), ("tensor-height", self.height, input.height)];
        for (field, fixed, wish) in sizes {
            if let (None, Some(wish)) = (fixed, wish.and_then(|v| i32::try_from(v).ok())) {
                s.set(field, wish);
            }
        }
        let mut set = |field: &str, value: Option<glib::SendValue>| {
            if let Some(value) = value {
                s.set_value(field, value);
            }
        };
        let floats = |v: &Option<Vec<f32>>| {
            v.as_ref().map(|v| gst::Array::new(v.iter().map(|x| f64::from(*x))).to_send_value())
        };
        let modulo = input.bars_modulo.filter(|_| self.width.is_none() && self.height.is_none());
        set(BARS_MODULO, modulo.map(|v| i32::try_from(v).unwrap_or(i32::MAX).to_send_value()));
        set("tensor-order", input.channels.map(|v| nick(v).to_send_value()));
        set("tensor-resize", input.resize.map(|v| nick(v).to_send_value()));
        set("tensor-crop-ratio", input.crop_ratio.map(|v| v.to_send_value()));
        set("tensor-interpolation", input.interpolation.map(|v| nick(v).to_send_value()));
        set("tensor-padding", input.padding.map(|v| i32::from(v).to_send_value()));
        set("tensor-scale", input.scale.map(|v| f64::from(v).to_send_value()));
        set("tensor-mean", floats(&input.mean));
        set("tensor-std", floats(&input.std));
        set("tensor-quant-scale", input.quant_scale.map(|v| f64::from(v).to_send_value()));
        set("tensor-roi-padding", input.roi_padding.map(|v| f64::from(v).to_send_value()));
        set("tensor-roi-size", input.roi_size.map(|v| i32::try_from(v).unwrap_or(i32::MAX).to_send_value()));
        set("tensor-roi-crop", input.roi_crop.map(|v| nick(v).to_send_value()));
        set("tensor-zero-point", input.zero_point.map(|v| v.to_send_value()));
        s
    }
}
