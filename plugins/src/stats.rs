//! The property `stats` of every element.
//!
//! An element holds [`Counters`] (an `Arc` of them where it has streams on the GPU, which count by themselves), works
//! on each frame under the guard that [`frame`] gives, and resets them at READY->PAUSED. Reading `stats` must not wait
//! for a lock: the tracer reads it while an element posts an error.

use std::time::Instant;

use cudainfer_kernels::device::Counters;
use gst::glib;
use gst::glib::prelude::*;

use crate::ignored;
use crate::nvtx;
use crate::time::nanoseconds;
use crate::tracer::spans;

/// The property. `more` describes the element's further counts.
pub fn param_spec(more: &str) -> glib::ParamSpec {
    glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
        .nick("Statistics")
        .blurb(&format!(
            "Counters (uint64) since READY to PAUSED: frames, launches (kernels and graphs on the GPU), \
             host-to-device-bytes, device-to-host-bytes, device-to-device-bytes, host-waits (times a thread waited for \
             the GPU), allocations (of device and pinned memory), fallbacks (times a slower path was taken), \
             peer-copies (from or to another GPU or CUDA context), gpu-ns (GPU \
             time of gpu-samples of the frames), host-ns (wall-clock time in the element's threads), ignored-metadata (entries of \
             analytics metadata, and tensors of other elements, that were not read, and frames with text that is not UTF-8); device-bytes (GPU \
             memory held now){more}"
        ))
        .read_only()
        .build()
}

/// Its value; an element adds its own fields.
pub fn structure(counters: &Counters) -> gst::Structure {
    let mut structure = gst::Structure::new_empty("stats");
    for (name, value) in counters.values() {
        structure.set(name, value);
    }
    structure
}

/// Work on a frame, from [`frame`] until this is dropped.
#[must_use = "the frame is over when this is dropped"]
pub struct FrameSpan<'a> {
    counters: &'a Counters,
    started: Instant,
    _range: Option<nvtx::Range>,
    _working: Option<spans::Working>,
}

/// Begins `element`'s work on a frame in this thread: counts it in `frames`, whether it will succeed or not, and the time
/// until the guard is dropped in `host-ns`. Profilers show it as a range.
///
/// The guard is for the element's own work: drop it before the frame is pushed on.
pub fn frame<'a>(element: &impl IsA<gst::Element>, counters: &'a Counters) -> FrameSpan<'a> {
    counters.frames.add(1);
    ignored::take();
    let (_range, _working) = (nvtx::range(element), spans::working(element));
    FrameSpan { counters, started: Instant::now(), _range, _working }
}

impl Drop for FrameSpan<'_> {
    fn drop(&mut self) {
        self.counters.host_ns.add(nanoseconds(self.started.elapsed()));
        self.counters.ignored_metadata.add_size(ignored::take());
    }
}
