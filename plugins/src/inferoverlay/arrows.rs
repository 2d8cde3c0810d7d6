//! Arrows from tracks to where they will be if they move on as they do.

use cudainfer_kernels::draw::{Primitive, Rgb, color_of};

use super::settings::Settings;
use crate::meta::object::Object;

/// A shaft, and a head.
pub(super) struct Arrow {
    strokes: [Vec<(f32, f32)>; 2],
    color: Rgb,
}

/// The arrows of the objects that have a track; `frame` is the time from frame to frame in seconds. An arrow that is not longer
/// than its line is thick is left out: it has no direction.
pub(super) fn arrows(objects: &[Object], settings: &Settings, frame: f64, thickness: f32) -> Vec<Arrow> {
    let seconds = frame * f64::from(settings.arrow_frames);
    let tracked = objects.iter().filter(|_| settings.arrows);
    tracked
        .filter_map(|object| {
            let track = object.tracking.as_ref()?;
            let rect = object.detected_outline().unwrap_or(track.rect);
            let from = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0);
            let [dx, dy] = track.velocity.map(|v| (v * seconds) as f32);
            let length = dx.hypot(dy);
            if !length.is_finite() || length <= thickness {
                return None;
            }
            let along = (dx / length, dy / length);
            let to = (from.0 + dx, from.1 + dy);
            let head = (5.0 * thickness).min(length / 2.0);
            let side = |aside: f32| {
                let (back, aside) = (0.866 * head, aside * head);
                (to.0 - back * along.0 - aside * along.1, to.1 - back * along.1 + aside * along.0)
            };
            Some(Arrow {
                strokes: [vec![from, to], vec![side(0.5), to, side(-0.5)]],
                color: color_of(track.id),
            })
        })
        .collect()
}

/// Their strokes.
pub(super) fn strokes(arrows: &[Arrow], thickness: f32) -> impl Iterator<Item = Primitive<'_>> {
    arrows.iter().flat_map(move |Arrow { strokes, color }| {
        strokes.iter().map(move |points| Primitive::Polyline { points, thickness, color: *color })
    })
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::TrackingParam;

    fn moving(velocity: [f64; 2]) -> Object {
        let rect = Rect { x: 90.0, y: 40.0, w: 20.0, h: 20.0 };
        let tracking = Some(TrackingParam { id: 7, rect, velocity, ..TrackingParam::default() });
        Object { tracking, ..Object::default() }
    }

    #[test]
    fn an_arrow_ends_where_the_object_will_be() {
        let settings = Settings { arrows: true, arrow_frames: 10, ..Settings::default() };
        // 100 pixels a second for 10 frames of 40 ms.
        let made = arrows(&[moving([100.0, 0.0])], &settings, 0.04, 2.0);
        assert_eq!((made.len(), made[0].color), (1, color_of(7)));
        let [shaft, head] = &made[0].strokes;
        assert_eq!(shaft[..], [(100.0, 50.0), (140.0, 50.0)]);
        assert_eq!(head[1], (140.0, 50.0));
        // The head's sides are 10 long, 30 degrees from the shaft.
        for (point, y) in [(head[0], 55.0), (head[2], 45.0)] {
            assert!((point.0 - 131.34).abs() < 1e-3 && (point.1 - y).abs() < 1e-3, "{head:?}");
        }
        assert_eq!(strokes(&made, 2.0).count(), 2);
    }

    #[test]
    fn objects_that_stand_that_have_no_track_or_no_number_have_none() {
        let settings = Settings { arrows: true, arrow_frames: 10, ..Settings::default() };
        let still = [moving([0.0, 0.0]), moving([4.0, 1.0]), moving([f64::NAN, 1.0]), Object::default()];
        assert!(arrows(&still, &settings, 0.04, 2.0).is_empty());
        let off = Settings { arrows: false, ..settings };
        assert!(arrows(&[moving([100.0, 0.0])], &off, 0.04, 2.0).is_empty());
    }
}
