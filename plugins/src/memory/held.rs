//! Buffers that the device still reads.

use std::collections::VecDeque;

use cudainfer_kernels::device::{CudaStream, DeviceError, Event};

use super::{CAT, MemoryError};

/// Above this number, [`HeldBuffers::keep`] waits for the oldest.
const LIMIT: usize = 8;

/// Buffers, in system memory or not, that an element is done with but work of its stream still reads. Dropping this waits
/// for all that work.
#[derive(Debug, Default)]
pub struct HeldBuffers {
    /// The oldest first.
    buffers: VecDeque<(Event, gst::Buffer)>,
    /// Events that have fired.
    spare: Vec<Event>,
}

impl HeldBuffers {
    /// Holds `buffer` until the work that is in `stream` so far is done, and releases those whose work is.
    ///
    /// # Errors
    /// [`MemoryError::Device`], also for faults of earlier work. The buffer is then held, too.
    pub fn keep(&mut self, stream: &CudaStream, buffer: gst::Buffer) -> Result<(), MemoryError> {
        let released = self.release();
        let event = match self.spare.pop().map_or_else(|| Event::new(stream.context()), Ok) {
            Ok(event) => event,
            Err(error) => {
                // The buffer is released now, so its work must be done now.
                stream.synchronize()?;
                return Err(error.into());
            }
        };
        let recorded = stream.record(&event);
        self.buffers.push_back((event, buffer));
        released?;
        recorded?;
        if self.buffers.len() > LIMIT {
            self.release_oldest(|event| stream.wait_on_host(event))?;
        }
        Ok(())
    }

    /// Releases the buffers whose work is done.
    ///
    /// # Errors
    /// [`MemoryError::Device`] for faults on the device.
    pub fn release(&mut self) -> Result<(), MemoryError> {
        while let Some((event, _)) = self.buffers.front() {
            if !event.done()? {
                break;
            }
            self.release_oldest(|_| Ok(()))?;
        }
        Ok(())
    }

    /// Waits until all buffers are released, counted in `stream`: at a flush or the end of a stream.
    ///
    /// # Errors
    /// [`MemoryError::Device`] for faults on the device.
    pub fn drain(&mut self, stream: &CudaStream) -> Result<(), MemoryError> {
        self.release()?;
        while !self.buffers.is_empty() {
            self.release_oldest(|event| stream.wait_on_host(event))?;
        }
        Ok(())
    }

    fn release_oldest(
        &mut self,
        wait: impl FnOnce(&Event) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let Some((event, buffer)) = self.buffers.pop_front() else { return Ok(()) };
        let waited = wait(&event);
        drop(buffer);
        self.spare.push(event);
        waited
    }
}

impl Drop for HeldBuffers {
    fn drop(&mut self) {
        while !self.buffers.is_empty() {
            if let Err(error) = self.release_oldest(Event::synchronize) {
                gst::warning!(CAT, "a buffer goes although its last use failed: {error}");
            }
        }
    }
}
