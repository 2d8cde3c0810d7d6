//! Where the ground is, as `zonecount` reads it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::ZoneUnits;

/// Four points of a source's frames whose places are known, with the keys of `[ground]` in zonecount's `zones-file`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ground {
    /// x and y of each, in the units of the source's `zone-units`.
    pub points: Vec<[f64; 2]>,
    /// Where they are.
    pub metres: Metres,
    /// Point of the box that touches the ground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

/// Where four points are.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "metres are the two sides of a rectangle, as [7, 30], or four places, as [[0, 0], [7, 0], [7, 30], [0, 30]]"
)]
pub enum Metres {
    /// The corners of a rectangle of this width and length.
    Rectangle([f64; 2]),
    /// Their places.
    Places(Vec<[f64; 2]>),
}

impl Ground {
    /// Checks that its points make sense in these units.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self, units: ZoneUnits) -> Result<(), String> {
        units.check("the ground", self.points.iter())
    }

    /// As zonecount's property `zones` has it, beside the zones.
    ///
    /// # Errors
    /// A sentence, if there are not four points, or a word has a character that is a separator in that property.
    pub(super) fn text(&self) -> Result<String, String> {
        if self.points.len() != 4 {
            let count = self.points.len();
            return Err(format!(
                "the ground has {count} points, expected 4 whose places are known in metres"
            ));
        }
        let list = |points: &[[f64; 2]]| {
            let numbers: Vec<String> = points.as_flattened().iter().map(f64::to_string).collect();
            numbers.join(",")
        };
        let metres = match &self.metres {
            Metres::Rectangle(sides) => list(&[*sides]),
            Metres::Places(places) => list(places),
        };
        let mut text = format!("ground=plane:{}:metres={metres}", list(&self.points));
        if let Some(anchor) = &self.anchor {
            if anchor.is_empty() || anchor.contains([';', ':', ',', '=']) {
                return Err(format!(
                    "'{anchor}' of the ground is no anchor: it is empty or has one of ; : , = in it"
                ));
            }
            let _ = write!(text, ":anchor={anchor}");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground(json: serde_json::Value) -> Ground {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_ground_is_written_as_zonecount_reads_it() {
        let points = [[0.4, 0.35], [0.6, 0.35], [1.0, 0.9], [0.0, 0.9]];
        let text = "ground=plane:0.4,0.35,0.6,0.35,1,0.9,0,0.9:metres=";
        let sides = ground(serde_json::json!({"points": points, "metres": [7, 40.5], "anchor": "center"}));
        assert_eq!(sides.text(), Ok(format!("{text}7,40.5:anchor=center")));
        let places =
            ground(serde_json::json!({"points": points, "metres": [[0, 0], [7, 0], [7, 40], [0, 40]]}));
        assert_eq!(places.text(), Ok(format!("{text}0,0,7,0,7,40,0,40")));
        let three = Ground { points: points[..3].to_vec(), ..sides.clone() };
        assert!(three.text().unwrap_err().contains("has 3 points, expected 4"));
        assert_eq!(sides.check(ZoneUnits::Fraction), Ok(()));
        assert!(
            sides.check(ZoneUnits::Pixels).unwrap_err().starts_with("the ground is not larger than a pixel")
        );
        let odd = Ground { anchor: Some("center;a=line".into()), ..sides };
        assert!(odd.text().unwrap_err().contains("center;a=line"));
    }
}
