//! Changing a stream: while it plays if that is possible, else by starting it again.

use gst::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Fleet, Refusal};
use crate::config::{SourceConfig, read_json};
use crate::log;
use crate::stream::supervisor::State;
use crate::stream::{Description, Difference, Effect, Stream, StreamSpec, StreamStatus};
use crate::unpoisoned::lock;

/// What a change has led to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// `nothing`, `live` (set while it plays) or `restart`.
    pub applied: Applied,
    /// How the stream is now.
    pub stream: StreamStatus,
}

/// How a change takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Applied {
    /// Nothing has changed.
    Nothing,
    /// The change was set while the stream plays.
    Live,
    /// The stream is started again.
    Restart,
}

impl Fleet {
    /// Changes a stream by a JSON merge patch (RFC 7396) of its source's keys.
    ///
    /// # Errors
    /// There is no such stream, or the keys would be wrong.
    pub fn change(&self, name: &str, patch: &Value) -> Result<Change, Refusal> {
        let (_changing, spec) = self.with_tried_models(|| self.changed(name, patch))?;
        let (stream, config) = (self.find(name).ok_or_else(|| Refusal::no_stream(name))?, self.config());
        let applied = apply(&stream, spec.clone());
        lock(&self.0.files.kept).put(&spec.source, config.sources.iter().find(|source| source.name == name));
        self.save();
        Ok(Change { applied, stream: stream.status() })
    }

    fn changed(&self, name: &str, patch: &Value) -> Result<StreamSpec, Refusal> {
        let stream = self.find(name).ok_or_else(|| Refusal::no_stream(name))?;
        let invalid = |e: serde_json::Error| Refusal::Invalid(e.to_string());
        if !patch.is_object() {
            return Err(Refusal::Invalid("a change is a JSON object with the keys that change".into()));
        }
        let mut merged = serde_json::to_value(&stream.spec().source).map_err(invalid)?;
        merge(&mut merged, patch);
        let source: SourceConfig = read_json(merged).map_err(Refusal::Invalid)?;
        if source.name != name {
            return Err(Refusal::Invalid(
                "a stream's name cannot change: remove it and add another one".into(),
            ));
        }
        let spec = StreamSpec::new(&self.config(), source, &lock(&self.0.files.kept).models);
        spec.map_err(|(_, sentence)| Refusal::Invalid(sentence))
    }
}

/// Has a stream run a changed spec.
pub(super) fn apply(stream: &Stream, spec: StreamSpec) -> Applied {
    let old = stream.spec();
    if *old == spec {
        return Applied::Nothing;
    }
    let over = matches!(stream.status().state, State::Failed | State::Ended);
    let differences = live_differences(&old, &spec).filter(|differences| differences.is_empty() || !over);
    log::info(format_args!(
        "stream '{}': changed, {}",
        spec.name(),
        if differences.is_some() { "and goes on" } else { "and is started again" }
    ));
    let Some(mut differences) = differences else {
        stream.change(spec, Effect::Restart);
        return Applied::Restart;
    };
    let effect = if differences.is_empty() { Effect::Later } else { Effect::Live };
    // First the spec, then the pipeline that was built by then: a pipeline that is still being built has the change in its spec.
    let Some(built) = stream.change(spec, effect) else { return Applied::Live };
    // Properties that become unset go first: zones and zones-file exclude each other.
    differences.sort_by_key(|difference| !matches!(difference.value.get::<Option<String>>(), Ok(None)));
    for difference in differences {
        if let Some(element) = built.description.element(&difference.element) {
            element.set_property_from_value(&difference.property, &difference.value);
        }
    }
    Applied::Live
}

/// The properties that differ, if all of them can be set while the stream plays.
fn live_differences(old: &StreamSpec, new: &StreamSpec) -> Option<Vec<Difference>> {
    if !same_but_properties(old, new) {
        return None;
    }
    let (Ok(before), Ok(after)) = (Description::new(old), Description::new(new)) else { return None };
    let differences = before.differences(&after)?;
    differences.iter().all(|difference| difference.while_playing).then_some(differences)
}

/// Whether only properties of the pipeline's elements and limits of the supervisor differ.
fn same_but_properties(old: &StreamSpec, new: &StreamSpec) -> bool {
    // If an override is removed, the property would have to be "not set" again, and no value means that.
    let taken_away = old.source.overrides.keys().any(|key| !new.source.overrides.contains_key(key));
    let bare = |spec: &StreamSpec| {
        let mut spec = spec.clone();
        spec.source.set.clear();
        spec.source.overrides.clear();
        spec.source.zones.clear();
        (spec.source.ground, spec.source.zones_file, spec.source.zone_units) = (None, None, None);
        (spec.source.restart, spec.source.loops) = (None, false);
        spec.restart = crate::config::Restart::default();
        spec.description = crate::config::FilledDescription::default();
        spec
    };
    !taken_away && bare(old) == bare(new)
}

/// RFC 7396.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let Value::Object(value) = value else { return };
    for (key, patch) in patch {
        if patch.is_null() {
            value.remove(key);
        } else {
            merge(value.entry(key).or_insert(Value::Null), patch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_merged_as_the_rfc_says() {
        // The cases of RFC 7396's appendix A.
        for (before, patch, after) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            (r#"[1,2]"#, r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
            (r#"{}"#, r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            let mut value: Value = serde_json::from_str(before).unwrap();
            merge(&mut value, &serde_json::from_str(patch).unwrap());
            assert_eq!(value, serde_json::from_str::<Value>(after).unwrap(), "{before} {patch}");
        }
    }
}
