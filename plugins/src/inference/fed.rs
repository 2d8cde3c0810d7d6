//! Inputs that each frame feeds with a tensor of its own beside its picture: what a recurrent model remembers of the frame's stream, and
//! what a promptable one is asked for.

use std::sync::Arc;

use cudainfer_kernels::tensor::TensorDesc;

use super::InferenceError;
use super::elements::filled;
use crate::meta::tensor::Tensor;

/// An input that each frame feeds with a tensor of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Fed {
    /// The input: its name, its type and, for a frame alone, the dimensions that it has at first.
    pub input: TensorDesc,
    /// Where the tensor comes from.
    pub source: Source,
    /// The number that all elements are where there is no tensor.
    pub initial: f64,
    /// Whether each frame of a batch has a row of it.
    pub batched: bool,
    /// Whether its dimensions are those of the input or of the sidecar, so that no run changes them.
    pub is_fixed: bool,
}

/// Where the tensor of an input comes from that each frame feeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The run before of the same stream has made it: it is a state.
    Run {
        /// The name of the output.
        output: String,
        /// Whether frames carry the output, too.
        is_result: bool,
    },
    /// The frame, or each of its objects, brings it.
    Frame,
}

impl Fed {
    /// Bytes of a frame's tensor.
    pub fn bytes(&self) -> usize {
        self.dims(1).iter().product::<usize>() * self.input.ty.size()
    }

    /// What is fed where there is no tensor.
    ///
    /// # Errors
    /// [`InferenceError::Memory`].
    pub fn at_first(&self) -> Result<Vec<u8>, InferenceError> {
        filled(self.initial, self.dims(1).iter().product(), self.input.ty)
    }

    /// The dimensions of the input for runs of `rows` rows, where no run changes them.
    pub fn dims(&self, rows: usize) -> Vec<usize> {
        let mut dims: Vec<usize> = self.input.dims.iter().map(|dim| dim.unwrap_or(0)).collect();
        if let (true, Some(first)) = (self.batched, dims.first_mut()) {
            *first = rows;
        }
        dims
    }

    /// Whether frames of several streams can be in one run.
    pub(super) fn has_rows(&self) -> bool {
        self.batched && self.is_fixed
    }

    /// The name of the output that it is a state of; `None` where frames bring it.
    pub fn output(&self) -> Option<&str> {
        match &self.source {
            Source::Run { output, .. } => Some(output),
            Source::Frame => None,
        }
    }
}

/// What a frame feeds: a tensor for each of [`super::FrameTensors::fed`], in that order.
pub type FedTensors = Arc<[Tensor]>;
