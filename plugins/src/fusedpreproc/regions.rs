//! The objects of a frame that the next model gets, and the parts that are cut out for them.

use std::collections::HashMap;

use cudainfer_kernels::geometry::Rect;

use super::budget::Budget;
use super::crop::{Crop, Cutout, Extent};
use super::follow::{Followed, Follower, shown};
use super::points::{Misfit, Points};
use crate::feedback::FoundObject;
use crate::meta::object::{KeypointsParam, Object, TrackingParam, next_ids};
use crate::streams::PerStream;

/// Regions of a frame at most. Further objects are left out, and counted.
pub(super) const MOST: usize = 1024;

/// Bytes of a frame's tensors at most, unless the user has set how many there may be. The element that writes the metadata decides how many
/// objects there are, and so how much memory their tensors would take.
const MOST_BYTES: usize = 512 << 20;

/// How many of a frame's objects get a region, at most: as many as the user has `set`, or as many tensors of `bytes` bytes as
/// there is memory for.
fn most(set: Option<usize>, bytes: usize) -> usize {
    set.unwrap_or_else(|| MOST_BYTES / bytes.max(1)).clamp(1, MOST)
}

/// The choice of objects, and the margin around them.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// Labels of the objects to take; empty takes all.
    pub classes: Vec<String>,
    /// The least width and height of an object's box in frame pixels.
    pub min_size: f32,
    /// Frames between two in which an object is examined.
    pub interval: u64,
    /// How many objects of a frame, if the user has set it.
    pub most: Option<usize>,
    pub extent: Extent,
    /// How objects are followed, if they are.
    pub follower: Option<Follower>,
}

/// When a stream's objects were last examined.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Frames so far.
    count: u64,
    /// Frames since the last one that the model saw, where it does not see all; none before the first.
    passed: Option<u64>,
    pub budget: Budget,
    /// The frame of each identity.
    looked_at: HashMap<u64, u64>,
}

impl PerStream for Turns {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

impl Turns {
    /// Whether an object's turn has come: an object with an identity when it is first seen and then as often as the rules say,
    /// others in the same frames.
    fn is_due(&self, object: &Object, interval: u64) -> bool {
        let now = self.count;
        let Some(track) = object.tracking.as_ref().filter(|_| interval > 0) else {
            return now.is_multiple_of(interval.saturating_add(1));
        };
        self.looked_at.get(&track.id).is_none_or(|at| now - at > interval)
    }

    /// Whether the stream's next frame is one that the model sees, where `interval` frames between two are left out.
    pub fn sees_next(&mut self, interval: u64) -> bool {
        let due = self.passed.is_none_or(|passed| passed >= interval);
        self.passed = Some(if due { 0 } else { self.passed.map_or(0, |passed| passed + 1) });
        due
    }

    /// The model sees the stream's next frame.
    pub fn begin(&mut self) {
        self.passed = None;
    }

    /// Notes that an object is examined.
    fn look(&mut self, object: &Object, interval: u64) {
        if let Some(track) = object.tracking.as_ref().filter(|_| interval > 0) {
            self.looked_at.insert(track.id, self.count);
        }
    }
}

/// Chooses frame by frame.
#[derive(Debug)]
pub(super) struct Chooser {
    rules: Rules,
    crop: Crop,
    /// What regions are cut by, instead of boxes.
    points: Option<Points>,
    most: usize,
}

/// The choice for a frame's objects.
#[derive(Debug, Default)]
pub(super) struct ChosenRegions {
    /// The objects to examine, by `id`, and the part that is cut out for them; those that are followed come first.
    pub regions: Vec<(i32, Cutout)>,
    /// How many of them are followed.
    pub followed: usize,
    /// Objects that are followed and that no element upstream has found in this frame.
    pub made: Vec<Object>,
    /// The identities of objects that are followed, for those of upstream that have none.
    pub identities: Vec<(i32, TrackingParam)>,
    /// Those whose region shows an object that is followed.
    pub shown: usize,
    /// Those that should be examined, but have no region in the frame.
    pub outside: usize,
    /// Those that cannot be aligned or warped, because they have not the points.
    pub misfits: usize,
    /// What is wrong with the first of them.
    pub misfit: Option<Misfit>,
    /// Those for which there is no room.
    pub cut: usize,
    /// The number of objects for which there is room.
    pub most: usize,
    /// Whether the user has set that number.
    pub is_set: bool,
}

impl Chooser {
    /// For tensors of this many bytes.
    pub fn new(rules: Rules, crop: Crop, points: Option<Points>, bytes: usize) -> Self {
        Self { most: most(rules.most, bytes), rules, crop, points }
    }

    /// Whether objects are followed.
    pub fn follows(&self) -> bool {
        self.rules.follower.is_some()
    }

    /// The part that is cut out for an object, if it lies in the frame.
    ///
    /// # Errors
    /// What is wrong with the object's points.
    fn cut(&self, object: &Object, rect: Rect) -> Result<Option<Cutout>, Misfit> {
        match &self.points {
            Some(points) => points.cut(object, &self.crop),
            None => Ok(self.crop.cut(rect, object.angle, self.rules.extent)),
        }
    }

    /// The box of an object whose class is wanted.
    fn of_class(&self, object: &Object) -> Option<Rect> {
        let classes = &self.rules.classes;
        outline(object).filter(|_| classes.is_empty() || classes.contains(&object.label))
    }

    /// The box of an object whose class and size are wanted.
    fn wanted(&self, object: &Object) -> Option<Rect> {
        let min_size = self.rules.min_size;
        self.of_class(object).filter(|rect| rect.w >= min_size && rect.h >= min_size)
    }

    /// Adds those that are followed to the choice. Returns the objects of upstream that need no region of their own.
    fn follow(&self, objects: &[Object], found: &[FoundObject], choice: &mut ChosenRegions) -> Vec<i32> {
        let Some(follower) = &self.rules.follower else { return vec![] };
        let mut followed = follower.follow(found, &self.crop);
        choice.cut += followed.len().saturating_sub(self.most);
        followed.truncate(self.most);
        let shown = |object: &Object| {
            // Also of one that would be too small: it may be followed all the same.
            let cutout = self.cut(object, self.of_class(object)?).ok().flatten()?;
            shown(&cutout, &self.crop)
        };
        let candidates: Vec<_> = objects.iter().map(|object| (object, shown(object))).collect();
        let mut taken = Vec::new();
        let mut ids = next_ids(objects);
        for one in &followed {
            let known = one.among(&candidates, &taken);
            let own = known.unwrap_or_else(|| {
                let id = ids.next().unwrap_or_default();
                choice.made.push(Object { id, ..one.object.clone() });
                id
            });
            let unnamed =
                |id: &i32| objects.iter().any(|object| object.id == *id && object.tracking.is_none());
            choice.identities.extend(known.filter(unnamed).zip(one.object.tracking.clone()));
            taken.extend(known);
            choice.regions.push((own, one.cutout));
        }
        choice.followed = followed.len();
        let overlaps = |(object, rect): &&(&Object, Option<Rect>)| {
            !taken.contains(&object.id) && followed.iter().any(|one: &Followed| one.shows(*rect))
        };
        let overlapping: Vec<_> = candidates.iter().filter(overlaps).map(|(object, _)| object.id).collect();
        choice.shown = overlapping.len();
        taken.extend(overlapping);
        taken
    }

    /// The objects of the next frame to examine, with what was found in the last one. Those for which there is no room stay due.
    pub fn choose(&self, objects: &[Object], turns: &mut Turns, found: &[FoundObject]) -> ChosenRegions {
        let Rules { interval, most: set, .. } = &self.rules;
        let mut choice = ChosenRegions { most: self.most, is_set: set.is_some(), ..ChosenRegions::default() };
        let taken = self.follow(objects, found, &mut choice);
        for object in objects {
            let Some(rect) = self.wanted(object).filter(|_| turns.is_due(object, *interval)) else {
                continue;
            };
            if taken.contains(&object.id) {
                continue;
            }
            if choice.regions.len() == self.most {
                choice.cut += 1;
                continue;
            }
            turns.look(object, *interval);
            match self.cut(object, rect) {
                Ok(Some(region)) => choice.regions.push((object.id, region)),
                Ok(None) => choice.outside += 1,
                Err(misfit) => {
                    choice.misfits += 1;
                    choice.misfit.get_or_insert(misfit);
                }
            }
        }
        // Objects that are gone would be examined at once anyway, if they came back.
        let now = turns.count;
        turns.looked_at.retain(|_, at| now - *at <= *interval);
        turns.count += 1;
        choice
    }
}

/// An object's box: its detector's, else the one around its points.
fn outline(object: &Object) -> Option<Rect> {
    object
        .detection
        .as_ref()
        .map(|d| d.rect)
        .or_else(|| object.keypoints.as_ref().and_then(KeypointsParam::outline))
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::preproc::Resize;

    use super::*;
    use crate::meta::object::DetectionParam;
    use crate::model::RoiCrop;

    #[test]
    fn tensors_of_a_frame_take_bounded_memory_however_many_objects_there_are() {
        // float32 of 640x640, 224x224 and 32x32 pixels.
        let bytes = [640, 224, 32].map(|side: usize| 3 * 4 * side * side);
        assert_eq!(bytes.map(|bytes| most(None, bytes)), [109, 891, MOST]);
        assert!(bytes.iter().all(|bytes| most(None, *bytes) * bytes <= MOST_BYTES));
        assert_eq!([most(None, usize::MAX), most(Some(300), bytes[0]), most(Some(9999), 1)], [1, 300, MOST]);
    }

    #[test]
    fn objects_without_room_are_counted_and_their_turn_comes_in_the_next_frame() {
        let crop = Crop {
            resize: Resize::Stretch,
            ratio: 1.0,
            kind: RoiCrop::Box,
            tensor: [8, 8],
            frame: [100, 100],
        };
        let rules = Rules {
            classes: vec![],
            min_size: 0.0,
            interval: 5,
            most: Some(2),
            extent: Extent::BOX,
            follower: None,
        };
        let chooser = Chooser::new(rules, crop, None, 1);
        let rect = Rect { x: 1.0, y: 1.0, w: 9.0, h: 9.0 };
        let object = |id: i32| Object {
            id,
            detection: Some(DetectionParam { rect, confidence: 1.0, label_id: 0 }),
            tracking: Some(TrackingParam { id: id.unsigned_abs().into(), ..TrackingParam::default() }),
            ..Object::default()
        };
        let objects: Vec<_> = (0..5).map(object).collect();
        let mut turns = Turns::default();
        let mut ids = || {
            let choice = chooser.choose(&objects, &mut turns, &[]);
            (choice.regions.iter().map(|(id, _)| *id).collect::<Vec<_>>(), choice.cut)
        };
        assert_eq!(
            [ids(), ids(), ids(), ids()],
            [(vec![0, 1], 3), (vec![2, 3], 1), (vec![4], 0), (vec![], 0)]
        );
    }
}
