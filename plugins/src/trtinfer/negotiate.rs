//! Caps and queries: what trtinfer accepts, what it makes, and what it answers.

use std::sync::Arc;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::{CAT, TrtInfer};
use super::lane::Lane;
use super::running::Job;
use super::stream::Stream;
use crate::sync::lock;
use crate::{caps, notice};

impl TrtInfer {
    /// Checks the caps against the model at once, and queues those of the outputs behind the frames before them.
    pub(super) fn caps_event(&self, lane: &Lane<Job>, incoming: &gst::CapsRef) -> bool {
        let prepared = (|| -> Result<(Stream, gst::Caps), String> {
            let engine = lock(&self.engine).clone().ok_or("there is no model")?;
            let stream = Stream::new(incoming, &engine)?;
            let mut fields = gst::Structure::builder("outputs")
                .field(caps::OUTPUTS, caps::outputs_value(stream.outputs()))
                .build();
            for size in ["tensor-width", "tensor-height"] {
                if let Some(value) = incoming.structure(0).and_then(|s| s.get::<i32>(size).ok()) {
                    fields.set(size, value);
                }
            }
            let plain = caps::without_tensors(&incoming.to_owned());
            Ok((stream, caps::with_fields(&plain, &fields)))
        })();
        match prepared {
            Ok((stream, caps)) => {
                gst::info!(CAT, imp = self, "frames carry {caps}");
                *lock(&self.stream) = Some(Arc::new(stream));
                // It can hold all the frames that may be in flight.
                let latency = duration(incoming, lane.limit());
                if std::mem::replace(&mut *lock(&self.latency), latency) != latency {
                    // A live pipeline has asked before there were caps.
                    self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
                }
                lane.push_event(gst::event::Caps::new(&caps))
            }
            Err(why) => {
                *lock(&self.stream) = None;
                notice::refused_caps(&*self.obj(), &why);
                false
            }
        }
    }

    /// What this element accepts: what is behind it accepts, with the model's input tensor. The model's wishes come
    /// first, then its needs; then anything, so that what does not fit is refused by a sentence in `caps_event`.
    pub(super) fn sink_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let frames = caps::without_tensors(&self.src.peer_query_caps(None));
        let mut accepted = gst::Caps::new_empty();
        {
            let accepted = accepted.make_mut();
            if let Some(engine) = lock(&self.engine).as_ref() {
                accepted.append(caps::with_fields(&frames, &engine.input.preferred(&engine.info)));
                accepted.append(caps::with_fields(&frames, &engine.input.required()));
            }
            accepted.append(caps::with_feature(&frames));
            accepted.append(frames);
        }
        filtered(accepted, filter)
    }

    /// What this element makes: the frames that come in, with the model's outputs.
    pub(super) fn src_caps(&self, filter: Option<&gst::CapsRef>) -> gst::Caps {
        let mut made = self.src.current_caps().unwrap_or_else(gst::Caps::new_empty);
        made.merge(caps::with_feature(&caps::without_tensors(&self.sink.peer_query_caps(None))));
        filtered(made, filter)
    }

    pub(super) fn sink_query(&self, query: &mut gst::QueryRef) -> bool {
        // Answered by what is behind, which must have seen everything that came before.
        if query.is_serialized() {
            return self.lane().is_some_and(|lane| lane.drain()) && self.src.peer_query(query);
        }
        match query.view_mut() {
            gst::QueryViewMut::Caps(q) => {
                let caps = self.sink_caps(q.filter());
                q.set_result(&caps);
                true
            }
            _ => gst::Pad::query_default(&self.sink, Some(&*self.obj()), query),
        }
    }

    pub(super) fn src_query(&self, query: &mut gst::QueryRef) -> bool {
        use gst::QueryViewMut;
        match query.view_mut() {
            QueryViewMut::Caps(q) => {
                let caps = self.src_caps(q.filter());
                q.set_result(&caps);
                true
            }
            QueryViewMut::Latency(q) => {
                let mut upstream = gst::query::Latency::new();
                if !self.sink.peer_query(&mut upstream) {
                    return false;
                }
                let (live, min, max) = upstream.result();
                let own = *lock(&self.latency);
                gst::debug!(CAT, imp = self, "adds a latency of {own}");
                q.set(live, min.saturating_add(own), max.map(|max| max.saturating_add(own)));
                true
            }
            QueryViewMut::Custom(_) => {
                let engine = lock(&self.engine).clone();
                engine.is_some_and(|engine| engine.info.answer(query))
                    || gst::Pad::query_default(&self.src, Some(&*self.obj()), query)
            }
            _ => gst::Pad::query_default(&self.src, Some(&*self.obj()), query),
        }
    }
}

/// How long `frames` frames last at the caps' frame rate; 0 where that is not known.
fn duration(caps: &gst::CapsRef, frames: usize) -> gst::ClockTime {
    let rate = caps.structure(0).and_then(|s| s.get::<gst::Fraction>("framerate").ok());
    let (numer, denom) = rate.map_or((0, 1), |r| (r.numer(), r.denom()));
    match (u64::try_from(numer), u64::try_from(denom)) {
        (Ok(numer @ 1..), Ok(denom)) => {
            // A rate of a frame in years is no rate.
            let frames = u64::try_from(frames).unwrap_or(u64::MAX).saturating_mul(denom);
            let frames = gst::ClockTime::SECOND.mul_div_floor(frames, numer);
            frames.filter(|t| *t < 3600 * gst::ClockTime::SECOND).unwrap_or(gst::ClockTime::ZERO)
        }
        _ => gst::ClockTime::ZERO,
    }
}

fn filtered(caps: gst::Caps, filter: Option<&gst::CapsRef>) -> gst::Caps {
    match filter {
        Some(filter) => filter.intersect_with_mode(&caps, gst::CapsIntersectMode::First),
        None => caps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_what_the_frames_in_flight_last_and_nothing_without_a_rate() {
        gst::init().unwrap();
        let of = |rate: (i32, i32), frames| {
            let caps =
                gst::Caps::builder("video/x-raw").field("framerate", gst::Fraction::new(rate.0, rate.1));
            duration(&caps.build(), frames)
        };
        assert_eq!(of((30, 1), 6), gst::ClockTime::from_mseconds(200));
        assert_eq!(of((30_000, 1001), 3), gst::ClockTime::from_nseconds(100_100_000));
        assert_eq!(of((0, 1), 6), gst::ClockTime::ZERO);
        assert_eq!(of((1, i32::MAX), 1024), gst::ClockTime::ZERO);
        assert_eq!(duration(&gst::Caps::new_empty_simple("video/x-raw"), 6), gst::ClockTime::ZERO);
    }
}
