//! The names of elements that the application has not named.

use gst::prelude::*;

/// For `constructed`: GStreamer names an element after its type, `cudainfertracker0`; pipelines know it as `tracker0`, after its
/// factory. A name that the application has given stays.
pub(crate) fn shorten(element: &gst::Element) {
    let ty = element.type_();
    let Some(own) = ty.name().strip_prefix("GstCudaInfer").map(str::to_lowercase) else { return };
    let name = element.name();
    let number = name.strip_prefix("cudainfer").and_then(|rest| rest.strip_prefix(&own));
    if let Some(number) = number.filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())) {
        element.set_property("name", format!("{own}{number}"));
    }
}
