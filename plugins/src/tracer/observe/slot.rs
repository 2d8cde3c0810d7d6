//! The data attached to a sink pad: which streams pass there.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;

use super::attached::{Attached, find, find_or_attach};
use super::passing::{Made, Passing, Streams};
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
    /// Its number in this process, from 1.
    number: u64,
    /// The element's name.
    element: String,
    pipeline: Arc<Pipeline>,
    /// Whether streams end here: the element is a sink, or makes another stream of them.
    end: AtomicBool,
    /// Only the thread that pushes to the pad takes it.
    streams: Mutex<Streams>,
    /// Whether the next frame may be of another stream or segment than the previous one.
    changed: AtomicBool,
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

/// A frame that has come to a pad.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// The counts that its call belongs to.
    pub series: Arc<Series>,
    /// The frame's trace, if it is sampled.
    pub frame: Option<Arc<Frame>>,
    /// Whether its stream ends here.
    pub end: bool,
}

impl Slot {
    /// The slot of a pad; `None` for pads of bins.
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
                    changed: AtomicBool::new(false),
                })
            }))
        };
        find_or_attach(pad, make).0.clone()
    }

    /// Does something with a pad's slot. Called for each frame: no reference is counted except where the slot is made.
    pub fn at<T>(pad: &gst::Pad, work: impl FnOnce(&Self) -> Option<T>) -> Option<T> {
        match find::<MaybeSlot>(pad) {
            Some(slot) => work(slot.0.as_ref()?),
            None => work(&*Self::of(pad)?),
        }
    }

    /// A pad is linked anew, or is about to get the start of a stream or a segment.
    pub fn change(pad: &gst::Pad) {
        if let Some(MaybeSlot(Some(slot))) = find::<MaybeSlot>(pad).map(Arc::as_ref) {
            slot.changed.store(true, Ordering::Relaxed);
        }
    }

    /// A frame comes to `pad`, which is the slot's.
    pub fn arrive(
        &self,
        registry: &Registry,
        sampler: Option<&Sampler>,
        now: u64,
        pad: &gst::Pad,
        buffer: Option<&gst::BufferRef>,
    ) -> Option<Arrival> {
        let mut streams = lock(&self.streams);
        if self.changed.load(Ordering::Relaxed) {
            self.changed.store(false, Ordering::Relaxed);
            streams.distrust();
        }
        if !streams.is_trusted(now) {
            let start = pad.sticky_event::<gst::event::StreamStart>(0);
            let start = start.as_deref();
            let make = || self.passing(registry, now, pad, start);
            streams.turn(now, start.map(|start| start.seqnum()), make);
        }
        let passing = streams.current()?;
        let series = Arc::clone(&passing.series);
        let stream = &series.stream;
        let end = self.end.load(Ordering::Relaxed);
        stream.see(now, end);
        let mut frame = None;
        if let Some(pts) = buffer.and_then(gst::BufferRef::pts) {
            let notes = stream.births.notes(self.number);
            if (notes || end || sampler.is_some_and(Sampler::is_busy))
                && let Some(time) = passing.running_time(pad, pts)
            {
                if notes {
                    let number = stream.births.note(self.number, time, now);
                    if let (Some(number), Some(sampler)) = (number, sampler) {
                        sampler.born(stream, time, number, now);
                    }
                } else if end && let Some(age) = stream.births.age(time, now, &series.next) {
                    series.came(age);
                }
                frame = sampler.and_then(|sampler| sampler.find(stream, time));
            }
        }
        if let (Some(made), Some(buffer)) = (&mut passing.made, buffer) {
            made.count(buffer);
        }
        Some(Arrival { series, frame, end })
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
            // A stream that gets another name on its way is looked at under that one.
            let renamed = topology::renamed(&own);
            let renamed = renamed.iter().filter_map(|start| registry.known(start));
            renamed.for_each(|before| before.has_children.store(true, Ordering::Relaxed));
            incoming.iter().for_each(|parent| parent.has_children.store(true, Ordering::Relaxed));
            let of_frames = incoming.iter().any(|parent| parent.births.any()) && !topology::splits(&own);
            stream.may_stand_still.store(of_frames || topology::is_rtcp(&pad), Ordering::Relaxed);
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
                "gpunms" | "peakfind" => Some(Made::Objects(series(), Default::default())),
                "tracker" => Some(Made::Tracks(series())),
                _ => None,
            }
        });
        Passing::new(registry.series(&self.element, &stream), made)
    }

    /// The element makes another stream of those that come here.
    pub fn ends(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// The streams that pass here.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams).iter().map(Arc::clone).collect()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.streams).iter().for_each(|stream| stream.births.forget(self.number));
    }
}
