//! Zones as a TOML file has them.

use std::path::{Path, PathBuf};

use cudainfer_files as files;
use cudainfer_kernels::zones::{Anchor, Units, Zone, ZoneKind};
use serde::Deserialize;

use super::syntax::{dwell, occupancy};
use crate::model::{TomlError, word};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default, deserialize_with = "word::deserialize")]
    units: Option<Units>,
    #[serde(default)]
    zone: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    kind: EntryKind,
    points: Vec<[f64; 2]>,
    #[serde(default)]
    classes: Vec<Class>,
    #[serde(default, deserialize_with = "word::deserialize")]
    anchor: Option<Anchor>,
    dwell: Option<f64>,
    occupancy: Option<u32>,
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
        Ok(Zone {
            dwell: self.dwell.map(dwell).transpose().map_err(wrong)?,
            occupancy: self.occupancy.map(occupancy).transpose().map_err(wrong)?,
            kind,
            points: self.points,
            classes: self.classes.into_iter().map(class).collect(),
            anchor: self.anchor,
            name: self.name,
        })
    }
}

/// Reads a file of zones, and the units of its coordinates, if it has them.
///
/// # Errors
/// A sentence that names the file and, where its text is wrong, the line.
fn read(path: &Path) -> Result<(Option<Units>, Vec<Zone>), String> {
    let name = path.display();
    let text = files::text(path).map_err(|e| format!("zones-file '{name}' cannot be read: {e}"))?;
    let wrong = |why: &str| format!("zones-file '{name}' is invalid: {why}");
    let file: File = toml::from_str(&text).map_err(|e| wrong(&TomlError::of(&text, &e).to_string()))?;
    if file.zone.is_empty() {
        return Err(wrong("it has no [[zone]] with name, kind and points"));
    }
    let zones = file.zone.into_iter().map(Entry::zone).collect::<Result<_, _>>();
    Ok((file.units, zones.map_err(|why| wrong(&why))?))
}

/// A file of zones as it was when it was read: frames do not wait for a disk.
#[derive(Clone, Debug)]
pub(super) struct ZonesFile {
    pub path: PathBuf,
    /// The units of its coordinates, if it has them, and its zones; or a sentence about what is wrong with it.
    pub content: Result<(Option<Units>, Vec<Zone>), String>,
}

impl ZonesFile {
    /// Reads it. No lock may be held that frames wait for.
    pub fn read(path: PathBuf) -> Self {
        Self { content: read(&path), path }
    }
}
