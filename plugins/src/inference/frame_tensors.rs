//! The tensors that a run takes for each frame, and those that it gives.

use std::sync::Arc;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::{EarlierPicture, Fed, InferenceError};
use crate::model::{ImageInput, Joined};

/// What is the same for every frame until the caps change. Descriptions are those of a frame alone: their first
/// dimension, if they have a batch, is 1.
#[derive(Clone, Debug)]
pub struct FrameTensors {
    /// The tensor that frames bring, in the type that the model wants.
    pub image: TensorDesc,
    /// How those of several frames lie in the model's input; none, if it takes that of a frame alone.
    pub joined: Option<Joined>,
    /// Further inputs that take the tensor of an earlier frame.
    pub earlier: Vec<EarlierPicture>,
    /// Whether the model has the first dimension of `image`; without, it takes one frame at a time.
    pub batched: bool,
    /// The type in which frames bring the image; float32 and float16 are converted.
    pub given: TensorType,
    /// Inputs that are the same for every frame.
    pub constants: Vec<Constant>,
    /// Inputs that are outputs of the same stream's run before.
    pub fed: Vec<Fed>,
    /// The outputs; dimensions that depend on the picture are open.
    pub outputs: Vec<TensorDesc>,
    /// Frames that every run takes, where the model has a fixed batch.
    pub fixed: Option<usize>,
}

impl FrameTensors {
    /// Of frames whose tensors have this type and, in pixels, this width and height, for a model with this `input` and these
    /// `outputs`, as far as the model gives their dimensions.
    ///
    /// # Errors
    /// [`InferenceError::Batch`]: the model has a fixed batch, and an output without one.
    pub fn of(
        input: &ImageInput,
        outputs: &[TensorDesc],
        given: TensorType,
        [width, height]: [usize; 2],
        constants: Vec<Constant>,
        earlier: Vec<EarlierPicture>,
        fed: Vec<Fed>,
    ) -> Result<Self, InferenceError> {
        Ok(Self {
            image: TensorDesc::fixed(input.name.as_str(), input.ty, &input.dims(width, height)),
            joined: input.joined.clone(),
            earlier,
            batched: input.batched,
            given,
            constants,
            fed,
            outputs: of_one_frame(input, outputs)?,
            fixed: input.batch,
        })
    }
}

/// The outputs' descriptions for a frame alone.
fn of_one_frame(input: &ImageInput, outputs: &[TensorDesc]) -> Result<Vec<TensorDesc>, InferenceError> {
    let Some(rows) = input.batch.filter(|batch| *batch > 1) else {
        return Ok(outputs.to_vec());
    };
    let of = |output: &TensorDesc| {
        let mut desc = output.clone();
        match desc.dims.first_mut() {
            Some(first) if first.is_none_or(|first| first == rows) => *first = first.map(|_| 1),
            _ => return Err(InferenceError::Batch { rows, output: output.to_string() }),
        }
        Ok(desc)
    };
    outputs.iter().map(of).collect()
}

/// An input that is the same for every frame.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The model's name for it and its type.
    pub desc: TensorDesc,
    /// Its dimensions for a frame alone.
    pub dims: Vec<usize>,
    /// Its elements.
    pub data: Arc<[u8]>,
    /// Whether each frame of a batch has its own.
    pub batched: bool,
}
