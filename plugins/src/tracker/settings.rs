//! The tracker's settings, as properties have them.

use cudainfer_kernels::track::{Algorithm, TrackParams};

use super::{Appearance, Between, Similarity};
use crate::meta::analytics::Metadata;

/// Half the cosine distance at which histograms are of the same appearance: that of the same person is 0.035 in the median, of two 0.14.
pub(super) const HISTOGRAMS: f32 = 0.08;

/// The properties; what is not set is the algorithm's own default.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub algorithm: Algorithm,
    pub similarity: Similarity,
    /// The property's text.
    pub sigmas: String,
    pub class_aware: Option<bool>,
    pub min_confidence: Option<f32>,
    pub high_confidence: Option<f32>,
    pub new_confidence: Option<f32>,
    pub auto_confidence: Option<bool>,
    pub min_hits: Option<u32>,
    pub max_lost: Option<u32>,
    pub max_tracks: u32,
    pub iou: Option<f32>,
    pub iou_low: Option<f32>,
    pub momentum: Option<f32>,
    pub momentum_frames: Option<u32>,
    pub buffer: Option<f32>,
    pub buffer_wide: Option<f32>,
    pub proximity: Option<f32>,
    pub appearance: Option<Appearance>,
    pub appearance_distance: Option<f32>,
    /// The second model's output that holds embeddings; empty if it is not set.
    pub embedding_output: String,
    pub camera_motion: Option<bool>,
    pub publish_lost: bool,
    pub between: Between,
    pub metadata: Metadata,
}

impl Settings {
    /// The output of a second model with the embeddings, where one is named.
    pub fn embedding_output(&self) -> Option<&str> {
        Some(self.embedding_output.as_str()).filter(|name| !name.is_empty())
    }

    /// How appearance is described, and when it counts.
    pub fn appearance(&self) -> Appearance {
        let default = if self.algorithm == Algorithm::Auto { Appearance::Auto } else { Appearance::None };
        self.appearance.unwrap_or(default)
    }

    /// Whether the camera's motion is estimated.
    pub fn camera_motion(&self) -> bool {
        self.camera_motion.unwrap_or(self.algorithm == Algorithm::BotSort)
    }

    /// The highest distance of two embeddings of the same appearance.
    pub fn appearance_distance(&self, of_histograms: bool) -> f32 {
        let default = if of_histograms { HISTOGRAMS } else { TrackParams::of(self.algorithm).appearance };
        self.appearance_distance.unwrap_or(default)
    }

    /// As the kernels' tracker wants them.
    pub fn params(&self) -> TrackParams {
        self.params_beside(&TrackParams::of(self.algorithm))
    }

    /// The same where objects are poses that no detector has boxed.
    pub fn params_for_poses(&self) -> TrackParams {
        self.params_beside(&TrackParams::of(self.algorithm).for_poses())
    }

    /// What is set, and these defaults.
    fn params_beside(&self, defaults: &TrackParams) -> TrackParams {
        // A user who sets a confidence wants that one.
        let other = |given: Option<f32>, default| given.is_some_and(|given| given != default);
        let given = other(self.high_confidence, defaults.high_confidence)
            || other(self.new_confidence, defaults.new_confidence);
        TrackParams {
            algorithm: defaults.algorithm,
            class_aware: self.class_aware.unwrap_or(defaults.class_aware),
            min_confidence: self.min_confidence.unwrap_or(defaults.min_confidence),
            high_confidence: self.high_confidence.unwrap_or(defaults.high_confidence),
            new_confidence: self.new_confidence.unwrap_or(defaults.new_confidence),
            auto_confidence: self.auto_confidence.unwrap_or(defaults.auto_confidence && !given),
            min_hits: self.min_hits.unwrap_or(defaults.min_hits),
            max_lost: self.max_lost.unwrap_or(defaults.max_lost),
            max_tracks: self.max_tracks,
            iou: self.iou.unwrap_or(defaults.iou),
            iou_low: self.iou_low.unwrap_or(defaults.iou_low),
            momentum: self.momentum.unwrap_or(defaults.momentum),
            momentum_frames: self.momentum_frames.unwrap_or(defaults.momentum_frames),
            buffer: self.buffer.unwrap_or(defaults.buffer),
            buffer_wide: self.buffer_wide.unwrap_or(defaults.buffer_wide),
            proximity: self.proximity.unwrap_or(defaults.proximity),
            appearance: self.appearance_distance(self.appearance() == Appearance::Histogram),
            auto_appearance: self.appearance() == Appearance::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_have_thresholds_of_their_own_where_nothing_is_set() {
        let of = |algorithm| Settings { algorithm, ..Settings::default() };
        let thresholds = |params: TrackParams| {
            let TrackParams { high_confidence, new_confidence, auto_confidence, .. } = params;
            (high_confidence, new_confidence, auto_confidence)
        };
        let auto = of(Algorithm::Auto);
        assert_eq!(thresholds(auto.params()), (0.6, 0.7, true));
        assert_eq!(thresholds(auto.params_for_poses()), (0.3, 0.3, true));
        let bytetrack = of(Algorithm::ByteTrack);
        assert_eq!(thresholds(bytetrack.params()), (0.6, 0.7, false));
        assert_eq!(thresholds(bytetrack.params_for_poses()), (0.3, 0.3, true));
        let sort = of(Algorithm::Sort);
        assert_eq!([auto.params().iou_low, auto.params_for_poses().iou_low], [0.5, 0.2]);
        assert_eq!([sort.params().min_confidence, sort.params_for_poses().min_confidence], [0.5, 0.1]);
        // What boxes have by default is a value that somebody wants for poses.
        let given = Settings { new_confidence: Some(0.7), ..auto };
        assert_eq!(thresholds(given.params_for_poses()), (0.3, 0.7, false));
        assert_eq!(thresholds(given.params()), (0.6, 0.7, true));
    }
}
