//! Which objects are meant by the property `blur`, and where they are.

use cudainfer_kernels::geometry::Rect;

use super::covered::Sight;
use crate::meta::object::Object;

/// The objects that are made unrecognisable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Every one.
    All,
    /// Those with one of these labels; a number is that of a class.
    Labelled(Vec<String>),
}

impl Choice {
    /// Reads the property; `None` if it is not set.
    ///
    /// # Errors
    /// A list without labels.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let names: Vec<_> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        match &names[..] {
            [] => Err(format!(
                "blur='{text}' names no label. Write labels separated by commas, as in blur=face,plate, or blur=* for all objects"
            )),
            names if names.contains(&"*") => Ok(Some(Self::All)),
            names => Ok(Some(Self::Labelled(names.iter().map(|name| (*name).to_owned()).collect()))),
        }
    }

    /// Whether an object is one of them: by its own label, its class's number, or the best class of a classifier.
    pub fn names(&self, object: &Object) -> bool {
        let Self::Labelled(labels) = self else { return true };
        let id = object.detection.as_ref().map(|detection| detection.label_id);
        labels.iter().any(|label| {
            *label == object.label
                || id.is_some_and(|id| label.parse() == Ok(id))
                || object.classifications.iter().any(|classes| classes.labels.first() == Some(label))
        })
    }

    /// Where they are.
    pub fn sights(&self, objects: &[Object]) -> Vec<Sight> {
        let named = objects.iter().filter(|object| self.names(object));
        named
            .filter_map(|object| {
                let tracked = object.tracking.as_ref();
                let seen = object.detected_outline().or_else(|| around_points(object));
                let rect = seen.or_else(|| Some(tracked?.rect))?;
                Some(Sight { id: tracked.map(|track| track.id), rect, expected: seen.is_none() })
            })
            .collect()
    }
}

/// The box around an object's points.
fn around_points(object: &Object) -> Option<Rect> {
    let points = object.keypoints.as_ref()?;
    let places = points.x.iter().zip(&points.y).map(|(x, y)| (*x as f32, *y as f32));
    let places = places.filter(|(x, y)| x.is_finite() && y.is_finite());
    let [left, top, right, bottom] = places
        .map(|(x, y)| [x, y, x, y])
        .reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
    Some(Rect::from_corners(left, top, right, bottom))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{ClassificationParam, DetectionParam, KeypointsParam, TrackingParam};

    const BOX: Rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };

    fn detected(label: &str, label_id: u32) -> Object {
        let detection = Some(DetectionParam { rect: BOX, confidence: 0.5, label_id });
        Object { label: label.into(), detection, ..Object::default() }
    }

    fn chosen(text: &str, object: &Object) -> bool {
        Choice::parse(text).unwrap().unwrap().names(object)
    }

    #[test]
    fn labels_class_numbers_a_classifiers_best_class_and_all_are_understood() {
        let face = detected("face", 3);
        for (text, wanted) in [
            ("face", true),
            (" plate , face ,", true),
            ("3", true),
            ("*", true),
            ("plate,*", true),
            ("plate", false),
            ("Face", false),
            ("30", false),
        ] {
            assert_eq!(chosen(text, &face), wanted, "{text}");
        }
        let labels = vec!["child".into(), "adult".into()];
        let classifications = vec![ClassificationParam { labels, ..ClassificationParam::default() }];
        let person = Object { classifications, ..detected("person", 0) };
        assert!(chosen("child", &person) && !chosen("adult", &person));
        assert_eq!(Choice::parse(""), Ok(None));
        for text in [",", "  ", " , "] {
            assert!(Choice::parse(text).unwrap_err().contains("names no label"), "{text}");
        }
    }

    #[test]
    fn an_object_is_where_it_was_detected_else_where_its_points_are_else_where_it_is_expected() {
        let rect = Rect { x: 1.0, ..BOX };
        let tracking = Some(TrackingParam { id: 7, rect, ..TrackingParam::default() });
        let keypoints = Some(KeypointsParam {
            x: vec![5.0, f64::NAN, 9.0],
            y: vec![8.0, 1.0, 2.0],
            ..KeypointsParam::default()
        });
        let lost = Object { tracking, ..Object::default() };
        let posed = Object { keypoints, ..lost.clone() };
        let seen = Object { detection: detected("", 0).detection, ..posed.clone() };
        let rotated = Object { angle: std::f32::consts::FRAC_PI_2, ..seen.clone() };
        let nothing = Object::default();
        let sights = Choice::All.sights(&[lost, posed, seen, nothing]);
        let found: Vec<_> = sights.iter().map(|sight| (sight.id, sight.rect, sight.expected)).collect();
        let points = Rect { x: 5.0, y: 2.0, w: 4.0, h: 6.0 };
        assert_eq!(found, [(Some(7), rect, true), (Some(7), points, false), (Some(7), BOX, false)]);
        let upright = Choice::All.sights(&[rotated])[0].rect;
        assert!((upright.w - 20.0).abs() < 1e-3 && (upright.h - 40.0).abs() < 1e-3, "{upright:?}");
    }
}
