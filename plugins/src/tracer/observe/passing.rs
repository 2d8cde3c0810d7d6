//! The streams that pass a pad, and the counts of their frames there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gst::prelude::*;
use gst_video::VideoRegionOfInterestMeta;

use super::series::Series;
use super::stream::Stream;
use crate::meta::analytics;
use crate::meta::label::Label;
use crate::meta::object::objects;

/// For how long, in ns, a frame is taken to be of the same stream and segment as the previous one on its pad. Looking them up
/// takes half of what a call costs. Events that change them end it at once; pads also get events in ways that no hook reports.
const TRUST: u64 = 10_000_000;

/// The streams that pass a pad.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The place of the last frame's stream among them.
    last: usize,
    /// Until when the next frame is taken to be of the same stream, in ns of the hooks' time.
    until: u64,
    /// With their starts.
    all: Vec<(Option<gst::Seqnum>, Passing)>,
}

impl Streams {
    /// Whether the next frame is of the same stream as the previous one, as far as is known.
    pub fn is_trusted(&self, now: u64) -> bool {
        now < self.until
    }

    /// The stream of the last frame.
    pub fn current(&mut self) -> Option<&mut Passing> {
        self.all.get_mut(self.last).map(|(_, passing)| passing)
    }

    /// The stream of the next frame, or its segment, is another one.
    pub fn distrust(&mut self) {
        self.until = 0;
    }

    /// The next frame is of the stream with this start, or of a new one that is made for it.
    pub fn turn(&mut self, now: u64, start: Option<gst::Seqnum>, make: impl FnOnce() -> Passing) {
        let is = |(its, _): &(Option<gst::Seqnum>, Passing)| *its == start;
        self.last = match self.all.get(self.last).filter(|last| is(last)) {
            Some(_) => self.last,
            None => self.all.iter().position(is).unwrap_or_else(|| {
                let passing = make();
                // A stream that began anew under its name ends its earlier start.
                self.all.retain(|(_, Passing { series, .. })| {
                    !series.stream.is_gone() && !Arc::ptr_eq(&series.stream, &passing.series.stream)
                });
                self.all.push((start, passing));
                self.all.len() - 1
            }),
        };
        self.until = now.saturating_add(TRUST);
        if let Some(passing) = self.current() {
            passing.segment = None;
        }
    }

    /// The streams.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Stream>> {
        self.all.iter().map(|(_, passing)| &passing.series.stream)
    }
}

/// A stream that passes the pad.
#[derive(Debug)]
pub(super) struct Passing {
    pub series: Arc<Series>,
    pub made: Option<Made>,
    /// The segment, once it was needed.
    segment: Option<gst::FormattedSegment<gst::ClockTime>>,
}

impl Passing {
    /// A stream whose frames are counted so.
    pub fn new(series: Arc<Series>, made: Option<Made>) -> Self {
        Self { series, made, segment: None }
    }

    /// The running time of a frame of this timestamp at `pad`, in ns. Encoders move timestamps, and the segment with them.
    pub fn running_time(&mut self, pad: &gst::Pad, pts: gst::ClockTime) -> Option<u64> {
        if self.segment.is_none() {
            let event = pad.sticky_event::<gst::event::Segment>(0)?;
            self.segment = event.segment().downcast_ref::<gst::ClockTime>().cloned();
        }
        self.segment.as_ref()?.to_running_time(pts).map(gst::ClockTime::nseconds)
    }
}

/// What the element before the pad has put on the frames.
#[derive(Debug)]
pub(super) enum Made {
    /// Objects, by class; kept here are the counters.
    Objects(Arc<Series>, HashMap<Label, Arc<AtomicU64>>),
    /// Tracks.
    Tracks(Arc<Series>),
}

impl Made {
    /// Counts the results on a frame.
    pub fn count(&mut self, buffer: &gst::BufferRef) {
        let regions = || buffer.iter_meta::<VideoRegionOfInterestMeta>();
        // Reading all of both forms costs several times as much, and is of use only where boxes have no regions.
        let all = (analytics::boxes(buffer) > regions().count()).then(|| objects(buffer));
        match self {
            Self::Objects(series, counters) => {
                let mut count = |label: Label| {
                    let counter = counters.entry(label).or_insert_with(|| series.class(&label.text()));
                    counter.fetch_add(1, Ordering::Relaxed);
                };
                match &all {
                    Some(all) => all.iter().for_each(|object| count(Label::named(&object.label))),
                    None => regions().for_each(|region| count(Label::of(&region))),
                }
            }
            Self::Tracks(series) => {
                let tracks = match &all {
                    Some(all) => all.iter().filter(|object| object.tracking.is_some()).count(),
                    None => regions().filter(|region| region.param("tracking").is_some()).count(),
                };
                series.has_tracks(u64::try_from(tracks).unwrap_or(u64::MAX));
            }
        }
    }
}
