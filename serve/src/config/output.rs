//! `record` and `snapshots` of a source.

use serde::{Deserialize, Serialize};

use super::Trigger;

/// `record = { … }`: which events are recorded, and how much around them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordingSettings {
    /// What begins a recording, besides a request by HTTP.
    pub on: Vec<Trigger>,
    /// Seconds before the event.
    pub pre: f64,
    /// Seconds after the last event.
    pub post: f64,
    /// Seconds after which a recording goes on in another file, at a key frame.
    pub most: f64,
}

impl Default for RecordingSettings {
    fn default() -> Self {
        Self { on: Vec::new(), pre: 5.0, post: 10.0, most: 120.0 }
    }
}

/// `snapshots = { … }`: the best picture of each track.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SnapshotSettings {
    /// Classes of which there are pictures; all if empty.
    pub classes: Vec<String>,
    /// Pictures written within a minute at most; more are counted as dropped.
    pub most_per_minute: u32,
    /// Seconds without a frame that has the track, after which it has ended.
    pub patience: f64,
    /// What is added to each side of the box, as a fraction of its size.
    pub margin: f64,
}

impl Default for SnapshotSettings {
    fn default() -> Self {
        Self { classes: Vec::new(), most_per_minute: 60, patience: 3.0, margin: 0.1 }
    }
}

impl RecordingSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        within(&[
            ("pre", self.pre, 0.0, 300.0),
            ("post", self.post, 0.0, 3600.0),
            ("most", self.most, 1.0, 86_400.0),
        ])
    }
}

impl SnapshotSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        within(&[("patience", self.patience, 0.1, 3600.0), ("margin", self.margin, 0.0, 2.0)])
    }
}

fn within(values: &[(&str, f64, f64, f64)]) -> Result<(), String> {
    let wrong = values.iter().find(|(_, value, least, most)| !(least..=most).contains(&value));
    wrong.map_or(Ok(()), |(key, value, least, most)| {
        Err(format!("{key} = {value} is out of range: set {least} to {most}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_named() {
        assert_eq!(RecordingSettings::default().check(), Ok(()));
        assert_eq!(SnapshotSettings::default().check(), Ok(()));
        let wrong = RecordingSettings { pre: -1.0, ..RecordingSettings::default() }.check().unwrap_err();
        assert_eq!(wrong, "pre = -1 is out of range: set 0 to 300");
        assert!(RecordingSettings { most: f64::NAN, ..RecordingSettings::default() }.check().is_err());
        assert!(
            SnapshotSettings { margin: 3.0, ..SnapshotSettings::default() }
                .check()
                .unwrap_err()
                .starts_with("margin")
        );
    }
}
