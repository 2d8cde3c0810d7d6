//! A frame's objects as the tracker compares them: boxes, confidences and, for OKS, points.

use std::collections::HashMap;

use cudainfer_kernels::associate::GPU_OKS_DISTANCES;
use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::Poses;

use super::Similarity;
use super::sigmas::{self, Sigmas};
use super::usual_size::UsualSize;
use crate::meta::object::{KeypointsParam, Object};
use crate::model::Skeleton;

/// The class of objects that no detector found.
const NO_CLASS: u32 = u32::MAX;
/// Names that are remembered: points of further names are not compared, and lost objects of further classes have none.
const MOST_NAMES: usize = 1024;
/// A box around points has at least this share of its height as width, and the other way round: a fly seen from above is a line,
/// which would have no area, and would overlap nothing as soon as it moves sideways.
const LEAST_RATIO: f32 = 0.25;

/// Takes in successive frames. Points are distinguished by their names; each name has a place from when it is first seen.
#[derive(Debug, Default)]
pub(super) struct Scene {
    similarity: Similarity,
    given: Sigmas,
    skeleton: Skeleton,
    places: HashMap<String, usize>,
    sigmas: Vec<f32>,
    detections: Vec<Detection>,
    /// Row-major `[detections, sigmas]`; NaN where there is none.
    points: Vec<(f32, f32)>,
    /// For each detection whether its box is the one around its points.
    around_points: Vec<bool>,
    /// Their boxes' angles; empty where none is rotated.
    angles: Vec<f32>,
    /// For each object whether it is among the detections.
    members: Vec<bool>,
    /// The classes' names.
    labels: HashMap<u32, String>,
    without_points: usize,
    unboxed: usize,
    sizeless: usize,
    /// That of poses so far.
    usual_size: UsualSize,
}

impl Scene {
    pub fn new(similarity: Similarity, sigmas: Sigmas) -> Self {
        Self { similarity, given: sigmas, ..Self::default() }
    }

    /// A scene without any frame yet.
    pub fn for_new_stream(&self) -> Self {
        Self { skeleton: self.skeleton.clone(), ..Self::new(self.similarity, self.given.clone()) }
    }

    /// From now on the points are those of `skeleton`.
    pub fn set_skeleton(&mut self, skeleton: Skeleton) {
        self.skeleton = skeleton;
        self.choose_sigmas();
    }

    fn choose_sigmas(&mut self) {
        let coco = sigmas::are_cocos(self.places.keys());
        self.sigmas.resize(self.places.len(), sigmas::EVEN);
        for (name, place) in &self.places {
            if let Some(sigma) = self.sigmas.get_mut(*place) {
                *sigma = self.given.of(name, &self.skeleton, coco);
            }
        }
    }

    /// Forgets the names and the poses' size, as at a seek: results depend on the frames since then alone.
    pub fn reset(&mut self) {
        self.places.clear();
        self.sigmas.clear();
        self.usual_size = UsualSize::default();
    }

    /// Takes in the objects of a frame.
    pub fn see(&mut self, objects: &[Object]) {
        self.detections.clear();
        self.around_points.clear();
        self.angles.clear();
        self.members.clear();
        (self.without_points, self.unboxed, self.sizeless) = (0, 0, 0);
        for object in objects {
            let around =
                object.keypoints.as_ref().filter(|_| self.similarity != Similarity::Iou).and_then(|points| {
                    Some(self.usual_size.see(positions(points).flatten().count(), around(points)?))
                });
            let detection = detection(object, around.as_ref(), self.similarity);
            self.members.push(detection.is_some());
            if let Some(detection) = detection {
                self.name(detection.class, &object.label);
                self.sizeless += usize::from(is_point(&detection.rect));
                // The box around points is upright.
                let is_boxed = object.detection.as_ref().is_some_and(|found| has_area(&found.rect));
                let by_points =
                    around.is_some() && (self.similarity == Similarity::KeypointBoxes || !is_boxed);
                self.angles.push(if object.detection.is_some() && !by_points { object.angle } else { 0.0 });
                self.detections.push(detection);
                self.around_points.push(around.is_some() && !is_boxed);
                let lacks = around.is_none() && self.similarity != Similarity::Iou;
                self.without_points += usize::from(lacks);
            } else {
                self.unboxed += usize::from(
                    object.keypoints.as_ref().is_some_and(|points| self::around(points).is_some()),
                );
            }
        }
        if self.angles.iter().all(|angle| *angle == 0.0) {
            self.angles.clear();
        }
        self.points.clear();
        if self.similarity == Similarity::Oks {
            self.place_points(objects);
        }
    }

    fn name(&mut self, class: u32, label: &str) {
        if self.labels.get(&class).is_none_or(|known| known != label) && self.labels.len() < MOST_NAMES {
            self.labels.insert(class, label.to_owned());
        }
    }

    /// The name of a class that has been seen.
    pub fn label(&self, class: u32) -> &str {
        self.labels.get(&class).map_or("", String::as_str)
    }

    /// The boxes' angles; empty where none is rotated.
    pub fn angles(&self) -> &[f32] {
        &self.angles
    }

    /// Gives each point's name that is new a place.
    fn learn_names(&mut self, objects: &[Object]) {
        let members = objects.iter().zip(&self.members).filter(|(_, member)| **member);
        let points = members.filter_map(|(object, _)| object.keypoints.as_ref());
        for name in points.flat_map(|points| &points.names) {
            let count = self.places.len();
            if count < MOST_NAMES && !self.places.contains_key(name) {
                self.places.insert(name.clone(), count);
            }
        }
        if self.places.len() > self.sigmas.len() {
            self.choose_sigmas();
        }
    }

    fn place_points(&mut self, objects: &[Object]) {
        self.learn_names(objects);
        let count = self.sigmas.len();
        for (object, _) in objects.iter().zip(&self.members).filter(|(_, member)| **member) {
            let start = self.points.len();
            self.points.resize(start + count, (f32::NAN, f32::NAN));
            let Some((points, row)) = object.keypoints.as_ref().zip(self.points.get_mut(start..)) else {
                continue;
            };
            for (name, point) in points.names.iter().zip(positions(points)) {
                // Of several points of a name the first counts.
                let place = self.places.get(name).and_then(|place| row.get_mut(*place));
                if let Some(place) = place.filter(|(x, _)| x.is_nan()) {
                    *place = point.unwrap_or(*place);
                }
            }
        }
    }

    /// The objects that are compared.
    pub fn detections(&self) -> &[Detection] {
        &self.detections
    }

    /// Their points, where these are compared.
    pub fn poses(&self) -> Poses<'_> {
        let Self { points, sigmas, around_points, .. } = self;
        if self.similarity == Similarity::Oks {
            Poses { points, sigmas, around_points }
        } else {
            Poses::default()
        }
    }

    /// For each object of the frame whether it is compared.
    pub fn members(&self) -> &[bool] {
        &self.members
    }

    /// How many of the compared have no points, where points should be compared.
    pub fn without_points(&self) -> usize {
        self.without_points
    }

    /// How many poses are not compared, as they have no box.
    pub fn unboxed(&self) -> usize {
        self.unboxed
    }

    /// How many boxes have no size, so that nothing overlaps them.
    pub fn sizeless(&self) -> usize {
        self.sizeless
    }

    /// Whether most of the objects are poses that no detector has boxed; nothing, where there are no objects.
    pub fn are_unboxed_poses(&self) -> Option<bool> {
        let poses = self.around_points.iter().filter(|around| **around).count();
        (!self.around_points.is_empty()).then_some(2 * poses > self.around_points.len())
    }

    /// Whether there are enough objects for the GPU to compare them faster.
    pub fn is_crowd(&self) -> bool {
        let pairs = self.detections.len().saturating_mul(self.detections.len());
        pairs.saturating_mul(self.poses().sigmas.len()) >= GPU_OKS_DISTANCES
    }
}

/// The parts of an object that are compared; nothing, where it has neither a box nor, as far as these count, points.
fn detection(object: &Object, around: Option<&Rect>, similarity: Similarity) -> Option<Detection> {
    let detected = object.detection.as_ref();
    let (boxed, pointed) = (detected.map(|d| d.rect), around.copied());
    // The box of a centre that peakfind has found has no size: then that around the points is the object's.
    let first = if similarity == Similarity::KeypointBoxes { pointed } else { boxed.filter(has_area) };
    let rect = first.or(pointed).or(boxed)?;
    Some(Detection {
        rect,
        confidence: detected.map_or_else(|| mean_score(object.keypoints.as_ref()), |d| d.confidence),
        class: detected.map_or(NO_CLASS, |d| d.label_id),
    })
}

fn is_point(rect: &Rect) -> bool {
    rect.w == 0.0 && rect.h == 0.0
}

fn has_area(rect: &Rect) -> bool {
    rect.w > 0.0 && rect.h > 0.0
}

/// The points, with nothing in the place of those that are no numbers.
fn positions(points: &KeypointsParam) -> impl Iterator<Item = Option<(f32, f32)>> + '_ {
    let pairs = points.x.iter().zip(&points.y).map(|(x, y)| (*x as f32, *y as f32));
    pairs.map(|(x, y)| (x.is_finite() && y.is_finite()).then_some((x, y)))
}

fn mean_score(points: Option<&KeypointsParam>) -> f32 {
    let scores = points.into_iter().flat_map(|points| positions(points).zip(&points.score));
    let scores = scores.filter(|(position, score)| position.is_some() && score.is_finite());
    let (sum, count) = scores.fold((0.0, 0.0), |(sum, count), (_, score)| (sum + score, count + 1.0));
    if count > 0.0 { (sum / count) as f32 } else { 0.0 }
}

/// The box around the points, at least a pixel wide and high, and not much thinner than long; none without points.
fn around(points: &KeypointsParam) -> Option<Rect> {
    let mut corners: Option<[f32; 4]> = None;
    for (x, y) in positions(points).flatten() {
        let [left, top, right, bottom] = corners.unwrap_or([x, y, x, y]);
        corners = Some([left.min(x), top.min(y), right.max(x), bottom.max(y)]);
    }
    let [left, top, right, bottom] = corners?;
    let (w, h) = (right - left, bottom - top);
    let (wide, high) = (w.max(LEAST_RATIO * h).max(1.0), h.max(LEAST_RATIO * w).max(1.0));
    Some(Rect { x: left - (wide - w) / 2.0, y: top - (high - h) / 2.0, w: wide, h: high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::DetectionParam;

    fn points(of: &[(&str, f64, f64, f64)]) -> KeypointsParam {
        KeypointsParam {
            names: of.iter().map(|p| p.0.to_owned()).collect(),
            x: of.iter().map(|p| p.1).collect(),
            y: of.iter().map(|p| p.2).collect(),
            score: of.iter().map(|p| p.3).collect(),
            edges: Vec::new(),
            ..KeypointsParam::default()
        }
    }

    fn object(rect: Option<Rect>, keypoints: Option<KeypointsParam>) -> Object {
        let detection = rect.map(|rect| DetectionParam { rect, confidence: 0.75, label_id: 3 });
        Object { detection, keypoints, ..Object::default() }
    }

    const RECT: Rect = Rect { x: 1.0, y: 2.0, w: 30.0, h: 40.0 };

    #[test]
    fn what_is_compared_depends_on_the_similarity() {
        let nan = f64::NAN;
        let pose = points(&[("a", 10.0, 10.0, 0.5), ("b", 20.0, 50.0, 0.7), ("c", nan, 9.0, 0.9)]);
        let unseen = points(&[("a", nan, 1.0, 0.9)]);
        let objects = [
            object(Some(RECT), None),
            object(Some(RECT), Some(pose.clone())),
            object(None, Some(pose)),
            object(None, Some(unseen.clone())),
            object(Some(RECT), Some(unseen)),
            Object::default(),
        ];
        let around = Rect { x: 10.0, y: 10.0, w: 10.0, h: 40.0 };
        let boxed = |rect| (rect, 0.75, 3);
        let posed = (around, 0.6, NO_CLASS);
        for (similarity, seen, members, without) in [
            (Similarity::Iou, vec![boxed(RECT); 3], [true, true, false, false, true, false], 0),
            (
                Similarity::Oks,
                vec![boxed(RECT), boxed(RECT), posed, boxed(RECT)],
                [true, true, true, false, true, false],
                2,
            ),
            (
                Similarity::KeypointBoxes,
                vec![boxed(RECT), boxed(around), posed, boxed(RECT)],
                [true, true, true, false, true, false],
                2,
            ),
        ] {
            let mut scene = Scene::new(similarity, Sigmas::default());
            for _ in 0..2 {
                scene.see(&objects);
                let found: Vec<_> =
                    scene.detections().iter().map(|d| (d.rect, d.confidence, d.class)).collect();
                assert_eq!(found, seen, "{similarity:?}");
                assert_eq!(
                    (scene.members(), scene.without_points()),
                    (&members[..], without),
                    "{similarity:?}"
                );
            }
        }
    }

    #[test]
    fn an_object_that_was_found_as_a_centre_has_the_box_around_its_points() {
        let centre = Rect { x: 15.0, y: 30.0, w: 0.0, h: 0.0 };
        let pose = points(&[("a", 10.0, 10.0, 0.5), ("b", 20.0, 50.0, 0.7)]);
        let turned = Object { angle: 1.0, ..object(Some(centre), Some(pose)) };
        for similarity in [Similarity::Oks, Similarity::KeypointBoxes] {
            let mut scene = Scene::new(similarity, Sigmas::default());
            scene.see(&[turned.clone(), object(Some(centre), None)]);
            let found: Vec<_> = scene.detections().iter().map(|d| (d.rect, d.confidence)).collect();
            let around = Rect { x: 10.0, y: 10.0, w: 10.0, h: 40.0 };
            assert_eq!(found, [(around, 0.75), (centre, 0.75)], "the detection's confidence counts");
            assert!(scene.angles().is_empty(), "the box around points is upright");
            if similarity == Similarity::Oks {
                assert_eq!(scene.poses().around_points, [true, false]);
            }
            assert_eq!(scene.are_unboxed_poses(), Some(false), "one of two is not most");
            scene.see(std::slice::from_ref(&turned));
            assert_eq!(scene.are_unboxed_poses(), Some(true));
            scene.see(&[]);
            assert_eq!(scene.are_unboxed_poses(), None);
        }
    }

    #[test]
    fn the_box_around_points_is_upright() {
        let pose = points(&[("a", 10.0, 10.0, 0.5), ("b", 20.0, 50.0, 0.7)]);
        let rotated = |keypoints| Object { angle: 1.0, ..object(Some(RECT), keypoints) };
        let objects = [rotated(None), rotated(Some(pose))];
        for (similarity, angles) in [
            (Similarity::Iou, [1.0, 1.0]),
            (Similarity::Oks, [1.0, 1.0]),
            (Similarity::KeypointBoxes, [1.0, 0.0]),
        ] {
            let mut scene = Scene::new(similarity, Sigmas::default());
            scene.see(&objects);
            assert_eq!(scene.angles(), angles, "{similarity:?}");
        }
    }

    #[test]
    fn points_have_the_place_of_their_name_and_missing_ones_are_none() {
        let mut scene = Scene::new(Similarity::Oks, "0.1,b=0.2".parse().unwrap());
        scene.see(&[
            object(None, Some(points(&[("a", 1.0, 2.0, 1.0), ("b", 3.0, 4.0, 1.0)]))),
            object(None, Some(points(&[("c", 9.0, 9.0, 1.0), ("b", 5.0, 6.0, 1.0), ("b", 7.0, 8.0, 1.0)]))),
        ]);
        let Poses { points: found, sigmas, around_points } = scene.poses();
        assert_eq!(around_points, [true, true]);
        assert_eq!(sigmas, [0.1, 0.2, 0.1]);
        assert_eq!(found[..2], [(1.0, 2.0), (3.0, 4.0)]);
        assert!(found[2].0.is_nan() && found[3].0.is_nan());
        assert_eq!(found[4..], [(5.0, 6.0), (9.0, 9.0)]);
        // Names keep their places.
        scene.see(&[object(None, Some(points(&[("c", 1.0, 1.0, 1.0)])))]);
        assert_eq!((scene.poses().points.len(), scene.poses().points[2]), (3, (1.0, 1.0)));
        scene.reset();
        scene.see(&[object(None, Some(points(&[("c", 1.0, 1.0, 1.0)])))]);
        assert_eq!((scene.poses().points, scene.poses().sigmas), (&[(1.0, 1.0)][..], &[0.1][..]));
    }

    #[test]
    fn a_line_of_points_has_a_box_all_the_same() {
        let boxed = |of: &[(&str, f64, f64, f64)]| around(&points(of)).map(|r| [r.x, r.y, r.w, r.h]);
        assert_eq!(boxed(&[("a", 8.0, 5.0, 1.0), ("b", 28.0, 5.0, 1.0)]), Some([8.0, 2.5, 20.0, 5.0]));
        assert_eq!(boxed(&[("a", 5.0, 8.0, 1.0), ("b", 5.0, 28.0, 1.0)]), Some([2.5, 8.0, 5.0, 20.0]));
        assert_eq!(boxed(&[("a", 5.0, 8.0, 1.0)]), Some([4.5, 7.5, 1.0, 1.0]));
        assert_eq!(boxed(&[]), None);
    }

    #[test]
    fn countless_names_do_not_fill_the_memory() {
        let mut scene = Scene::new(Similarity::Oks, Sigmas::default());
        for frame in 0..3 {
            let named: Vec<_> = (0..1000).map(|i| format!("{frame}-{i}")).collect();
            let of: Vec<_> = named.iter().map(|name| (name.as_str(), 1.0, 1.0, 1.0)).collect();
            scene.see(&[object(None, Some(points(&of)))]);
        }
        assert_eq!(scene.poses().sigmas.len(), MOST_NAMES);
    }
}
