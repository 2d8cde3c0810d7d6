//! How the tracer reports its own errors.

use crate::log::TRACER as CAT;

/// Prints an error of the tracer, which has no bus to post it on.
pub(in crate::tracer) fn complain(what: &str) {
    gst::warning!(CAT, "{what}");
    eprintln!("cudainfer: WARNING: {what}");
}
