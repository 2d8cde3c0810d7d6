//! What the element does with a frame: it prepares for its caps, tracks its objects, and puts the results on them.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::track::{self as kernels, Track, TrackerInput};

use super::appearance::EmbeddingKind;
use super::pace::Unknown;
use super::settings::Settings;
use super::stream_tracker::{CrowdDevice, StreamTracker};
use crate::device::Gpu;
use crate::log::TRACKER as CAT;
use crate::meta::analytics::Forms;
use crate::meta::gst_tensor;
use crate::meta::object::{Object, TrackingParam, add_tracking, next_ids, objects};
use crate::meta::tensor::TensorSet;
use crate::model::Skeleton;
use crate::streams::Streams;
use crate::sync::lock;

/// The streams that the element tracks, and what it knows of them.
pub(super) struct State {
    pub streams: Streams<StreamTracker>,
    tracks: Vec<Option<Track>>,
    publish_lost: bool,
    forms: Forms,
    warned: Warnings,
    /// The last caps, and the skeleton of their model.
    caps: Option<gst::Caps>,
    skeleton: Option<Skeleton>,
    /// Whether an element upstream gives objects embeddings.
    embedded: bool,
}

/// Reasons for warnings, in a frame or in all so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Warnings {
    /// A frame is not after the previous one.
    pub backwards: bool,
    /// How many poses have no box to be compared by.
    pub unboxed: usize,
    /// How many detections have no size.
    pub sizeless: usize,
    /// How many detections were too many.
    pub surplus: usize,
    /// How many detections were more than there are individuals.
    pub above: usize,
    /// The interval between frames, in frames, when it is too long for any object to be still known.
    pub late: f64,
}

/// This many late frames in a row are no gap.
const MANY_LATE: u32 = 10;

impl Warnings {
    /// Adds the warnings of a frame; returns those that are new.
    fn first(&mut self, now: Self) -> Self {
        let backwards = now.backwards && !self.backwards;
        let unboxed = if self.unboxed == 0 { now.unboxed } else { 0 };
        let sizeless = if self.sizeless == 0 { now.sizeless } else { 0 };
        let surplus = if self.surplus == 0 { now.surplus } else { 0 };
        let above = if self.above == 0 { now.above } else { 0 };
        let late = if self.late == 0.0 { now.late } else { 0.0 };
        *self = Self {
            backwards: self.backwards || now.backwards,
            unboxed: self.unboxed.max(now.unboxed),
            sizeless: self.sizeless.max(now.sizeless),
            surplus: self.surplus.max(now.surplus),
            above: self.above.max(now.above),
            late: self.late.max(now.late),
        };
        Self { backwards, unboxed, sizeless, surplus, above, late }
    }
}

/// Further counts.
#[derive(Default)]
pub(super) struct Tally {
    /// Detections that arrived.
    detections: Counter,
    /// Those of them that got no identity.
    untracked: Counter,
    /// Those of them that were compared by their boxes, though points should be compared.
    without_points: Counter,
    /// Poses that were not compared, as boxes should be and they have none, and boxes without a size, which nothing overlaps.
    unboxed: Counter,
    /// Those of the detections that were too many.
    surplus: Counter,
    /// Those of them that were more than there are individuals.
    above_max_tracks: Counter,
    /// Frames whose time since the previous one is not known.
    untimed: Counter,
    /// Times that a stream began anew because it had been forgotten while it waited for its turn.
    forgotten_streams: Counter,
}

impl Tally {
    /// Counts a stream that began anew although it had only waited for its turn; whether it is the first one.
    pub fn is_first_forgotten_stream(&self) -> bool {
        self.forgotten_streams.add(1);
        self.forgotten_streams.get() == 1
    }

    /// The counters by the names that `stats` has for them.
    fn all(&self) -> [(&'static str, &Counter); 8] {
        [
            ("detections", &self.detections),
            ("untracked", &self.untracked),
            ("without-points", &self.without_points),
            ("unboxed", &self.unboxed),
            ("surplus", &self.surplus),
            ("above-max-tracks", &self.above_max_tracks),
            ("untimed", &self.untimed),
            ("forgotten-streams", &self.forgotten_streams),
        ]
    }

    /// Starts anew.
    pub fn reset(&self) {
        self.all().into_iter().for_each(|(_, counter)| counter.reset());
    }

    /// Adds the counts to `stats`.
    pub fn report(&self, stats: &mut gst::Structure) {
        for (name, counter) in self.all() {
            stats.set(name, counter.get());
        }
    }
}

/// The part of the element that frames need.
pub(super) struct Surroundings<'a> {
    pub object: gst::Element,
    pub settings: &'a Mutex<Settings>,
    pub gpu: &'a Gpu,
    pub counters: &'a Arc<Counters>,
    pub tally: &'a Tally,
    /// Whether the segment's rate is negative.
    pub reverse: bool,
}

impl State {
    /// For an element that has just started.
    pub fn new(streams: Streams<StreamTracker>, publish_lost: bool, forms: Forms) -> Self {
        let warned = Warnings::default();
        Self {
            streams,
            tracks: Vec::new(),
            publish_lost,
            forms,
            warned,
            caps: None,
            skeleton: None,
            embedded: false,
        }
    }

    /// Frames have these caps from now on.
    ///
    /// # Errors
    /// A sentence: these frames do not allow what the settings ask for.
    pub fn set_caps(
        &mut self,
        element: &Surroundings<'_>,
        caps: &gst::Caps,
        skeleton: Option<Skeleton>,
        embedded: bool,
    ) -> Result<(), String> {
        (self.caps, self.skeleton, self.embedded) = (Some(caps.clone()), skeleton, embedded);
        prepare(element, self.streams.current_mut(), caps, self.skeleton.as_ref(), embedded)
    }

    /// Tracks one frame of this running time, if that is known. Returns the reasons for warnings.
    ///
    /// # Errors
    /// A sentence.
    pub fn follow(
        &mut self,
        element: &Surroundings<'_>,
        buffer: &mut gst::BufferRef,
        time: Option<gst::ClockTime>,
    ) -> Result<Warnings, String> {
        let Self { streams, tracks, publish_lost, forms, warned, caps, skeleton, embedded } = self;
        let tally = element.tally;
        let tracked = streams.current_mut();
        if let Some(caps) = caps {
            prepare(element, tracked, caps, skeleton.as_ref(), *embedded)?;
        }
        let seen = objects(buffer);
        tracked.scene.see(&seen);
        choose_crowd_device(element, tracked);
        let StreamTracker { tracker, scene, pace, embedder, camera, late, seen: seen_at, .. } = tracked;
        let boxes: Vec<_> = scene.detections().iter().map(|detection| detection.rect).collect();
        if let Some(kind) = embedder.see(buffer, &seen, scene.members(), &boxes)? {
            compare_by(tracker, kind, &lock(element.settings))?;
        }
        let camera = camera.see(buffer, &boxes)?;
        if embedder.used_up_tensors() {
            TensorSet::take(buffer);
            gst_tensor::remove(buffer);
        }
        let mut now = Warnings::default();
        let elapsed = pace.elapsed(buffer.pts(), element.reverse).unwrap_or_else(|why| {
            tally.untimed.add(1);
            now.backwards = why == Unknown::Backwards;
            1.0
        });
        let is_late = elapsed > tracker.longest_gap();
        *late = if is_late { late.saturating_add(1) } else { 0 };
        if *late >= MANY_LATE {
            now.late = elapsed;
        }
        let frame = TrackerInput {
            poses: scene.poses(),
            angles: scene.angles(),
            embeddings: embedder.embeddings(),
            elapsed,
            camera,
            ..TrackerInput::of(scene.detections())
        };
        now.surplus = tracker.update_frame(&frame, tracks);
        (now.unboxed, now.sizeless) = (scene.unboxed(), scene.sizeless());
        now.above = tracker.above_max_tracks();
        tally.surplus.add_size(now.surplus);
        tally.above_max_tracks.add_size(now.above);
        tally.detections.add_size(tracks.len());
        tally.untracked.add_size(tracks.iter().filter(|track| track.is_none()).count());
        tally.without_points.add_size(scene.without_points());
        tally.unboxed.add_size(now.unboxed + now.sizeless);
        let rate = pace.rate();
        seen_at.update(
            time,
            tracks.iter().flatten().map(|track| track.id),
            tracker.lost().map(|track| track.id),
        );
        let param = |track: &Track| param(track, rate, seen_at.of(track.id));
        let mut params = tracks.iter().map(|track| track.as_ref().map(param));
        forms.write(buffer, |buffer| {
            let of_member = |member: &bool| if *member { params.next().flatten() } else { None };
            add_tracking(buffer, scene.members().iter().map(of_member));
            if *publish_lost {
                for (track, id) in tracker.lost().zip(next_ids(&seen)) {
                    put_lost(buffer, id, scene.label(track.class), param(&track));
                }
            }
        });
        Ok(warned.first(now))
    }
}

/// Uses the GPU as well when there are enough points for it to be faster, and releases it after a failure.
fn choose_crowd_device(element: &Surroundings<'_>, tracked: &mut StreamTracker) {
    let crowd = tracked.scene.is_crowd();
    let failure = match tracked.gpu {
        CrowdDevice::Open if crowd && !element.gpu.device().is_cpu() => {
            let session = element.gpu.session_now(&element.object, element.counters);
            let taken = session.and_then(|s| tracked.tracker.use_gpu(s.stream()).map_err(|e| e.to_string()));
            tracked.gpu = if taken.is_ok() { CrowdDevice::Gpu } else { CrowdDevice::Cpu };
            taken.err()
        }
        CrowdDevice::Gpu => tracked.tracker.gpu_failure().map(ToString::to_string),
        CrowdDevice::Open | CrowdDevice::Cpu => None,
    };
    if let Some(failure) = failure {
        gst::warning!(CAT, obj = element.object, "objects are compared on the CPU: {failure}");
        tracked.gpu = CrowdDevice::Cpu;
        element.counters.fallbacks.add(1);
    }
}

/// The tracker of a stream, from its caps. A stream that shares the element has no `set_caps` of its own where its caps are those
/// of the previous stream.
fn prepare(
    element: &Surroundings<'_>,
    tracked: &mut StreamTracker,
    caps: &gst::Caps,
    skeleton: Option<&Skeleton>,
    embedded: bool,
) -> Result<(), String> {
    if tracked.caps.as_ref() == Some(caps) {
        return Ok(());
    }
    let settings = lock(element.settings).clone();
    tracked.pace.set_rate(caps);
    if let Some(skeleton) = skeleton {
        tracked.scene.set_skeleton(skeleton.clone());
    }
    let stream = || {
        let session = element.gpu.session_now(&element.object, element.counters)?;
        Ok(Arc::clone(session.stream()))
    };
    let output = settings.embedding_output();
    let new_kind = tracked.embedder.prepare(caps, settings.appearance, output, embedded, stream)?;
    if let Some(kind) = new_kind {
        compare_by(&mut tracked.tracker, kind, &settings)?;
    }
    tracked.camera.prepare(caps, settings.camera_motion(), stream)?;
    tracked.caps = Some(caps.clone());
    Ok(())
}

/// Embeddings of another kind have another distance, and cannot be compared with earlier ones.
fn compare_by(
    tracker: &mut kernels::Tracker,
    kind: &EmbeddingKind,
    settings: &Settings,
) -> Result<(), String> {
    let distance = settings.appearance_distance(*kind == EmbeddingKind::Histogram);
    tracker.change_appearance(distance).map_err(|e| e.to_string())
}

/// A track as metadata has it, in a video of `rate` frames per second, and when it was first and last seen.
fn param(track: &Track, rate: f64, seen: Option<[u64; 2]>) -> TrackingParam {
    TrackingParam {
        id: track.id,
        name: None,
        age: track.age,
        hits: track.hits,
        state: track.state.name().to_owned(),
        rect: track.rect,
        velocity: track.velocity.map(|v| f64::from(v) * rate),
        seen,
    }
}

/// Puts an object that was not detected on a frame.
fn put_lost(buffer: &mut gst::BufferRef, id: i32, label: &str, tracking: TrackingParam) {
    let rect = tracking.rect;
    let lost = Object { id, label: label.to_owned(), tracking: Some(tracking), ..Object::default() };
    lost.put(buffer, &rect);
}
