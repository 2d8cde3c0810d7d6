//! SECTION:tracer-cudainfer
//!
//! Where a line's time goes: prints, when a pipeline ends, one row an element with its buffers and what one of them
//! took. A pipeline ends with the end of its stream, with its first error, or by leaving PAUSED.
//!
//! ```text
//! GST_TRACERS=cudainfer gst-launch-1.0 videotestsrc num-buffers=100 ! videoconvert ! fakesink
//! GST_TRACERS="cudainfer(json=times.json,trace=times.trace)" gst-launch-1.0 …
//! ```
//!
//! | option | writes |
//! |---|---|
//! | `json=FILE` | the same and the elements' counts, when a pipeline ends; of several pipelines the last one's |
//! | `trace=FILE` | every call of an element's chain function, for chrome://tracing or ui.perfetto.dev |
//!
//! Milliseconds are CPU time of the thread that calls an element's chain function, without what the elements behind
//! it take; waiting costs nothing. What an element does in threads of its own is not seen, except that of trtinfer's
//! workers: the time that they spent in ONNX Runtime, by the clock, which the property `stats` reports as `busy-ns`.
//! The other columns are the property `stats` of our elements, a frame.
//!
//! In a trace, a call lasts as long as the clock says, waiting and the elements behind it included, which lie inside it.

use gst::prelude::*;

mod chrome;
mod imp;
mod report;
mod table;

glib::wrapper! {
    /// The tracer.
    pub struct CudaInferTracer(ObjectSubclass<imp::CudaInferTracer>) @extends gst::Tracer, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Tracer::register(Some(plugin), "cudainfer", CudaInferTracer::static_type())
}
