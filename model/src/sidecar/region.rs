//! How the region of an object is made from its points: `[region]` of those that a detector upstream has found, `[track]` of those
//! that the model itself has found in the last frame.

use std::collections::BTreeSet;

use cudainfer_kernels::preproc::{ByPoints, Outline};
use serde::{Deserialize, Serialize};

use super::Sidecar;
use crate::word;

/// The score from which on an object is followed, as MediaPipe has it for hands, faces and people.
const MIN_SCORE: f64 = 0.5;

/// `[region]` and `[track]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PointRegion {
    /// `upright`, `turned`, `axis` or `box`.
    #[serde(with = "word")]
    pub outline: Option<Outline>,
    /// The points that the box is made around; all if there is no such key.
    pub points: Option<Vec<String>>,
    /// The axis begins at the mean of these points.
    pub axis_from: Option<Vec<String>>,
    /// The axis ends at the mean of these points, in which one may be named several times.
    pub axis_to: Option<Vec<String>>,
    /// The direction of the axis in the tensor, in degrees: 0 to the right, 90 upwards.
    pub axis_angle: Option<f64>,
    /// By how many of its widths and heights the box is moved, along its own sides.
    pub shift: Option<[f64; 2]>,
    /// Factor on the box's width and height, in place of the input's `roi-padding`.
    pub padding: Option<f64>,
    /// The score from which on an object is followed. Of `[track]` only.
    pub min_score: Option<f64>,
}

impl PointRegion {
    /// As caps carry it.
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// What [`PointRegion::to_text`] has written; `None` for any other text.
    pub fn of_text(text: &str) -> Option<Self> {
        let read: Self = toml::from_str(text).ok()?;
        read.check("region", &[]).is_ok().then_some(read)
    }

    /// What the region is made of besides the points.
    pub fn rule(&self) -> ByPoints {
        ByPoints {
            outline: self.outline.unwrap_or_default(),
            angle: self.axis_angle.unwrap_or(0.0).to_radians(),
            shift: self.shift.unwrap_or_default(),
        }
    }

    /// The names of the points at the axis' beginning and end, if there is an axis.
    pub fn axis(&self) -> Option<[&[String]; 2]> {
        Some([self.axis_from.as_deref()?, self.axis_to.as_deref()?])
    }

    /// The score from which on an object is followed.
    pub fn min_score(&self) -> f64 {
        self.min_score.unwrap_or(MIN_SCORE)
    }

    /// What an object must have.
    pub fn wanted(&self) -> String {
        let names: BTreeSet<&str> = self.names().map(String::as_str).collect();
        if names.is_empty() {
            return "points".into();
        }
        format!("points called {}", names.into_iter().collect::<Vec<_>>().join(", "))
    }

    /// The names of all points that the keys have.
    fn names(&self) -> impl Iterator<Item = &String> {
        [&self.points, &self.axis_from, &self.axis_to].into_iter().flatten().flatten()
    }

    /// The first point that a model with these points does not have; none where these are not known.
    pub fn unknown(&self, known: &[String]) -> Option<&String> {
        self.names().find(|name| !known.is_empty() && !known.contains(name))
    }

    /// Whether the keys of this section belong together, and the points are among `known`, unless that is empty.
    fn check(&self, section: &str, known: &[String]) -> Result<(), String> {
        for (key, names) in
            [("points", &self.points), ("axis-from", &self.axis_from), ("axis-to", &self.axis_to)]
        {
            if names.as_ref().is_some_and(Vec::is_empty) {
                return Err(format!("{section}.{key} names no points: name some, or drop it"));
            }
        }
        if self.axis_from.is_some() != self.axis_to.is_some() {
            return Err(format!("{section}.axis-from and axis-to belong together: write both, or none"));
        }
        if self.outline == Some(Outline::Axis) && self.axis_from.is_none() {
            return Err(format!(
                "{section}.outline is \"axis\", but there is none: add axis-from and axis-to, or write another outline"
            ));
        }
        if self.outline == Some(Outline::Found) && self.points.is_some() {
            return Err(format!(
                "{section}.points has no effect, because {section}.outline is \"box\": drop it, or write another outline"
            ));
        }
        if self.axis_angle.is_some() && self.axis_from.is_none() {
            return Err(format!(
                "{section}.axis-angle is the direction of an axis that is not there: add axis-from and axis-to, or drop it"
            ));
        }
        let numbers = [self.axis_angle, self.min_score]
            .into_iter()
            .chain(self.shift.map_or([None; 2], |s| s.map(Some)));
        if numbers.flatten().any(|number| !number.is_finite()) {
            return Err(format!("{section} has a number that is not finite: write another one"));
        }
        if let Some(padding) = self.padding.filter(|padding| !(0.01..=100.0).contains(padding)) {
            return Err(format!("{section}.padding is {padding}, but must be from 0.01 to 100"));
        }
        match self.unknown(known) {
            Some(name) => Err(format!(
                "{section} names a point '{name}' that [skeleton] does not have: write one of {}",
                known.join(", ")
            )),
            None => Ok(()),
        }
    }
}

impl Sidecar {
    /// What makes no sense of regions made from points whatever the model is.
    pub(super) fn check_regions(&self) -> Result<(), String> {
        if let Some(region) = &self.region {
            // Its points are another model's.
            region.check("region", &[])?;
            if region.min_score.is_some() {
                return Err("region.min-score has no effect: objects that a detector has found are not followed yet. Write it \
                            into [track]"
                    .into());
            }
        }
        let Some(track) = &self.track else { return Ok(()) };
        if track.outline == Some(Outline::Found) {
            return Err("track.outline is \"box\", but what is followed is known by its points alone: write another outline".into());
        }
        track.check("track", &self.skeleton.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Sidecar, String> {
        let sidecar = toml::from_str::<Sidecar>(text).map_err(|e| e.to_string())?;
        sidecar.check().map(|()| sidecar)
    }

    #[test]
    fn a_region_goes_through_caps_as_it_is() {
        let text = "[skeleton]\npoints = [\"wrist\", \"middle\"]\n[track]\noutline = \"turned\"\npoints = [\"wrist\"]\naxis-from = \
                    [\"wrist\"]\naxis-to = [\"middle\", \"middle\"]\naxis-angle = 90\nshift = [0, -0.1]\npadding = 2\nmin-score = 0.25";
        let track = checked(text).unwrap().track.unwrap();
        assert_eq!(PointRegion::of_text(&track.to_text()), Some(track.clone()));
        let rule = track.rule();
        assert_eq!((rule.outline, rule.shift, track.min_score()), (Outline::Turned, [0.0, -0.1], 0.25));
        assert!((rule.angle - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
        assert_eq!(PointRegion::of_text("outline = \"round\""), None);
        assert_eq!(PointRegion::of_text("padding = 0"), None);
    }

    #[test]
    fn keys_that_do_not_belong_together_and_unknown_points_are_refused() {
        let skeleton = "[skeleton]\npoints = [\"nose\", \"tail\"]";
        for (text, part) in [
            ("[track]\naxis-from = [\"nose\"]", "axis-from and axis-to belong together"),
            ("[track]\noutline = \"axis\"", "add axis-from and axis-to"),
            ("[track]\naxis-angle = 90", "that is not there"),
            ("[track]\npoints = []", "track.points names no points"),
            ("[track]\npadding = 0", "from 0.01 to 100"),
            ("[track]\nshift = [nan, 0]", "not finite"),
            ("[track]\npoints = [\"ear\"]", "'ear' that [skeleton] does not have: write one of nose, tail"),
            ("[region]\nmin-score = 0.5", "Write it into [track]"),
            ("[region]\noutline = \"round\"", "'round' is none of upright, turned, axis, box"),
            ("[region]\noutline = \"box\"\npoints = [\"nose\"]", "region.points has no effect"),
            ("[track]\noutline = \"box\"", "known by its points alone"),
        ] {
            let error = checked(&format!("{text}\n{skeleton}")).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        // The detector's points are not the model's, and a model without names has numbers.
        assert!(checked(&format!("[region]\npoints = [\"ear\"]\n{skeleton}")).is_ok());
        assert!(checked("[track]\npoints = [\"0\", \"5\"]").is_ok());
    }
}
