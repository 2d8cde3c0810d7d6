//! From the properties to the kernel's parameters.

use std::path::PathBuf;

use cudainfer_kernels::zones::{Anchor, Units, ZoneParams};

use super::file::{ZonesContent, ZonesFile};
use super::syntax;

/// The properties.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// As they are written; empty where they are not set.
    pub zones: String,
    pub zones_file: Option<PathBuf>,
    /// The file's zones, as they were when it was last read. Between the setting of another name and its reading these are the
    /// previous file's.
    pub file: Option<ZonesFile>,
    pub units: Units,
    pub anchor: Anchor,
    pub min_frames: u32,
    pub margin: f64,
    /// Ns.
    pub patience: u64,
    pub untracked: bool,
    pub messages: bool,
    /// A second; 0: no limit.
    pub max_messages: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let params = ZoneParams::default();
        Self {
            zones: String::new(),
            zones_file: None,
            file: None,
            units: Units::default(),
            anchor: Anchor::default(),
            min_frames: params.min_frames,
            margin: params.margin,
            patience: params.patience,
            untracked: params.untracked,
            messages: true,
            max_messages: 100,
        }
    }
}

impl Settings {
    /// As the kernels' counter wants them.
    ///
    /// # Errors
    /// A sentence about what is wrong with the zones, or with their file.
    pub fn params(&self) -> Result<ZoneParams, String> {
        let params = |units: Units, zones, ground| ZoneParams {
            zones,
            units,
            ground,
            anchor: self.anchor,
            min_frames: self.min_frames,
            margin: self.margin,
            patience: self.patience,
            untracked: self.untracked,
        };
        let none = || {
            format!(
                "no zones are set: set zones, as in zones=\"{}\", or zones-file; zones=none where they come later",
                syntax::EXAMPLE
            )
        };
        match (Some(&self.zones).filter(|zones| !zones.is_empty()), &self.file) {
            (Some(_), Some(_)) => Err("zones and zones-file are both set: set only one of them".to_owned()),
            (None, None) => Err(none()),
            (Some(text), None) if text.trim() == syntax::NONE => Ok(params(self.units, Vec::new(), None)),
            (Some(text), None) => {
                let (zones, ground) = syntax::zones(text).map_err(|why| format!("zones: {why}"))?;
                if zones.is_empty() && ground.is_none() {
                    return Err(none());
                }
                let params = params(self.units, zones, ground);
                params.check().map(|()| params).map_err(|why| format!("zones: {why}"))
            }
            (None, Some(ZonesFile { path, content })) => {
                let ZonesContent { units, zones, ground } = content.clone()?;
                let params = params(units.unwrap_or(self.units), zones, ground);
                params
                    .check()
                    .map(|()| params)
                    .map_err(|why| format!("zones-file '{}' is invalid: {why}", path.display()))
            }
        }
    }
}
