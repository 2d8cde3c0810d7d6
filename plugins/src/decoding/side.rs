//! Whether tensors are decoded on the GPU or on the CPU: on the device that has them, unless the property `device` differs.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counters, CudaStream};

use crate::device::AskedDevice;
use crate::meta::tensor::{OnDevice, Tensor};
use crate::sync::lock;

/// The property `device`, and what it results in.
#[derive(Debug, Default)]
pub struct Side {
    device: Mutex<AskedDevice>,
    stream: Mutex<Option<Arc<CudaStream>>>,
    counters: Arc<Counters>,
}

impl Side {
    /// Sets the property.
    pub(super) fn set_device(&self, device: AskedDevice) {
        *lock(&self.device) = device;
    }

    /// Counts that something on the GPU was done by the CPU.
    pub fn count_fallback(&self) {
        self.counters.fallbacks.add(1);
    }

    /// The property.
    pub fn device(&self) -> AskedDevice {
        lock(&self.device).clone()
    }

    /// The counters of the element's work.
    pub(super) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// For `stop`: releases the GPU.
    pub(super) fn forget(&self) {
        let stream = lock(&self.stream).take();
        drop(stream);
    }

    /// The tensors on the GPU and the stream to work in; `None` to work on the CPU.
    ///
    /// # Errors
    /// A sentence: a GPU is required but the tensors are in system memory, or the driver cannot make a stream.
    pub fn on_device<'a>(
        &self,
        tensors: impl IntoIterator<Item = &'a Tensor>,
    ) -> Result<Option<(OnDevice<'a>, Arc<CudaStream>)>, String> {
        let device = self.device();
        let tensors = if device.is_cpu() { None } else { OnDevice::of(tensors) };
        let Some((tensors, context)) = tensors.and_then(|t| t.context().cloned().map(|context| (t, context)))
        else {
            if device.is_gpu() {
                let device = device.text();
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
        let made = Arc::new(CudaStream::new(&context, &self.counters).map_err(|e| e.to_string())?);
        *stream = Some(Arc::clone(&made));
        Ok(Some((tensors, made)))
    }
}
