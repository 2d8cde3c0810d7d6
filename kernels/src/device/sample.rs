//! Time on the device, taken now and then and never waited for.

use std::sync::Arc;

use super::{Context, Counters, DeviceError, Event};

/// One call in so many is timed.
pub const SAMPLE_EVERY: u64 = 16;

/// A pair of time stamps, and whether they are on their way.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    calls: u64,
    events: Option<[Event; 2]>,
    pending: bool,
}

impl Sampler {
    /// Collects what the last sample came to, if that is known by now, and begins a new one when it is time, with a mark that
    /// `record` puts into the stream.
    pub fn begin(
        &mut self,
        context: &Arc<Context>,
        counters: &Counters,
        record: impl FnOnce(&Event) -> Result<(), DeviceError>,
    ) -> Result<bool, DeviceError> {
        let turn = self.calls.is_multiple_of(SAMPLE_EVERY);
        self.calls += 1;
        if !turn {
            return Ok(false);
        }
        let [start, end] = match &self.events {
            Some(events) => events,
            None => self.events.insert([Event::with_time(context)?, Event::with_time(context)?]),
        };
        if self.pending {
            if !end.done()? {
                return Ok(false);
            }
            counters.gpu_ns.add(end.nanoseconds_since(start)?);
            counters.gpu_samples.add(1);
            self.pending = false;
        }
        record(start).map(|()| true)
    }

    /// Ends what [`Sampler::begin`] began.
    pub fn end(&mut self, record: impl FnOnce(&Event) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        if let Some([_, end]) = &self.events {
            record(end)?;
            self.pending = true;
        }
        Ok(())
    }
}
