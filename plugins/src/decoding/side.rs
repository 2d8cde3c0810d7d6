//! Whether to decode on the GPU or the CPU: where the tensors are, unless the property `device` says otherwise.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Counters, Stream};

use crate::meta::tensor::{OnDevice, Tensor};
use crate::sync::lock;

/// The property `device` and what it comes to.
#[derive(Debug, Default)]
pub struct Side {
    device: Mutex<Option<String>>,
    stream: Mutex<Option<Arc<Stream>>>,
    counters: Arc<Counters>,
}

impl Side {
    /// Sets the property.
    pub(super) fn set_device(&self, device: Option<String>) {
        *lock(&self.device) = device;
    }

    /// The property.
    pub fn device(&self) -> String {
        lock(&self.device).clone().unwrap_or_else(|| Choice::default().to_string())
    }

    /// What counts the element's work.
    pub(super) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// For `stop`: lets go of the GPU.
    pub(super) fn forget(&self) {
        let stream = lock(&self.stream).take();
        drop(stream);
    }

    /// The tensors to work on where they lie on the GPU, and the stream to do it in; `None` to do it on the CPU.
    ///
    /// # Errors
    /// A sentence: the GPU is asked for, and the tensors are on the host; or the driver makes no stream.
    pub fn on_device<'a>(
        &self,
        tensors: &'a [Tensor],
    ) -> Result<Option<(OnDevice<'a>, Arc<Stream>)>, String> {
        let device = self.device();
        let tensors = if device == "cpu" { None } else { OnDevice::of(tensors) };
        let Some((tensors, context)) = tensors.and_then(|t| t.context().cloned().map(|context| (t, context)))
        else {
            if device.starts_with("cuda") {
                return Err(format!(
                    "device={device}, but the tensors lie in system memory: set provider=cuda at trtinfer, or drop the \
                     property"
                ));
            }
            return Ok(None);
        };
        let mut stream = lock(&self.stream);
        if let Some(stream) = stream.as_ref().filter(|stream| stream.context().handle() == context.handle()) {
            return Ok(Some((tensors, Arc::clone(stream))));
        }
        let made = Arc::new(Stream::new(&context, &self.counters).map_err(|e| e.to_string())?);
        *stream = Some(Arc::clone(&made));
        Ok(Some((tensors, made)))
    }
}
