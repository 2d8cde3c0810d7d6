//! serde's errors about keys and values as sentences, for TOML and JSON.

use serde::de::DeserializeOwned;

use super::nearest;

/// Reads a value of JSON.
///
/// # Errors
/// A sentence that names the key.
pub fn read_json<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| sentence(&e.to_string()))
}

/// An error of serde in the words of the user who writes a configuration. For an unknown name, the sentence has the nearest
/// known one.
pub(super) fn sentence(message: &str) -> String {
    let message = message.trim_end();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown(rest, "there is no key");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return unknown(rest, "there is no choice");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.replace('`', "'"));
    }
    if message.starts_with("data did not match any variant of untagged enum Scalar") {
        return "a value is neither a text, a number nor true or false: expected one of these".into();
    }
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix));
    match found.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            format!("found {}, expected {}", found.replace('`', ""), in_words(expected))
        }
        None => message.to_owned(),
    }
}

/// `rest` has the wrong name and all known names, each between backticks.
fn unknown(rest: &str, what: &str) -> String {
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let wrong = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    match nearest(wrong, known.iter().copied()) {
        Some(name) => format!("{what} '{wrong}': '{name}' is probably meant"),
        None => format!("{what} '{wrong}', there are {}", known.join(", ")),
    }
}

/// A type of Rust or of serde, in words.
fn in_words(expected: &str) -> &str {
    match expected {
        "f64" | "f32" => "a number",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i32" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
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
    }

    #[test]
    fn a_value_of_another_kind_is_reported_without_types_of_rust() {
        let source = |key: &str, value: serde_json::Value| {
            let mut source = serde_json::json!({"name": "a", "uri": "test://"});
            source[key] = value;
            read_json::<SourceConfig>(source).unwrap_err()
        };
        let zone = |kind: &str| serde_json::json!([{"name": "z", "kind": kind, "points": []}]);
        for (result, expected) in [
            (source("uri", 5.into()), "found integer 5, expected a text in quotes"),
            (source("loop", "yes".into()), "found string \"yes\", expected true or false"),
            (source("zones", zone("polygn")), "there is no choice 'polygn': 'polygon' is probably meant"),
            (source("restart", serde_json::json!({"stall": "x"})), "found string \"x\", expected a number"),
            (source("restart", 3.into()), "found integer 3, expected a table"),
            (
                source("set", serde_json::json!({"a": [1]})),
                "a value is neither a text, a number nor true or false: expected one of these",
            ),
            (
                read_json::<SourceConfig>(serde_json::json!({"name": "a"})).unwrap_err(),
                "the key 'uri' is missing",
            ),
        ] {
            assert_eq!(result, expected);
        }
    }
}
