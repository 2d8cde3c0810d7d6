//! The elements of `[[publish]]`.

use cudainfer_launch::{elements, properties};
use std::collections::BTreeMap;
use std::path::Path;

use gst::prelude::*;

use super::StreamSpec;
use crate::config::{Publish, Scalar};

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

/// Whether records follow those of earlier starts in the file, as in a file of JSON lines: otherwise, each start would remove
/// them.
fn appends(keys: &BTreeMap<&str, Scalar>) -> bool {
    let Some(Scalar::Text(location)) = keys.get("location") else { return false };
    let json = keys.get("format").is_none_or(|format| *format == Scalar::Text("json".into()));
    let path = Path::new(location);
    let file = location != "-" && !location.contains(':') && (path.is_file() || !path.exists());
    json && file && !keys.contains_key("append")
}

fn named(value: &Scalar, stream: &str) -> Scalar {
    match value {
        Scalar::Text(text) => Scalar::Text(text.replace("{name}", stream)),
        other => other.clone(),
    }
}
