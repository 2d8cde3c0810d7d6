//! Permissions: the configuration may set everything, and clients of the API what table.rs grants. docs/serve-permissions.md
//! describes them.
//!
//! Keys that differ from the source in the configuration were set by a client, also if they come from the folder `state` at the
//! next start.

mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cudainfer_model::file_of;
use gst::prelude::*;

pub(crate) use table::Grant;
pub(super) use table::grant;
pub(crate) use table::is_login;

use super::Description;
use super::defaults::Defaults;
use super::parse::template;
use crate::config::{
    Config, FilledDescription, Scalar, ServerSettings, SourceConfig, SourceKind, TestSource, fill,
};

/// The most pixels of a client's test picture, and the most pictures a second.
const TEST_PICTURE: (i64, i32) = (3840 * 2160, 120);

/// Refuses keys of a source that a client may not set.
///
/// # Errors
/// The key, and a sentence.
pub(super) fn check(
    config: &Config,
    source: &SourceConfig,
    kind: &SourceKind,
    filled: &FilledDescription,
    parsed: &Description,
) -> Result<(), (&'static str, String)> {
    let none = SourceConfig::default();
    let operator = config.sources.iter().find(|own| own.name == source.name).unwrap_or(&none);
    // All keys are named, so that whoever adds one to a source must decide here whether clients may set it.
    let SourceConfig {
        name: _,
        uri,
        pipeline,
        set,
        overrides,
        zones: _,
        ground: _,
        zones_file,
        zone_units: _,
        properties: _,
        live: _,
        loops: _,
        rtsp: _,
        hls: _,
        record: _,
        snapshots: _,
        sample: _,
        max_latency: _,
        restart: _,
    } = source;
    let at = |key| move |sentence| (key, sentence);
    if *uri != operator.uri {
        check_uri(kind, &config.server).map_err(at("uri"))?;
    }
    if zones_file.is_some() && *zones_file != operator.zones_file {
        return Err((
            "zones-file",
            "a client may not name files: send the zones themselves, as zones".into(),
        ));
    }
    let same_pipeline = *pipeline == operator.pipeline;
    let changed = |key: &String, value: &Scalar| !(same_pipeline && operator.set.get(key) == Some(value));
    let changed: Vec<&String> =
        set.iter().filter(|(key, value)| changed(key, value)).map(|(key, _)| key).collect();
    for slot in template(&filled.text).slots {
        let Some(key) = changed.iter().find(|key| slot.has(key)) else { continue };
        for element in parsed.found(&slot.element).map_err(at("set"))? {
            let value = fill(&slot.text, &filled.values);
            may_set(config, &element, &slot.property, &value)
                .map_err(|sentence| ("set", format!("{sentence} ({{{key}}} is a part of it)")))?;
        }
    }
    for (key, value) in overrides.iter().filter(|(key, value)| operator.overrides.get(*key) != Some(*value)) {
        let (name, property) = key.split_once('.').unwrap_or((key, ""));
        for element in parsed.found(name).map_err(at("override"))? {
            may_set(config, &element, property, &value.to_string()).map_err(at("override"))?;
        }
    }
    Ok(())
}

/// Refuses properties of a source's element that a client may not set.
///
/// # Errors
/// A sentence.
pub(super) fn check_source(
    config: &Config,
    source: &SourceConfig,
    element: &gst::Element,
) -> Result<(), String> {
    let operator = config.sources.iter().find(|own| own.name == source.name);
    let own: Option<&BTreeMap<String, Scalar>> = operator.map(|operator| &operator.properties);
    let elsewhere = operator.is_none_or(|operator| operator.uri != source.uri);
    let factory = factory(element);
    for (property, value) in &source.properties {
        let same = own.is_some_and(|own| own.get(property) == Some(value));
        match grant(&factory, property) {
            _ if same && !elsewhere => (),
            Some(Grant::Login) if same => {
                return Err(format!(
                    "the configuration's {property} is not for another uri: set source.{property} together with uri, or to null"
                ));
            }
            Some(Grant::Any | Grant::Login) => (),
            Some(Grant::Model) | None => return Err(refusal(&factory, property)),
        }
    }
    Ok(())
}

/// Refuses a model that clients may not choose. They may choose models that the configuration names for a trtinfer, and files
/// below `[server] models`.
///
/// # Errors
/// A sentence.
pub fn check_model(config: &Config, model: &str) -> Result<(), String> {
    if is_below(config.server.models.as_deref(), Path::new(model)) || is_named(config, model) {
        return Ok(());
    }
    if is_missing_model(config, model) {
        return Err(format!("there is no model '{model}'"));
    }
    Err(format!(
        "'{model}' is no model that a client may choose: the configuration must name it, or it must be a file below the folder \
         models of [server]"
    ))
}

/// Whether a model's path is below `[server] models` and its file is missing or cannot be read: it may come back, as files of a
/// network folder do.
pub fn is_missing_model(config: &Config, model: &str) -> bool {
    config.server.models.as_deref().is_some_and(|folder| is_missing_below(folder, Path::new(model)))
}

/// Whether a path that is below a folder by its name leads to no file.
pub(super) fn is_missing_below(folder: &Path, path: &Path) -> bool {
    let (Ok(folder), Ok(path)) = (std::path::absolute(folder), std::path::absolute(path)) else {
        return false;
    };
    let leaves = path.components().any(|part| part == std::path::Component::ParentDir);
    path.starts_with(folder) && !leaves && path.metadata().is_err()
}

/// Whether a model is a regular file below a folder, or a folder with one, with all links resolved.
fn is_below(folder: Option<&Path>, model: &Path) -> bool {
    let (Some(Ok(folder)), Ok(file)) = (folder.map(Path::canonicalize), file_of(model).canonicalize()) else {
        return false;
    };
    file.starts_with(folder) && file.is_file()
}

/// Whether the configuration names a model for a trtinfer.
pub fn is_named(config: &Config, model: &str) -> bool {
    named_models(config).contains(model)
}

/// The models that the configuration names for its trtinfers.
pub fn named_models(config: &Config) -> BTreeSet<String> {
    let bare = config.pipelines.keys().map(|name| SourceConfig::bare(name));
    let sources: Vec<SourceConfig> = bare.chain(config.sources.iter().cloned()).collect();
    let mut seen: Vec<FilledDescription> = Vec::new();
    let mut named = BTreeSet::new();
    for source in &sources {
        let own = source.overrides.iter().filter(|(key, _)| key.ends_with(".model"));
        named.extend(own.map(|(_, value)| value.to_string()));
        let filled = config.pipelines.get(&source.pipeline).map(|pipeline| pipeline.filled_for(source));
        let Some(Ok(filled)) = filled.filter(|filled| !matches!(filled, Ok(filled) if seen.contains(filled)))
        else {
            continue;
        };
        if let Ok(defaults) = Defaults::of(&filled) {
            named.extend(defaults.models().cloned());
        }
        seen.push(filled);
    }
    named
}

fn check_uri(kind: &SourceKind, server: &ServerSettings) -> Result<(), String> {
    match kind {
        SourceKind::Rtsp | SourceKind::Http => Ok(()),
        // Whether the file is below the folder is checked when it is opened.
        SourceKind::File if server.files.is_some() => Ok(()),
        SourceKind::File => {
            Err("a client may not name files: the operator must set files in [server] to the folder with those for clients".into())
        }
        SourceKind::V4l2 { device } => {
            let name = device.strip_prefix("/dev/").unwrap_or_default();
            let video = name.strip_prefix("video").is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
            let known = name.strip_prefix("v4l/by-id/").or(name.strip_prefix("v4l/by-path/"));
            if video || known.is_some_and(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.')) {
                return Ok(());
            }
            Err("a client may name /dev/video0 and the like, and what is in /dev/v4l/by-id and by-path: the configuration may name \
                 other devices"
                .into())
        }
        SourceKind::Test(TestSource { width, height, rate, .. }) => {
            let (pixels, most_rate) = TEST_PICTURE;
            if i64::from(*width) * i64::from(*height) <= pixels && *rate <= most_rate {
                return Ok(());
            }
            Err(format!(
                "a client's test picture has {pixels} pixels and {most_rate} frames a second at most, not {width}x{height} and {rate}: \
                 the configuration may set more"
            ))
        }
    }
}

fn may_set(config: &Config, element: &gst::Element, property: &str, value: &str) -> Result<(), String> {
    let factory = factory(element);
    match grant(&factory, property) {
        Some(Grant::Any) => Ok(()),
        Some(Grant::Model) => check_model(config, value),
        Some(Grant::Login) | None => Err(refusal(&factory, property)),
    }
}

fn factory(element: &gst::Element) -> String {
    element.factory().map(|factory| factory.name().to_string()).unwrap_or_default()
}

fn refusal(factory: &str, property: &str) -> String {
    format!(
        "a client may not set the property '{property}' of {factory}: only the configuration may (docs/serve-permissions.md)"
    )
}
