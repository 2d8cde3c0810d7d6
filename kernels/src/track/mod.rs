//! From a frame's detections to stable identities over time: SORT, ByteTrack, OC-SORT, BoT-SORT and C-BIoU.
//!
//! A [`Tracker`] takes the detections of one frame after the other and returns which track each belongs to. Its results are
//! a function of the sequence of detections alone. Boxes are compared by IoU ([`Tracker::update`]), objects with keypoints by
//! OKS ([`Tracker::update_poses`]).
//!
//! ```
//! use cudainfer_kernels::detect::Detection;
//! use cudainfer_kernels::geometry::Rect;
//! use cudainfer_kernels::track::{TrackParams, Tracker};
//!
//! let mut tracker = Tracker::new(TrackParams::bytetrack())?;
//! let mut tracks = Vec::new();
//! for x in [100.0, 104.0, 108.0] {
//!     let rect = Rect { x, y: 50.0, w: 40.0, h: 90.0 };
//!     tracker.update(&[Detection { rect, confidence: 0.9, class: 0 }], &mut tracks);
//!     assert_eq!(tracks[0].map(|track| track.id), Some(1));
//! }
//! # Ok::<(), cudainfer_kernels::track::TrackError>(())
//! ```

mod appearance;
mod auto;
mod botsort;
mod bytetrack;
mod cbiou;
mod confidence;
mod distinctness;
mod individuals;
mod input;
mod kalman;
mod lifecycle;

mod matching;
mod motion;
mod observation;
mod ocsort;
mod params;
pub mod second_pass;
mod sort;
mod state;
mod target;

#[cfg(test)]
mod tests;

pub use appearance::Embeddings;
pub use distinctness::AppearanceSwitch;
pub use input::{AREA_OF_BOX, Poses, TrackerInput};
pub use params::{Algorithm, MOST_INDIVIDUALS, MOST_MOMENTUM_FRAMES, TrackError, TrackParams};
pub use state::{State, Track};

use std::fmt::Debug;
use std::sync::Arc;

use crate::associate::Similarity;
use crate::detect::Detection;
use crate::device::{CudaStream, DeviceError};
use confidence::{Confidences, Thresholds};
use distinctness::Distinctness;
use individuals::{Individuals, Tracklet};
use lifecycle::Targets;
use motion::Motion;
use observation::FrameView;

/// The most detections of a frame that are used: the most confident, of equal ones the first. So time and memory are bounded,
/// whatever a detector gives.
pub const MOST_DETECTIONS: usize = 10_000;

/// As [`MOST_DETECTIONS`], where poses are compared, each with each.
pub const MOST_POSES: usize = 2_000;

/// Follows objects through one video. An update takes time proportional to the detections and to the pairs of them and
/// tracks that overlap.
#[derive(Debug)]
pub struct Tracker {
    params: TrackParams,
    engine: Box<dyn Engine>,
    confidences: Confidences,
    /// Whether appearance tells the objects apart, with [`TrackParams::auto_appearance`].
    distinctness: Distinctness,
    /// Whether appearance counts until that is known.
    appearance_at_first: bool,
    similarity: Similarity,
    /// Where the number of individuals is known.
    individuals: Option<Individuals>,
    /// The least confidence that started a track in the last update.
    start_confidence: f32,
}

/// An algorithm with the objects that it follows.
trait Engine: Debug + Send + Sync {
    /// One frame; `usable` lists the detections to work with.
    fn step(
        &mut self,
        params: &TrackParams,
        seen: FrameView<'_>,
        usable: Vec<usize>,
        similarity: &mut Similarity,
    );
    /// Writes the published tracks to their detections' places.
    fn publish(&self, tracks: &mut [Option<Track>]);
    /// A frame that no detector sees; `tracks` are those of the last detections.
    fn pass(&mut self, params: &TrackParams, seen: FrameView<'_>, tracks: &mut [Option<Track>]);
    /// The time since the last frame that a detector saw, in frames.
    fn unseen(&self) -> f64;
    /// The objects of the last detections.
    fn places(&self) -> Box<dyn Iterator<Item = (usize, Track)> + '_>;
    /// Forgets all objects, but does not give their identities again.
    fn clear(&mut self);
    /// Forgets the objects' appearance.
    fn clear_appearance(&mut self);
    /// Every object as what an individual may be followed by, oldest first.
    fn tracklets(&self) -> Vec<Tracklet>;
    /// Every object as a track, oldest first.
    fn tracks(&self) -> Box<dyn Iterator<Item = Track> + '_>;
}

/// An algorithm: one frame of the objects, by a filter `M`; the list has the usable detections. What it is made of is in `lifecycle`.
type Step<M> = fn(&mut Targets<M>, &TrackParams, FrameView<'_>, Vec<usize>, &mut Similarity);

#[derive(Debug)]
struct Following<M> {
    targets: Targets<M>,
    step: Step<M>,
}

impl<M: Motion + Debug + Send + Sync + 'static> Following<M> {
    fn by(step: Step<M>) -> Box<dyn Engine> {
        Box::new(Self { targets: Targets::default(), step })
    }
}

impl<M: Motion + Debug + Send + Sync> Engine for Following<M> {
    fn step(
        &mut self,
        params: &TrackParams,
        seen: FrameView<'_>,
        usable: Vec<usize>,
        similarity: &mut Similarity,
    ) {
        (self.step)(&mut self.targets, params, seen, usable, similarity);
    }

    fn publish(&self, tracks: &mut [Option<Track>]) {
        self.targets.publish(tracks);
    }

    fn pass(&mut self, params: &TrackParams, seen: FrameView<'_>, tracks: &mut [Option<Track>]) {
        self.targets.pass(seen, params.max_lost, tracks);
    }

    fn unseen(&self) -> f64 {
        self.targets.unseen()
    }

    fn places(&self) -> Box<dyn Iterator<Item = (usize, Track)> + '_> {
        Box::new(self.targets.places())
    }

    fn clear(&mut self) {
        self.targets.clear();
    }

    fn clear_appearance(&mut self) {
        self.targets.clear_appearance();
    }

    fn tracklets(&self) -> Vec<Tracklet> {
        self.targets.tracklets()
    }

    fn tracks(&self) -> Box<dyn Iterator<Item = Track> + '_> {
        Box::new(self.targets.tracks())
    }
}

fn engine(algorithm: Algorithm) -> Box<dyn Engine> {
    match algorithm {
        Algorithm::Auto => Following::by(auto::step),
        Algorithm::Sort => Following::by(sort::step),
        Algorithm::ByteTrack => Following::by(bytetrack::step),
        Algorithm::OcSort => Following::by(ocsort::step),
        Algorithm::BotSort => Following::by(botsort::step),
        Algorithm::CBiou => Following::by(cbiou::step),
    }
}

impl Tracker {
    /// A tracker that has seen nothing yet.
    ///
    /// # Errors
    /// Those of [`TrackParams::validate`].
    pub fn new(params: TrackParams) -> Result<Self, TrackError> {
        params.validate()?;
        Ok(Self::by(params))
    }

    /// One with valid parameters.
    fn by(params: TrackParams) -> Self {
        Self {
            engine: engine(params.algorithm),
            confidences: Confidences::default(),
            distinctness: Distinctness::default(),
            appearance_at_first: false,
            similarity: Similarity::on_cpu(),
            individuals: Individuals::new(params.max_tracks),
            start_confidence: params.start_confidence(),
            params,
        }
    }

    /// Another tracker with the same parameters that has seen nothing yet and compares on the CPU.
    #[must_use]
    pub fn fresh(&self) -> Self {
        let at_first = self.appearance_at_first;
        Self {
            distinctness: Distinctness::new(at_first),
            appearance_at_first: at_first,
            ..Self::by(self.params.clone())
        }
    }

    /// From now on compares poses on the GPU of `stream` where that is faster, which takes crowds
    /// ([`crate::associate::GPU_OKS_DISTANCES`]). The tracks are the same.
    ///
    /// # Errors
    /// The GPU has no memory left, or refuses the kernels.
    pub fn use_gpu(&mut self, stream: &Arc<CudaStream>) -> Result<(), DeviceError> {
        self.similarity = Similarity::with_gpu(stream)?;
        Ok(())
    }

    /// Why the GPU was given up: it failed, and the CPU has taken over.
    pub fn gpu_failure(&self) -> Option<&DeviceError> {
        self.similarity.failure()
    }

    /// From now on embeddings come from another model; two are similar up to a distance of `appearance` ([`TrackParams::appearance`]).
    /// The objects' appearance so far is forgotten. With [`TrackParams::auto_appearance`], `at_first` says whether it counts until it is known
    /// whether it tells objects apart.
    ///
    /// # Errors
    /// An invalid distance; then nothing changes.
    pub fn change_appearance(&mut self, appearance: f32, at_first: bool) -> Result<(), TrackError> {
        let params = TrackParams { appearance, ..self.params.clone() };
        params.validate()?;
        self.params = params;
        self.appearance_at_first = at_first;
        self.distinctness = Distinctness::new(at_first);
        self.engine.clear_appearance();
        self.individuals.iter_mut().for_each(Individuals::clear_appearance);
        Ok(())
    }

    /// From now on confidences and similarities are compared with the thresholds of `params`, of which nothing else is taken.
    ///
    /// # Errors
    /// An invalid threshold; then nothing changes.
    pub fn change_thresholds(&mut self, params: &TrackParams) -> Result<(), TrackError> {
        let params = TrackParams {
            min_confidence: params.min_confidence,
            high_confidence: params.high_confidence,
            new_confidence: params.new_confidence,
            auto_confidence: params.auto_confidence,
            iou: params.iou,
            iou_low: params.iou_low,
            ..self.params.clone()
        };
        params.validate()?;
        self.start_confidence = params.start_confidence();
        self.params = params;
        Ok(())
    }

    /// Whether the next update has a use for embeddings. With [`TrackParams::auto_appearance`], some frames do where appearance does not count:
    /// whether it tells objects apart is found out by them.
    pub fn wants_embeddings(&self) -> bool {
        self.compares_appearance() || self.distinctness.is_due()
    }

    /// Whether appearance counts.
    pub fn compares_appearance(&self) -> bool {
        !self.params.auto_appearance || self.distinctness.counts()
    }

    /// That appearance has begun to count in the last update, or no longer counts; once.
    pub fn take_appearance_switch(&mut self) -> Option<AppearanceSwitch> {
        self.distinctness.take_switch()
    }

    /// Frames after which no object is known any more, see [`TrackerInput::elapsed`]: `max_lost`, 30 at least, and one.
    pub fn longest_gap(&self) -> f64 {
        lifecycle::longest_gap(self.params.max_lost)
    }

    /// The tracker's parameters.
    pub fn params(&self) -> &TrackParams {
        &self.params
    }

    /// Takes in the next frame's detections (none is fine) and writes to `tracks`, one entry per detection, the track each
    /// belongs to: `None` while that is unconfirmed or there is none. Every frame must be passed, also an empty one.
    ///
    /// Detections whose box is not finite or has no area, and those with a confidence below `min_confidence` or NaN, belong
    /// to no track.
    pub fn update(&mut self, detections: &[Detection], tracks: &mut Vec<Option<Track>>) {
        self.update_frame(&TrackerInput::of(detections), tracks);
    }

    /// As [`Tracker::update`] for a frame of which more is known. Returns the number of detections beyond
    /// [`MOST_DETECTIONS`] or [`MOST_POSES`]; they belong to no track.
    ///
    /// Detections with keypoints are compared by object keypoint similarity ([`oks_pairs`](crate::associate::oks_pairs)):
    /// the thresholds `iou` and `iou_low` mean that then. A track's pose is expected where it was last seen, moved as
    /// the filter's estimate of the box's centre has moved since. The object's area, which OKS relates distances to, is
    /// [`AREA_OF_BOX`] of the box that the filter expects. Where a detection or a track has no keypoints, their boxes' IoU
    /// counts.
    pub fn update_frame(&mut self, frame: &TrackerInput<'_>, tracks: &mut Vec<Option<Track>>) -> usize {
        tracks.clear();
        tracks.resize(frame.detections.len(), None);
        let is_used = |d: &Detection| d.rect.is_usable() && d.confidence >= self.params.min_confidence;
        let listed = frame.detections.iter().enumerate().filter(|(_, d)| is_used(d));
        let most = if frame.poses.sigmas.is_empty() { MOST_DETECTIONS } else { MOST_POSES };
        let (usable, surplus) = most_confident(listed.map(|(i, d)| (d.confidence, i)).collect(), most);
        let seen = FrameView::new(frame, self.compares_appearance());
        let mut params = self.params.clone();
        if self.engine.unseen() > 0.0 {
            // Hits in a row say for how many frames an object has been there.
            let frames = self.engine.unseen() + seen.elapsed();
            params.min_hits = (f64::from(params.min_hits) / frames) as u32;
        }
        if params.auto_confidence {
            self.confidences.take(usable.iter().map(|index| seen.confidence(*index)));
            if let Some(Thresholds { high, new }) = self.confidences.thresholds() {
                (params.high_confidence, params.new_confidence) = (high, new);
            }
        }
        self.start_confidence = params.start_confidence();
        if let Some(individuals) = &mut self.individuals {
            self.engine.step(&params, seen, usable.clone(), &mut self.similarity);
            individuals.step(&params, seen, &usable, self.engine.tracklets());
            individuals.publish(tracks);
        } else {
            self.engine.step(&params, seen, usable, &mut self.similarity);
            self.engine.publish(tracks);
        }
        if self.params.auto_appearance {
            self.distinctness.see(frame.detections, tracks, frame.embeddings);
        }
        surplus
    }

    /// Takes in a frame that no detector sees, such as those between two that a detector can keep up with: of `frame`, `elapsed`, `camera` and
    /// `flow` count. `tracks` is what the last update wrote, or the last such frame, and becomes what is expected: the filters' boxes and
    /// velocities, [`State::Carried`], and `None` for objects that are expected nowhere. Nothing is missed in such a frame, so `max_lost`
    /// does not count it.
    pub fn pass_frame(&mut self, frame: &TrackerInput<'_>, tracks: &mut [Option<Track>]) {
        let seen = FrameView::new(frame, true);
        self.engine.pass(&self.params, seen, tracks);
        self.individuals.iter_mut().for_each(|individuals| individuals.pass(seen));
    }

    /// The time since the last update, in frames: that of the frames that were passed.
    pub fn unseen(&self) -> f64 {
        self.engine.unseen()
    }

    /// The objects of the last update's detections where they are expected now, with the number of each one's detection; also those that
    /// are not published.
    pub fn places(&self) -> impl Iterator<Item = (usize, Track)> + '_ {
        self.engine.places()
    }

    /// The least confidence of a detection that started a track in the last update, as it has adapted to the detector's confidences.
    pub fn start_confidence(&self) -> f32 {
        self.start_confidence
    }

    /// How many detections of the last frame were more than [`TrackParams::max_tracks`], of those that are neither unusable nor
    /// too weak; as many got no identity. 0 without a limit.
    pub fn above_max_tracks(&self) -> usize {
        self.individuals.as_ref().map_or(0, Individuals::above)
    }

    /// Every object that is tracked, oldest first, as of the last update: published, lost (with the expected box) and tentative
    /// ones. With [`TrackParams::max_tracks`], first every individual that was ever seen, by its identity; the box of a lost one is
    /// that where it was last seen, if nothing is expected of it any more.
    pub fn tracks(&self) -> Box<dyn Iterator<Item = Track> + '_> {
        match &self.individuals {
            Some(individuals) => Box::new(individuals.tracks()),
            None => self.engine.tracks(),
        }
    }

    /// The tracks of [`Tracker::tracks`] that were published before and are out of sight now.
    pub fn lost(&self) -> impl Iterator<Item = Track> + '_ {
        self.tracks().filter(|track| track.state == State::Lost)
    }

    /// Forgets all objects, as at a seek. Identities go on: one that was given is not given again, save with
    /// [`TrackParams::max_tracks`], which has no others.
    pub fn reset(&mut self) {
        self.engine.clear();
        self.individuals.iter_mut().for_each(Individuals::clear);
        self.confidences = Confidences::default();
        self.distinctness = Distinctness::new(self.appearance_at_first);
    }
}

/// The indices of the most confident detections, ascending, and how many others there are.
fn most_confident(mut listed: Vec<(f32, usize)>, most: usize) -> (Vec<usize>, usize) {
    let surplus = listed.len().saturating_sub(most);
    if surplus > 0 {
        listed.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        listed.truncate(most);
        listed.sort_unstable_by_key(|(_, index)| *index);
    }
    (listed.into_iter().map(|(_, index)| index).collect(), surplus)
}
