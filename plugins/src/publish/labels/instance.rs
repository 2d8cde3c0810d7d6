//! An animal or a person in a frame, with its points in the skeleton's order.

use crate::meta::object::Object;
use crate::model::Skeleton;

/// From our pixels, whose corner is counted, to those whose centre is.
const HALF: f64 = 0.5;

/// Where a point was found, in pixels whose centre is counted, and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
    pub score: f64,
}

/// Who an instance is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    /// From 1.
    pub id: u64,
    /// The individual's, where the model names it, else one of the number.
    pub name: String,
}

/// Points in the skeleton's order; `None` where one was not found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instance {
    pub track: Option<Track>,
    pub score: f64,
    pub points: Vec<Option<Point>>,
}

impl Instance {
    /// An object with points; `None` if it has none at all. Its score is the pose's, else the detection's, else the sum of its
    /// points', as sleap-nn has it for models of one animal.
    pub fn of(object: &Object, skeleton: &Skeleton) -> Option<Self> {
        let found = object.keypoints.as_ref()?;
        let at = |name: &String| {
            let i = found.names.iter().position(|found| found == name)?;
            let (x, y) = (*found.x.get(i)?, *found.y.get(i)?);
            let score = found.score.get(i).copied().unwrap_or(f64::NAN);
            (x.is_finite() && y.is_finite()).then_some(Point { x: x - HALF, y: y - HALF, score })
        };
        let points: Vec<Option<Point>> = skeleton.points.iter().map(at).collect();
        let of_detection = || object.detection.as_ref().map(|detection| f64::from(detection.confidence));
        let of_points = || points.iter().flatten().map(|point| point.score).sum();
        let score = found.pose_score.or_else(of_detection).unwrap_or_else(of_points);
        let track = object.tracking.as_ref().map(|tracking| Track {
            id: tracking.id,
            name: tracking.name.clone().unwrap_or_else(|| format!("track_{}", tracking.id)),
        });
        Some(Self { track, score, points })
    }

    /// How many of its points were found.
    pub fn found(&self) -> usize {
        self.points.iter().flatten().count()
    }
}
