//! ONNX Runtime's options of a run, by which another thread can end it.

use std::fmt;
use std::sync::Mutex;

use ort::session::RunOptions;

use super::failure::failed;
use crate::inference::InferenceError;
use crate::inference::stop::Interrupt;
use crate::log::ENGINE as CAT;
use crate::sync::lock;

/// How ONNX Runtime must run: never capturing by itself, since such launches would wait for the device.
pub(super) struct Options {
    /// Without waiting at the end, for runs that are going to be captured.
    pub enqueued: RunOptions,
    /// Waiting at the end, for all others: ONNX Runtime gives back the pinned memory of a run only there. That memory would grow
    /// from run to run, and the last callbacks would find their session gone.
    pub waited: RunOptions,
    /// Whether the current run was interrupted, or the next one will be.
    interrupted: Mutex<bool>,
}

impl Options {
    /// For sessions on a GPU, whose runs may be captured, or on the CPU.
    pub fn new(on_gpu: bool) -> Result<Self, InferenceError> {
        let of = |waits: bool| {
            let mut options = RunOptions::new().map_err(failed)?;
            if !waits {
                options.disable_device_sync().map_err(failed)?;
            }
            if on_gpu {
                options.set("gpu_graph_id", "-1").map_err(failed)?;
            }
            Ok::<_, InferenceError>(options)
        };
        Ok(Self { enqueued: of(!on_gpu)?, waited: of(true)?, interrupted: Mutex::default() })
    }

    /// Whether a run was interrupted that has not been [concluded](Self::conclude).
    pub fn is_interrupted(&self) -> bool {
        *lock(&self.interrupted)
    }

    /// After a run: returns its result. Later runs are not interrupted any more.
    ///
    /// # Errors
    /// [`InferenceError::Interrupted`] for a failed run that was interrupted.
    pub fn conclude<T>(&self, made: Result<T, InferenceError>) -> Result<T, InferenceError> {
        let mut interrupted = lock(&self.interrupted);
        if !std::mem::take(&mut *interrupted) {
            return made;
        }
        for options in [&self.enqueued, &self.waited] {
            options.unterminate().map_err(failed)?;
        }
        made.map_err(|_| InferenceError::Interrupted)
    }
}

impl Interrupt for Options {
    fn interrupt(&self) {
        let mut interrupted = lock(&self.interrupted);
        *interrupted = true;
        for options in [&self.enqueued, &self.waited] {
            if let Err(e) = options.terminate() {
                gst::warning!(CAT, "a run is not interrupted: {e}");
            }
        }
    }

    fn withdraw(&self) {
        if let Err(e) = self.conclude(Ok(())) {
            gst::warning!(CAT, "the next run is interrupted for nothing: {e}");
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}
