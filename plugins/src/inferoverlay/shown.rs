//! Which objects are worth drawing. Hidden objects and the heat-map do not depend on it.

use super::choice::ObjectChoice;
use super::settings::Settings;
use crate::meta::object::{KeypointsParam, Object};

/// The objects that are drawn, with the points that are.
///
/// # Errors
/// `classes` names no label.
pub(super) fn shown(objects: &[Object], settings: &Settings) -> Result<Vec<Object>, String> {
    let choice = ObjectChoice::parse("classes", &settings.classes)?;
    let drawn = |object: &&Object| {
        (!settings.tracked_only || object.tracking.is_some())
            && choice.as_ref().is_none_or(|choice| choice.names(object))
            && object.detection.as_ref().is_none_or(|found| found.confidence >= settings.min_confidence)
    };
    let mut shown: Vec<Object> = objects.iter().filter(drawn).cloned().collect();
    if settings.min_confidence > 0.0 {
        shown.iter_mut().filter_map(|object| object.keypoints.as_mut()).for_each(|points| {
            leave_out(points, settings.min_confidence);
        });
    }
    Ok(shown)
}

/// Leaves out points that are less sure: a point without a place is not drawn, and neither are its edges.
fn leave_out(points: &mut KeypointsParam, least: f32) {
    for ((x, y), score) in points.x.iter_mut().zip(&mut points.y).zip(&points.score) {
        if *score < f64::from(least) {
            (*x, *y) = (f64::NAN, f64::NAN);
        }
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, TrackingParam};

    fn labels(objects: &[Object], settings: &Settings) -> Vec<String> {
        shown(objects, settings).unwrap().into_iter().map(|object| object.label).collect()
    }

    #[test]
    fn objects_that_are_unsure_of_another_class_or_without_a_track_can_be_left_out() {
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        let detected = |label: &str, confidence| Object {
            label: label.into(),
            detection: Some(DetectionParam { rect, confidence, label_id: 0 }),
            ..Object::default()
        };
        let tracked = Object { tracking: Some(TrackingParam::default()), ..detected("person", 0.9) };
        let points = Object { label: "fly".into(), ..Object::default() };
        let objects = [tracked, detected("bird", 0.4), detected("person", 0.5), points];
        let all = Settings::default();
        assert_eq!(labels(&objects, &all), ["person", "bird", "person", "fly"]);
        let sure = Settings { min_confidence: 0.5, ..all.clone() };
        assert_eq!(labels(&objects, &sure), ["person", "person", "fly"]);
        let people = Settings { classes: "person, car".into(), ..all.clone() };
        assert_eq!(labels(&objects, &people), ["person", "person"]);
        assert_eq!(labels(&objects, &Settings { tracked_only: true, ..all.clone() }), ["person"]);
        assert!(
            shown(&objects, &Settings { classes: ",".into(), ..all }).unwrap_err().contains("classes=','")
        );
    }

    #[test]
    fn points_that_are_unsure_have_no_place() {
        let keypoints = KeypointsParam {
            names: ["head", "tail"].map(str::to_owned).to_vec(),
            x: vec![1.0, 2.0],
            y: vec![3.0, 4.0],
            score: vec![0.2, 0.3],
            ..KeypointsParam::default()
        };
        let fly = Object { keypoints: Some(keypoints), ..Object::default() };
        let places = |min_confidence| {
            let settings = Settings { min_confidence, ..Settings::default() };
            let points = shown(std::slice::from_ref(&fly), &settings).unwrap().remove(0).keypoints.unwrap();
            [points.place(0), points.place(1)]
        };
        assert_eq!(places(0.0), [Some((1.0, 3.0)), Some((2.0, 4.0))]);
        assert_eq!(places(0.25), [None, Some((2.0, 4.0))]);
    }
}
