//! The scores of classes of a model whose queries have classes and masks.

use cudainfer_kernels::segment::ClassQueries;

use crate::decoding::{Counts, Side};
use crate::meta::tensor::{Failure, Tensor, TensorSet};

/// Makes them, on the host.
pub(super) struct Queries {
    kernel: ClassQueries,
    /// The names of the outputs with classes and masks.
    outputs: [String; 2],
    scores: Vec<f32>,
    /// Of the tensor that is made.
    pub side: Side,
}

impl Queries {
    pub fn new(kernel: ClassQueries, outputs: [String; 2]) -> Self {
        Self { kernel, outputs, scores: Vec::new(), side: Side::default() }
    }

    /// The scores of a frame; outputs on a GPU are downloaded, which counts as a fallback.
    ///
    /// # Errors
    /// A sentence.
    pub fn make(&mut self, set: &TensorSet, side: &Side, counts: &mut Counts) -> Result<Tensor, String> {
        let Self { kernel, outputs, scores, .. } = self;
        let [classes, masks] = [set.tensor(&outputs[0])?, set.tensor(&outputs[1])?];
        if side.on_device([classes, masks])?.is_some() {
            side.count_fallback();
        }
        let mut run = || -> Result<usize, Failure> {
            let (classes, masks) = (classes.map()?, masks.map()?);
            Ok(kernel.run(&classes.view()?, &masks.view()?, scores)?)
        };
        counts.add("non-finite", run().map_err(|e| e.to_string())?);
        let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_ne_bytes()).collect();
        Ok(Tensor { desc: kernel.scores(), data: gst::Buffer::from_mut_slice(bytes) })
    }
}
