//! What begins a recording.

use serde::{Deserialize, Serialize};

/// What begins a recording: `zone` (an event of any zone), `zone:NAME`, `object:CLASS`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Trigger {
    /// An event of any zone, or of the one named.
    Zone(Option<String>),
    /// A frame with an object of this class.
    Object(String),
}

impl TryFrom<String> for Trigger {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "zone" => Ok(Self::Zone(None)),
            Some(("zone", name)) if !name.is_empty() => Ok(Self::Zone(Some(name.to_owned()))),
            Some(("object", class)) if !class.is_empty() => Ok(Self::Object(class.to_owned())),
            _ => Err(format!("\"{text}\" begins no recording; expected zone, zone:NAME or object:CLASS")),
        }
    }
}

impl From<Trigger> for String {
    fn from(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Zone(None) => "zone".to_owned(),
            Trigger::Zone(Some(name)) => format!("zone:{name}"),
            Trigger::Object(class) => format!("object:{class}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_read_as_they_are_written() {
        for text in ["zone", "zone:the door", "object:person"] {
            assert_eq!(String::from(Trigger::try_from(text.to_owned()).unwrap()), text);
        }
        for text in ["", "zone:", "object", "object:", "line:a"] {
            assert!(Trigger::try_from(text.to_owned()).unwrap_err().contains("zone:NAME"), "{text}");
        }
    }
}
