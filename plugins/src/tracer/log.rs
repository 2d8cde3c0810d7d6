//! What the tracer says.

use std::sync::LazyLock;

pub(in crate::tracer) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainfer-tracer",
        gst::DebugColorFlags::empty(),
        Some("CPU time by element, and metrics"),
    )
});

/// Prints what is wrong with the tracer: it has no bus to post it on.
pub(in crate::tracer) fn complain(what: &str) {
    gst::warning!(CAT, "{what}");
    eprintln!("cudainfer: WARNING: {what}");
}
