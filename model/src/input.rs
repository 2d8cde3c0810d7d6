//! The image input of a model: which of its inputs it is, and the caps that it needs.

use std::path::Path;

use cudainfer_kernels::preproc::{ChannelOrder, Layout};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use cudainfer_kernels::words::Words as _;

use super::joined::one_picture;
use super::sidecar::MAX_SIZE;
use super::{Joined, ModelError, ModelInfo};

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
    /// Of a picture, 1 or 3; of another model's tensor, any number.
    pub channels: usize,
    /// In pixels; `None` if any size is possible.
    pub width: Option<usize>,
    /// In pixels; `None` if any size is possible.
    pub height: Option<usize>,
    /// How the pictures of several frames lie in it; none, if it takes the current frame alone.
    pub joined: Option<Joined>,
}

impl ImageInput {
    /// Finds the image among a model's inputs: the one that the sidecar names, else the only one of rank 4 with 1 or
    /// 3 channels, else the only one of rank 3. What the sidecar's `[constants]`, `[state]` and `[frames]` name is none.
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
        let others = Self::others(info);
        let given = |name: &String| others.iter().any(|(_, other)| *other == name);
        let images: Vec<_> = inputs
            .iter()
            .filter(|desc| !given(&desc.name))
            .filter_map(|desc| Self::image(desc, info).ok())
            .collect();
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
            _ => Err(wrong(match others.iter().find(|(_, name)| inputs.iter().all(|d| d.name != **name)) {
                Some((table, name)) => {
                    format!("{table} of the sidecar names '{name}', which is none of them. Correct the name")
                }
                None => "several could take the image. Name the right one in the sidecar: [input] name = \"…\"; and those that take an \
                 earlier frame in its [frames], as INPUT = -1"
                    .into(),
            })),
        }
    }

    /// The inputs that the sidecar gives something else than the frame, and the table that does.
    fn others(info: &ModelInfo) -> Vec<(&'static str, &String)> {
        let constants = info.constants.keys().map(|name| ("[constants]", name));
        let frames = info.frames.inputs.keys().map(|name| ("[frames]", name));
        let states = info.state.outputs.values().map(|state| ("[state]", &state.input));
        constants.chain(frames).chain(states).collect()
    }

    /// The input, of whose pictures this is one's part.
    fn image(desc: &TensorDesc, info: &ModelInfo) -> Result<Self, String> {
        let (part, layout, joined) = one_picture(desc, info)?;
        Ok(Self { joined, ..Self::picture(&part, layout, info)? })
    }

    fn picture(desc: &TensorDesc, layout: Option<Layout>, info: &ModelInfo) -> Result<Self, String> {
        let (batched, batch, [a, b, c]) = match desc.dims[..] {
            [batch, a, b, c] => (true, batch, [a, b, c]),
            [a, b, c] => (false, Some(1), [a, b, c]),
            _ => {
                return Err(format!(
                    "it has {} dimensions, and an image has 4, [N,C,H,W] or [N,H,W,C], or 3, [C,H,W] or [H,W,C]; 5 are those of a clip, for which \
                     the sidecar has [clip]",
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
        let is_stated = layout.is_some();
        let layout = layout.unwrap_or(match (known(a), known(c)) {
            (false, true) => Layout::Nhwc,
            _ => Layout::Nchw,
        });
        let (channels, height, width) = if layout == Layout::Nchw { (a, b, c) } else { (c, a, b) };
        if !serves(channels) || !batched && !is_stated && channels.is_none() {
            return Err(format!(
                "it has {} channels as {}, and must have 1 or 3, or as many for each frame of [frames] stack in the sidecar",
                channels.map_or_else(|| "any number of".to_owned(), |channels| channels.to_string()),
                layout.word()
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
            joined: None,
        })
    }

    /// What an input is that takes one picture as this one does.
    pub fn picture_desc(&self, name: &str) -> TensorDesc {
        let (c, h, w) = (Some(self.channels), self.height, self.width);
        let alone = if self.layout == Layout::Nhwc { [h, w, c] } else { [c, h, w] };
        let batch = self.batched.then_some(self.batch);
        TensorDesc { name: name.to_owned(), ty: self.ty, dims: batch.into_iter().chain(alone).collect() }
    }

    /// The dimensions of a picture's tensor at a given size.
    pub fn dims(&self, width: usize, height: usize) -> [usize; 4] {
        match self.layout {
            Layout::Nhwc => [1, height, width, self.channels],
            Layout::Nchw => [1, self.channels, height, width],
        }
    }

    /// Whether tensors of frames may have this type: the model's own, or another float type if that is a float type.
    pub fn takes(&self, ty: TensorType) -> bool {
        let is_float = |ty| matches!(ty, TensorType::Float32 | TensorType::Float16);
        ty == self.ty || is_float(ty) && is_float(self.ty)
    }
}
