//! The CPU or the GPU, whichever is faster.

use std::sync::Arc;

use super::oks::near_pairs;
use super::overlap::keep_best;
use super::{CudaSimilarity, Pair, Pose, oks_pairs};
use crate::device::{CudaStream, DeviceError};

/// [`Similarity::oks`] uses the GPU from this number of near pairs times keypoints on. On an H200 and its Xeon, an idle GPU, which
/// takes 17 us with copies and the wait, is faster from 5,000 on (`benches/gpu/associate.rs`). But the GPU of a pipeline is not
/// idle: the wait lasts as long as the network's run, about a millisecond, which the CPU takes for this many pairs. Below
/// that, a pipeline waits for the GPU only once a frame, for the few bytes of the detections.
pub const GPU_OKS_DISTANCES: usize = 1 << 18;

/// Similarity matrices, computed by the GPU where there is one and it is faster. The results are the same.
#[derive(Debug, Default)]
pub struct Similarity {
    gpu: Option<(Arc<CudaStream>, CudaSimilarity)>,
    failure: Option<DeviceError>,
}

impl Similarity {
    /// On the CPU always.
    pub fn on_cpu() -> Self {
        Self::default()
    }

    /// On the GPU of `stream` where it is faster.
    ///
    /// # Errors
    /// Those of [`CudaSimilarity::new`].
    pub fn with_gpu(stream: &Arc<CudaStream>) -> Result<Self, DeviceError> {
        Ok(Self { gpu: Some((Arc::clone(stream), CudaSimilarity::new(stream)?)), ..Self::default() })
    }

    /// Why the GPU was given up: it failed, and the CPU has taken over.
    pub(crate) fn failure(&self) -> Option<&DeviceError> {
        self.failure.as_ref()
    }

    /// See [`oks_pairs`].
    pub fn oks(
        &mut self,
        a: &[Pose<'_>],
        b: &[Pose<'_>],
        sigmas: &[f32],
        may_match: impl Fn(usize, usize) -> bool,
        pairs: &mut Vec<Pair>,
    ) {
        // Near pairs need not be counted where even all pairs would be too few.
        let most = a.len().saturating_mul(b.len()).saturating_mul(sigmas.len());
        let is_crowd =
            || near_pairs(a, b, sigmas, &may_match).saturating_mul(sigmas.len()) >= GPU_OKS_DISTANCES;
        if let Some((stream, similarity)) =
            self.gpu.as_mut().filter(|_| most >= GPU_OKS_DISTANCES && is_crowd())
        {
            match similarity.oks(stream, a, b, sigmas) {
                Ok(matrix) => return listed(matrix, b.len(), may_match, pairs),
                // The CPU takes over from now on: the frame must not be lost.
                Err(failure) => *self = Self { failure: Some(failure), ..Self::default() },
            }
        }
        oks_pairs(a, b, sigmas, may_match, pairs);
    }
}

/// The pairs whose score in a matrix of `cols` columns is above 0 and that may match.
fn listed(matrix: &[f32], cols: usize, may_match: impl Fn(usize, usize) -> bool, pairs: &mut Vec<Pair>) {
    pairs.clear();
    for (row, scores) in matrix.chunks(cols.max(1)).enumerate() {
        let start = pairs.len();
        let similar = scores.iter().enumerate().filter(|(col, score)| **score > 0.0 && may_match(row, *col));
        pairs.extend(similar.map(|(col, &score)| Pair { row, col, score }));
        keep_best(pairs, start);
    }
}
