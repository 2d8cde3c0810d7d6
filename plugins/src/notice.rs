//! What is said once a pipeline: that it runs on the CPU, and why.

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
