//! ONNX Runtime's runs on a GPU, by IO binding.

use cudainfer_kernels::device::{CudaStream, Memory};

use super::binding::Binding;
use super::failure::failed;
use super::options::Options;
use crate::inference::gpu::{RunMemory, Runner};
use crate::inference::image::ImageOrder;
use crate::inference::shape::batch_dims;
use crate::inference::{Fed, InferenceError};

/// A session that makes runs on a GPU.
pub(super) struct OrtRunner<'a> {
    pub session: &'a mut ort::session::Session,
    pub options: &'a Options,
    pub image: ImageOrder,
}

/// A run whose inputs and outputs are bound.
#[derive(Debug)]
pub(super) struct OrtRun {
    binding: Binding,
    /// The other inputs' elements, which the binding reads.
    _constants: Vec<Memory>,
}

impl Runner for OrtRunner<'_> {
    type Run = OrtRun;

    fn bind(&mut self, stream: &CudaStream, memory: RunMemory<'_>) -> Result<OrtRun, InferenceError> {
        let RunMemory { shape, rows, image, earlier, constants, fed, outputs } = memory;
        let ordinal = stream.context().device().ordinal;
        let mut binding = Binding::new(self.session, ordinal).map_err(failed)?;
        let (name, dims) = self.image.bound(shape, rows);
        // SAFETY: the memory is as large as `dims` say, in whatever order, and stays as long as the run.
        unsafe { binding.input(&name, shape.image.ty, &dims, image) }.map_err(failed)?;
        for ((name, dims), memory) in shape.earlier_inputs(rows).zip(earlier) {
            // SAFETY: as above.
            unsafe { binding.input(name, shape.image.ty, &dims, memory) }.map_err(failed)?;
        }
        for (input, memory) in shape.constants(rows)?.iter().zip(&constants) {
            // SAFETY: the run keeps the memory as long as the binding, and it holds what the input holds.
            unsafe { binding.input(input.name, input.ty, &input.dims, memory.slice()) }.map_err(failed)?;
        }
        for (state, memory) in shape.fed.iter().zip(fed) {
            let Fed { input, .. } = state;
            // SAFETY: as for the image.
            unsafe { binding.input(&input.name, input.ty, &state.dims(rows), memory) }.map_err(failed)?;
        }
        for (desc, output) in shape.outputs.iter().zip(outputs) {
            let dims = batch_dims(desc, rows);
            // SAFETY: as for the image; there is room for the largest batch.
            unsafe { binding.output(&desc.name, desc.ty, &dims, output) }.map_err(failed)?;
        }
        Ok(OrtRun { binding, _constants: constants })
    }

    fn enqueue(&mut self, _: &CudaStream, run: &mut OrtRun, may_wait: bool) -> Result<(), InferenceError> {
        let options = if may_wait { &self.options.waited } else { &self.options.enqueued };
        run.binding.run(self.session, options).map_err(failed)
    }

    fn is_interrupted(&self) -> bool {
        self.options.is_interrupted()
    }
}
