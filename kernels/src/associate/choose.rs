//! The CPU or the GPU, whichever is faster.

use std::sync::Arc;

use super::{CudaCosts, Pose, oks_matrix};
use crate::device::{DeviceError, Stream};

/// Pairs times keypoints from which on [`Costs::oks`] goes to the GPU. On an H200 and its Xeon, an idle GPU, which takes 14
/// us up to 15,000 with copies and the wait, is faster above 2,300 (`benches/gpu/associate.rs`). But the GPU of a line is
/// not idle. The wait then lasts as long as the network's run, about a millisecond, which is what the CPU takes for this
/// many pairs. Below it, a line stays with one wait a frame and the few bytes that it brings back.
pub const GPU_OKS_DISTANCES: usize = 1 << 18;

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
