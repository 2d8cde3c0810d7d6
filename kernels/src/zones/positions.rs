//! Where objects are in the world.

use std::collections::HashMap;

use super::clock::Moment;
use super::params::{Anchor, GroundParams};
use super::view::Now;
use super::{Sighting, Units};
use crate::geometry::Rect;
use crate::ground::{Covariance, Motion, MotionFilter, Plane};

/// The standard deviation of a box's edges, as a fraction of its width and height; detectors place them about as well.
const JITTER: f64 = 0.02;
/// The least standard deviation, in pixels.
const LEAST_JITTER: f64 = 0.5;
/// A box that ends this near to the frame's border, in pixels, may go on beyond it.
const BORDER: f64 = 1.0;

/// Where an object is in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundPosition {
    /// Where its box touches the ground, in metres.
    pub at: [f64; 2],
    /// How it moves; none if it has no identity or was seen once only.
    pub motion: Option<Motion>,
    /// The nearest other object that has a place; none where there is none.
    pub nearest: Option<Nearest>,
}

/// Another object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its index among the frame's.
    pub object: usize,
    /// How far it is, in metres.
    pub distance: f64,
}

/// The ground of a stream's frames, and the objects that move there.
#[derive(Clone, Debug, Default)]
pub(super) struct Positions {
    ground: Option<(Plane, Anchor)>,
    followed: HashMap<u64, Followed>,
}

#[derive(Clone, Debug)]
struct Followed {
    filter: MotionFilter,
    /// When the filter was last moved on to.
    moment: Moment,
    /// When the object was last seen.
    seen: Moment,
    /// The number of the frame in which it was last seen.
    frame: u64,
}

/// Where a box touches the ground, and how well that is known.
struct Footing {
    at: [f64; 2],
    noise: Covariance,
}

/// Whether the frame's border cuts off the part of a box that decides where this point of it is.
fn is_cut(anchor: Anchor, rect: &Rect, size: [f64; 2]) -> bool {
    let near = [rect.x, rect.y].map(f64::from);
    let far = [rect.right(), rect.bottom()].map(f64::from);
    let cut = |axis: usize| {
        let fraction = anchor.fractions()[axis];
        (fraction < 1.0 && near[axis] <= BORDER) || (fraction > 0.0 && far[axis] >= size[axis] - BORDER)
    };
    size.iter().all(|side| *side >= 1.0) && (cut(0) || cut(1))
}

impl Positions {
    /// Places the ground on frames of this size. Where nothing can be known of it, nothing is.
    pub fn survey(&mut self, ground: Option<&GroundParams>, zones: Units, size: [f64; 2]) {
        let placed = ground.and_then(|ground| {
            let unit = if ground.units.unwrap_or(zones) == Units::Fraction { size } else { [1.0; 2] };
            Some((ground.map.plane(unit, size).ok()?, ground.anchor))
        });
        if placed != self.ground {
            self.followed.clear();
            self.ground = placed;
        }
    }

    /// Forgets all objects.
    pub fn reset(&mut self) {
        self.followed.clear();
    }

    /// Where each of a frame's objects is; those that have not been seen for `patience` ns are forgotten. `frame` is the frame's number.
    pub fn update(
        &mut self,
        now: Now,
        frame: u64,
        objects: &[Sighting<'_>],
        patience: u64,
    ) -> Vec<Option<GroundPosition>> {
        let Some((plane, anchor)) = &self.ground else { return vec![None; objects.len()] };
        let footings: Vec<_> =
            objects.iter().map(|object| footing(plane, *anchor, object, now.size)).collect();
        let mut positions: Vec<_> = footings
            .iter()
            .map(|footing| Some(GroundPosition { at: footing.as_ref()?.at, motion: None, nearest: None }))
            .collect();
        for ((object, footing), position) in objects.iter().zip(&footings).zip(&mut positions) {
            if let (Some(id), Some(footing), Some(position)) = (object.id, footing, position) {
                position.motion = follow(&mut self.followed, id, footing, object.carried, now.moment, frame);
            }
        }
        self.followed.retain(|_, followed| now.moment.since(followed.seen) <= patience);
        for index in 0..positions.len() {
            let nearest = nearest(&positions, index);
            if let Some(position) = &mut positions[index] {
                position.nearest = nearest;
            }
        }
        positions
    }
}

fn footing(plane: &Plane, anchor: Anchor, object: &Sighting<'_>, size: [f64; 2]) -> Option<Footing> {
    let rect = &object.rect;
    let finite = [rect.x, rect.y, rect.w, rect.h].iter().all(|v| v.is_finite());
    if !finite || object.within_another || is_cut(anchor, rect, size) {
        return None;
    }
    let point = anchor.of(rect);
    let deviation = [rect.w, rect.h].map(|side| (JITTER * f64::from(side)).max(LEAST_JITTER));
    Some(Footing { at: plane.place(point)?, noise: plane.covariance(point, deviation)? })
}

/// Takes in that an object stands there. Of two with one identity, the second moves nowhere.
fn follow(
    all: &mut HashMap<u64, Followed>,
    id: u64,
    footing: &Footing,
    carried: bool,
    moment: Moment,
    frame: u64,
) -> Option<Motion> {
    let Some(followed) = all.get_mut(&id) else {
        // A tracker's guess is no beginning.
        if !carried {
            let filter = MotionFilter::new(footing.at, footing.noise);
            all.insert(id, Followed { filter, moment, seen: moment, frame });
        }
        return None;
    };
    if followed.frame == frame {
        return None;
    }
    (followed.seen, followed.frame) = (moment, frame);
    if carried {
        return followed.filter.motion();
    }
    let seconds = moment.seconds_since(std::mem::replace(&mut followed.moment, moment));
    followed.filter.see(footing.at, footing.noise, seconds);
    followed.filter.motion()
}

/// The position that is nearest to that with this index.
fn nearest(positions: &[Option<GroundPosition>], index: usize) -> Option<Nearest> {
    let own = positions.get(index)?.as_ref()?.at;
    let others = positions.iter().enumerate().filter(|(other, _)| *other != index);
    others
        .filter_map(|(object, other)| {
            let [x, y] = other.as_ref()?.at;
            Some(Nearest { object, distance: (x - own[0]).hypot(y - own[1]) })
        })
        .min_by(|a, b| a.distance.total_cmp(&b.distance))
}
