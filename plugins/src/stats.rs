//! The property `stats` of every element.

use cudainfer_kernels::device::Counters;
use gst::glib;
use gst::glib::prelude::*;

/// The property. `more` says what this element counts besides, and how.
pub fn param_spec(more: &str) -> glib::ParamSpec {
    glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
        .nick("Statistics")
        .blurb(&format!(
            "Counts (uint64) since PAUSED: frames, launches on the GPU, bytes copied (host-to-device-bytes, \
             device-to-host-bytes, device-to-device-bytes), host-waits for the GPU, allocations, fallbacks to slower \
             ways, gpu-ns on the GPU in gpu-samples of the frames, host-ns in this element's threads{more}"
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
