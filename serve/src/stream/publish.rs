//! The elements of `[[publish]]`.

use cudainfer_launch::{elements, properties};
use std::collections::BTreeMap;
use std::path::Path;

use gst::prelude::*;

use super::StreamSpec;
use crate::config::{Publish, Scalar};

/// What stands for the stream's name in the values of a `[[publish]]`.
const NAME: &str = "{name}";
/// What inferpublish fills in in topics.
const OF_TOPICS: [&str; 3] = ["{source}", "{kind}", "{stream}"];

/// The elements that follow a stream's pipeline.
///
/// # Errors
/// A sentence.
pub(super) fn publishers(spec: &StreamSpec) -> Result<Vec<gst::Element>, String> {
    let make = |(index, properties)| {
        let name = if index == 0 { "publish".to_owned() } else { format!("publish-{}", index + 1) };
        publisher(&name, properties, spec.name())
    };
    spec.publish.iter().enumerate().map(make).collect()
}

/// Makes an inferpublish with these properties, in which `{name}` is the stream's name.
fn publisher(name: &str, keys: &BTreeMap<String, Scalar>, stream: &str) -> Result<gst::Element, String> {
    let element = elements::make("inferpublish", name)?;
    let keys: BTreeMap<_, _> = keys.iter().map(|(key, value)| (key.as_str(), named(value, stream))).collect();
    for (key, value) in &keys {
        properties::set(&element, key, value).map_err(|sentence| format!("[[publish]]: {sentence}"))?;
    }
    properties::set(&element, "source", &Scalar::Text(stream.to_owned()))?;
    if appends(&keys) {
        element.set_property("append", true);
    }
    Ok(element)
}

/// Checks a `[[publish]]` for a stream of this name. Nothing is opened, and no broker is contacted.
///
/// # Errors
/// A sentence.
pub fn check_publish(publish: &Publish, stream: &str) -> Result<(), String> {
    let element = publisher("publish", &publish.properties, stream)?;
    elements::refusal(&element, gst::State::Ready)
        .map_or(Ok(()), |sentence| Err(format!("[[publish]]: {sentence}")))
}

/// Checks that a `[[publish]]` gives each of its streams a file of its own.
///
/// # Errors
/// A sentence.
pub fn check_shared_file(publish: &Publish, streams: usize) -> Result<(), String> {
    let Some(file) = publish.properties.get("location").and_then(file_of) else { return Ok(()) };
    if let Some(key) = OF_TOPICS.into_iter().find(|key| file.contains(key)) {
        return Err(format!(
            "[[publish]]: location '{file}' has {key}, which is filled in in topics alone: write {NAME} for the stream's name"
        ));
    }
    if streams > 1 && !file.contains(NAME) {
        return Err(format!(
            "[[publish]]: {streams} streams would write over each other's records in '{file}': write {NAME} in location, \
             as in 'results-{NAME}.jsonl'"
        ));
    }
    Ok(())
}

/// Whether records follow those of earlier starts in the file, as in a file of JSON lines: otherwise, each start would remove
/// them.
fn appends(keys: &BTreeMap<&str, Scalar>) -> bool {
    let json = keys.get("format").is_none_or(|format| *format == Scalar::Text("json".into()));
    json && keys.get("location").and_then(file_of).is_some() && !keys.contains_key("append")
}

/// The regular file that a location names, or would make.
fn file_of(location: &Scalar) -> Option<&str> {
    let Scalar::Text(location) = location else { return None };
    let path = Path::new(location);
    (location != "-" && !location.contains(':') && (path.is_file() || !path.exists())).then_some(location)
}

fn named(value: &Scalar, stream: &str) -> Scalar {
    match value {
        Scalar::Text(text) => Scalar::Text(text.replace(NAME, stream)),
        other => other.clone(),
    }
}
