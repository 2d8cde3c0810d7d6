//! The pictures of a stream that a run takes for each frame: that of the frame, and those of earlier ones.

use std::borrow::Cow;

use cudainfer_kernels::convert::convert;
use cudainfer_kernels::tensor::TensorView;

use super::elements::reserved;
use super::shape::{Input, bytes};
use super::{InferenceError, RunShape};
use crate::model::Joined;

/// Mapped tensors on the host.
pub(super) type Maps<'a> = [gst::BufferMap<'a, gst::buffer::Readable>];

impl RunShape {
    /// How many frames before it each of the pictures is that a run takes for a frame: those of the picture's input, in its order, and
    /// then those of the further inputs.
    pub fn ago(&self) -> Vec<usize> {
        let image = self.joined.as_ref().map_or(vec![0], |joined| joined.ago.clone());
        image.into_iter().chain(self.earlier.iter().map(|picture| picture.ago)).collect()
    }

    /// There is a run at every `hop`th frame, once all their pictures are there; none, if there is one for each frame.
    pub fn hop(&self) -> Option<usize> {
        self.joined.as_ref().and_then(|joined| joined.hop)
    }

    /// Pictures that a run takes for each frame.
    pub fn pictures(&self) -> usize {
        self.joined_pictures() + self.earlier.len()
    }

    /// Pictures of the input that takes the frame.
    pub(super) fn joined_pictures(&self) -> usize {
        self.joined.as_ref().map_or(1, |joined| joined.ago.len())
    }

    /// Whether a run takes more of a frame than its own picture.
    pub fn looks_back(&self) -> bool {
        self.joined.is_some() || !self.earlier.is_empty()
    }

    /// The dimensions of the input that takes the frame, for a frame alone; the first is a batch of 1.
    pub(super) fn frame_dims(&self) -> Vec<usize> {
        let picture = self.picture_dims();
        self.joined.as_ref().map_or_else(|| picture.clone(), |joined| joined.dims(&picture))
    }

    /// The dimensions of a picture; the first is a batch of 1.
    pub(super) fn picture_dims(&self) -> Vec<usize> {
        self.image.dims.iter().map(|dim| dim.unwrap_or(0)).collect()
    }

    /// The further inputs that take a picture, and their dimensions in a run of `rows` rows, as the model has them.
    pub(super) fn earlier_inputs(&self, rows: usize) -> impl Iterator<Item = (&str, Vec<usize>)> {
        let mut dims = self.picture_dims();
        if let Some(first) = dims.first_mut() {
            *first *= rows;
        }
        let dims = dims.split_off(usize::from(!self.batched));
        self.earlier.iter().map(move |picture| (picture.input.as_str(), dims.clone()))
    }

    /// How pictures, as frames bring them, are put together for a frame: in how many pieces each is cut, and how long these are, in bytes.
    pub(super) fn pieces(&self, joined: &Joined) -> [usize; 2] {
        let count = joined.pieces(&self.picture_dims()).max(1);
        [count, self.picture_bytes() / count]
    }

    /// The pictures of a frame as the input that takes them has them, in the type in which they come. `pictures` are all of a frame.
    ///
    /// # Errors
    /// [`InferenceError::Memory`], or [`InferenceError::Run`] where a picture has another size.
    pub(super) fn join<'a>(&self, pictures: &'a Maps<'_>) -> Result<Cow<'a, [u8]>, InferenceError> {
        let Some(joined) = &self.joined else {
            return Ok(Cow::Borrowed(pictures.first().map_or(&[], |picture| picture.as_slice())));
        };
        let [count, length] = self.pieces(joined);
        let used = pictures.get(..joined.ago.len()).unwrap_or(pictures);
        let mut all = reserved(self.given_bytes())?;
        for piece in 0..count {
            for picture in used {
                let piece = picture.get(piece * length..(piece + 1) * length);
                all.extend_from_slice(
                    piece.ok_or_else(|| InferenceError::Run("a picture is too short".into()))?,
                );
            }
        }
        Ok(Cow::Owned(all))
    }

    /// The further inputs that take a picture, in a run of `rows` rows; `pictures` are those of all frames. Rows without a frame are
    /// zeros.
    ///
    /// # Errors
    /// As of [`RunShape::join`].
    pub(super) fn earlier_pictures<'a>(
        &'a self,
        pictures: &Maps<'_>,
        rows: usize,
    ) -> Result<Vec<Input<'a>>, InferenceError> {
        let (bytes, before) = (bytes(&self.image), self.joined_pictures());
        let input = |(index, (name, dims)): (usize, (&'a str, Vec<usize>))| {
            let mut data = reserved(bytes * rows)?;
            data.resize(bytes * rows, 0);
            let frames = pictures.chunks(self.pictures()).filter_map(|frame| frame.get(before + index));
            for (row, picture) in data.chunks_exact_mut(bytes.max(1)).zip(frames) {
                let run = |e: &dyn std::fmt::Display| InferenceError::Run(e.to_string());
                let dims = self.picture_dims();
                let picture = TensorView::new(name, self.given, &dims, picture).map_err(|e| run(&e))?;
                convert(&picture, self.image.ty, row).map_err(|e| run(&e))?;
            }
            Ok(Input { name, ty: self.image.ty, dims, data: Cow::Owned(data) })
        };
        self.earlier_inputs(rows).enumerate().map(input).collect()
    }
}
