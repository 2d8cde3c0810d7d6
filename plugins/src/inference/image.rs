//! The order in which a session takes the image: as the model has it, or with its channels last, where the session is made of the model's
//! channels-last form.

use std::borrow::Cow;

use cudainfer_kernels::channels_last::channels_last;
use cudainfer_kernels::convert::convert;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use crate::inference::pictures::Maps;
use crate::inference::{InferenceError, RunShape};
use crate::model::onnx::{channels_last_name, name_before};

/// The order in which a session takes the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inference) enum ImageOrder {
    /// As the model has it, and as frames bring it.
    AsModel,
    /// `[N, H, W, C]`, of a model that has `[N, C, H, W]`.
    ChannelsLast,
}

impl ImageOrder {
    /// Makes an input's description that of the model itself.
    pub fn describe(self, input: &mut TensorDesc) {
        if self == Self::ChannelsLast
            && let Some(name) = name_before(&input.name)
            && let [_, last @ ..] = &mut input.dims[..]
        {
            last.rotate_right(1);
            input.name = name.to_owned();
        }
    }

    /// The image's name and dimensions in a run of this many rows, as the session has them.
    pub fn bound(self, shape: &RunShape, rows: usize) -> (Cow<'_, str>, Vec<usize>) {
        let mut dims = shape.image_dims(rows);
        match (self, &mut dims[..]) {
            (Self::ChannelsLast, [_, last @ ..]) => {
                last.rotate_left(1);
                (Cow::Owned(channels_last_name(&shape.image.name)), dims)
            }
            _ => (Cow::Borrowed(&shape.image.name), dims),
        }
    }

    /// Whether frames bring what the session wants as it is.
    pub fn is_given(self, shape: &RunShape) -> bool {
        self == Self::AsModel && shape.is_given()
    }

    /// The images of all frames, of whose pictures these are all, in the model's type and this order, and zeros for the rows that are left.
    ///
    /// # Errors
    /// [`InferenceError::Memory`], or [`InferenceError::Run`] where an image is not what the shape says.
    pub fn gather<'a>(
        self,
        gathered: &'a mut Vec<u128>,
        pictures: &Maps<'_>,
        shape: &RunShape,
        rows: usize,
    ) -> Result<&'a [u8], InferenceError> {
        let bytes = shape.image_bytes();
        let blocks = (rows * bytes).div_ceil(size_of::<u128>());
        gathered.try_reserve(blocks.saturating_sub(gathered.len())).map_err(|_| {
            InferenceError::Memory(format!("{} bytes for an input are not available", rows * bytes))
        })?;
        gathered.resize(blocks, 0);
        let all = bytemuck::cast_slice_mut::<u128, u8>(gathered);
        let (used, left) = all.split_at_mut(pictures.len() / shape.pictures() * bytes);
        for (row, frame) in used.chunks_exact_mut(bytes.max(1)).zip(pictures.chunks(shape.pictures())) {
            let image = shape.join(frame)?;
            let dims = shape.image_dims(1);
            let run = |e: &dyn std::fmt::Display| InferenceError::Run(e.to_string());
            let image =
                TensorView::new(&shape.image.name, shape.given, &dims, &image).map_err(|e| run(&e))?;
            match self {
                Self::AsModel => convert(&image, shape.image.ty, row).map_err(|e| run(&e)),
                Self::ChannelsLast => channels_last(&image, shape.image.ty, row).map_err(|e| run(&e)),
            }?;
        }
        left.fill(0);
        Ok(&bytemuck::cast_slice(gathered)[..rows * bytes])
    }
}
