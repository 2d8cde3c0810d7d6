//! In which states a property may be set, by its flags.

use gst::glib;
use gst::prelude::*;

/// Whether `property` of `element` may be set now; `set_property` asks this first. If not, a WARNING is posted, and the property
/// keeps its value.
pub fn settable(element: &impl IsA<gst::Element>, property: &glib::ParamSpec) -> bool {
    let element = element.upcast_ref::<gst::Element>();
    let (state, flags) = (element.current_state(), property.flags());
    let highest = if flags.contains(gst::PARAM_FLAG_MUTABLE_PLAYING) {
        gst::State::Playing
    } else if flags.contains(gst::PARAM_FLAG_MUTABLE_PAUSED) {
        gst::State::Paused
    } else {
        gst::State::Ready
    };
    if state <= highest {
        return true;
    }
    let (name, property) = (element.name(), property.name());
    gst::element_warning!(
        element,
        gst::ResourceError::Settings,
        (
            "{name}: {property} cannot be set in {}, so it stays as it is: set it in {} or below",
            state_name(state),
            state_name(highest)
        )
    );
    false
}

fn state_name(state: gst::State) -> &'static str {
    match state {
        gst::State::Ready => "READY",
        gst::State::Paused => "PAUSED",
        gst::State::Playing => "PLAYING",
        _ => "NULL",
    }
}
