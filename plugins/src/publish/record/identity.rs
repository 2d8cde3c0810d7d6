//! Whom an object, or a track, was recognised as.

use serde::Serialize;

use super::score;
use crate::meta::object::IdentityParam;

#[derive(Serialize)]
pub(crate) struct IdentityRecord {
    name: String,
    score: f64,
    /// Its number, if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<u64>,
    /// Of earlier frames.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    held: bool,
}

impl IdentityRecord {
    /// None of a score that is no number, which JSON has no word for.
    pub fn of(from: &IdentityParam) -> Option<Self> {
        let IdentityParam { name, score: found, unknown, held } = from;
        found.is_finite().then(|| Self {
            name: name.clone(),
            score: score(*found),
            unknown: *unknown,
            held: *held,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_an_unknown_are_distinguished_whatever_they_are_called() {
        let json = |unknown, held, score| {
            let identity = IdentityParam { name: "unknown-3".into(), score, unknown, held };
            serde_json::to_value(IdentityRecord::of(&identity)).unwrap()
        };
        assert_eq!(json(None, false, 0.123_456), serde_json::json!({ "name": "unknown-3", "score": 0.1235 }));
        assert_eq!(
            json(Some(3), true, -0.5),
            serde_json::json!({ "name": "unknown-3", "score": -0.5, "unknown": 3, "held": true })
        );
        assert_eq!(json(None, false, f64::NAN), serde_json::Value::Null);
    }
}
