//! The state of one stream's tracking.

use cudainfer_kernels::track::{TrackError, TrackParams, Tracker};

use super::appearance::Embedder;
use super::carried::Carried;
use super::confirmation::Confirmation;
use super::motion::Motion;
use super::pace::Pace;
use super::scene::Scene;
use super::seen_times::SeenTimes;
use crate::streams::PerStream;

/// Everything of one stream.
pub(super) struct StreamTracker {
    pub tracker: Tracker,
    pub scene: Scene,
    pub pace: Pace,
    pub embedder: Embedder,
    pub motion: Motion,
    pub carried: Carried,
    pub confirmation: Confirmation,
    pub gpu: CrowdDevice,
    pub seen: SeenTimes,
    /// The parameters for objects that a detector has boxed, and for poses that none has.
    params: [TrackParams; 2],
    /// Which of the two it has; open until the first objects come.
    poses: Option<bool>,
    /// Frames in a row that came too late for any object to be still known.
    pub late: u32,
    /// What it was prepared for.
    pub caps: Option<gst::Caps>,
}

/// Whether poses are compared on the GPU where there are many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CrowdDevice {
    /// No frame has had that many yet.
    Open,
    Gpu,
    Cpu,
}

impl StreamTracker {
    /// With the parameters for objects that a detector has boxed, and for poses that none has.
    pub fn new(params: [TrackParams; 2], scene: Scene) -> Result<Self, TrackError> {
        let [boxes, poses] = &params;
        poses.validate()?;
        Ok(Self::by(Tracker::new(boxes.clone())?, params, scene))
    }

    fn by(tracker: Tracker, params: [TrackParams; 2], scene: Scene) -> Self {
        Self {
            tracker,
            scene,
            params,
            poses: None,
            pace: Pace::default(),
            embedder: Embedder::default(),
            motion: Motion::default(),
            carried: Carried::default(),
            confirmation: Confirmation::default(),
            gpu: CrowdDevice::Open,
            seen: SeenTimes::default(),
            late: 0,
            caps: None,
        }
    }

    /// Takes the thresholds for what the scene's objects are, with the first of them.
    ///
    /// # Errors
    /// A threshold that is not within 0..1.
    pub fn choose_thresholds(&mut self) -> Result<(), TrackError> {
        let Some(poses) = self.scene.are_unboxed_poses().filter(|_| self.poses.is_none()) else {
            return Ok(());
        };
        self.poses = Some(poses);
        let [of_boxes, of_poses] = &self.params;
        self.tracker.change_thresholds(if poses { of_poses } else { of_boxes })
    }
}

impl PerStream for StreamTracker {
    fn for_new_stream(&self) -> Self {
        Self::by(self.tracker.fresh(), self.params.clone(), self.scene.for_new_stream())
    }

    /// Forgets the objects, but not which identities were given.
    fn forget(&mut self) {
        self.tracker.reset();
        self.scene.reset();
        self.pace.begin();
        self.motion.forget();
        self.carried = Carried::default();
        self.seen = SeenTimes::default();
        self.poses = None;
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::detect::Detection;
    use cudainfer_kernels::geometry::Rect;

    use super::*;

    #[test]
    fn what_is_forgotten_keeps_its_identities_and_another_stream_has_its_own() {
        let mut tracked =
            StreamTracker::new([TrackParams::bytetrack(), TrackParams::auto()], Scene::default()).unwrap();
        let rect = Rect { x: 5.0, y: 5.0, w: 9.0, h: 9.0 };
        let id = |tracked: &mut StreamTracker| {
            let mut tracks = Vec::new();
            tracked.tracker.update(&[Detection { rect, confidence: 0.9, class: 0 }], &mut tracks);
            tracks[0].map(|track| track.id)
        };
        assert_eq!([id(&mut tracked), id(&mut tracked)], [Some(1), Some(1)]);
        tracked.forget();
        assert_eq!(id(&mut tracked), Some(2), "whoever is there is somebody else");
        assert_eq!(id(&mut tracked.for_new_stream()), Some(1));
    }
}
