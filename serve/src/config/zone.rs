//! Zones as `zonecount` reads them.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{Ground, Scalar, ZoneUnits};

/// A zone of a source, with the keys of zonecount's `zones-file`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Line or polygon.
    pub kind: ZoneKind,
    /// x and y of each point, in the units of the source's `zone-units`.
    pub points: Vec<[f64; 2]>,
    /// Outlines of what does not belong to a polygon, in the same units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<Vec<[f64; 2]>>,
    /// Names or numbers of the classes that count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Scalar>,
    /// Point of the box that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Frames on the other side after which an object has crossed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inertia: Option<u32>,
    /// Seconds of a visit at which there is an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dwell: Option<f64>,
    /// Seconds of a stay, with short breaks, at which there is an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loitering: Option<f64>,
    /// Number of objects at which there is an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<u32>,
    /// The least speed in metres per second at which there is an event; it needs the ground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_speed: Option<f64>,
    /// The greatest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_speed: Option<f64>,
}

impl Zone {
    /// Checks that its points make sense in these units.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self, units: ZoneUnits) -> Result<(), String> {
        let points = self.points.iter().chain(self.holes.iter().flatten());
        units.check(&format!("zone '{}'", self.name), points)
    }
}

/// The kind of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneKind {
    /// Crossed in two directions.
    Line,
    /// Entered and left.
    Polygon,
}

/// The zones and the ground as zonecount's property `zones` has them.
///
/// # Errors
/// A sentence, if a name or a class has a character that is a separator in that property, or if the ground has not four points.
pub fn zones_text(zones: &[Zone], ground: Option<&Ground>) -> Result<String, String> {
    let mut text = ground.map(Ground::text).transpose()?.unwrap_or_default();
    for zone in zones {
        let classes: Vec<String> = zone.classes.iter().map(Scalar::to_string).collect();
        let anchor = zone.anchor.as_ref();
        for word in [&zone.name].into_iter().chain(&classes).chain(anchor) {
            if word.is_empty() || word.contains([';', ':', ',', '=']) {
                let what = if *word == zone.name { "its name" } else { word };
                return Err(format!(
                    "zone '{}': {what} is empty or has one of ; : , = in it: write it without them",
                    zone.name
                ));
            }
        }
        let kind = match zone.kind {
            ZoneKind::Line => "line",
            ZoneKind::Polygon => "polygon",
        };
        let points: Vec<String> = zone.points.iter().flatten().map(f64::to_string).collect();
        if !text.is_empty() {
            text.push(';');
        }
        let _ = write!(text, "{}={kind}:{}", zone.name, points.join(","));
        if !classes.is_empty() {
            let _ = write!(text, ":classes={}", classes.join(","));
        }
        for hole in &zone.holes {
            let points: Vec<String> = hole.iter().flatten().map(f64::to_string).collect();
            let _ = write!(text, ":hole={}", points.join(","));
        }
        for (key, value) in [
            ("anchor", anchor.cloned()),
            ("inertia", zone.inertia.map(|frames| frames.to_string())),
            ("dwell", zone.dwell.map(|seconds| seconds.to_string())),
            ("loitering", zone.loitering.map(|seconds| seconds.to_string())),
            ("occupancy", zone.occupancy.map(|number| number.to_string())),
            ("min-speed", zone.min_speed.map(|speed| speed.to_string())),
            ("max-speed", zone.max_speed.map(|speed| speed.to_string())),
        ] {
            if let Some(value) = value {
                let _ = write!(text, ":{key}={value}");
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_written_as_zonecount_reads_them() {
        let zones: Vec<Zone> = serde_json::from_str(
            r#"[{"name": "door", "kind": "line", "points": [[0.1, 0.7], [0.4, 0.7]], "classes": ["person", 2]},
                {"name": "yard", "kind": "polygon", "points": [[0,0],[1,0],[1,1]], "anchor": "center", "dwell": 30,
                 "holes": [[[0.5, 0.1], [0.9, 0.1], [0.9, 0.5]]], "inertia": 5, "loitering": 120, "min-speed": 8.5, "max-speed": 20}]"#,
        )
        .unwrap();
        let text = "door=line:0.1,0.7,0.4,0.7:classes=person,2;yard=polygon:0,0,1,0,1,1:hole=0.5,0.1,0.9,0.1,0.9,0.5\
             :anchor=center:inertia=5:dwell=30:loitering=120:min-speed=8.5:max-speed=20";
        assert_eq!(zones_text(&zones, None).unwrap(), text);
        let ground: Ground = serde_json::from_str(
            r#"{"points": [[0.4, 0.3], [0.6, 0.3], [1, 1], [0, 1]], "metres": [7, 40]}"#,
        )
        .unwrap();
        let plane = "ground=plane:0.4,0.3,0.6,0.3,1,1,0,1:metres=7,40";
        assert_eq!(zones_text(&zones, Some(&ground)).unwrap(), format!("{plane};{text}"));
        assert_eq!(zones_text(&[], Some(&ground)).unwrap(), plane);
        assert_eq!(zones[0].check(ZoneUnits::Fraction), Ok(()));
        assert!(zones[0].check(ZoneUnits::Pixels).unwrap_err().contains("not larger than a pixel"));
        let wide = Zone { points: vec![[0.1, 0.7], [40.0, 70.0]], ..zones[0].clone() };
        assert_eq!(wide.check(ZoneUnits::Pixels), Ok(()));
        assert!(wide.check(ZoneUnits::Fraction).unwrap_err().contains("the coordinate 40,"));
        let odd = Zone { name: "a;b".into(), ..zones[0].clone() };
        assert!(zones_text(&[odd], None).unwrap_err().contains("a;b"));
    }
}
