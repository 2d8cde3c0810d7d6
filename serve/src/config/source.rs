//! `[[source]]`: a camera, a file or another source of frames.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Ground, RecordingSettings, RestartOfSource, SampleSettings, Scalar, SnapshotSettings, Uri, Zone,
    ZoneUnits,
};

/// The keys of a source, in the file and in JSON. It is serialized with its passwords: for the state and for changes, never
/// for answers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SourceConfig {
    /// Unique name: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Where the frames come from.
    #[serde(serialize_with = "Uri::serialize_whole")]
    pub uri: Uri,
    /// Which `[pipeline.NAME]`; may be left out where there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub pipeline: String,
    /// Values of the pipeline's `{key}`s, which override those of `[pipeline.NAME]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Scalar>,
    /// Properties by `ELEMENT.PROPERTY`, which override those of the pipeline's description.
    #[serde(default, rename = "override", skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, Scalar>,
    /// Zones for the pipeline's `zonecount`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<Zone>,
    /// Where the ground is, for speeds in the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// Or a file with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones_file: Option<PathBuf>,
    /// Units of their coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_units: Option<ZoneUnits>,
    /// `source = { … }`: properties of the source element.
    #[serde(default, rename = "source", skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Scalar>,
    /// Whether the frames of a file or a test picture are paced by their timestamps; true if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<bool>,
    /// Seconds that a frame of a live source may take to the end of the line; 1 if not set. With 0, nothing is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_latency: Option<f64>,
    /// Whether a file begins anew at its end.
    #[serde(default, rename = "loop", skip_serializing_if = "is_false")]
    pub loops: bool,
    /// Whether the RTSP server offers the stream.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rtsp: bool,
    /// Whether HLS files are written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hls: bool,
    /// What begins a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordingSettings>,
    /// Of which objects the best picture is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<SnapshotSettings>,
    /// Which frames are kept for training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleSettings>,
    /// What differs from `[restart]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<RestartOfSource>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_false(value: &bool) -> bool {
    !value
}

/// The longest `max-latency`, in seconds.
const MOST_LATENCY: f64 = 3600.0;

/// The most bytes of the name of a stream, a pipeline, a key or a zone: a file's name, at most 255 bytes, also has a time and
/// an ending.
pub(super) const LONGEST_NAME: usize = 128;

impl SourceConfig {
    /// A source that sets nothing: with it, a pipeline is as it is by itself.
    pub fn bare(pipeline: &str) -> Self {
        Self { name: "default".into(), pipeline: pipeline.to_owned(), ..Self::default() }
    }

    /// Finds what is wrong with it, as far as is possible without GStreamer: the key, and a sentence.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let sets = [&self.set, &self.overrides, &self.properties];
        let zones = self.zones.iter().flat_map(|zone| [&zone.name].into_iter().chain(&zone.anchor));
        let lists = [
            ("name", vec![&self.name, &self.pipeline]),
            ("set", sets.iter().flat_map(|set| set.keys()).collect()),
            ("zones", zones.collect()),
        ];
        for (key, names) in lists {
            if let Some(long) = names.into_iter().find(|name| name.len() > LONGEST_NAME) {
                let sentence = format!("a name has {} bytes: use {LONGEST_NAME} at most", long.len());
                return Err((key, sentence));
            }
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) || self.name.starts_with('.') {
            return Err((
                "name",
                format!(
                    "'{}' cannot be a source's name: use letters, digits, '-', '_' and '.', no '.' first",
                    self.name
                ),
            ));
        }
        super::SourceKind::parse(&self.uri).map_err(|sentence| ("uri", sentence))?;
        if !self.zones.is_empty() && self.zones_file.is_some() {
            return Err(("zones-file", "zones and zones-file are both set: set one of them".into()));
        }
        if self.ground.is_some() && self.zones_file.is_some() {
            return Err((
                "zones-file",
                "ground and zones-file are both set: set one of them, or write [ground] into the file".into(),
            ));
        }
        if let Some(Err(sentence)) = self.ground.as_ref().map(Ground::text) {
            return Err(("ground", sentence));
        }
        super::zones_text(&self.zones, None).map_err(|sentence| ("zones", sentence))?;
        if let Some(Err(sentence)) = self.record.as_ref().map(RecordingSettings::check) {
            return Err(("record", sentence));
        }
        if let Some(Err(sentence)) = self.snapshots.as_ref().map(SnapshotSettings::check) {
            return Err(("snapshots", sentence));
        }
        if let Some(Err(sentence)) = self.sample.as_ref().map(SampleSettings::check) {
            return Err(("sample", sentence));
        }
        if let Some(wrong) = self.max_latency.filter(|most| !(0.0..=MOST_LATENCY).contains(most)) {
            return Err((
                "max-latency",
                format!(
                    "max-latency is {wrong}: give seconds up to {MOST_LATENCY}, or 0, with which no frame is dropped"
                ),
            ));
        }
        if let Some(wrong) = self.overrides.keys().find(|key| !key.contains('.')) {
            return Err((
                "override",
                format!(
                    "'{wrong}' is no property of an element: write ELEMENT.PROPERTY, such as gpunms.confidence"
                ),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_too_long_are_refused_without_being_repeated() {
        let good =
            SourceConfig { name: "a".repeat(128), uri: "test://ball".into(), ..SourceConfig::default() };
        assert_eq!(good.check(), Ok(()));
        let long = "a".repeat(60_000);
        let zone = |name: &str| {
            serde_json::from_value(
                serde_json::json!({"name": name, "kind": "line", "points": [[0, 0], [1, 1]]}),
            )
            .unwrap()
        };
        let value = Scalar::Bool(true);
        for (key, wrong) in [
            ("name", SourceConfig { name: long.clone(), ..good.clone() }),
            ("name", SourceConfig { pipeline: long.clone(), ..good.clone() }),
            ("set", SourceConfig { set: [(long.clone(), value.clone())].into(), ..good.clone() }),
            ("set", SourceConfig { overrides: [(format!("a.{long}"), value)].into(), ..good.clone() }),
            ("zones", SourceConfig { zones: vec![zone(&long)], ..good }),
        ] {
            let (at, sentence) = wrong.check().unwrap_err();
            assert!(
                at == key && sentence.contains("use 128 at most") && sentence.len() < 200,
                "{at} {sentence}"
            );
        }
    }
}
