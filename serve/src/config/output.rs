//! `record`, `snapshots` and `sample` of a source.

use serde::{Deserialize, Serialize};

use super::Trigger;

/// The most frames of a dataset: its COCO file is written again, whole, for each frame.
const MOST_SAMPLES: f64 = 10_000.0;

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

/// `sample = { … }`: frames that are worth labelling, as a dataset for training.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SampleSettings {
    /// Why a frame is taken.
    pub on: Vec<SampleReason>,
    /// Objects with a confidence in this range are uncertain.
    pub uncertain: [f64; 2],
    /// A class that fewer than this part of the stream's objects have is rare.
    pub rare: f64,
    /// Frames in the dataset at most.
    pub most: u32,
    /// Frames within an hour at most, evenly spread.
    pub most_per_hour: u32,
    /// How the objects are written.
    pub format: DatasetFormat,
}

/// Why a frame is worth labelling; the first that holds is its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleReason {
    /// Two objects of different classes at one place, or a track whose class has changed.
    Disputed,
    /// An object of a class that few objects have.
    Rare,
    /// An object whose confidence is neither high nor low.
    Uncertain,
}

impl SampleReason {
    /// All of them, in their order.
    pub const ALL: [Self; 3] = [Self::Disputed, Self::Rare, Self::Uncertain];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disputed => "disputed",
            Self::Rare => "rare",
            Self::Uncertain => "uncertain",
        }
    }
}

/// The form of a dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DatasetFormat {
    /// A text file for each picture, as Ultralytics' trainers read them.
    #[default]
    Yolo,
    /// One JSON file for all pictures.
    Coco,
}

impl Default for SampleSettings {
    fn default() -> Self {
        Self {
            on: SampleReason::ALL.to_vec(),
            uncertain: [0.3, 0.6],
            rare: 0.02,
            most: 1000,
            most_per_hour: 20,
            format: DatasetFormat::Yolo,
        }
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

impl SampleSettings {
    pub(super) fn check(&self) -> Result<(), String> {
        let [low, high] = self.uncertain;
        within(&[
            ("uncertain", low, 0.0, 1.0),
            ("uncertain", high, low, 1.0),
            ("rare", self.rare, 0.0, 1.0),
            ("most", self.most.into(), 1.0, MOST_SAMPLES),
            ("most-per-hour", self.most_per_hour.into(), 1.0, 3600.0),
        ])
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
        assert_eq!(SampleSettings::default().check(), Ok(()));
        let wrong =
            SampleSettings { uncertain: [0.6, 0.3], ..SampleSettings::default() }.check().unwrap_err();
        assert_eq!(wrong, "uncertain = 0.3 is out of range: set 0.6 to 1");
        assert!(SampleSettings { most: 0, ..SampleSettings::default() }.check().is_err());
        assert!(
            SnapshotSettings { margin: 3.0, ..SnapshotSettings::default() }
                .check()
                .unwrap_err()
                .starts_with("margin")
        );
    }
}
