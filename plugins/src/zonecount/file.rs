//! Zones, and the ground that they lie on, as a TOML file has them.

use std::path::{Path, PathBuf};

use cudainfer_files as files;
use cudainfer_kernels::ground::{GroundMap, Metres};
use cudainfer_kernels::zones::{Anchor, GroundParams, Units, Zone, ZoneKind};
use serde::Deserialize;

use super::syntax::{above_zero, inertia, occupancy, seconds};
use crate::model::{TomlError, word};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default, deserialize_with = "word::deserialize")]
    units: Option<Units>,
    ground: Option<GroundEntry>,
    #[serde(default)]
    zone: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct GroundEntry {
    #[serde(default, deserialize_with = "word::deserialize")]
    units: Option<Units>,
    #[serde(default, deserialize_with = "word::deserialize")]
    anchor: Option<Anchor>,
    points: Option<Vec<[f64; 2]>>,
    metres: Option<MetresEntry>,
    matrix: Option<[[f64; 3]; 3]>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "metres are four places, as [[0, 0], [7, 0], [7, 30], [0, 30]], or the two sides of a rectangle, as [7, 30]"
)]
enum MetresEntry {
    Rectangle([f64; 2]),
    Places(Vec<[f64; 2]>),
}

impl GroundEntry {
    fn params(self) -> Result<GroundParams, String> {
        let map = match (self.points, self.metres, self.matrix) {
            (Some(frame), Some(metres), None) => {
                let metres = match metres {
                    MetresEntry::Rectangle(sides) => Metres::Rectangle(sides),
                    MetresEntry::Places(places) => Metres::Places(places),
                };
                GroundMap::Points { frame, metres }
            }
            (None, None, Some(rows)) => GroundMap::Matrix(rows),
            (None, None, None) => {
                return Err(
                    "[ground] is empty. Give it points, four of them, with their metres, or a matrix"
                        .to_owned(),
                );
            }
            (_, _, Some(_)) => {
                return Err(
                    "[ground] has both a matrix and points or metres. Leave one of them out".to_owned()
                );
            }
            (Some(_), None, None) => {
                return Err("[ground] has points, but no metres, which say where they are. Add metres = [width, length] \
                            of the rectangle whose corners they are, or a place for each"
                    .to_owned());
            }
            (None, Some(_), None) => {
                return Err(
                    "[ground] has metres, but no points. Add the four points of the frame that they are of"
                        .to_owned(),
                );
            }
        };
        Ok(GroundParams { map, units: self.units, anchor: self.anchor.unwrap_or_default() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    kind: EntryKind,
    points: Vec<[f64; 2]>,
    #[serde(default)]
    holes: Vec<Vec<[f64; 2]>>,
    #[serde(default)]
    classes: Vec<Class>,
    #[serde(default, deserialize_with = "word::deserialize")]
    anchor: Option<Anchor>,
    inertia: Option<u32>,
    dwell: Option<f64>,
    loitering: Option<f64>,
    occupancy: Option<u32>,
    min_speed: Option<f64>,
    max_speed: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum EntryKind {
    Line,
    Polygon,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a class is its name or its number, from 0")]
enum Class {
    Number(u32),
    Name(String),
}

impl Entry {
    fn zone(self) -> Result<Zone, String> {
        let wrong = |why| format!("zone '{}': {why}", self.name);
        let kind = match self.kind {
            EntryKind::Line => ZoneKind::Line,
            EntryKind::Polygon => ZoneKind::Polygon,
        };
        let class = |class: Class| match class {
            Class::Number(number) => number.to_string(),
            Class::Name(name) => name,
        };
        let time =
            |name, value: Option<f64>| value.map(|value| seconds(name, value)).transpose().map_err(wrong);
        let speed =
            |name, value: Option<f64>| value.map(|value| above_zero(name, value)).transpose().map_err(wrong);
        Ok(Zone {
            inertia: self.inertia.map(inertia).transpose().map_err(wrong)?,
            dwell: time("dwell", self.dwell)?,
            loitering: time("loitering", self.loitering)?,
            occupancy: self.occupancy.map(occupancy).transpose().map_err(wrong)?,
            min_speed: speed("min-speed", self.min_speed)?,
            max_speed: speed("max-speed", self.max_speed)?,
            kind,
            points: self.points,
            holes: self.holes,
            classes: self.classes.into_iter().map(class).collect(),
            anchor: self.anchor,
            name: self.name,
        })
    }
}

/// What a file of zones holds.
#[derive(Clone, Debug)]
pub(super) struct ZonesContent {
    /// The units of its coordinates, if it has them.
    pub units: Option<Units>,
    pub zones: Vec<Zone>,
    pub ground: Option<GroundParams>,
}

/// Reads a file of zones.
///
/// # Errors
/// A sentence that names the file and, where its text is wrong, the line.
fn read(path: &Path) -> Result<ZonesContent, String> {
    let name = path.display();
    let text = files::text(path).map_err(|e| format!("zones-file '{name}' cannot be read: {e}"))?;
    let wrong = |why: &str| format!("zones-file '{name}' is invalid: {why}");
    let file: File = toml::from_str(&text).map_err(|e| wrong(&TomlError::of(&text, &e).to_string()))?;
    if file.zone.is_empty() && file.ground.is_none() {
        return Err(wrong("it has no [[zone]] with name, kind and points, and no [ground]"));
    }
    let zones =
        file.zone.into_iter().map(Entry::zone).collect::<Result<_, _>>().map_err(|why| wrong(&why))?;
    let ground = file.ground.map(GroundEntry::params).transpose().map_err(|why| wrong(&why))?;
    Ok(ZonesContent { units: file.units, zones, ground })
}

/// A file of zones as it was when it was read: frames do not wait for a disk.
#[derive(Clone, Debug)]
pub(super) struct ZonesFile {
    pub path: PathBuf,
    /// What it holds, or a sentence about what is wrong with it.
    pub content: Result<ZonesContent, String>,
}

impl ZonesFile {
    /// Reads it. No lock may be held that frames wait for.
    pub fn read(path: PathBuf) -> Self {
        Self { content: read(&path), path }
    }
}
