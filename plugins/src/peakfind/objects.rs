//! The results as objects on a buffer.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::group::{Identity, Keypoint, MOST_PEAKS, Pose};
use cudainfer_kernels::keypoints::{self, Instance, Lane};
use cudainfer_kernels::peaks::Peak;
use cudainfer_kernels::sanity::{Expected, Survey};

use super::encoding::Coding;
use super::found::Found;
use super::grouping::GroupingPlan;
use super::identity::{Unidentified, findings};
use super::search::Search;
use crate::decoding::{Counts, Decode, Limit, Rows, Side};
use crate::feedback::{Answer, FoundObject, Question};
use crate::meta::object::{
    DetectionParam, Finding, KeypointsParam, Object, attach, next_ids, objects, remove,
};
use crate::meta::tensor::TensorSet;
use crate::model::ModelInfo;
use crate::notice::Remark;

/// Puts the points of frames and regions on them.
pub(super) struct Points {
    rows: Rows<Search>,
    plan: GroupingPlan,
    info: ModelInfo,
    limits: Limits,
    /// Whether fusedpreproc waits for points of objects, of which there are none.
    unfollowed: Unfollowed,
}

/// Whether the user knows that no object is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfollowed {
    /// No frame was asked about.
    Unasked,
    Unsaid,
    Said,
}

/// How many there may be in a frame.
struct Limits {
    /// Peaks of a channel.
    peaks: usize,
    /// Instances made by displacements or tags, and lanes.
    poses: usize,
}

impl Points {
    /// Of frames of this width and height.
    ///
    /// # Errors
    /// A sentence: outputs or parameters that do not fit.
    pub fn new(search: Search, info: ModelInfo, frame: [usize; 2]) -> Result<Self, String> {
        let (plan, key, reads) = (search.plan.clone(), search.key(), search.outputs.clone());
        let peaks = match search.coding {
            Coding::Maps(params) => params.top_k,
            Coding::Cells(params) => params.top_k,
            _ => usize::MAX,
        };
        let limits = match &plan {
            GroupingPlan::Paf(_) => Limits { peaks: peaks.min(MOST_PEAKS), poses: usize::MAX },
            GroupingPlan::Displacements(params) => Limits { peaks, poses: params.max_poses },
            GroupingPlan::Lanes(params) => Limits { peaks, poses: params.max_lanes },
            GroupingPlan::Tags(params, _) => Limits { peaks, poses: params.max_poses },
            _ => Limits { peaks, poses: usize::MAX },
        };
        let rows = Rows::new(search, &key, reads, frame)?;
        Ok(Self { rows, plan, info, limits, unfollowed: Unfollowed::Unasked })
    }

    /// Answers what fusedpreproc asks about a frame: the objects whose points are `attached`. Those that were put on the frame because they
    /// are followed are removed where no points of them were found.
    fn answer(question: &Question, frame: &mut gst::BufferRef, attached: Vec<(i32, KeypointsParam)>) {
        let gone = question.expected().iter().filter(|id| attached.iter().all(|(found, _)| found != *id));
        remove(frame, &gone.copied().collect::<Vec<_>>());
        let known = objects(frame);
        let object = |id: i32| known.iter().find(|object| object.id == id).cloned();
        let of = |(id, points)| Some(FoundObject { object: object(id)?, points });
        question.answer(Answer::Found(attached.into_iter().filter_map(of).collect()));
    }
}

impl Decode for Points {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let Self { rows, plan, info, limits, unfollowed } = self;
        let question = Question::take(frame);
        let mut unidentified = Unidentified::default();
        let mut attached = Vec::new();
        let found = rows.find_each(sets, side, |set, (found, outcome)| {
            counts.see_points(set, found.points());
            put(frame, &found, plan, info, set, (&mut unidentified, &mut attached));
            match &found {
                Found::Peaks(peaks) => {
                    counts.add("peaks", peaks.len());
                    peaks.iter().for_each(|peak| counts.see(peak.score));
                }
                Found::Points(points) => {
                    counts.add("peaks", points.peaks().count());
                    points.peaks().for_each(|peak| counts.see(peak.score));
                }
                Found::Poses(poses) => {
                    counts.add("peaks", poses.iter().map(|pose| pose.found()).sum());
                    counts.add("instances", poses.len());
                    let points = poses.iter().flat_map(|pose| pose.points.iter().flatten());
                    points.for_each(|point| counts.see(point.score));
                }
                Found::Instances(instances) => {
                    counts.add("peaks", instances.iter().map(|one| one.pose.found()).sum());
                    counts.add("instances", instances.len());
                }
                Found::Lanes(lanes) => {
                    counts.add("peaks", lanes.iter().map(|lane| lane.pose.found()).sum());
                    counts.add("instances", lanes.len());
                    lanes.iter().for_each(|lane| counts.see(lane.pose.score));
                }
            }
            counts.add("non-finite", outcome.non_finite);
            if outcome.truncated > 0 {
                let (name, what) = ("max-peaks", "peaks of the same channel");
                let limit =
                    Limit { name, value: limits.peaks, what, cut: Some(outcome.truncated), is_set: false };
                counts.limit("truncated", limit);
            }
            if outcome.limited {
                let (name, what) = ("max-poses", "instances");
                let limit = Limit { name, value: limits.poses, what, cut: None, is_set: false };
                counts.limit("limited", limit);
            }
            Ok(())
        });
        unidentified.identify(frame, info);
        if let Some(question) = question.filter(|_| found.is_ok()) {
            if matches!(plan, GroupingPlan::Each) && *unfollowed == Unfollowed::Unasked {
                *unfollowed = Unfollowed::Unsaid;
            }
            Self::answer(&question, frame, attached);
        }
        found
    }

    fn remark(&mut self) -> Option<Remark> {
        if self.unfollowed != Unfollowed::Unsaid {
            return None;
        }
        self.unfollowed = Unfollowed::Said;
        Some(Remark::Warning(
            "fusedpreproc has roi-from=track, which follows objects by their points, but grouping=each makes an object of each point, so \
             no object is followed. Set another grouping, or roi-from=objects of fusedpreproc"
                .into(),
        ))
    }

    fn expected(&self) -> Option<Expected> {
        self.rows.expected()
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        self.rows.survey(set)
    }
}

/// Puts the results on the buffer: as new objects, or as the points of the object in whose region they were found.
fn put(
    buffer: &mut gst::BufferRef,
    found: &Found,
    plan: &GroupingPlan,
    info: &ModelInfo,
    set: &TensorSet,
    (unidentified, attached): (&mut Unidentified, &mut Vec<(i32, KeypointsParam)>),
) {
    match (found, plan) {
        (Found::Peaks(peaks), GroupingPlan::Each) => {
            let each = peaks.iter().map(|peak| (info.point(peak.channel), *peak));
            put_each(buffer, each, set);
        }
        (Found::Points(points), GroupingPlan::Each) => {
            put_each(buffer, points.peaks().map(|peak| (info.point(peak.channel), peak)), set);
        }
        (Found::Poses(poses), GroupingPlan::Each) => {
            let each = poses.iter().filter_map(|pose| {
                let Keypoint { x, y, .. } = (*pose.points.first()?)?;
                Some((label(info).to_owned(), Peak { channel: 0, x, y, score: pose.score }))
            });
            put_each(buffer, each, set);
        }
        (Found::Peaks(peaks), _) => {
            let points = std::iter::once((param_of_peaks(peaks, info), None));
            put_points(buffer, points, "keypoints", info, set, attached);
        }
        (Found::Points(keypoints::Points { points, score, identities }), _) => {
            let points = param_of(points, *score, info);
            let around = points.outline().unwrap_or_default();
            let object =
                put_points(buffer, std::iter::once((points, None)), "keypoints", info, set, attached);
            object.into_iter().for_each(|object| unidentified.add(object, around, identities));
        }
        (Found::Poses(poses), _) => {
            let params = poses.iter().map(|pose| (param_of_pose(pose, info), pose.identity));
            put_points(buffer, params, label(info), info, set, attached);
        }
        (Found::Instances(instances), _) if set.object.is_some() => {
            let params = instances.iter().map(|one| (param_of_pose(&one.pose, info), one.pose.identity));
            put_points(buffer, params, label(info), info, set, attached);
        }
        (Found::Instances(instances), _) => put_instances(buffer, instances, info),
        (Found::Lanes(lanes), _) if set.object.is_some() => {
            let params = lanes.iter().map(|lane| (param_of_lane(lane, info), None));
            put_points(buffer, params, "", info, set, attached);
        }
        (Found::Lanes(lanes), _) => {
            for lane in lanes {
                let points = std::iter::once((param_of_lane(lane, info), None));
                put_points(buffer, points, &label_of_lane(lane, info), info, set, attached);
            }
        }
    }
}

/// Each point, with its label, is an object with a detection of no size.
fn put_each(buffer: &mut gst::BufferRef, each: impl Iterator<Item = (String, Peak)>, set: &TensorSet) {
    for (id, (label, peak)) in next_ids(&objects(buffer)).zip(each) {
        let rect = Rect { x: peak.x, y: peak.y, w: 0.0, h: 0.0 };
        let detection = DetectionParam { rect, confidence: peak.score, label_id: peak.channel };
        let object =
            Object { id, label, parent: set.object, detection: Some(detection), ..Object::default() };
        object.put(buffer, &rect);
    }
}

fn label(info: &ModelInfo) -> &str {
    info.peaks.label.as_deref().unwrap_or("pose")
}

fn label_of_lane(lane: &Lane, info: &ModelInfo) -> String {
    let label = info.peaks.label.as_deref().unwrap_or("lane");
    lane.number.map_or_else(|| label.to_owned(), |number| format!("{label}-{number}"))
}

/// The points of one object.
fn param_of_peaks(peaks: &[Peak], info: &ModelInfo) -> KeypointsParam {
    let point = |peak: &Peak| {
        let at = Keypoint { x: peak.x, y: peak.y, z: None, score: peak.score };
        (usize::try_from(peak.channel).unwrap_or(usize::MAX), at)
    };
    param(&peaks.iter().map(point).collect::<Vec<_>>(), None, info)
}

/// Those of an object's points that were found.
fn param_of(points: &[Option<Keypoint>], score: Option<f32>, info: &ModelInfo) -> KeypointsParam {
    let found: Vec<_> = points.iter().enumerate().filter_map(|(point, at)| Some((point, (*at)?))).collect();
    param(&found, score, info)
}

fn param_of_pose(pose: &Pose, info: &ModelInfo) -> KeypointsParam {
    param_of(&pose.points, Some(pose.score), info)
}

/// The points of a lane, each joined with the next one of its places if both are there.
fn param_of_lane(lane: &Lane, info: &ModelInfo) -> KeypointsParam {
    let points = lane.pose.points.iter().enumerate();
    let places: Vec<usize> = points.filter(|(_, point)| point.is_some()).map(|(place, _)| place).collect();
    let pairs = (0..).zip(places.windows(2));
    let edges = pairs.filter(|(_, pair)| pair[0] + 1 == pair[1]).map(|(i, _)| [i, i + 1]).collect();
    KeypointsParam { edges, ..param_of_pose(&lane.pose, info) }
}

/// Each is an object with a detection, also where none of its points was found.
fn put_instances(buffer: &mut gst::BufferRef, instances: &[Instance], info: &ModelInfo) {
    for (id, Instance { rect, pose }) in next_ids(&objects(buffer)).zip(instances) {
        let points = param_of_pose(pose, info);
        let object = Object {
            id,
            label: label(info).to_owned(),
            detection: Some(DetectionParam { rect: *rect, confidence: pose.score, label_id: 0 }),
            keypoints: Some(points).filter(|points| !points.names.is_empty()),
            ..Object::default()
        };
        object.put(buffer, rect);
    }
}

/// Each set of points is an object's, with its identity where that is known. Of several in an object's region, the one that fits the
/// object best belongs to it: others are neighbours that the region shows, too. Returns the object that got the last ones; points of an
/// object's region are `attached`.
fn put_points(
    buffer: &mut gst::BufferRef,
    instances: impl Iterator<Item = (KeypointsParam, Option<Identity>)>,
    label: &str,
    info: &ModelInfo,
    set: &TensorSet,
    attached: &mut Vec<(i32, KeypointsParam)>,
) -> Option<i32> {
    let instances = instances.filter(|(points, _)| !points.names.is_empty());
    if let Some(object) = set.object {
        let fits = instances.map(|instance| (fit(&instance.0, set), instance));
        let (_, (points, identity)) = fits.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        let around = points.outline().unwrap_or_default();
        attach(buffer, object, &Finding::Keypoints(points.clone()));
        attached.push((object, points));
        for finding in identity.into_iter().flat_map(|identity| findings(identity, around, info)) {
            attach(buffer, object, &finding);
        }
        return Some(object);
    }
    let mut last = None;
    for (id, (points, identity)) in next_ids(&objects(buffer)).zip(instances) {
        let around = points.outline().unwrap_or_default();
        let object = Object { id, label: label.to_owned(), keypoints: Some(points), ..Object::default() };
        object.put(buffer, &around);
        for finding in identity.into_iter().flat_map(|identity| findings(identity, around, info)) {
            attach(buffer, object.id, &finding);
        }
        last = Some(object.id);
    }
    last
}

/// The points' scores together, the less the further their middle is from the region's: nothing at its corners.
fn fit(points: &KeypointsParam, set: &TensorSet) -> f32 {
    let [width, height] = set.input.map(|size| size as f32);
    let (x, y) = set.to_frame.point(width / 2.0, height / 2.0);
    let (left, top) = set.to_frame.point(0.0, 0.0);
    let around = points.outline().unwrap_or_default();
    let away = (around.x + around.w / 2.0 - x).hypot(around.y + around.h / 2.0 - y);
    let score: f64 = points.score.iter().sum();
    score as f32 * (1.0 - away / (left - x).hypot(top - y))
}

/// Points with their numbers in the skeleton, and the score of all of them together.
fn param(points: &[(usize, Keypoint)], pose_score: Option<f32>, info: &ModelInfo) -> KeypointsParam {
    let present: Vec<usize> = points.iter().map(|(point, _)| *point).collect();
    let all = |of: fn(&Keypoint) -> f32| points.iter().map(|(_, at)| f64::from(of(at))).collect();
    KeypointsParam {
        names: present.iter().map(|point| info.point(u32::try_from(*point).unwrap_or(u32::MAX))).collect(),
        x: all(|at| at.x),
        y: all(|at| at.y),
        score: all(|at| at.score),
        z: points.iter().filter_map(|(_, at)| at.z.map(f64::from)).collect(),
        edges: info.skeleton.edges_among(&present),
        pose_score: pose_score.map(f64::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudainfer_kernels::geometry::Affine;

    #[test]
    fn a_neighbour_who_is_surer_does_not_get_the_regions_object() {
        gst::init().unwrap();
        let mut buffer = gst::Buffer::new();
        let buffer = buffer.get_mut().unwrap();
        let rect = Rect { x: 40.0, y: 20.0, w: 20.0, h: 40.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        Object { id: 7, detection, ..Object::default() }.put(buffer, &rect);
        // The region is turned by a quarter and begins at 70, 15: its middle is the box's, at 50, 40.
        let to_frame = Affine { scale: [0.0, 0.0], skew: [-0.5, 0.5], offset: [75.0, 15.0] };
        let set = TensorSet {
            tensors: vec![],
            input: [100, 100],
            to_frame,
            batch: None,
            object: Some(7),
            region: None,
            held: false,
        };
        let pose = |x: f32, score: f32| Pose {
            score,
            points: vec![
                Some(Keypoint { x, y: 30.0, z: None, score }),
                Some(Keypoint { x, y: 50.0, z: None, score }),
                None,
            ],
            identity: None,
        };
        // A stray point in the middle is worth less than the person there; the neighbours stand at the region's sides.
        let stray = Pose {
            points: vec![Some(Keypoint { x: 50.0, y: 40.0, z: None, score: 0.7 })],
            score: 0.7,
            identity: None,
        };
        let found = Found::Poses(vec![pose(72.0, 0.95), pose(28.0, 0.9), pose(49.0, 0.6), stray]);
        let plan = GroupingPlan::Displacements(Default::default());
        put(buffer, &found, &plan, &ModelInfo::default(), &set, (&mut Unidentified::default(), &mut vec![]));
        let [object] = &objects(buffer)[..] else { panic!("{:?}", objects(buffer)) };
        let points = object.keypoints.as_ref().unwrap();
        assert_eq!((points.x.clone(), points.y.clone()), (vec![49.0, 49.0], vec![30.0, 50.0]));
    }
}
