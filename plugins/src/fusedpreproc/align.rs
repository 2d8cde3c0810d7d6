//! Regions that are cut by an object's points (`roi-crop=align`).

use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::preproc::aligned;

use crate::caps::{ROI_ALIGN, ROI_ALIGN_POINTS};
use crate::meta::object::Object;
use crate::strings;

/// Where the tensor has the points of an object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template {
    /// Pixels of the tensor, counted from the first pixel's centre.
    points: Vec<[f64; 2]>,
    /// Their names, where an object has others as well or in another order.
    names: Vec<String>,
}

impl Template {
    /// The template in caps.
    ///
    /// # Errors
    /// A sentence: there is none.
    pub fn of(s: &gst::StructureRef) -> Result<Self, String> {
        let points = in_caps(s).ok_or(
            "roi-crop=align needs the places of the points in the tensor, which the model's sidecar does not state. Add align = [[x, y], \
             ...] to its [input], or set another roi-crop",
        )?;
        Ok(Self { points, names: names_in_caps(s) })
    }

    /// The region of an object, if it lies in the frame.
    ///
    /// # Errors
    /// What the object has instead of these points.
    pub fn cut(
        &self,
        object: &Object,
        tensor: [usize; 2],
        frame: [usize; 2],
    ) -> Result<Option<Affine>, String> {
        let found = places(object, self.points.len(), &self.names)?;
        let pairs = found.into_iter().zip(self.points.iter().copied());
        let (places, template): (Vec<_>, Vec<_>) =
            pairs.filter(|(place, _)| place.iter().all(|v| v.is_finite())).unzip();
        if places.iter().all(|place| Some(place) == places.first()) {
            let lost = self.points.len() - places.len();
            return Err(if lost > 0 {
                format!("{} of the points", places.len())
            } else {
                "its points in one place".into()
            });
        }
        Ok(aligned(&places, &template, tensor, frame))
    }

    /// What an object must have.
    pub fn wanted(&self) -> String {
        wanted(self.points.len(), &self.names)
    }
}

/// The `count` points of an object, in the order of `names`, or in its own where there are no names.
///
/// # Errors
/// What the object has instead.
pub(super) fn places(object: &Object, count: usize, names: &[String]) -> Result<Vec<[f64; 2]>, String> {
    let found = object.keypoints.as_ref().ok_or("no points")?;
    let place = |(x, y): (&f64, &f64)| [*x, *y];
    let all: Vec<_> = found.x.iter().zip(&found.y).map(place).collect();
    if names.is_empty() {
        return if all.len() == count { Ok(all) } else { Err(format!("{} points", all.len())) };
    }
    let named = |name: &String| {
        let number = found.names.iter().position(|own| own == name);
        number.and_then(|number| all.get(number)).copied()
    };
    let missing = || format!("points called {}", found.names.join(", "));
    names.iter().map(named).collect::<Option<_>>().ok_or_else(missing)
}

/// What [`places`] needs.
pub(super) fn wanted(count: usize, names: &[String]) -> String {
    if names.is_empty() { format!("{count} points") } else { format!("points called {}", names.join(", ")) }
}

/// The pairs of numbers that are in caps: where the tensor has points.
pub(super) fn in_caps(s: &gst::StructureRef) -> Option<Vec<[f64; 2]>> {
    let numbers = s.get::<gst::ArrayRef>(ROI_ALIGN).ok()?;
    let numbers = numbers.iter().map(|v| v.get::<f64>().ok()).collect::<Option<Vec<_>>>()?;
    Some(numbers.as_chunks().0.to_vec()).filter(|points| !points.is_empty())
}

/// The names of these points in caps.
pub(super) fn names_in_caps(s: &gst::StructureRef) -> Vec<String> {
    strings::list(s, ROI_ALIGN_POINTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::KeypointsParam;

    fn object(points: &[(&str, f64, f64)]) -> Object {
        let names = points.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let of = |pick: fn(&(&str, f64, f64)) -> f64| points.iter().map(pick).collect();
        let keypoints = KeypointsParam { names, x: of(|p| p.1), y: of(|p| p.2), ..KeypointsParam::default() };
        Object { keypoints: Some(keypoints), ..Object::default() }
    }

    #[test]
    fn points_are_taken_in_their_order_or_by_their_names() {
        let points = vec![[1.0, 2.0], [5.0, 2.0]];
        let cut = |names: &[&str], object: &Object| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Template { points: points.clone(), names }.cut(object, [8, 8], [100, 100])
        };
        let two = object(&[("left", 21.0, 42.0), ("right", 29.0, 42.0)]);
        // Twice as large. The centres of first pixels are 0.5, 0.5.
        let map = Affine::upright([2.0, 2.0], [18.5, 37.5]);
        assert_eq!(cut(&[], &two), Ok(Some(map)));
        let more = object(&[("tail", 90.0, 90.0), ("right", 29.0, 42.0), ("left", 21.0, 42.0)]);
        assert_eq!(cut(&["left", "right"], &more), Ok(Some(map)));
        assert_eq!(cut(&[], &more), Err("3 points".into()));
        assert_eq!(cut(&["left", "nose"], &more), Err("points called tail, right, left".into()));
        assert_eq!(cut(&[], &Object::default()), Err("no points".into()));
        let lost = object(&[("left", 21.0, 42.0), ("right", f64::NAN, 42.0)]);
        assert_eq!(cut(&[], &lost), Err("1 of the points".into()));
        let same = object(&[("left", 21.0, 42.0), ("right", 21.0, 42.0)]);
        assert_eq!(cut(&[], &same), Err("its points in one place".into()));
        let away = object(&[("left", 1021.0, 42.0), ("right", 1029.0, 42.0)]);
        assert_eq!(cut(&[], &away), Ok(None));
    }
}
