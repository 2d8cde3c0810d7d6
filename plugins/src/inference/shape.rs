//! What a run of the model is fed and what comes out, of frames whose tensors are all alike.

use std::borrow::Cow;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::InferenceError;
use crate::memory::tensor::part;
use crate::meta::tensor::Tensor;

/// What is the same for every frame until the caps change. Descriptions are those of a frame alone: their first
/// dimension, if they have a batch, is 1.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The tensor that the model wants of each frame.
    pub image: TensorDesc,
    /// The type in which frames bring it; float32 and float16 are converted.
    pub given: TensorType,
    /// Inputs other than the image.
    pub constants: Vec<Constant>,
    /// What comes out; dimensions that depend on the picture are open.
    pub outputs: Vec<TensorDesc>,
    /// Frames that every run takes, where the model leaves no choice.
    pub fixed: Option<usize>,
}

/// An input that is the same for every frame.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The model's name for it and its type.
    pub desc: TensorDesc,
    /// Its dimensions for a frame alone.
    pub dims: Vec<usize>,
    /// Its elements.
    pub data: Vec<u8>,
    /// Whether each frame of a batch has its own.
    pub batched: bool,
}

/// A tensor to feed: name, dimensions, and elements of one type.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The model's name for it.
    pub name: &'a str,
    /// Element type.
    pub ty: TensorType,
    /// Dimensions, outermost first.
    pub dims: Vec<usize>,
    /// The elements, dense, row-major.
    pub data: Cow<'a, [u8]>,
}

impl Shape {
    /// Rows of a run of so many frames.
    pub fn rows(&self, frames: usize) -> usize {
        self.fixed.unwrap_or(frames)
    }

    /// Bytes of a frame's tensor, as the model wants it.
    pub fn image_bytes(&self) -> usize {
        bytes(&self.image)
    }

    /// Bytes of a frame's tensor, as it comes.
    pub fn given_bytes(&self) -> usize {
        self.image_bytes() / self.image.ty.size() * self.given.size()
    }

    /// Whether frames bring what the model wants as it is.
    pub fn is_given(&self) -> bool {
        self.given == self.image.ty
    }

    /// The image's dimensions in a run of so many rows.
    pub fn image_dims(&self, rows: usize) -> Vec<usize> {
        batch_dims(&self.image, rows)
    }

    /// The other inputs of a run of so many rows.
    pub fn constants(&self, rows: usize) -> impl Iterator<Item = Input<'_>> {
        self.constants.iter().map(move |constant| {
            let times = if constant.batched { rows } else { 1 };
            let mut dims = constant.dims.clone();
            if let (true, Some(first)) = (constant.batched, dims.first_mut()) {
                *first *= rows;
            }
            let data = match times {
                1 => Cow::Borrowed(constant.data.as_slice()),
                times => Cow::Owned(constant.data.repeat(times)),
            };
            Input { name: &constant.desc.name, ty: constant.desc.ty, dims, data }
        })
    }

    /// Whether all outputs' sizes are known before the run.
    pub fn is_known(&self) -> bool {
        self.outputs.iter().all(|output| output.dims.iter().all(Option::is_some))
    }

    /// Whether a batch of frames like these can hold one with that shape.
    pub fn fits(&self, other: &Self) -> bool {
        let constants = |shape: &Self| -> Vec<_> {
            shape.constants.iter().map(|c| (c.desc.name.clone(), c.dims.clone(), c.data.clone())).collect()
        };
        (&self.image, self.given) == (&other.image, other.given) && constants(self) == constants(other)
    }
}

/// The dimensions of a batch of `rows` tensors of this description.
pub(super) fn batch_dims(desc: &TensorDesc, rows: usize) -> Vec<usize> {
    let mut dims: Vec<usize> = desc.dims.iter().map(|d| d.unwrap_or(0)).collect();
    if let Some(first) = dims.first_mut() {
        *first *= rows;
    }
    dims
}

/// Bytes of a tensor whose dimensions are known.
pub(super) fn bytes(desc: &TensorDesc) -> usize {
    desc.dims.iter().map(|d| d.unwrap_or(0)).product::<usize>() * desc.ty.size()
}

/// A frame's part of a run's outputs.
///
/// # Errors
/// An output does not have so many rows.
pub fn row(outputs: &[Tensor], row: usize, rows: usize) -> Result<Vec<Tensor>, InferenceError> {
    if rows == 1 {
        return Ok(outputs.to_vec());
    }
    let of = |output: &Tensor| {
        let mut desc = output.desc.clone();
        let first = desc.dims.first_mut().filter(|first| **first == Some(rows));
        *first.ok_or_else(|| InferenceError::Batch { rows, output: output.desc.to_string() })? = Some(1);
        let bytes = bytes(&desc);
        let data = part(&output.data, row * bytes, bytes).map_err(|e| InferenceError::Run(e.to_string()))?;
        Ok(Tensor { desc, data })
    };
    outputs.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(fixed: Option<usize>) -> Shape {
        let desc = |name: &str, dims: &[usize]| TensorDesc::fixed(name, TensorType::UInt8, dims);
        Shape {
            image: desc("image", &[1, 3, 4, 4]),
            given: TensorType::UInt8,
            constants: vec![
                Constant { desc: desc("size", &[1, 2]), dims: vec![1, 2], data: vec![4, 5], batched: true },
                Constant { desc: desc("iou", &[1]), dims: vec![1], data: vec![7], batched: false },
            ],
            outputs: vec![desc("boxes", &[1, 2, 3])],
            fixed,
        }
    }

    #[test]
    fn a_batch_repeats_what_each_frame_has() {
        let shape = shape(None);
        assert_eq!((shape.rows(3), shape.image_bytes(), shape.image_dims(3)), (3, 48, vec![3, 3, 4, 4]));
        let inputs: Vec<_> = shape.constants(3).map(|i| (i.dims, i.data.into_owned())).collect();
        assert_eq!(inputs, [(vec![3, 2], vec![4, 5, 4, 5, 4, 5]), (vec![1], vec![7])]);
    }

    #[test]
    fn a_model_with_a_fixed_batch_always_runs_all_of_it() {
        assert_eq!([1, 3, 8].map(|frames| shape(Some(8)).rows(frames)), [8, 8, 8]);
    }

    #[test]
    fn frames_fit_if_what_they_are_fed_with_is_the_same() {
        let (one, mut other) = (shape(None), shape(None));
        assert!(one.fits(&other));
        other.constants[0].data = vec![4, 6];
        assert!(!one.fits(&other));
    }

    #[test]
    fn a_row_is_a_frames_part_and_outputs_without_rows_are_refused() {
        gst::init().unwrap();
        let batch = Tensor {
            desc: TensorDesc::fixed("boxes", TensorType::UInt8, &[2, 1, 2]),
            data: gst::Buffer::from_slice([1u8, 2, 3, 4]),
        };
        let second = row(std::slice::from_ref(&batch), 1, 2).unwrap();
        assert_eq!(second[0].desc.dims, [Some(1), Some(1), Some(2)]);
        assert_eq!(second[0].data.map_readable().unwrap().as_slice(), [3, 4]);
        let refused = row(&[batch], 0, 3).unwrap_err().to_string();
        assert!(refused.contains("boxes:uint8:2x1x2"), "{refused}");
    }
}
