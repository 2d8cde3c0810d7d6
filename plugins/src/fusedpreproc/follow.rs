//! Objects that are followed from frame to frame by their points (`roi-from=track`).

use cudainfer_kernels::associate::Oriented;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Outline;

use super::crop::{Crop, Cutout, Extent};
use crate::continuity::Continuity;
use crate::feedback::{FoundObject, Question};
use crate::meta::object::{DetectionParam, KeypointsParam, Object, TrackingParam};
use crate::model::PointRegion;
use crate::streams::PerStream;

/// The overlap of two regions beyond which they show the same object, as MediaPipe's AssociationNormRectCalculator has it: that of the
/// regions before they are turned.
const SAME: f32 = 0.5;

/// What is remembered of a stream.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// About its last frame.
    pub question: Option<Question>,
    continuity: Continuity,
}

impl PerStream for Asked {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }

    fn forget(&mut self) {
        self.question = None;
        self.continuity.forget();
    }
}

impl Asked {
    /// Takes in an event: nothing is followed where the stream does not go on.
    pub fn see(&mut self, event: &gst::EventRef) {
        if self.continuity.see(event).is_some() {
            self.question = None;
        }
    }

    /// Takes in a frame; returns what was asked about the last one.
    pub fn see_frame(&mut self, frame: &gst::BufferRef) -> Option<Question> {
        self.continuity.see_frame(frame);
        self.question.take()
    }
}

/// How regions are made of points that were found in the last frame.
#[derive(Clone, Debug)]
pub(super) struct Follower {
    pub region: PointRegion,
    pub extent: Extent,
}

/// An object that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    /// As it is put on the frame where no element upstream has found it.
    pub object: Object,
    pub cutout: Cutout,
    /// The region before it is turned.
    pub rect: Rect,
}

impl Follower {
    /// Those of the last frame's objects that are followed, the first of those that have come to show the same.
    pub fn follow(&self, found: &[FoundObject], crop: &Crop) -> Vec<Followed> {
        let mut all: Vec<Followed> = Vec::new();
        for found in found.iter().filter(|found| found.score() >= self.region.min_score()) {
            let next = self.next(found, crop);
            all.extend(next.filter(|next| all.iter().all(|other| other.rect.iou(&next.rect) <= SAME)));
        }
        all
    }

    /// The object in the next frame; `None` where its points have no region, or one outside of the frame.
    fn next(&self, found: &FoundObject, crop: &Crop) -> Option<Followed> {
        let Oriented { rect, angle } = of_points(&self.region, &found.points, None).ok()?;
        let cutout = crop.cut(rect, angle, self.extent)?;
        let label_id = found.object.detection.as_ref().map_or(0, |detection| detection.label_id);
        let detection = DetectionParam { rect, confidence: found.score() as f32, label_id };
        let object = Object {
            label: found.object.label.clone(),
            detection: Some(detection),
            angle,
            tracking: found.object.tracking.clone(),
            ..Object::default()
        };
        Some(Followed { object, cutout, rect: shown(&cutout, crop)? })
    }
}

impl Followed {
    /// Which of these objects of upstream, with the parts of the frame that their own regions would show, this is: the one with the same
    /// identity, else the one whose region overlaps most.
    pub fn among(&self, candidates: &[(&Object, Option<Rect>)], taken: &[i32]) -> Option<i32> {
        let identity = |object: &Object| object.tracking.as_ref().map(|TrackingParam { id, .. }| *id);
        let own = identity(&self.object);
        let free = || candidates.iter().filter(|(object, _)| !taken.contains(&object.id));
        let same = free().find(|(object, _)| own.is_some() && identity(object) == own);
        let overlap = |rect: &Option<Rect>| rect.map_or(0.0, |rect| rect.iou(&self.rect));
        let most = || free().max_by(|(_, a), (_, b)| overlap(a).total_cmp(&overlap(b)));
        let (object, _) = same.or_else(|| most().filter(|(_, rect)| overlap(rect) > SAME))?;
        Some(object.id)
    }

    /// Whether a region shows this object.
    pub fn shows(&self, rect: Option<Rect>) -> bool {
        rect.is_some_and(|rect| rect.iou(&self.rect) > SAME)
    }
}

/// The box by an object's points. `found` is the box that a detector has found, which some rules begin with.
///
/// # Errors
/// What the object has instead of these points.
pub(super) fn of_points(
    region: &PointRegion,
    points: &KeypointsParam,
    found: Option<Rect>,
) -> Result<Oriented, String> {
    let place = |name: &String| {
        let number = points.names.iter().position(|own| own == name)?;
        Some([*points.x.get(number)?, *points.y.get(number)?])
    };
    let mean = |names: &[String]| {
        let places = names.iter().map(place).collect::<Option<Vec<_>>>()?;
        let sum = places.iter().fold([0.0; 2], |sum, place| [sum[0] + place[0], sum[1] + place[1]]);
        Some(sum.map(|sum| sum / places.len() as f64))
    };
    let has = || format!("points called {}", points.names.join(", "));
    let axis = match region.axis() {
        Some([from, to]) => Some([mean(from).ok_or_else(has)?, mean(to).ok_or_else(has)?]),
        None => None,
    };
    let rule = region.rule();
    let places: Vec<_> = match (rule.outline, &region.points) {
        (Outline::Found, _) => found.map_or_else(Vec::new, corners),
        (_, Some(names)) => names.iter().filter_map(place).collect(),
        (_, None) => points.x.iter().zip(&points.y).map(|(x, y)| [*x, *y]).collect(),
    };
    rule.region(&places, axis)
        .ok_or_else(|| if places.is_empty() { has() } else { "points that have no box".into() })
}

/// The upper left and the lower right corner of a box.
fn corners(rect: Rect) -> Vec<[f64; 2]> {
    let Rect { x, y, w, h } = rect;
    [[x, y], [x + w, y + h]].map(|corner| corner.map(f64::from)).to_vec()
}

/// The part of the frame that a cutout shows, before it is turned about its centre.
pub(super) fn shown(cutout: &Cutout, crop: &Crop) -> Option<Rect> {
    let [width, height] = crop.tensor.map(|side| side as f32);
    let of_map = |map: &Affine| {
        let (x, y) = map.point(width / 2.0, height / 2.0);
        let side = |scale: f64, skew: f64, length: f32| scale.hypot(skew) as f32 * length;
        let (w, h) = (side(map.scale[0], map.skew[1], width), side(map.scale[1], map.skew[0], height));
        Rect { x: x - w / 2.0, y: y - h / 2.0, w, h }
    };
    match cutout {
        Cutout::Map(map) | Cutout::Moved { to_frame: map, .. } => Some(of_map(map)),
        Cutout::Part(part) => {
            let [x, y, w, h] = [part.x, part.y, part.width, part.height].map(|side| side as f32);
            Some(Rect { x, y, w, h })
        }
        // Regions that are cut by points are not followed.
        Cutout::Warped(_) => None,
    }
}
