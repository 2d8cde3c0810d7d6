//! Reading JSON, with a sentence for what is wrong.

use cudainfer_model::mistakes;
use serde::de::DeserializeOwned;

/// Reads a value of JSON.
///
/// # Errors
/// A sentence that names the key.
pub fn read_json<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| mistakes::sentence(&e.to_string()))
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

    #[test]
    fn fuzz_source_json() {
        // A value of JSON takes 32 bytes where the text has two, and a zone has the fields of all keys.
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "source_json").with_ratio(300).run(
            |bytes| {
                let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
                if let Ok(source) = read_json::<SourceConfig>(value) {
                    let _ = source.check();
                    let shown = source.uri.to_string();
                    source.uri.hide_in(&shown);
                }
            },
        );
    }
}
