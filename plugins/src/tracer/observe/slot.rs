//! What hangs on a sink pad: which streams pass there.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst_video::VideoRegionOfInterestMeta;

use super::attached::{Attached, find_or_attach};
use super::pipeline::Pipeline;
use super::registry::Registry;
use super::series::Series;
use super::stream::Stream;
use super::topology;
use crate::sync::lock;
use crate::tracer::otlp::{Frame, Sampler};

/// A sink pad of an element.
#[derive(Debug)]
pub(super) struct Slot {
    /// Which one of the process, from 1.
    number: u64,
    /// The element's name.
    element: String,
    pipeline: Arc<Pipeline>,
    /// Whether streams end here: the element is a sink, or makes another stream of them.
    end: AtomicBool,
    /// Only the thread that pushes to the pad takes it.
    streams: Mutex<BTreeMap<Option<gst::Seqnum>, Passing>>,
}

/// A pad's slot, if it is of an element.
#[derive(Debug)]
struct MaybeSlot(Option<Arc<Slot>>);

impl Attached for MaybeSlot {
    fn quark() -> glib::Quark {
        static QUARK: LazyLock<glib::Quark> = LazyLock::new(|| glib::Quark::from_str("cudainfer-traced-pad"));
        *QUARK
    }
}

/// A stream that passes the pad.
#[derive(Debug)]
struct Passing {
    series: Arc<Series>,
    made: Option<Made>,
}

/// A frame that has come to a pad.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// Where its call is counted.
    pub series: Arc<Series>,
    /// If it is a sampled one.
    pub frame: Option<Arc<Frame>>,
    /// Whether its stream ends here.
    pub end: bool,
}

/// What the element before the pad has put on the frames.
#[derive(Debug)]
enum Made {
    /// Objects, by class; kept here are the counters.
    Objects(Arc<Series>, HashMap<&'static str, Arc<AtomicU64>>),
    /// Tracks.
    Tracks(Arc<Series>),
}

impl Slot {
    /// That of a pad; `None` for pads of bins.
    pub fn of(pad: &gst::Pad) -> Option<Arc<Self>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let make = || {
            MaybeSlot(topology::element(pad).map(|element| {
                Arc::new(Self {
                    number: NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
                    end: AtomicBool::new(element.num_src_pads() == 0),
                    element: element.name().into(),
                    pipeline: Pipeline::of(&element),
                    streams: Mutex::default(),
                })
            }))
        };
        find_or_attach(pad, make).0.clone()
    }

    /// A frame of the stream with this start comes to `pad`, which is the slot's.
    pub fn arrive(
        &self,
        registry: &Registry,
        sampler: Option<&Sampler>,
        now: u64,
        pad: &gst::Pad,
        start: Option<&gst::event::StreamStart>,
        buffer: Option<&gst::BufferRef>,
    ) -> Option<Arrival> {
        let mut streams = lock(&self.streams);
        let seqnum = start.map(|start| start.seqnum());
        if !streams.contains_key(&seqnum) {
            let passing = self.passing(registry, now, pad, start);
            // Of a stream that began anew under its name, the start before is over.
            streams.retain(|_, other| {
                !other.series.stream.is_gone() && !Arc::ptr_eq(&other.series.stream, &passing.series.stream)
            });
            streams.insert(seqnum, passing);
        }
        let Passing { series, made } = streams.get_mut(&seqnum)?;
        let stream = &series.stream;
        let end = self.end.load(Ordering::Relaxed);
        stream.see(now, end);
        let mut frame = None;
        if let Some(pts) = buffer.and_then(gst::BufferRef::pts) {
            let tells = stream.births.tells(self.number);
            if (tells || end || sampler.is_some_and(Sampler::is_busy))
                && let Some(time) = running_time(pad, pts)
            {
                if tells {
                    let number = stream.births.tell(self.number, time, now);
                    if let (Some(number), Some(sampler)) = (number, sampler) {
                        sampler.born(stream, time, number, now);
                    }
                } else if end && let Some(age) = stream.births.age(time, now, &series.next) {
                    series.came(age);
                }
                frame = sampler.and_then(|sampler| sampler.find(stream, time));
            }
        }
        if let (Some(made), Some(buffer)) = (made, buffer) {
            made.count(buffer);
        }
        Some(Arrival { series: Arc::clone(series), frame, end })
    }

    /// The stream with this start, which `pad`, a source pad of `own`, has pushed; if it is not known, it begins there.
    pub fn stream(
        registry: &Registry,
        now: u64,
        own: &gst::Element,
        pad: &gst::Pad,
        start: &gst::event::StreamStart,
    ) -> Arc<Stream> {
        if let Some(known) = registry.known(start) {
            return known;
        }
        let (own, pad) = topology::beginning(own, pad, start.seqnum());
        let inputs: Vec<_> = own.sink_pads().iter().filter_map(Self::of).collect();
        let incoming: Vec<_> = inputs.iter().flat_map(|slot| slot.streams()).collect();
        let (stream, is_new) = registry.begin(start, (&own, &pad), &incoming);
        if is_new {
            inputs.iter().for_each(|slot| slot.ends());
            incoming.iter().for_each(|parent| parent.has_children.store(true, Ordering::Relaxed));
            let frames = incoming.iter().any(|parent| parent.births.any());
            stream.made_of_frames.store(frames, Ordering::Relaxed);
            stream.begin(now, &pad);
        }
        stream
    }

    fn passing(
        &self,
        registry: &Registry,
        now: u64,
        pad: &gst::Pad,
        start: Option<&gst::event::StreamStart>,
    ) -> Passing {
        let from = topology::pusher(pad).and_then(|pad| Some((topology::element(&pad)?, pad)));
        let stream = match (start, &from) {
            (Some(start), Some((element, pad))) => Self::stream(registry, now, element, pad, start),
            _ => registry.unnamed(&self.pipeline),
        };
        let maker = from.map(|(element, _)| element);
        let made = maker.and_then(|maker| {
            let factory = maker.factory()?.name();
            let series = || registry.series(&maker.name(), &stream);
            match factory.as_str() {
                "gpunms" | "peakfind" => Some(Made::Objects(series(), HashMap::new())),
                "tracker" => Some(Made::Tracks(series())),
                _ => None,
            }
        });
        Passing { series: registry.series(&self.element, &stream), made }
    }

    /// The element makes another stream of those that come here.
    pub fn ends(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// The streams that pass here.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams).values().map(|passing| Arc::clone(&passing.series.stream)).collect()
    }
}

/// The running time of a frame with this timestamp, in ns. Encoders move timestamps, and the segment with them.
fn running_time(pad: &gst::Pad, pts: gst::ClockTime) -> Option<u64> {
    let segment = pad.sticky_event::<gst::event::Segment>(0)?;
    let segment = segment.segment().downcast_ref::<gst::ClockTime>()?;
    segment.to_running_time(pts).map(gst::ClockTime::nseconds)
}

impl Drop for Slot {
    fn drop(&mut self) {
        for Passing { series, .. } in lock(&self.streams).values() {
            series.stream.births.forget(self.number);
        }
    }
}

impl Made {
    /// Counts what is on a frame.
    fn count(&mut self, buffer: &gst::BufferRef) {
        let regions = || buffer.iter_meta::<VideoRegionOfInterestMeta>();
        match self {
            Self::Objects(series, counters) => {
                for region in regions() {
                    let class: &'static str = region.roi_type();
                    counters
                        .entry(class)
                        .or_insert_with(|| series.class(class))
                        .fetch_add(1, Ordering::Relaxed);
                }
            }
            Self::Tracks(series) => {
                let tracks = regions().filter(|region| region.param("tracking").is_some()).count();
                series.has_tracks(u64::try_from(tracks).unwrap_or(u64::MAX));
            }
        }
    }
}
