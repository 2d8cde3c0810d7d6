//! The tracer's knowledge of frames while they move: counted by element and stream, in atomic numbers.
//!
//! Everything is attached to GStreamer's own objects and released with them: a [`Slot`] on each sink pad holds the [`Series`] of
//! the streams that pass there; a token on the source pad where a [`Stream`] began shows by its release when the stream is gone.
//! The [`Registry`] only points to them.

mod attached;
mod births;
mod held_back;
mod passing;
mod pipeline;
mod registry;
mod series;
mod slot;
mod stream;
mod topology;

use std::sync::{Arc, OnceLock};

use gst::prelude::*;

pub(super) use pipeline::Pipeline;
pub(super) use registry::Registry;
pub(super) use series::{DropReason, Series};
use slot::{Arrival, Slot};
pub(super) use stream::Stream;

use super::otlp::Sampler;

/// The hooks report events to it.
#[derive(Debug, Default)]
pub(super) struct Observer {
    pub registry: Registry,
    /// Where spans were asked for.
    pub sampler: OnceLock<Arc<Sampler>>,
    /// What [`gst::get_timestamp`] was when the hooks' time was 0.
    origin: OnceLock<u64>,
}

impl Observer {
    /// The hooks' time, in ns.
    pub fn now(&self) -> u64 {
        let origin = self.origin.get().copied();
        let now = gst::get_timestamp().nseconds();
        origin.map_or(0, |origin| now.saturating_sub(origin))
    }

    /// A buffer, or the first of a list, reaches a pad. Returns the counts that its call belongs to.
    pub fn arrive(&self, now: u64, pad: &gst::Pad, buffer: Option<&gst::BufferRef>) -> Option<Arrival> {
        held_back::take(None).iter().for_each(|(pad, event)| self.begins(now, pad, event));
        Slot::at(pad, |slot| {
            let sampler = self.sampler.get().map(Arc::as_ref);
            slot.arrive(&self.registry, sampler, now, pad, buffer)
        })
    }

    /// Two pads were linked.
    pub fn linked(&self, sink: &gst::Pad) {
        Slot::change(sink);
    }

    /// An event leaves a source pad, which may be locked.
    pub fn event(&self, now: u64, pad: &gst::Pad, event: &gst::Event) {
        match event.view() {
            gst::EventView::StreamStart(_) | gst::EventView::Segment(_) => {
                held_back::pushed(pad, event).iter().for_each(|(pad, event)| self.begins(now, pad, event));
            }
            gst::EventView::Eos(_) => stream::origin(pad, |stream| stream.end()),
            gst::EventView::FlushStop(_) => stream::origin(pad, |stream| stream.go_on(now)),
            _ => (),
        }
    }

    /// A stream or a segment begins on a source pad, which is not locked.
    fn begins(&self, now: u64, pad: &gst::Pad, event: &gst::Event) {
        if let Some(peer) = pad.peer() {
            Slot::change(&peer);
        }
        // Proxy pads inside of ghost pads have no element; the pad before them has reported the event.
        if let gst::EventView::StreamStart(start) = event.view()
            && let Some(element) = topology::element(pad)
        {
            Slot::stream(&self.registry, now, &element, pad, start);
        }
    }

    /// An element changes its state.
    pub fn state(&self, now: u64, element: &gst::Element, change: gst::StateChange) {
        self.origin.get_or_init(|| gst::get_timestamp().nseconds().saturating_sub(now));
        if change == gst::StateChange::ReadyToPaused {
            self.registry.know(element);
        }
        if change == gst::StateChange::PausedToReady {
            // Also of a source that is stopped alone, to be removed from a pipeline that plays on.
            element.src_pads().iter().for_each(|pad| stream::origin(pad, Stream::go));
        }
        if element.parent().is_none() {
            let pipeline = Pipeline::of(element);
            pipeline.changed(now);
            if change == gst::StateChange::PausedToReady {
                self.registry.stopped(&pipeline);
            }
        }
    }

    /// A pipeline has stopped: its spans are complete.
    pub fn stopped(&self, pipeline: &gst::Element) {
        if let Some(sampler) = self.sampler.get() {
            sampler.stopped(&Pipeline::of(pipeline));
        }
    }

    /// An element has dropped a frame, which it reports in a QOS message, in the thread that brought the frame.
    pub fn dropped(&self, element: &gst::Element, reason: DropReason) {
        let here = super::calls::series().filter(|series| element.name() == series.element.as_str());
        here.unwrap_or_else(|| self.registry.without_stream(element)).drop_frame(reason);
    }
}
