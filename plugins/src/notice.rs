//! What several elements say on the bus in the same words.

use gst::glib;
use gst::prelude::*;

const CONTEXT: &str = "cudainfer.cpu";

/// Posts one WARNING on the bus of the pipeline that `element` is in, unless one of our elements has done so already.
/// The pipeline remembers it in a `GstContext`.
pub fn running_on_cpu(element: &gst::Element, reason: &str) {
    let mut root = element.clone().upcast::<gst::Object>();
    while let Some(parent) = root.parent() {
        root = parent;
    }
    if let Some(root) = root.downcast_ref::<gst::Element>() {
        if root.context(CONTEXT).is_some() {
            return;
        }
        root.set_context(&gst::Context::new(CONTEXT, false));
    }
    gst::element_warning!(
        element,
        gst::LibraryError::Init,
        ("no GPU is used: {reason}. The pipeline runs on the CPU, with the same results")
    );
}

/// Posts the ERROR of an element that cannot work with the caps it gets.
pub fn refused_caps(element: &impl glib::object::IsA<gst::Element>, why: &str) {
    let element = element.upcast_ref::<gst::Element>();
    gst::element_error!(element, gst::CoreError::Negotiation, ("{}: {why}", element.name()));
}

/// Posts the WARNING of an element that dropped `count` values, called `what`, because they are no numbers.
pub fn non_finite(element: &impl glib::object::IsA<gst::Element>, count: usize, what: &str) {
    let element = element.upcast_ref::<gst::Element>();
    gst::element_warning!(
        element,
        gst::StreamError::Decode,
        (
            "{}: the model's outputs hold NaN or infinities: {count} {what} were dropped; the property stats \
             counts them",
            element.name()
        )
    );
}
