//! How the tracer reports what is wrong with it.

use crate::log::TRACER as CAT;

/// Prints what is wrong with the tracer: it has no bus to post it on.
pub(in crate::tracer) fn complain(what: &str) {
    gst::warning!(CAT, "{what}");
    eprintln!("cudainfer: WARNING: {what}");
}
