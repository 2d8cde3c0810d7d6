//! What is found in a frame or a region of it.

use cudainfer_kernels::group::Pose;
use cudainfer_kernels::keypoints::{Instance, Lane, Points};
use cudainfer_kernels::peaks::Peak;

/// The results of a frame or a region of it.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Peaks(Vec<Peak>),
    /// Of one object.
    Points(Points),
    Poses(Vec<Pose>),
    Instances(Vec<Instance>),
    Lanes(Vec<Lane>),
}

impl Found {
    /// Where the points are.
    pub fn points(&self) -> impl Iterator<Item = [f32; 2]> {
        let (peaks, points, poses, instances, lanes) = match self {
            Self::Peaks(peaks) => (&peaks[..], &[][..], &[][..], &[][..], &[][..]),
            Self::Points(Points { points, .. }) => (&[][..], &points[..], &[][..], &[][..], &[][..]),
            Self::Poses(poses) => (&[][..], &[][..], &poses[..], &[][..], &[][..]),
            Self::Instances(instances) => (&[][..], &[][..], &[][..], &instances[..], &[][..]),
            Self::Lanes(lanes) => (&[][..], &[][..], &[][..], &[][..], &lanes[..]),
        };
        let poses = poses.iter().chain(instances.iter().map(|instance| &instance.pose));
        let poses = poses.chain(lanes.iter().map(|lane| &lane.pose));
        let points = points.iter().chain(poses.flat_map(|pose| &pose.points)).flatten();
        let points = points.map(|point| [point.x, point.y]);
        peaks.iter().map(|peak| [peak.x, peak.y]).chain(points)
    }
}
