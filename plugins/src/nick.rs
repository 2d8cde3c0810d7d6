//! The words of the plugin's own enums, as pipelines, caps and messages write them.

use gst::prelude::*;

/// The nick of a property's enum value, as caps and pipelines write it.
pub fn nick<T: ToValue + StaticType>(value: T) -> String {
    let value = value.to_value();
    glib::EnumValue::from_value(&value).map_or_else(String::new, |(_, v)| v.nick().to_owned())
}
