//! Between enums and the words that launch lines, sidecars and caps write for them.

use gst::prelude::*;

/// The nick of a property's enum value, as caps, sidecars and launch lines write it.
pub fn nick<T: ToValue + StaticType>(value: T) -> String {
    let value = value.to_value();
    glib::EnumValue::from_value(&value).map_or_else(String::new, |(_, v)| v.nick().to_owned())
}

/// The enum value with this nick.
pub fn from_nick<T: StaticType + for<'a> glib::value::FromValue<'a>>(nick: &str) -> Option<T> {
    let class = glib::EnumClass::with_type(T::static_type())?;
    let value = class.to_value_by_nick(nick)?;
    value.get().ok()
}
