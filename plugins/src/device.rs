//! The property `device` of every element that computes.

use cudainfer_kernels::device::Choice;
use gst::glib;
use gst::prelude::*;

/// The property.
pub fn param_spec() -> glib::ParamSpec {
    glib::ParamSpecString::builder("device")
        .nick("Device")
        .blurb(
            "Where to compute: 'auto' (the first GPU that can be used, else the CPU), 'cuda' or 'cuda:N' (that GPU or an \
             error), 'cpu'",
        )
        .default_value(Choice::default().to_string().as_str())
        .mutable_ready()
        .build()
}

/// Reads the property's text.
///
/// # Errors
/// A message for the bus that lists the ways to write it.
pub fn parse(text: &str, element: &impl IsA<gst::Element>) -> Result<Choice, gst::ErrorMessage> {
    let name = element.upcast_ref::<gst::Element>().name();
    text.parse().map_err(|e| gst::error_msg!(gst::ResourceError::Settings, ("{name}: device: {e}")))
}
