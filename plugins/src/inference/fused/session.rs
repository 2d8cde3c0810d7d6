//! A session of the engine.

use std::sync::Arc;
use std::time::Duration;

use cudainfer_fused::gpu::{Constants, Libraries};
use cudainfer_kernels::device::{Counters, CudaStream, Device};
use cudainfer_kernels::tensor::TensorDesc;

use super::super::gpu::{self, Gpu};
use super::super::image::ImageOrder;
use super::super::{FedTensors, InferenceError, Outlook, RunShape, Session};
use super::kept::Kept;
use super::refusal::refused;
use super::runner::{FusedRun, FusedRunner, Model};
use crate::meta::tensor::Tensor;

/// A session of the engine.
#[derive(Debug)]
pub(super) struct FusedSession {
    gpu: Gpu<FusedRun>,
    runner: FusedRunner,
}

impl FusedSession {
    /// On a GPU, whose work is counted in `counters`; `graphs` says whether runs may be captured. Networks are made when their shapes
    /// are known.
    ///
    /// # Errors
    /// The driver's words.
    pub fn open(
        device: &Device,
        counters: &Arc<Counters>,
        graphs: bool,
        model: Model,
        libraries: Libraries,
        kept: Arc<Kept>,
    ) -> Result<Self, InferenceError> {
        let mut gpu = Gpu::open(device, counters, ImageOrder::AsModel).map_err(|e| refused(&e))?;
        gpu.allow_graphs(graphs);
        let stream = Arc::clone(gpu.stream());
        Ok(Self {
            gpu,
            runner: FusedRunner { model, libraries, stream, kept, constants: Constants::default() },
        })
    }
}

impl Session for FusedSession {
    fn inputs(&self) -> &[TensorDesc] {
        &self.runner.model.inputs
    }

    fn outputs(&self) -> &[TensorDesc] {
        &self.runner.model.outputs
    }

    fn stream(&self) -> Option<&Arc<CudaStream>> {
        Some(self.gpu.stream())
    }

    fn reserve(&mut self, batch: usize) {
        self.gpu.reserve(batch);
    }

    fn sizes(&self, _: usize) -> Vec<usize> {
        self.gpu.sizes()
    }

    fn warm_up_runs(&self) -> usize {
        gpu::WARM_UP + 2
    }

    fn rows(&self, shape: &RunShape, frames: usize) -> usize {
        self.gpu.rows(shape, frames)
    }

    fn run(
        &mut self,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        self.gpu.run(&mut self.runner, shape, images, fed)
    }

    /// Outputs of sizes that the file does not declare are made once this way, to learn them.
    fn run_on_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let known = self.runner.model.completed(shape, images.len() / shape.pictures())?;
        let made = self.gpu.run(&mut self.runner, &Arc::new(known), images, fed)?;
        self.gpu.finish()?;
        let on_host = |tensor: Tensor| {
            let map = tensor.data.map_readable().map_err(|e| InferenceError::Run(e.to_string()))?;
            Ok(Tensor { data: gst::Buffer::from_slice(map.to_vec()), desc: tensor.desc.clone() })
        };
        made.into_iter().map(on_host).collect()
    }

    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        self.gpu.wait_for_turn()
    }

    fn capturing(&self) -> Duration {
        self.gpu.capturing()
    }

    fn finish(&mut self) -> Result<(), InferenceError> {
        self.gpu.finish()
    }
}
