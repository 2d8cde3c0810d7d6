//! Values of enums as the sidecar writes them, by their words: for serde's `with`.

use cudainfer_kernels::words::Words;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Reads a value.
///
/// # Errors
/// A word that is none of the enum's, with those that are.
pub fn deserialize<'de, D: Deserializer<'de>, T: Words>(deserializer: D) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || de::Error::custom(format!("'{text}' is none of {}", T::list()));
    T::of_word(&text).map(Some).ok_or_else(wrong)
}

/// Writes a value.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer, T: Words>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(T::word).serialize(serializer)
}
