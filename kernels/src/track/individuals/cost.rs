//! What it would take for an individual that was last seen at a place to be a detection.
//!
//! Out of sight, an animal is taken to walk at random: the deviation of the distance grows with its size and the square root of
//! the time (a Wiener process). The cost is the negative logarithm of the density that this gives the detection's place, so that
//! identities that were lost at different times can be compared: one that was seen a moment ago is the likelier the nearer it is,
//! one that has been gone for minutes may be anywhere. The detection's confidence counts as the odds that it is an animal at all:
//! where more detections than identities are left, it decides unless their places do.

use crate::geometry::{Affine, Rect};
use crate::track::observation::Observation;

/// Standard deviation of the way of an animal in one frame, as a share of its box's diagonal.
const STEP: f64 = 1.0 / 3.0;
/// What is farther away than this many standard deviations is not within reach.
const DEVIATIONS: f64 = 3.0;
/// After more frames than this out of sight, it takes more than one detection within reach: there may be a false one by then.
const SOON: f64 = 10.0;
/// By how much an animal's size shrinks at most from a detection to the next.
const SHRINKING: f64 = 0.98;
/// Confidences are taken as no nearer to 0 and 1 than this.
const DOUBT: f64 = 0.01;
/// The weight of appearance: that much is added at the greatest distance at which appearance counts.
const APPEARANCE: f64 = 2.0;

/// Where something was last seen.
#[derive(Clone, Debug)]
pub(super) struct Place {
    rect: Rect,
    pose: Vec<(f32, f32)>,
    /// The diagonal of its box, by and by: the box around one point alone says nothing about the animal's size.
    size: f64,
    /// The time since then, in frames.
    elapsed: f64,
}

impl Place {
    pub(super) fn new(one: &Observation<'_>) -> Self {
        let rect = one.detection.rect;
        Self { rect, pose: one.pose.to_vec(), size: diagonal(&rect), elapsed: 0.0 }
    }

    /// It is seen again. A detection without keypoints leaves it without a pose: that of another place says nothing.
    pub(super) fn see(&mut self, one: &Observation<'_>) {
        (self.rect, self.elapsed) = (one.detection.rect, 0.0);
        self.size = diagonal(&self.rect).max(SHRINKING * self.size);
        self.pose.clear();
        self.pose.extend_from_slice(one.pose);
    }

    /// Some time passes, in which the camera moves.
    pub(super) fn wait(&mut self, elapsed: f64, camera: Option<&Affine>) {
        self.elapsed += elapsed;
        if let Some(camera) = camera {
            let moved = camera.rect(&self.rect);
            self.rect = if moved.is_usable() { moved } else { self.rect };
            self.pose.iter_mut().for_each(|(x, y)| (*x, *y) = camera.point(*x, *y));
        }
    }

    pub(super) fn rect(&self) -> Rect {
        self.rect
    }
}

/// What it would take for an individual to be a detection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Whether the detection is within its reach.
    pub(super) is_near: bool,
    /// Whether it is so near, and so much alike if its appearance is known, that it needs no confirmation.
    pub(super) is_sure: bool,
    /// A negative log-likelihood: lower is better.
    pub(super) cost: f64,
}

impl Cost {
    /// That of what cannot be.
    pub(super) const INFINITE: Self = Self { is_near: false, is_sure: false, cost: f64::INFINITY };

    /// `cosine` is that of the two's embeddings, where both have one, and `farthest` half the greatest cosine distance at which
    /// appearance counts.
    pub(super) fn of(
        place: &Place,
        one: &Observation<'_>,
        sigmas: &[f32],
        cosine: Option<f32>,
        farthest: f32,
    ) -> Self {
        let size = place.size.max(diagonal(&one.detection.rect));
        let deviation = STEP * size * place.elapsed.max(1.0).sqrt();
        let way = between_poses(&place.pose, one.pose, sigmas, deviation)
            .unwrap_or_else(|| exponent(centre(&place.rect), centre(&one.detection.rect), deviation));
        let reach = DEVIATIONS * DEVIATIONS / 2.0;
        // What the way would be if less time had passed.
        let hurried = way * place.elapsed.max(1.0) / place.elapsed.clamp(1.0, SOON);
        let confidence = f64::from(one.detection.confidence).clamp(DOUBT, 1.0 - DOUBT);
        let doubt = ((1.0 - confidence) / confidence).ln();
        let farthest = f64::from(farthest).max(1e-3);
        let appearance = cosine.map_or(0.0, |cosine| (0.5 - 0.5 * f64::from(cosine)) / farthest);
        Self {
            is_near: way <= reach,
            is_sure: hurried <= reach && appearance <= 1.0,
            cost: way + 2.0 * deviation.ln() + doubt + APPEARANCE * appearance,
        }
    }
}

/// The negative logarithm of the object keypoint similarity of the points that both poses have, with the deviation of the way in
/// place of the annotators': sigmas say how much more one point deviates than another. `None` where there are no such points.
fn between_poses(a: &[(f32, f32)], b: &[(f32, f32)], sigmas: &[f32], deviation: f64) -> Option<f64> {
    let there = |(x, y): &(f32, f32)| x.is_finite() && y.is_finite();
    let both = || a.iter().zip(b).zip(sigmas).filter(|((a, b), _)| there(a) && there(b));
    let count = both().count();
    if count == 0 {
        return None;
    }
    let mean = both().map(|(_, sigma)| f64::from(*sigma)).sum::<f64>() / count as f64;
    let exponents: Vec<f64> = both()
        .map(|((a, b), sigma)| exponent(wide(a), wide(b), deviation * f64::from(*sigma) / mean))
        .filter(|exponent| exponent.is_finite())
        .collect();
    let least = exponents.iter().copied().reduce(f64::min)?;
    let sum: f64 = exponents.iter().map(|exponent| (least - exponent).exp()).sum();
    Some(least - (sum / count as f64).ln())
}

/// That of a normal distribution over the plane.
fn exponent(a: [f64; 2], b: [f64; 2], deviation: f64) -> f64 {
    let (x, y) = ((a[0] - b[0]) / deviation, (a[1] - b[1]) / deviation);
    (x * x + y * y) / 2.0
}

fn wide((x, y): &(f32, f32)) -> [f64; 2] {
    [f64::from(*x), f64::from(*y)]
}

fn centre(rect: &Rect) -> [f64; 2] {
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    [x + w / 2.0, y + h / 2.0]
}

fn diagonal(rect: &Rect) -> f64 {
    f64::from(rect.w).hypot(f64::from(rect.h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::Detection;

    fn seen<'a>(detection: &'a Detection, pose: &'a [(f32, f32)]) -> Observation<'a> {
        Observation {
            detection,
            pose,
            around_points: false,
            angle: 0.0,
            embedding: &[],
            compares_appearance: true,
        }
    }

    fn at(x: f32, confidence: f32) -> Detection {
        Detection { rect: Rect { x, y: 0.0, w: 30.0, h: 40.0 }, confidence, class: 0 }
    }

    fn cost(from: &Place, detection: &Detection) -> Cost {
        Cost::of(from, &seen(detection, &[]), &[], None, 0.25)
    }

    #[test]
    fn reach_is_the_diagonal_in_a_frame_and_grows_with_the_square_root_of_the_time() {
        let mut place = Place::new(&seen(&at(0.0, 0.9), &[]));
        place.wait(1.0, None);
        assert!(cost(&place, &at(49.9, 0.9)).is_near && !cost(&place, &at(50.1, 0.9)).is_near);
        place.wait(99.0, None);
        assert!(cost(&place, &at(499.0, 0.9)).is_near && !cost(&place, &at(501.0, 0.9)).is_near);
        // What needs no confirmation is at most what is within reach after ten frames.
        assert!(cost(&place, &at(158.0, 0.9)).is_sure && !cost(&place, &at(159.0, 0.9)).is_sure);
    }

    #[test]
    fn who_was_seen_a_moment_ago_is_likelier_nearby_and_who_is_long_gone_far_away() {
        let [mut just, mut long] = [0.0, 0.0].map(|x| Place::new(&seen(&at(x, 0.9), &[])));
        just.wait(2.0, None);
        long.wait(200.0, None);
        assert!(cost(&just, &at(5.0, 0.9)).cost < cost(&long, &at(5.0, 0.9)).cost);
        assert!(cost(&just, &at(200.0, 0.9)).cost > cost(&long, &at(200.0, 0.9)).cost);
    }

    #[test]
    fn confidence_decides_unless_the_place_does() {
        let mut place = Place::new(&seen(&at(0.0, 0.9), &[]));
        place.wait(1.0, None);
        assert!(cost(&place, &at(5.0, 0.3)).cost < cost(&place, &at(80.0, 0.95)).cost);
        place.wait(300.0, None);
        assert!(cost(&place, &at(5.0, 0.3)).cost > cost(&place, &at(80.0, 0.95)).cost);
    }

    #[test]
    fn a_pose_that_is_turned_round_is_farther_away_than_one_that_is_not() {
        let pose = [(0.0, 0.0), (30.0, 40.0), (f32::NAN, 1.0)];
        let turned = [pose[1], pose[0], (5.0, 5.0)];
        let (detection, sigmas) = (at(0.0, 0.9), [0.1, 0.1, 0.1]);
        let mut place = Place::new(&seen(&detection, &pose));
        place.wait(1.0, None);
        let of = |pose| Cost::of(&place, &seen(&detection, pose), &sigmas, None, 0.25);
        // Both points are a diagonal away: three deviations.
        assert!((of(&turned).cost - of(&pose).cost - 4.5).abs() < 1e-9);
        // Without a common point the boxes count, which are the same.
        assert!((of(&[(f32::NAN, 0.0), (f32::NAN, 0.0), (5.0, 5.0)]).cost - of(&pose).cost).abs() < 1e-9);
        // Half the points where they were: the likelihood is half.
        let half = of(&[pose[0], (1e6, 1e6), pose[2]]).cost - of(&pose).cost;
        assert!((half - 2f64.ln()).abs() < 1e-9, "{half}");
    }

    #[test]
    fn one_point_alone_makes_no_animal_small() {
        let point = Detection { rect: Rect { x: 0.0, y: 0.0, w: 1.0, h: 1.0 }, confidence: 0.9, class: 0 };
        let mut place = Place::new(&seen(&at(0.0, 0.9), &[]));
        place.see(&seen(&point, &[]));
        place.wait(1.0, None);
        let near = Detection { rect: Rect { x: 45.0, ..point.rect }, ..point };
        assert!(cost(&place, &near).is_near);
        for _ in 0..500 {
            place.see(&seen(&point, &[]));
        }
        assert!(!cost(&place, &near).is_near, "it is small by now");
    }

    #[test]
    fn places_move_with_the_camera() {
        let pose = [(0.0, 0.0)];
        let mut place = Place::new(&seen(&at(0.0, 0.9), &pose));
        place.wait(1.0, Some(&Affine::upright([1.0, 1.0], [7.0, -3.0])));
        assert_eq!((place.rect().x, place.rect().y, place.pose[0]), (7.0, -3.0, (7.0, -3.0)));
        place.wait(1.0, Some(&Affine::upright([0.0, 0.0], [0.0, 0.0])));
        assert!(place.rect().is_usable());
    }

    #[test]
    fn appearance_counts_where_both_have_some() {
        let place = Place::new(&seen(&at(0.0, 0.9), &[]));
        let of = |cosine| Cost::of(&place, &seen(&at(0.0, 0.9), &[]), &[], cosine, 0.25);
        assert_eq!(of(Some(1.0)).cost, of(None).cost);
        assert!((of(Some(0.5)).cost - of(None).cost - 2.0).abs() < 1e-9);
        assert!(of(Some(0.5)).is_sure && !of(Some(0.4)).is_sure && of(Some(0.4)).is_near);
    }
}
