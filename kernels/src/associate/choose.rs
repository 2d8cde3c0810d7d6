//! The CPU or the GPU, whichever is faster.

use std::sync::Arc;

use super::{CudaCosts, Pose, iou_matrix, oks_matrix};
use crate::device::{DeviceError, Stream};
use crate::geometry::Rect;

/// Pairs from which on the GPU makes [`Costs::iou`] faster, its copies and the waiting included. On an H200 and its Xeon,
/// the GPU takes 11 us up to 10,000 pairs, and the CPU as long for 3,100 of them (`benches/gpu/associate.rs`).
pub const GPU_IOU_PAIRS: usize = 1 << 12;
/// Pairs times keypoints from which on the GPU makes [`Costs::oks`] faster, likewise: it takes 14 us up to 15,000, and
/// the CPU as long for 2,300.
pub const GPU_OKS_DISTANCES: usize = 1 << 12;

/// Similarity matrices, computed by the GPU where there is one and it is faster. The results are the same.
#[derive(Debug, Default)]
pub struct Costs {
    gpu: Option<(Arc<Stream>, CudaCosts)>,
    matrix: Vec<f32>,
    failure: Option<DeviceError>,
}

impl Costs {
    /// On the CPU always.
    pub fn on_cpu() -> Self {
        Self::default()
    }

    /// On the GPU of `stream` where it is faster.
    ///
    /// # Errors
    /// Those of [`CudaCosts::new`].
    pub fn with_gpu(stream: &Arc<Stream>) -> Result<Self, DeviceError> {
        Ok(Self { gpu: Some((Arc::clone(stream), CudaCosts::new(stream)?)), ..Self::default() })
    }

    /// Stays on the CPU from now on, because of `failure`.
    pub(crate) fn give_up(&mut self, failure: DeviceError) {
        *self = Self { failure: Some(failure), ..Self::default() };
    }

    /// Why the GPU was given up.
    pub(crate) fn failure(&self) -> Option<&DeviceError> {
        self.failure.as_ref()
    }

    /// See [`iou_matrix`].
    ///
    /// # Errors
    /// [`DeviceError`], on the GPU only.
    pub fn iou(&mut self, a: &[Rect], b: &[Rect]) -> Result<&[f32], DeviceError> {
        if let Some((stream, costs)) = &mut self.gpu
            && a.len().saturating_mul(b.len()) >= GPU_IOU_PAIRS
        {
            return costs.iou(stream, a, b);
        }
        iou_matrix(a, b, &mut self.matrix);
        Ok(&self.matrix)
    }

    /// See [`oks_matrix`].
    ///
    /// # Errors
    /// [`DeviceError`], on the GPU only.
    pub fn oks(&mut self, a: &[Pose<'_>], b: &[Pose<'_>], sigmas: &[f32]) -> Result<&[f32], DeviceError> {
        if let Some((stream, costs)) = &mut self.gpu
            && a.len().saturating_mul(b.len()).saturating_mul(sigmas.len()) >= GPU_OKS_DISTANCES
        {
            return costs.oks(stream, a, b, sigmas);
        }
        oks_matrix(a, b, sigmas, &mut self.matrix);
        Ok(&self.matrix)
    }
}
