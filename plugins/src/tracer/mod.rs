//! SECTION:tracer-cudainfer
//!
//! Where a line's time goes: prints, when a pipeline reaches the end of its stream, one row an element with its
//! buffers and the milliseconds that one took in it.
//!
//! ```text
//! GST_TRACERS=cudainfer gst-launch-1.0 videotestsrc num-buffers=100 ! videoconvert ! fakesink
//! GST_TRACERS="cudainfer(json=times.json)" gst-launch-1.0 …
//! ```
//!
//! Counted is the CPU time of the thread that calls an element's chain function, without what the elements behind
//! it take; waiting costs nothing. What an element does in threads of its own is not seen, except that of trtinfer's
//! workers: the time that they spent in ONNX Runtime, by the clock, which the property `stats` reports.

use gst::prelude::*;

mod imp;
mod table;

glib::wrapper! {
    /// The tracer.
    pub struct CudaInferTracer(ObjectSubclass<imp::CudaInferTracer>) @extends gst::Tracer, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Tracer::register(Some(plugin), "cudainfer", CudaInferTracer::static_type())
}
