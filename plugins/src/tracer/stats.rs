//! The property `stats` of our own elements, as the tracer reads it.

use gst::prelude::*;

use crate::histogram::Snapshot;

/// A field of `stats`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stat {
    /// A count or an amount.
    Number(u64),
    /// A distribution.
    Histogram(Snapshot),
}

/// Whether it is an element of ours with the property. Others' properties may wait for locks that are held during an error.
pub(super) fn has_stats(element: &gst::Element) -> bool {
    let own =
        element.factory().and_then(|factory| factory.plugin_name()).is_some_and(|name| name == "cudainfer");
    own && element.find_property("stats").is_some_and(|p| p.value_type() == gst::Structure::static_type())
}

/// The fields, where it has any, in the element's order.
pub(super) fn stats(element: &gst::Element) -> Vec<(String, Stat)> {
    let structure = has_stats(element).then(|| element.property::<Option<gst::Structure>>("stats")).flatten();
    let Some(structure) = structure else { return Vec::new() };
    let stat = |value: &gst::glib::SendValue| {
        let number = value.get::<u64>().ok().map(Stat::Number);
        number.or_else(|| Some(Stat::Histogram(Snapshot::of(value.get::<&gst::StructureRef>().ok()?)?)))
    };
    structure.iter().filter_map(|(name, value)| Some((name.to_string(), stat(value)?))).collect()
}
