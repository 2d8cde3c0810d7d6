//! The inputs and outputs of a run, for frames whose tensors have the same shapes.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;

use super::elements::reserved;
use super::{Constant, FrameTensors, InferenceError};
use crate::memory::tensor::part;
use crate::meta::tensor::Tensor;

/// Bytes that a tensor of a run may have at most, all rows together: 8 GiB. A model that asks for more is broken, and would take
/// the memory of everybody else.
const LARGEST: usize = 1 << 33;

/// Tensors whose sizes have been checked: those of all rows of a run, and the products of their dimensions, are at most 8 GiB, so
/// that computing with them below does not overflow; and constants hold what their dimensions say. It is not changed afterwards.
#[derive(Clone, Debug)]
pub struct RunShape(FrameTensors);

impl Deref for RunShape {
    type Target = FrameTensors;

    fn deref(&self) -> &FrameTensors {
        &self.0
    }
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

impl RunShape {
    /// Checks the sizes of tensors that come from a model and from caps, for runs of up to `batch` frames.
    ///
    /// # Errors
    /// [`InferenceError::Size`] names the tensor.
    pub fn new(tensors: FrameTensors, batch: usize) -> Result<Self, InferenceError> {
        let rows = tensors.fixed.unwrap_or(batch).max(batch).max(1);
        let refuse = |desc: &TensorDesc| InferenceError::Size { tensor: desc.to_string(), rows };
        let check = |desc: &TensorDesc, element: usize| {
            // None of them is 0 here, so that no product of some of them is larger.
            let dims = desc.dims.iter().map(|dim| dim.unwrap_or(1).max(1));
            let bytes = dims.chain([rows]).try_fold(element, usize::checked_mul);
            bytes.filter(|bytes| *bytes <= LARGEST).map(|_| ()).ok_or_else(|| refuse(desc))
        };
        let ago = tensors.joined.iter().flat_map(|joined| &joined.ago);
        let pictures = ago.clone().count().max(1);
        let element = tensors.image.ty.size().max(tensors.given.size());
        check(&tensors.image, element.saturating_mul(pictures))?;
        let frames =
            ago.chain(tensors.earlier.iter().map(|picture| &picture.ago)).max().map_or(1, |ago| ago + 1);
        let kept = TensorDesc { ty: tensors.given, ..tensors.image.clone() };
        if bytes(&kept).checked_mul(frames).is_none_or(|kept| kept > LARGEST) {
            return Err(InferenceError::Pictures { picture: kept.to_string(), frames });
        }
        for constant in &tensors.constants {
            let desc = TensorDesc::fixed(&constant.desc.name, constant.desc.ty, &constant.dims);
            check(&desc, desc.ty.size())?;
            if bytes(&desc) != constant.data.len() {
                return Err(refuse(&desc));
            }
        }
        tensors.fed.iter().try_for_each(|state| check(&state.input, state.input.ty.size()))?;
        tensors.outputs.iter().try_for_each(|output| check(output, output.ty.size()))?;
        Ok(Self(tensors))
    }

    /// The same with outputs as runs on two pictures have made them. Dimensions that came out empty, or different, depend on
    /// the picture and stay open.
    ///
    /// # Errors
    /// As for [`RunShape::new`].
    pub(super) fn with_outputs(
        self,
        [one, other]: [&[Tensor]; 2],
        batch: usize,
    ) -> Result<Self, InferenceError> {
        let open = |(one, other): (&Tensor, &Tensor)| {
            let mut desc = one.desc.clone();
            for (dim, other) in desc.dims.iter_mut().zip(&other.desc.dims) {
                *dim = dim.filter(|size| *size > 0 && Some(*size) == *other);
            }
            desc
        };
        Self::new(FrameTensors { outputs: one.iter().zip(other).map(open).collect(), ..self.0 }, batch)
    }

    /// Rows of a run of this many frames.
    pub fn rows(&self, frames: usize) -> usize {
        self.fixed.unwrap_or(frames)
    }

    /// Bytes of the model's input for a frame.
    pub fn image_bytes(&self) -> usize {
        bytes(&self.image) * self.joined_pictures()
    }

    /// The same in the type in which frames bring it.
    pub fn given_bytes(&self) -> usize {
        self.picture_bytes() * self.joined_pictures()
    }

    /// Bytes of a frame's tensor, as frames bring it.
    pub fn picture_bytes(&self) -> usize {
        bytes(&self.image) / self.image.ty.size() * self.given.size()
    }

    /// Whether frames bring the tensor as the model wants it.
    pub fn is_given(&self) -> bool {
        self.given == self.image.ty
    }

    /// The image's dimensions in a run of `rows` rows, as the model has them.
    pub fn image_dims(&self, rows: usize) -> Vec<usize> {
        let mut dims = self.frame_dims();
        if let Some(first) = dims.first_mut() {
            *first *= rows;
        }
        dims.split_off(usize::from(!self.batched))
    }

    /// The inputs of a run of `rows` rows that are the same for every frame.
    ///
    /// # Errors
    /// [`InferenceError::Memory`].
    pub fn constants(&self, rows: usize) -> Result<Vec<Input<'_>>, InferenceError> {
        fn input(constant: &Constant, rows: usize) -> Result<Input<'_>, InferenceError> {
            let Constant { desc, dims, data, batched } = constant;
            let (times, mut dims) = (if *batched { rows } else { 1 }, dims.clone());
            if let (true, Some(first)) = (*batched, dims.first_mut()) {
                *first *= rows;
            }
            let data = match times {
                1 => Cow::Borrowed(&**data),
                times => {
                    let mut repeated = reserved(data.len() * times)?;
                    (0..times).for_each(|_| repeated.extend_from_slice(data));
                    Cow::Owned(repeated)
                }
            };
            Ok(Input { name: &desc.name, ty: desc.ty, dims, data })
        }
        self.constants.iter().map(|constant| input(constant, rows)).collect()
    }

    /// Whether all tensors' sizes are known before the run.
    pub fn is_known(&self) -> bool {
        self.outputs.iter().all(|output| output.dims.iter().all(Option::is_some)) && self.has_fixed_states()
    }

    /// Whether a batch of frames like these can hold one with that shape.
    pub fn fits(&self, other: &Self) -> bool {
        let constants = |shape: &Self| -> Vec<_> {
            shape
                .constants
                .iter()
                .map(|c| (c.desc.name.clone(), c.dims.clone(), Arc::clone(&c.data)))
                .collect()
        };
        let pictures = |shape: &Self| (shape.image.clone(), shape.given, shape.ago());
        pictures(self) == pictures(other) && constants(self) == constants(other) && self.fed == other.fed
    }
}

/// This many zeros.
///
/// # Errors
/// [`InferenceError::Memory`].
pub(super) fn zeros(bytes: usize) -> Result<Vec<u8>, InferenceError> {
    let mut zeros = reserved(bytes)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// A picture of dark and bright pixels in no order, of which this many of 256 are dark: of 0 and 1, or of 0 and all other values
/// of an integer.
///
/// # Errors
/// [`InferenceError::Memory`].
pub(super) fn noise(bytes: usize, ty: TensorType, dark: u8) -> Result<Vec<u8>, InferenceError> {
    let mut noise = reserved(bytes)?;
    let mut state = 1u32;
    while noise.len() < bytes {
        // Numerical Recipes' generator; its high bits are good.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [.., high] = state.to_le_bytes();
        let bright = f32::from(u8::from(high >= dark));
        match ty {
            TensorType::Float32 => noise.extend(bright.to_ne_bytes()),
            TensorType::Float16 => noise.extend(f16::from_f32(bright).to_ne_bytes()),
            _ => noise.push(if high < dark { 0 } else { high }),
        }
    }
    noise.truncate(bytes);
    Ok(noise)
}

/// How much of the noise is dark in this row, so that no two rows are alike.
pub(super) fn darkness(row: usize, rows: usize) -> u8 {
    u8::try_from(256 * (row + 1) / (rows + 1)).unwrap_or(u8::MAX)
}

/// The dimensions of a batch of `rows` tensors of this description, which is one of a [`RunShape`].
pub(super) fn batch_dims(desc: &TensorDesc, rows: usize) -> Vec<usize> {
    let mut dims: Vec<usize> = desc.dims.iter().map(|d| d.unwrap_or(0)).collect();
    if let Some(first) = dims.first_mut() {
        *first *= rows;
    }
    dims
}

/// Bytes of a tensor of a [`RunShape`], or of one that is there, whose dimensions are known.
pub(super) fn bytes(desc: &TensorDesc) -> usize {
    desc.dims.iter().map(|d| d.unwrap_or(0)).product::<usize>() * desc.ty.size()
}

/// A frame's part of a run's outputs.
///
/// # Errors
/// An output does not have this many rows.
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

    fn shape(fixed: Option<usize>) -> RunShape {
        let desc = |name: &str, dims: &[usize]| TensorDesc::fixed(name, TensorType::UInt8, dims);
        let tensors = FrameTensors {
            image: desc("image", &[1, 3, 4, 4]),
            joined: None,
            earlier: Vec::new(),
            batched: true,
            given: TensorType::UInt8,
            constants: vec![
                Constant {
                    desc: desc("size", &[1, 2]),
                    dims: vec![1, 2],
                    data: [4, 5].into(),
                    batched: true,
                },
                Constant { desc: desc("iou", &[1]), dims: vec![1], data: [7].into(), batched: false },
            ],
            fed: Vec::new(),
            outputs: vec![desc("boxes", &[1, 2, 3])],
            fixed,
        };
        RunShape::new(tensors, fixed.unwrap_or(3)).unwrap()
    }

    #[test]
    fn sizes_that_no_memory_holds_or_no_number_counts_are_refused_with_the_tensors_name() {
        let refused = |change: &dyn Fn(&mut FrameTensors)| {
            let mut tensors = (*shape(None)).clone();
            change(&mut tensors);
            let fits = RunShape::new(tensors.clone(), 1).is_ok();
            (RunShape::new(tensors, 3).unwrap_err().to_string(), fits)
        };
        let large = |name: &str, dims: &[usize]| TensorDesc::fixed(name, TensorType::Int64, dims);
        let (text, fits) = refused(&|t| t.image = large("image", &[1, 1 << 29]));
        assert!(text.contains("image:int64:1x536870912") && text.contains("3 frames"), "{text}");
        assert!(fits, "a frame alone is not too large");
        for dims in [&[1, 1 << 40][..], &[1 << 32, 1 << 32], &[usize::MAX, 2], &[0, usize::MAX, usize::MAX]] {
            let (text, fits) = refused(&|t| t.outputs = vec![large("boxes", dims)]);
            assert!(text.contains("boxes:int64:") && !fits, "{text}");
        }
        // An open dimension may have any size, but the rest is counted.
        let open = TensorDesc { dims: vec![None, Some(1 << 40)], ..large("masks", &[]) };
        assert!(refused(&|t| t.outputs = vec![open.clone()]).0.contains("masks"));
        // As converted from another type.
        let (text, _) = refused(&|t| {
            t.given = TensorType::Float32;
            t.image = TensorDesc::fixed("image", TensorType::UInt8, &[1, 1 << 30]);
        });
        assert!(text.contains("image"), "{text}");
        // A constant has the dimensions that ONNX Runtime reads.
        let (text, _) = refused(&|t| t.constants[0].dims = vec![1, 3]);
        assert!(text.contains("size:uint8:1x3"), "{text}");
        let (text, _) = refused(&|t| t.constants[0].dims = vec![1 << 33, 1 << 33]);
        assert!(text.contains("size:uint8"), "{text}");
    }

    #[test]
    fn a_batch_repeats_what_each_frame_has() {
        let shape = shape(None);
        assert_eq!((shape.rows(3), shape.image_bytes(), shape.image_dims(3)), (3, 48, vec![3, 3, 4, 4]));
        let inputs: Vec<_> =
            shape.constants(3).unwrap().into_iter().map(|i| (i.dims, i.data.into_owned())).collect();
        assert_eq!(inputs, [(vec![3, 2], vec![4, 5, 4, 5, 4, 5]), (vec![1], vec![7])]);
    }

    #[test]
    fn a_model_with_a_fixed_batch_always_runs_all_of_it() {
        assert_eq!([1, 3, 8].map(|frames| shape(Some(8)).rows(frames)), [8, 8, 8]);
    }

    #[test]
    fn a_model_without_batches_is_given_a_picture_alone() {
        let alone = RunShape(FrameTensors { batched: false, ..shape(Some(1)).0 });
        assert_eq!((alone.image_dims(1), alone.image_bytes()), (vec![3, 4, 4], 48));
    }

    #[test]
    fn frames_fit_if_what_they_are_fed_with_is_the_same() {
        let (one, mut other) = (shape(None), shape(None));
        assert!(one.fits(&other));
        other.0.constants[0].data = [4, 6].into();
        assert!(!one.fits(&other));
    }

    #[test]
    fn noise_is_as_dark_as_asked_for_and_no_two_rows_are_alike() {
        for (ty, size) in [(TensorType::UInt8, 1), (TensorType::Float16, 2), (TensorType::Float32, 4)] {
            let noise = noise(8000 * size, ty, 64).unwrap();
            let dark = noise.chunks(size).filter(|pixel| pixel.iter().all(|byte| *byte == 0)).count();
            assert!((1900..2100).contains(&dark), "{dark} of 8000 are dark in {ty}");
        }
        assert_eq!((darkness(0, 1), darkness(0, 3), darkness(2, 3)), (128, 64, 192));
        let all: std::collections::HashSet<_> = (0..128).map(|row| darkness(row, 128)).collect();
        assert_eq!(all.len(), 128);
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
