//! The counter of one stream: equal identities in two streams are not the same object.

use cudainfer_kernels::zones::{Counter, ZoneError, ZoneParams};

use crate::streams::{PerStream, Streams};

/// The state of one stream.
pub(super) struct StreamCounter {
    pub counter: Counter,
    /// Width and height of its frames.
    pub size: [usize; 2],
}

impl StreamCounter {
    pub fn new(params: ZoneParams) -> Result<Self, ZoneError> {
        Ok(Self { counter: Counter::new(params)?, size: [0; 2] })
    }

    /// Sets the size of its frames and how long they last, in ns. Returns whether these have changed.
    pub fn fit(&mut self, size: [usize; 2], duration: Option<u64>) -> bool {
        self.counter.set_frame(size, duration);
        std::mem::replace(&mut self.size, size) != size
    }
}

impl PerStream for StreamCounter {
    fn for_new_stream(&self) -> Self {
        let mut counter = self.counter.clone();
        counter.reset();
        Self { counter, size: [0; 2] }
    }

    fn forget(&mut self) {
        self.counter.reset();
    }
}

/// Takes other zones for all streams.
///
/// # Errors
/// Parameters that cannot be used; then nothing changes.
pub(super) fn replace(streams: &mut Streams<StreamCounter>, params: &ZoneParams) -> Result<(), ZoneError> {
    streams.iter_mut().try_for_each(|stream| stream.counter.replace(params.clone()))
}
