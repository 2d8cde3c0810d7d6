//! The places of the objects that must be hidden.

use cudainfer_kernels::geometry::Rect;

use super::covered::{Sight, union};
use super::outlines::of_masks;
use crate::inferoverlay::choice::ObjectChoice;
use crate::meta::mask::Mask;
use crate::meta::object::Object;

/// The places of the chosen objects.
pub(super) fn sights(choice: &ObjectChoice, objects: &[Object], masks: &[Mask]) -> Vec<Sight> {
    let named = objects.iter().filter(|object| choice.names(object));
    named
        .filter_map(|object| {
            let tracked = object.tracking.as_ref();
            let seen = object.detected_outline().or_else(|| around_points(object));
            let seen = match (seen, of_masks(object, masks)) {
                (Some(seen), Some(mask)) => Some(union(&seen, &mask)),
                (seen, mask) => seen.or(mask),
            };
            let rect = seen.or_else(|| Some(tracked?.rect))?;
            Some(Sight { id: tracked.map(|track| track.id), rect, expected: seen.is_none() })
        })
        .collect()
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
    use crate::meta::mask::MaskKind;
    use crate::meta::object::{DetectionParam, KeypointsParam, TrackingParam};

    const BOX: Rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };

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
        let seen = Object {
            detection: Some(DetectionParam { rect: BOX, confidence: 0.5, label_id: 0 }),
            ..posed.clone()
        };
        let rotated = Object { angle: std::f32::consts::FRAC_PI_2, ..seen.clone() };
        let nothing = Object::default();
        let found = sights(&ObjectChoice::All, &[lost, posed, seen, nothing], &[]);
        let found: Vec<_> = found.iter().map(|sight| (sight.id, sight.rect, sight.expected)).collect();
        let points = Rect { x: 5.0, y: 2.0, w: 4.0, h: 6.0 };
        assert_eq!(found, [(Some(7), rect, true), (Some(7), points, false), (Some(7), BOX, false)]);
        let upright = sights(&ObjectChoice::All, std::slice::from_ref(&rotated), &[])[0].rect;
        assert!((upright.w - 20.0).abs() < 1e-3 && (upright.h - 40.0).abs() < 1e-3, "{upright:?}");
    }

    #[test]
    fn a_mask_that_is_larger_than_its_box_is_hidden_whole() {
        gst::init().unwrap();
        let detection = Some(DetectionParam { rect: BOX, confidence: 0.5, label_id: 0 });
        let [boxed, bare] =
            [detection, None].map(|detection| Object { id: 4, detection, ..Object::default() });
        let rect = Rect { x: 40.0, y: 0.0, w: 30.0, h: 40.0 };
        let data = gst::Buffer::from_slice([1_u8]);
        let mask = Mask { kind: MaskKind::Instance { object: 4 }, width: 1, height: 1, data, rect };
        let rects = |object: &Object| -> Vec<_> {
            let found = sights(&ObjectChoice::All, std::slice::from_ref(object), std::slice::from_ref(&mask));
            found.iter().map(|sight| (sight.rect, sight.expected)).collect()
        };
        assert_eq!(rects(&boxed), [(Rect { x: 10.0, y: 0.0, w: 60.0, h: 50.0 }, false)]);
        assert_eq!(rects(&bare), [(rect, false)]);
    }
}
