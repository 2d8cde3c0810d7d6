//! A model that is ready to run: the interface between trtinfer, which runs models, and the libraries that do it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::TensorDesc;

use super::stop::Interrupt;
use super::{FedTensors, InferenceError, Outlook, RunShape};
use crate::meta::tensor::Tensor;

/// A model that is ready to run, on one provider; it makes one run at a time.
pub trait Session: Debug + Send {
    /// The model's inputs that are tensors of numbers.
    fn inputs(&self) -> &[TensorDesc];

    /// The model's outputs that are tensors of numbers.
    fn outputs(&self) -> &[TensorDesc];

    /// The stream that the session works in on a GPU; its counters count the session's work.
    fn stream(&self) -> Option<&Arc<CudaStream>>;

    /// Sets how many frames a run has at most.
    fn reserve(&mut self, batch: usize);

    /// The numbers of frames whose runs differ, of up to `batch`, so that it pays to warm them up.
    fn sizes(&self, batch: usize) -> Vec<usize>;

    /// How often a run of a size is made until it takes as long as all later ones.
    fn warm_up_runs(&self) -> usize;

    /// Rows of a run of `frames` frames: at least as many; the rest is padding.
    fn rows(&self, shape: &RunShape, frames: usize) -> usize;

    /// Runs the model once on frames of the same shape, given by their image tensors: as many of each frame, one frame's after the
    /// other's, as [`RunShape::pictures`] says. `before` has what a recurrent model
    /// remembers of each frame's stream; frames that it does not have, or has nothing of, are the first of theirs. Returns the
    /// outputs of the whole batch, of as many rows as [`Session::rows`] says. On a GPU, where all dimensions are known, the run is
    /// only enqueued and the outputs stay in device memory.
    ///
    /// # Errors
    /// [`InferenceError::Memory`], or [`InferenceError::Run`] with the runtime's own words.
    fn run(
        &mut self,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError>;

    /// As [`Session::run`], but the outputs are on the host and own their memory.
    ///
    /// # Errors
    /// As [`Session::run`].
    fn run_on_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError>;

    /// Waits until the GPU has only one run ahead of it, so that the next batch gathers meanwhile, and returns what is known of
    /// that run. On the CPU a run is over when it returns.
    ///
    /// # Errors
    /// A run failed on the device.
    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError>;

    /// Whether no other session of its provider runs meanwhile, so that several gain nothing.
    fn runs_alone(&self) -> bool {
        false
    }

    /// How long capturing CUDA graphs took so far.
    fn capturing(&self) -> Duration {
        Duration::ZERO
    }

    /// The handle by which another thread ends the current run, or the next one: with [`InferenceError::Interrupted`].
    fn interrupt(&self) -> Option<Arc<dyn Interrupt>> {
        None
    }

    /// Waits until all enqueued work is done.
    ///
    /// # Errors
    /// The work failed on the device.
    fn finish(&mut self) -> Result<(), InferenceError>;
}

/// A session and whose turn it is.
pub type SharedSession = Arc<Mutex<Box<dyn Session>>>;
