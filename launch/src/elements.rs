//! The elements of a bin.

use gst::prelude::*;

/// All elements, those inside of bins too, in the order in which a description names them.
pub fn all(bin: &gst::Bin) -> Vec<gst::Element> {
    // A bin lists the element first that was added last.
    let mut elements: Vec<gst::Element> = bin.iterate_recurse().into_iter().flatten().collect();
    elements.reverse();
    elements
}

/// Whether an element is one of this factory.
pub fn is(element: &gst::Element, factory: &str) -> bool {
    element.factory().is_some_and(|own| own.name() == factory)
}

/// The elements of this factory, in the same order.
pub fn of_factory(bin: &gst::Bin, factory: &str) -> Vec<gst::Element> {
    all(bin).into_iter().filter(|element| is(element, factory)).collect()
}

/// Makes an element of a factory.
///
/// # Errors
/// A sentence.
pub fn make(factory: &str, name: &str) -> Result<gst::Element, String> {
    gst::ElementFactory::make(factory)
        .name(name)
        .build()
        .map_err(|_| format!("GStreamer has no element {factory}: install the package of its plugin"))
}

/// The error of an element that refuses to go to `state`; `None` if it goes there. It is in NULL again afterwards.
pub fn refusal(element: &gst::Element, state: gst::State) -> Option<String> {
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    let refused = element.set_state(state).is_err();
    let _ = element.set_state(gst::State::Null);
    element.set_bus(None);
    let message = bus.pop_filtered(&[gst::MessageType::Error]);
    let sentence = message.as_ref().and_then(|message| match message.view() {
        gst::MessageView::Error(error) => Some(error.error().message().to_owned()),
        _ => None,
    });
    refused.then(|| sentence.unwrap_or_else(|| format!("{} does not start", element.name())))
}

/// The begin of the sentence of [`missing`].
pub const MISSING: &str = "GStreamer has no element";

/// The elements that GStreamer does not have, if a description does not parse because of that. An element without one of its properties is
/// counted among `context`'s as well.
pub fn missing_in(context: &gst::ParseContext, error: &gst::glib::Error) -> Option<Vec<String>> {
    let missing = context.missing_elements();
    (error.matches(gst::ParseError::NoSuchElement) && !missing.is_empty()).then_some(missing)
}

/// A sentence about elements that GStreamer does not have, with the element that may be meant.
pub fn missing(names: &[String]) -> String {
    let known = gst::Registry::get().features(gst::ElementFactory::static_type());
    let near = known.iter().map(|factory| factory.name()).find(|known| {
        matches!(names, [only] if strsim::osa_distance(only, known) <= usize::from(only.len() > 4) + 1)
    });
    let near = near.map_or_else(String::new, |near| format!(" ('{near}' exists)"));
    format!("{MISSING} {}: correct the name{near}, or install the package of its plugin", names.join(", "))
}
