//! Time on the device, measured for some calls and never waited for; for all calls where there is a [`Timeline`].

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::{Context, Counters, DeviceError, Event};

/// One call in this many is timed.
pub const SAMPLE_EVERY: u64 = 16;

/// Samples of one stream whose end may be pending: more than the calls that are in flight.
const PENDING: usize = 8;

/// How long the host's and the device's clock count as aligned: they drift apart.
const ALIGNED: Duration = Duration::from_secs(10);

/// Work that a stream did on the device.
#[derive(Clone, Debug)]
pub struct DeviceSpan {
    /// A number that no other stream of this process has.
    pub stream: usize,
    /// Which element it was for: the value of [`Timeline::name`] when it was enqueued.
    pub name: Arc<str>,
    /// When it began, on the host's clock; within some 50 µs.
    pub began: Instant,
    /// Time from its first kernel or copy to the end of the last one.
    pub took: Duration,
}

/// Callbacks for a picture of the device's work: with them every call is timed, not one in [`SAMPLE_EVERY`].
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Which element the calling thread works for; none if its work is not wanted.
    pub name: fn() -> Option<Arc<str>>,
    /// Receives work that is done, some calls later, in the thread of one of these.
    pub report: fn(DeviceSpan),
}

static TIMELINE: OnceLock<Timeline> = OnceLock::new();

/// Sets the timeline; the first one stays until the process ends.
pub fn draw_timeline(timeline: Timeline) {
    let _ = TIMELINE.set(timeline);
}

/// The marks before and after a call, and which element it was for.
#[derive(Debug)]
struct Sample {
    events: [Event; 2],
    name: Option<Arc<str>>,
}

/// The time stamps of a stream.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    calls: u64,
    free: Vec<[Event; 2]>,
    /// The sample whose call is being enqueued.
    open: Option<Sample>,
    pending: VecDeque<Sample>,
    /// A mark, and when the host saw it reached: this aligns the clocks.
    aligned: Option<(Event, Instant)>,
}

impl Sampler {
    /// Counts earlier samples that are done by now, and begins a new one when it is time, with a mark that `record` puts into
    /// the stream, which has the number `stream`.
    pub fn begin(
        &mut self,
        context: &Arc<Context>,
        counters: &Counters,
        stream: usize,
        record: impl Fn(&Event) -> Result<(), DeviceError>,
    ) -> Result<bool, DeviceError> {
        let timeline = TIMELINE.get();
        let (every, most) = timeline.map_or((SAMPLE_EVERY, 1), |_| (1, PENDING));
        let turn = self.calls.is_multiple_of(every);
        self.calls += 1;
        if !turn {
            return Ok(false);
        }
        self.collect(counters, stream, timeline)?;
        if self.open.is_some() || self.pending.len() >= most {
            return Ok(false);
        }
        if timeline.is_some() && self.aligned.as_ref().is_none_or(|(_, at)| at.elapsed() > ALIGNED) {
            let mark = Event::with_time(context)?;
            record(&mark)?;
            mark.synchronize()?;
            self.aligned = Some((mark, Instant::now()));
        }
        let events = match self.free.pop() {
            Some(events) => events,
            None => [Event::with_time(context)?, Event::with_time(context)?],
        };
        let [start, _] = &events;
        record(start)?;
        self.open = Some(Sample { events, name: timeline.and_then(|timeline| (timeline.name)()) });
        Ok(true)
    }

    /// Counts the samples that are done.
    fn collect(
        &mut self,
        counters: &Counters,
        stream: usize,
        timeline: Option<&Timeline>,
    ) -> Result<(), DeviceError> {
        while let Some(Sample { events: [start, end], .. }) = self.pending.front() {
            if !end.done()? {
                break;
            }
            let took = end.nanoseconds_since(start)?;
            counters.gpu_ns.add(took);
            counters.gpu_samples.add(1);
            let Some(Sample { events, name }) = self.pending.pop_front() else { break };
            if let (Some(timeline), Some(name), Some((mark, at))) = (timeline, name, &self.aligned) {
                let [start, _] = &events;
                // 0 where the mark was renewed after the call began.
                let since = start.nanoseconds_since(mark)?;
                if since > 0 {
                    let (began, took) = (*at + Duration::from_nanos(since), Duration::from_nanos(took));
                    (timeline.report)(DeviceSpan { stream, name, began, took });
                }
            }
            self.free.push(events);
        }
        Ok(())
    }

    /// Ends the sample that [`Sampler::begin`] began.
    pub fn end(&mut self, record: impl Fn(&Event) -> Result<(), DeviceError>) -> Result<(), DeviceError> {
        if let Some(sample) = self.open.take() {
            let [_, end] = &sample.events;
            record(end)?;
            self.pending.push_back(sample);
        }
        Ok(())
    }
}
