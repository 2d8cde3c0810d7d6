//! Unknown keys, with the one that was probably meant: in TOML and in JSON alike.

use serde::de::DeserializeOwned;

use super::nearest;

/// Reads a value of JSON.
///
/// # Errors
/// A sentence that names the key.
pub fn read_json<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| sentence(&e.to_string()))
}

/// What serde says, with the nearest of the names that it expected.
pub(super) fn sentence(message: &str) -> String {
    let message = message.trim_end();
    let Some(rest) = message.strip_prefix("unknown field `") else { return message.to_owned() };
    let mut quoted = rest.split('`').step_by(2);
    let wrong = quoted.next().unwrap_or_default();
    let known: Vec<&str> = rest.split('`').skip(1).skip(1).step_by(2).collect();
    match nearest(wrong, known.iter().copied()) {
        Some(name) => format!("there is no key '{wrong}': '{name}' is probably meant"),
        None => format!("there is no key '{wrong}', there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Restart, SourceConfig};

    #[test]
    fn an_unknown_key_is_answered_with_the_nearest_name() {
        let wrong = serde_json::json!({"name": "a", "uri": "test://", "piplin": "b"});
        assert_eq!(
            read_json::<SourceConfig>(wrong).unwrap_err(),
            "there is no key 'piplin': 'pipeline' is probably meant"
        );
        let strange = read_json::<Restart>(serde_json::json!({"colour": 3})).unwrap_err();
        assert!(
            strange.contains("there are stall, first, longest, jitter, steady, decode-errors"),
            "{strange}"
        );
        let kind = read_json::<Restart>(serde_json::json!({"stall": "x"})).unwrap_err();
        assert!(kind.contains("invalid type: string \"x\""), "{kind}");
    }
}
