//! The covered objects of a stream, so that an object stays covered where a detector misses it for some frames.

use cudainfer_kernels::geometry::Rect;

/// The least IoU of two boxes that are taken for the same object where there are no identities.
const SAME: f32 = 0.2;

/// An object in a frame.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    /// Its track's identity.
    pub id: Option<u64>,
    /// Its place, in frame pixels.
    pub rect: Rect,
    /// Whether it was not seen, but is expected there, as lost tracks are.
    pub expected: bool,
}

/// An object that has been seen.
#[derive(Clone, Debug)]
struct Known {
    id: Option<u64>,
    /// Its last place.
    rect: Rect,
    /// Its motion then, in pixels a frame.
    motion: [f32; 2],
    /// Frames since.
    age: u32,
}

/// The objects of a stream that are or were covered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covered {
    known: Vec<Known>,
}

impl Covered {
    /// Whether nothing will be covered unless an object comes.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Takes in a frame's objects. Returns the boxes to cover, last those of objects that have been missing for `hold` frames at
    /// most, and how many these are.
    pub fn update(&mut self, sights: &[Sight], hold: u32) -> (Vec<Rect>, usize) {
        let mut missing = std::mem::take(&mut self.known);
        missing.iter_mut().for_each(|known| known.age = known.age.saturating_add(1));
        let mut boxes = Vec::new();
        for sight in sights {
            let known = sight.find(&missing).map(|place| missing.swap_remove(place));
            let rect = known.as_ref().filter(|_| sight.expected).map_or(sight.rect, |known| {
                // The tracker's box of a rotated object has another shape.
                union(&sight.rect, &moved(&known.rect, between(&known.rect, &sight.rect)))
            });
            boxes.push(rect);
            let motion = known
                .as_ref()
                .map_or([0.0; 2], |known| between(&known.rect, &rect).map(|v| v / known.age as f32));
            let id = sight.id.or(known.and_then(|known| known.id));
            self.known.push(Known { id, rect, motion, age: 0 });
        }
        missing.retain(|known| known.age <= hold);
        boxes.extend(missing.iter().map(Known::reach));
        let held = missing.len();
        self.known.append(&mut missing);
        (boxes, held)
    }
}

impl Sight {
    /// The object among `missing` that this is: the one with the same identity, else the one whose box overlaps most.
    fn find(&self, missing: &[Known]) -> Option<usize> {
        let same = |known: &Known| self.id.is_some() && known.id == self.id;
        if let Some(place) = missing.iter().position(same) {
            return Some(place);
        }
        let other = |known: &Known| self.id.is_some() && known.id.is_some();
        let overlap = |known: &Known| self.rect.iou(&known.rect).max(self.rect.iou(&known.ahead()));
        let near = missing.iter().enumerate().filter(|(_, known)| !other(known));
        let near = near.map(|(place, known)| (place, overlap(known))).filter(|(_, iou)| *iou >= SAME);
        near.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
    }
}

impl Known {
    /// The present place if it moves on as it did, by its own width and height at most: apparent motion may be another object's
    /// box.
    fn ahead(&self) -> Rect {
        let Rect { w, h, .. } = self.rect;
        let far = |motion: f32, most: f32| (motion * self.age as f32).max(-most.abs()).min(most.abs());
        moved(&self.rect, [far(self.motion[0], w), far(self.motion[1], h)])
    }

    /// From its last place to the present one if it moves on as it did.
    fn reach(&self) -> Rect {
        union(&self.rect, &self.ahead())
    }
}

/// From one box's centre to the other's.
fn between(from: &Rect, to: &Rect) -> [f32; 2] {
    let centre = |rect: &Rect| [rect.x + rect.w / 2.0, rect.y + rect.h / 2.0];
    let (from, to) = (centre(from), centre(to));
    [to[0] - from[0], to[1] - from[1]]
}

fn moved(rect: &Rect, by: [f32; 2]) -> Rect {
    Rect { x: rect.x + by[0], y: rect.y + by[1], ..*rect }
}

/// The box around both.
pub(super) fn union(a: &Rect, b: &Rect) -> Rect {
    Rect::from_corners(a.x.min(b.x), a.y.min(b.y), a.right().max(b.right()), a.bottom().max(b.bottom()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOX: Rect = Rect { x: 10.0, y: 30.0, w: 40.0, h: 20.0 };

    fn seen(id: Option<u64>, x: f32) -> Sight {
        Sight { id, rect: Rect { x, ..BOX }, expected: false }
    }

    #[test]
    fn an_object_that_is_missing_stays_covered_for_as_many_frames_and_no_longer() {
        for hold in [0, 1, 5] {
            let mut covered = Covered::default();
            assert_eq!(covered.update(&[seen(None, 10.0)], hold), (vec![BOX], 0));
            for _ in 0..hold {
                assert!(!covered.is_empty());
                assert_eq!(covered.update(&[], hold), (vec![BOX], 1));
            }
            assert_eq!(covered.update(&[], hold), (vec![], 0));
            assert!(covered.is_empty());
        }
    }

    #[test]
    fn one_that_moved_is_covered_from_where_it_was_to_where_it_goes() {
        for id in [None, Some(7)] {
            let mut covered = Covered::default();
            for x in [10.0, 14.0, 18.0] {
                covered.update(&[seen(id, x)], 9);
            }
            for frames in 1..5_u8 {
                let wide = Rect { x: 18.0, w: 40.0 + 4.0 * f32::from(frames), ..BOX };
                assert_eq!(covered.update(&[], 9), (vec![wide], 1));
            }
            // The object comes back where it was expected, and is one object.
            assert_eq!(covered.update(&[seen(id, 38.0)], 9), (vec![Rect { x: 38.0, ..BOX }], 0));
            assert_eq!(covered.update(&[], 9).0, [Rect { x: 38.0, w: 44.0, ..BOX }]);
        }
    }

    #[test]
    fn a_jump_is_not_followed_farther_than_a_box_is_wide() {
        let mut covered = Covered::default();
        covered.update(&[seen(Some(1), 10.0)], 9);
        covered.update(&[seen(Some(1), 500.0)], 9);
        for _ in 0..5 {
            assert_eq!(covered.update(&[], 9).0, [Rect { x: 500.0, w: 80.0, ..BOX }]);
        }
        // A box that is nowhere is one of the frames that follow, too.
        covered.update(&[seen(Some(2), f32::NAN)], 9);
        assert!(covered.update(&[], 9).0.iter().any(|rect| rect.x.is_nan()));
    }

    #[test]
    fn identities_come_before_places_and_two_of_them_are_two_objects() {
        let mut covered = Covered::default();
        covered.update(&[seen(Some(1), 10.0), seen(Some(2), 12.0)], 3);
        // Number 1 jumped; no object is taken for number 2, which is missing.
        let (boxes, held) = covered.update(&[seen(Some(1), 500.0)], 3);
        assert_eq!((boxes, held), (vec![Rect { x: 500.0, ..BOX }, Rect { x: 12.0, ..BOX }], 1));
        let (boxes, held) = covered.update(&[seen(Some(3), 12.0), seen(Some(1), 500.0)], 3);
        assert_eq!((boxes.len(), held), (3, 1), "another identity: number 2 stays covered");
        // One without an identity yet is number 2.
        let (boxes, held) = covered.update(&[seen(None, 12.0), seen(Some(3), 40.0), seen(Some(1), 500.0)], 3);
        assert_eq!((boxes.len(), held), (3, 0));
    }

    #[test]
    fn a_lost_track_is_covered_by_the_shape_that_was_seen_too() {
        let mut covered = Covered::default();
        covered.update(&[Sight { rect: Rect { x: 0.0, y: 0.0, w: 30.0, h: 30.0 }, ..seen(Some(1), 0.0) }], 3);
        let rect = Rect { x: 5.0, y: 15.0, w: 40.0, h: 10.0 };
        let lost = Sight { id: Some(1), rect, expected: true };
        let both = Rect { x: 5.0, y: 5.0, w: 40.0, h: 30.0 };
        assert_eq!(covered.update(std::slice::from_ref(&lost), 3), (vec![both], 0));
        assert_eq!(Covered::default().update(&[lost], 3), (vec![rect], 0));
    }
}
