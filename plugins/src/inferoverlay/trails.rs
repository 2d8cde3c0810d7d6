//! The trails of tracks, which outlive a frame.

use std::collections::HashMap;

use crate::meta::object::Object;

/// The way of a track's foot point.
#[derive(Debug, Default)]
pub(super) struct Trail {
    pub points: Vec<(f32, f32)>,
    seen: u64,
}

/// The trails of a stream.
#[derive(Debug, Default)]
pub(super) struct Trails {
    frame: u64,
    trails: HashMap<u64, Trail>,
}

impl Trails {
    /// Whether there is nothing to draw of them until a track comes.
    pub fn is_empty(&self) -> bool {
        self.trails.is_empty()
    }

    /// The ways by the tracks' identities, in that order.
    pub fn in_order(&self) -> Vec<(u64, &Trail)> {
        let mut ways: Vec<_> = self.trails.iter().map(|(id, trail)| (*id, trail)).collect();
        ways.sort_unstable_by_key(|(id, _)| *id);
        ways
    }

    /// Takes in a frame's tracks and forgets those that have been gone for as long as a trail lasts.
    pub fn update(&mut self, objects: &[Object], length: u32) {
        let length = u64::from(length);
        self.frame += 1;
        for object in objects {
            let Some(track) = &object.tracking else { continue };
            // The detector's box, where it saw the object; for points alone the tracker has a box.
            let rect = object.detected_outline().unwrap_or(track.rect);
            let trail = self.trails.entry(track.id).or_default();
            trail.points.push((rect.x + rect.w / 2.0, rect.bottom()));
            // Several points, where the length was lowered meanwhile.
            let excess = trail.points.len().saturating_sub(usize::try_from(length).unwrap_or(usize::MAX));
            trail.points.drain(..excess);
            trail.seen = self.frame;
        }
        self.trails.retain(|_, trail| self.frame - trail.seen <= length && length > 0);
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;

    use super::*;
    use crate::meta::object::{DetectionParam, TrackingParam};

    #[test]
    fn a_trail_is_as_long_as_the_length_says_also_when_that_is_lowered() {
        let rect = Rect { x: 1.0, y: 2.0, w: 3.0, h: 4.0 };
        let object = Object {
            detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 0 }),
            tracking: Some(TrackingParam {
                id: 7,
                age: 1,
                state: "tracked".into(),
                rect,
                ..TrackingParam::default()
            }),
            ..Object::default()
        };
        let mut trails = Trails::default();
        for (length, points) in [(10, 10), (3, 3), (5, 5)] {
            for _ in 0..20 {
                trails.update(std::slice::from_ref(&object), length);
            }
            assert_eq!(trails.trails[&7].points.len(), points);
        }
        trails.update(&[object], 0);
        assert!(trails.trails.is_empty());
    }
}
