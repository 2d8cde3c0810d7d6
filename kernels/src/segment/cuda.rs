//! Masks on the GPU.

use super::{Params, Prototypes, Region, Resize, SegmentError};
use crate::device::{DevicePlane, DeviceSlice, DeviceTensor, Stream};
use crate::preproc::Layout;
use crate::tensor::TensorDesc;

/// [`super::Segmenter`] on the GPU: the same masks, to the bit. All frames in one stream, or in streams that wait for each
/// other.
#[derive(Debug)]
pub struct CudaSegmenter {}

impl CudaSegmenter {
    /// As [`super::Segmenter::new`]; allocates the state, and what clean-up needs.
    ///
    /// # Errors
    /// As there, and [`SegmentError::Device`].
    pub fn new(
        logits: &TensorDesc,
        input: [usize; 2],
        params: Params,
        stream: &Stream,
    ) -> Result<Self, SegmentError> {
        let _ = (logits, input, params, stream);
        unimplemented!()
    }

    /// The mask's width and height, which are the tensor's.
    pub fn size(&self) -> [usize; 2] {
        unimplemented!()
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        unimplemented!()
    }

    /// Enqueues the mask of the stream's next frame and returns at once. `mask` has as many bytes as the mask.
    ///
    /// # Errors
    /// As [`super::Segmenter::run`], and [`SegmentError::Device`].
    pub fn run(
        &mut self,
        stream: &Stream,
        logits: &DeviceTensor<'_>,
        mask: DeviceSlice<'_>,
    ) -> Result<(), SegmentError> {
        let _ = (stream, logits, mask);
        unimplemented!()
    }

    /// Forgets the frames so far: the next one is the first.
    pub fn reset(&mut self) {
        unimplemented!()
    }

    /// Values that were NaN or infinite, as [`super::Outcome::non_finite`], in all frames so far: those that the device is
    /// done with, and the last of these may be missing. It does not wait.
    pub fn non_finite(&self) -> u64 {
        unimplemented!()
    }
}

/// [`Resize`] on the GPU: the same masks, to the bit.
#[derive(Clone, Debug)]
pub struct CudaResize {}

impl CudaResize {
    /// In the context of `stream`.
    ///
    /// # Errors
    /// [`SegmentError::Device`].
    pub fn new(stream: &Stream) -> Result<Self, SegmentError> {
        let _ = stream;
        unimplemented!()
    }

    /// Enqueues `resize` and returns at once: one launch.
    ///
    /// # Errors
    /// As [`Resize::run`], and [`SegmentError::Device`].
    pub fn run(
        &self,
        stream: &Stream,
        resize: &Resize,
        mask: DeviceSlice<'_>,
        out: DevicePlane<'_>,
    ) -> Result<(), SegmentError> {
        let _ = (stream, resize, mask, out);
        unimplemented!()
    }
}

/// [`Prototypes`] on the GPU: the same masks, to the bit.
#[derive(Debug)]
pub struct CudaPrototypes {
    plan: Prototypes,
}

impl CudaPrototypes {
    /// As [`Prototypes::new`].
    ///
    /// # Errors
    /// As there, and [`SegmentError::Device`].
    pub fn new(
        prototypes: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
        stream: &Stream,
    ) -> Result<Self, SegmentError> {
        let _ = stream;
        Ok(Self { plan: Prototypes::new(prototypes, input, layout)? })
    }

    /// What is known of the prototypes: their size, the coefficients, the regions of boxes.
    pub fn plan(&self) -> &Prototypes {
        &self.plan
    }

    /// Enqueues the masks of all objects, one launch, and returns at once. It is the caller's `coefficients` and
    /// `regions` on the host that are uploaded. `masks` has as many bytes as [`Prototypes::regions`] said.
    ///
    /// # Errors
    /// As [`Prototypes::run`], and [`SegmentError::Device`].
    pub fn run(
        &mut self,
        stream: &Stream,
        prototypes: &DeviceTensor<'_>,
        coefficients: &[f32],
        regions: &[Region],
        masks: DeviceSlice<'_>,
    ) -> Result<(), SegmentError> {
        let _ = (stream, prototypes, coefficients, regions, masks);
        unimplemented!()
    }
}
