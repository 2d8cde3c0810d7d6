//! ONNX Runtime's options of a run.

use std::fmt;

use ort::session::RunOptions;

use crate::inference::InferenceError;
use crate::inference::ort::failure::failed;

/// How ONNX Runtime is to run: never recording by itself, whose launches would wait for the device.
pub(super) struct Options {
    /// Without waiting at the end, for runs that are going to be recorded.
    pub enqueued: RunOptions,
    /// Waiting at the end, for all others: ONNX Runtime gives back the pinned memory of a run only there. It would grow from run to
    /// run, and the last callbacks would find their session gone.
    pub waited: RunOptions,
}

impl Options {
    pub fn new() -> Result<Self, InferenceError> {
        let of = |waits: bool| {
            let mut options = RunOptions::new().map_err(failed)?;
            if !waits {
                options.disable_device_sync().map_err(failed)?;
            }
            options.set("gpu_graph_id", "-1").map_err(failed)?;
            Ok::<_, InferenceError>(options)
        };
        Ok(Self { enqueued: of(false)?, waited: of(true)? })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}
