//! Converts between enums and their nicks in pipelines, sidecars and caps.

use gst::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The nick of a property's enum value, as caps, sidecars and pipelines write it.
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

/// Reads an enum value from a file, for serde's `deserialize_with`.
///
/// # Errors
/// A word that is none of the enum's, with those that are.
pub fn read<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: StaticType + for<'a> glib::value::FromValue<'a>,
{
    let text = String::deserialize(deserializer)?;
    // `auto` is a property's word for "as in the sidecar".
    from_nick(&text)
        .filter(|_| text != "auto")
        .map(Some)
        .ok_or_else(|| de::Error::custom(format!("'{text}' is none of {}", nicks::<T>().join(", "))))
}

/// Writes an enum value to a file, for serde's `serialize_with`.
///
/// # Errors
/// Those of the serializer.
pub fn write<S, T>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: ToValue + StaticType + Copy,
{
    value.map(nick).serialize(serializer)
}

/// The nicks of an enum, without `auto`.
pub fn nicks<T: StaticType>() -> Vec<String> {
    let class = glib::EnumClass::with_type(T::static_type());
    let values = class.as_ref().map_or(&[][..], |class| class.values());
    values.iter().map(|v| v.nick().to_owned()).filter(|nick| nick != "auto").collect()
}
