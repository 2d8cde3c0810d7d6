//! SECTION:tracer-cudainfertracer
//!
//! Shows where a pipeline's time goes: prints, when a pipeline ends, one row for each element with its buffers and what one
//! of them took. A pipeline ends with EOS, with its first error, or by leaving PAUSED.
//!
//! ```text
//! GST_TRACERS=cudainfertracer gst-launch-1.0 videotestsrc num-buffers=100 ! videoconvert ! fakesink
//! GST_TRACERS="cudainfertracer(json=times.json,trace=times.trace)" gst-launch-1.0 …
//! ```
//!
//! | option | writes |
//! |---|---|
//! | `json=FILE` | the same and the elements' counts, when a pipeline ends; with several pipelines those of the last one |
//! | `trace=FILE` | every call of an element's chain function, for chrome://tracing or ui.perfetto.dev |
//! | `metrics=ADDRESS:PORT` | nothing: answers there by HTTP while pipelines run, with [`metrics`] for Prometheus, `/healthz` and `/status`. Port 0 is one that the system chooses, which is logged at INFO in `cudainfer-tracer`. Alone, it makes no table |
//! | `metrics=application` | nothing: the application reads the same from the tracer's property `page` |
//! | `stall=SECONDS` | nothing: after how long without a frame `/healthz` calls a stream stalled; 10 |
//! | `otlp=URL` | nothing: sends spans of sampled frames to an OpenTelemetry collector. Alone, it makes no table |
//! | `sample=N` | nothing: of how many frames of a stream one is sampled; 100 |
//!
//! Milliseconds are CPU time of the thread that calls an element's chain function, without the elements downstream;
//! waiting does not count. Time in an element's own threads is not measured, except that of trtinfer's workers: the time that
//! they spent in ONNX Runtime, by the clock, which the property `stats` reports as `busy-ns`. The other columns are the
//! elements' `stats`, divided by their frames.
//!
//! In a trace, a call lasts by the clock, including waiting, and calls of elements downstream are nested in it.

use gst::prelude::*;

pub(crate) mod calls;
mod chrome;
mod complaint;
mod imp;
mod links;
pub mod metrics;
mod observe;
mod options;
#[cfg_attr(not(feature = "otlp"), allow(dead_code))]
pub(crate) mod otlp;
mod report;
mod serve;
pub(crate) mod spans;
mod stats;
mod table;

glib::wrapper! {
    /// The tracer.
    pub struct CudaInferTracer(ObjectSubclass<imp::CudaInferTracer>) @extends gst::Tracer, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Tracer::register(Some(plugin), "cudainfertracer", CudaInferTracer::static_type())
}
