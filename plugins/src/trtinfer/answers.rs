//! The latest answers of what a model sees in a stream, for frames for which there is no run.

use std::collections::HashMap;

use cudainfer_kernels::geometry::Affine;

use super::history::Key;
use crate::meta::batch::Batch;
use crate::meta::tensor::{Tensor, TensorSet};

/// The latest answers of what is seen in a stream.
pub(super) type Answers = HashMap<Key, Answer>;

/// The latest answer of a run.
#[derive(Debug)]
pub(super) struct Answer {
    tensors: Vec<Tensor>,
    batch: Option<(Batch, usize)>,
    to_frame: Affine,
}

impl Answer {
    /// The answer that a run has given.
    pub fn of(set: &TensorSet) -> Self {
        Self { tensors: set.tensors.clone(), batch: set.batch.clone(), to_frame: set.to_frame }
    }

    /// Puts it in place of what a later frame, or region, has brought.
    pub fn put(&self, set: &mut TensorSet) {
        set.tensors.clone_from(&self.tensors);
        // What is decoded with its batch lies where that was.
        set.batch = self.batch.clone().filter(|_| self.to_frame == set.to_frame);
    }
}
