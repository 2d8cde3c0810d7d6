//! An object as the counter needs it: its box, class and identity.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::zones::Sighting;

use crate::meta::object::{KeypointsParam, Object};

/// Whether an object counts as seen: the expected place of a lost one is no place where it has been seen, and tentative ones
/// share an identity.
pub(super) fn is_seen(object: &Object) -> bool {
    object.tracking.as_ref().is_none_or(|track| !matches!(track.state.as_str(), "lost" | "tentative"))
}

/// An object's identity, if a tracker has it and it is seen.
pub(super) fn identity(object: &Object) -> Option<u64> {
    object.tracking.as_ref().filter(|_| is_seen(object)).map(|track| track.id)
}

/// The object with its detector's box, which is the one that is drawn; else with its tracker's, else with that around its
/// points. Of a rotated box, the upright one around it. An object that is not seen has no position.
pub(super) fn sighting(object: &Object) -> Sighting<'_> {
    let detected = object.detection.as_ref().map(|detection| upright(&detection.rect, object.angle));
    let tracked = || object.tracking.as_ref().map(|track| track.rect);
    let outlined = || object.keypoints.as_ref().and_then(KeypointsParam::outline);
    // Classes of the whole frame have no position either.
    let nowhere = Rect { x: f32::NAN, ..Rect::default() };
    Sighting {
        id: identity(object),
        label: &object.label,
        class: object.detection.as_ref().map(|detection| detection.label_id),
        rect: detected.or_else(tracked).or_else(outlined).filter(|_| is_seen(object)).unwrap_or(nowhere),
        carried: object.tracking.as_ref().is_some_and(|track| track.state == "carried"),
        within_another: object.parent.is_some(),
    }
}

/// The upright box around one that is rotated about its centre.
fn upright(rect: &Rect, angle: f32) -> Rect {
    if angle == 0.0 {
        return *rect;
    }
    let (sin, cos) = (angle.sin().abs(), angle.cos().abs());
    let (w, h) = (rect.w * cos + rect.h * sin, rect.w * sin + rect.h * cos);
    Rect { x: rect.x + (rect.w - w) / 2.0, y: rect.y + (rect.h - h) / 2.0, w, h }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{DetectionParam, TrackingParam};

    #[test]
    fn the_detectors_box_counts_before_the_trackers_and_that_before_the_points() {
        let [seen, expected] = [1.0, 2.0].map(|x| Rect { x, y: 0.0, w: 4.0, h: 8.0 });
        let track = |state: &str| {
            Some(TrackingParam {
                id: 7,
                age: 1,
                state: state.into(),
                rect: expected,
                ..TrackingParam::default()
            })
        };
        let points = KeypointsParam { x: vec![3.0, 5.0], y: vec![0.0, 8.0], ..KeypointsParam::default() };
        let mut object = Object {
            detection: Some(DetectionParam { rect: seen, confidence: 0.5, label_id: 3 }),
            tracking: track("tracked"),
            keypoints: Some(points),
            ..Object::default()
        };
        let wanted = Sighting { id: Some(7), class: Some(3), rect: seen, ..Sighting::default() };
        assert_eq!(sighting(&object), wanted);
        object.angle = std::f32::consts::FRAC_PI_2;
        let Rect { x, y, w, h } = sighting(&object).rect;
        assert!(
            (x + 1.0).abs() + (y - 2.0).abs() + (w - 8.0).abs() + (h - 4.0).abs() < 1e-5,
            "{x} {y} {w} {h}"
        );
        object.detection = None;
        assert_eq!((sighting(&object).rect, sighting(&object).class), (expected, None));
        object.tracking = track("carried");
        assert!(sighting(&object).carried && !sighting(&object).within_another);
        object.parent = Some(2);
        assert!(sighting(&object).within_another);
        for state in ["lost", "tentative"] {
            object.tracking = track(state);
            assert_eq!(identity(&object), None);
            assert!(sighting(&object).rect.x.is_nan(), "{state}: it is nowhere");
        }
        object.tracking = None;
        assert_eq!(sighting(&object).rect, Rect { x: 3.0, y: 0.0, w: 2.0, h: 8.0 });
        object.keypoints = None;
        assert!(sighting(&object).rect.x.is_nan());
    }
}
