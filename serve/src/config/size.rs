//! Sizes in bytes, as `"20GB"`.

use serde::{Deserialize, Serialize};

/// A number of bytes: a number, or a text with a unit (`kB`, `MB`, `GB`, `TB`: powers of 1000; `KiB`, `MiB`, `GiB`, `TiB`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "u64")]
pub struct Size(pub u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Bytes(u64),
    Text(String),
}

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl TryFrom<Written> for Size {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let text = match written {
            Written::Bytes(bytes) => return Ok(Self(bytes)),
            Written::Text(text) => text,
        };
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim());
        let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        let bytes =
            number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
        bytes
            .map(Self)
            .ok_or_else(|| format!("'{text}' is no size: write a whole number with a unit, such as \"20GB\""))
    }
}

impl From<Size> for u64 {
    fn from(size: Size) -> Self {
        size.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let read = |text: &str| serde_json::from_str::<Size>(text);
        for (text, bytes) in [("\"20GB\"", 20_000_000_000), ("\"3 KiB\"", 3072), ("7", 7), ("\"5B\"", 5)] {
            assert_eq!(read(text).unwrap(), Size(bytes), "{text}");
        }
        for text in ["\"20\"", "\"GB\"", "\"1.5GB\"", "\"9999999999TB\"", "\"1gb\""] {
            assert!(read(text).unwrap_err().to_string().contains("is no size"), "{text}");
        }
    }
}
