//! Objects on frames that no model sees (fusedpreproc's `interval` and `motion`): those of the last frame that one saw, where they are
//! expected.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::{State, Track};

use crate::meta::object::{DetectionParam, KeypointsParam, Object};

/// The share of an object's confidence that is left after each frame that no model sees.
const FADE: f32 = 0.95;

/// What is carried on from the last frame that a model saw.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// Its objects that have an identity: the place of each among the detections, and its track there.
    objects: Vec<(usize, Object, Track)>,
    /// The tracks in the last frame, one for each detection.
    pub tracks: Vec<Option<Track>>,
    /// Frames since then in which something may have moved.
    frames: i32,
}

impl Carried {
    /// Keeps the objects of a frame that a model saw. `members` says which of them are detections, and `tracks` has their tracks.
    pub fn keep(&mut self, objects: Vec<Object>, members: &[bool], tracks: &[Option<Track>]) {
        let detections = objects.into_iter().zip(members).filter(|(_, member)| **member);
        let tracked = (0..)
            .zip(detections)
            .zip(tracks)
            .filter_map(|((place, (object, _)), track)| Some((place, object, (*track)?)));
        *self = Self { objects: tracked.collect(), tracks: tracks.to_vec(), frames: 0 };
    }

    /// The objects of the next frame, which no model sees: where their tracks are now.
    pub fn next(&mut self) -> Vec<(Object, Track)> {
        self.frames = self.frames.saturating_add(1);
        self.now()
    }

    /// The objects where their tracks are, as in a frame in which nothing has moved.
    pub fn now(&self) -> Vec<(Object, Track)> {
        let faded = FADE.powi(self.frames);
        let now = self.objects.iter().filter_map(|(place, object, before)| {
            let track = (*self.tracks.get(*place)?)?;
            let track = Track { state: State::Carried, ..track };
            Some((moved(object, &before.rect, &track.rect, faded), track))
        });
        now.collect()
    }
}

/// An object as it is when its track has moved from one box to another.
fn moved(object: &Object, from: &Rect, to: &Rect, faded: f32) -> Object {
    let along = |v: f32, from: [f32; 2], to: [f32; 2]| to[0] + (v - from[0]) / from[1] * to[1];
    let x_of = |x: f32| along(x, [from.x, from.w], [to.x, to.w]);
    let y_of = |y: f32| along(y, [from.y, from.h], [to.y, to.h]);
    let detection = object.detection.as_ref().map(|found| {
        let Rect { x, y, .. } = found.rect;
        let rect = Rect::from_corners(x_of(x), y_of(y), x_of(found.rect.right()), y_of(found.rect.bottom()));
        DetectionParam { rect, confidence: found.confidence * faded, ..found.clone() }
    });
    let keypoints = object.keypoints.as_ref().map(|points| {
        let all = |values: &[f64], of: &dyn Fn(f32) -> f32| {
            values.iter().map(|v| f64::from(of(*v as f32))).collect()
        };
        let score = points.score.iter().map(|score| score * f64::from(faded)).collect();
        KeypointsParam { x: all(&points.x, &x_of), y: all(&points.y, &y_of), score, ..points.clone() }
    });
    // Embeddings describe pixels that nobody has looked at.
    let mut carried = Object { detection, keypoints, embeddings: vec![], tracking: None, ..object.clone() };
    carried.classifications.iter_mut().for_each(|classes| classes.held = true);
    carried.values.iter_mut().for_each(|values| values.held = true);
    carried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_moves_with_its_track_and_its_confidence_falls() {
        let track = |x: f32, w: f32| Track {
            id: 3,
            class: 0,
            age: 5,
            hits: 4,
            state: State::Carried,
            rect: Rect { x, y: 10.0, w, h: 40.0 },
            angle: 0.0,
            velocity: [0.0; 2],
        };
        let rect = Rect { x: 12.0, y: 10.0, w: 16.0, h: 40.0 };
        let points = KeypointsParam {
            names: vec!["head".into()],
            x: vec![20.0],
            y: vec![15.0],
            score: vec![0.8],
            ..KeypointsParam::default()
        };
        let seen = Object {
            detection: Some(DetectionParam { rect, confidence: 0.8, label_id: 0 }),
            keypoints: Some(points),
            ..Object::default()
        };
        let other = Object::default();
        let mut carried = Carried::default();
        carried.keep(
            vec![other.clone(), seen, other],
            &[false, true, true],
            &[Some(track(10.0, 20.0)), None],
        );
        carried.tracks = vec![Some(track(110.0, 40.0)), None];
        let found = carried.next();
        let [(object, now)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(now.rect.x, 110.0);
        let detection = object.detection.as_ref().unwrap();
        assert_eq!(detection.rect, Rect { x: 114.0, y: 10.0, w: 32.0, h: 40.0 });
        let points = object.keypoints.as_ref().unwrap();
        assert_eq!((points.x[0], points.y[0]), (130.0, 15.0));
        let confidence = |found: &[(Object, Track)]| found[0].0.detection.as_ref().unwrap().confidence;
        let first = confidence(&found);
        assert_eq!(confidence(&carried.now()), first);
        assert!(confidence(&carried.next()) < first && first < 0.8);
        carried.tracks = vec![None, None];
        assert_eq!(carried.next(), []);
    }
}
