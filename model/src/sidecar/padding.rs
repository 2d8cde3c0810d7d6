//! The colour of bars as the sidecar writes it, a pixel value or `"mean"`: for serde's `with`.

use cudainfer_kernels::preproc::Padding;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MEAN: &str = "mean";

/// A value of the key.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Value {
    Pixel(i64),
    Word(String),
}

/// Reads a value.
///
/// # Errors
/// What is neither a pixel value nor the word.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Padding>, D::Error> {
    let padding = match Value::deserialize(deserializer) {
        Ok(Value::Pixel(value)) => u8::try_from(value).map(Padding::Pixel).ok(),
        Ok(Value::Word(word)) => (word == MEAN).then_some(Padding::Mean),
        Err(_) => None,
    };
    padding.map(Some).ok_or_else(|| de::Error::custom("it must be a pixel value, 0 to 255, or \"mean\""))
}

/// Writes a value.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(padding: &Option<Padding>, serializer: S) -> Result<S::Ok, S::Error> {
    let value = padding.map(|padding| match padding {
        Padding::Pixel(value) => Value::Pixel(value.into()),
        Padding::Mean => Value::Word(MEAN.into()),
    });
    value.serialize(serializer)
}
