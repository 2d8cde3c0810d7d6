//! How images come to the GPU that the session works on.

use std::collections::VecDeque;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, Event, Pinned};

use crate::inference::InferenceError;
use crate::memory::tensor::{DeviceMemory, device_memory};

/// The memory of an image that lies on the stream's GPU. One on another GPU is copied over.
pub(super) fn near<'a>(stream: &CudaStream, image: &'a gst::BufferRef) -> Option<DeviceMemory<'a>> {
    let near = |memory: &DeviceMemory<'_>| memory.context().handle() == stream.context().handle();
    device_memory(image).filter(near)
}

/// Pinned memory in turns, for images that come from the host.
#[derive(Debug, Default)]
pub(super) struct Staging {
    turns: VecDeque<(Pinned, Event)>,
    pub limit: usize,
}

/// Sizes of tensors for which memory is kept.
const SIZES: usize = 4;

impl Staging {
    /// Enqueues the copy of a tensor from the host, or from another GPU, to the device.
    pub fn bring(
        &mut self,
        stream: &CudaStream,
        data: &gst::BufferRef,
        target: DeviceSlice<'_>,
    ) -> Result<(), InferenceError> {
        match device_memory(data) {
            Some(far) => Ok(far.copy_over(stream, target)?),
            None => self.upload(stream, data, target),
        }
    }

    /// Enqueues the copy of a tensor to the device.
    fn upload(
        &mut self,
        stream: &CudaStream,
        data: &gst::BufferRef,
        target: DeviceSlice<'_>,
    ) -> Result<(), InferenceError> {
        let map = data.map_readable().map_err(|e| InferenceError::Run(e.to_string()))?;
        let limit = self.limit.max(1);
        // A model's inputs have few sizes; those of other shapes go.
        let (mut same, mut first) = (0, None);
        for (index, (pinned, _)) in self.turns.iter().enumerate() {
            if pinned.bytes() == map.size() {
                same += 1;
                first = first.or(Some(index));
            }
        }
        let turn = if same >= limit { first.and_then(|index| self.turns.remove(index)) } else { None };
        while self.turns.len() >= SIZES * limit {
            self.turns.pop_front();
        }
        let (mut pinned, event) = match turn {
            Some((pinned, event)) => {
                if !event.done()? {
                    stream.wait_on_host(&event)?;
                }
                (pinned, event)
            }
            None => (stream.pin(map.size())?, Event::new(stream.context())?),
        };
        pinned.as_mut_slice().copy_from_slice(&map);
        // SAFETY: the memory's turn comes again when the event after the copy is reached.
        unsafe { stream.start_upload(&pinned, target)? };
        stream.record(&event)?;
        self.turns.push_back((pinned, event));
        Ok(())
    }
}
