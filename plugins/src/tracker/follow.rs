//! What the element does with a frame: it prepares for its caps, tracks its objects, and puts the results on them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::{self as kernels, AppearanceSwitch, Track, TrackerInput};

use super::Between;
use super::appearance::EmbeddingKind;
use super::confirmation::Unconfirmed;
use super::motion::Wanted;
use super::pace::Unknown;
use super::scene::Scene;
use super::settings::Settings;
use super::stream_tracker::{CrowdDevice, StreamTracker};
use crate::between::{self, IntervalFrame};
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
    between: Between,
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
    /// The frames in a row that no model has seen, when they are too many for any object to be still known.
    pub beyond: f64,
    /// Frames with objects have passed, and none, or nearly none, got an identity.
    pub unconfirmed: Option<Unconfirmed>,
}

/// This many late frames in a row are no gap.
const MANY_LATE: u32 = 10;

impl Warnings {
    /// Adds the warnings of a frame; returns those that are new.
    fn first(&mut self, now: Self) -> Self {
        let before = *self;
        *self = Self {
            backwards: before.backwards || now.backwards,
            unboxed: before.unboxed.max(now.unboxed),
            sizeless: before.sizeless.max(now.sizeless),
            surplus: before.surplus.max(now.surplus),
            above: before.above.max(now.above),
            late: before.late.max(now.late),
            beyond: before.beyond.max(now.beyond),
            unconfirmed: before.unconfirmed.or(now.unconfirmed),
        };
        let new = |before: usize, now: usize| if before == 0 { now } else { 0 };
        let new_time = |before: f64, now: f64| if before == 0.0 { now } else { 0.0 };
        Self {
            backwards: now.backwards && !before.backwards,
            unboxed: new(before.unboxed, now.unboxed),
            sizeless: new(before.sizeless, now.sizeless),
            surplus: new(before.surplus, now.surplus),
            above: new(before.above, now.above),
            late: new_time(before.late, now.late),
            beyond: new_time(before.beyond, now.beyond),
            unconfirmed: now.unconfirmed.filter(|_| before.unconfirmed.is_none()),
        }
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
    /// Objects on frames that no model sees.
    carried: Counter,
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
    fn all(&self) -> [(&'static str, &Counter); 9] {
        [
            ("detections", &self.detections),
            ("untracked", &self.untracked),
            ("without-points", &self.without_points),
            ("unboxed", &self.unboxed),
            ("surplus", &self.surplus),
            ("above-max-tracks", &self.above_max_tracks),
            ("untimed", &self.untimed),
            ("carried", &self.carried),
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

/// A frame that a model has seen.
struct Arrival {
    /// What it is, where the model does not see all frames.
    kind: Option<IntervalFrame>,
    /// Its objects.
    seen: Vec<Object>,
    /// The time since the last frame, in frames.
    elapsed: f64,
    /// Its running time, if that is known.
    time: Option<gst::ClockTime>,
}

impl State {
    /// For an element that has just started.
    pub fn new(streams: Streams<StreamTracker>, settings: &Settings, forms: Forms) -> Self {
        Self {
            streams,
            tracks: Vec::new(),
            publish_lost: settings.publish_lost,
            between: settings.between,
            forms,
            warned: Warnings::default(),
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
        let tracked = self.streams.current_mut();
        let kind = IntervalFrame::of(buffer);
        if let Some(caps) = &self.caps {
            prepare(element, tracked, caps, self.skeleton.as_ref(), self.embedded)?;
            if kind.is_some() && self.between == Between::Flow {
                prepare_flow(element, tracked, caps)?;
            }
        }
        let seen = objects(buffer);
        tracked.scene.see(&seen);
        choose_crowd_device(element, tracked);
        tracked.choose_thresholds().map_err(|e| e.to_string())?;
        let mut now = Warnings::default();
        let elapsed = tracked.pace.elapsed(buffer.pts(), element.reverse).unwrap_or_else(|why| {
            element.tally.untimed.add(1);
            now.backwards = why == Unknown::Backwards;
            1.0
        });
        let is_late = elapsed > tracked.tracker.longest_gap();
        tracked.late = if is_late { tracked.late.saturating_add(1) } else { 0 };
        if tracked.late >= MANY_LATE {
            now.late = elapsed;
        }
        // Another model may have seen the frame.
        let unseen = kind.filter(|kind| kind.is_unseen()).filter(|_| tracked.scene.detections().is_empty());
        match unseen {
            Some(kind) => self.carry(element, buffer, kind, &seen, elapsed, &mut now)?,
            None => self.track(element, buffer, Arrival { kind, seen, elapsed, time }, &mut now)?,
        }
        Ok(self.warned.first(now))
    }

    /// A frame that no model sees: the objects of the last one that one saw are put on it.
    fn carry(
        &mut self,
        element: &Surroundings<'_>,
        buffer: &mut gst::BufferRef,
        kind: IntervalFrame,
        on_frame: &[Object],
        elapsed: f64,
        now: &mut Warnings,
    ) -> Result<(), String> {
        let Self { streams, publish_lost, between, forms, .. } = self;
        let StreamTracker { tracker, scene, pace, embedder, motion, carried, seen: seen_at, .. } =
            streams.current_mut();
        if embedder.used_up_tensors() {
            TensorSet::take(buffer);
            gst_tensor::remove(buffer);
        }
        let mut next = if kind == IntervalFrame::Still {
            // No time passes for objects that stand still.
            carried.now()
        } else {
            let boxes: Vec<_> = tracker.places().map(|(_, track)| track.rect).collect();
            let moved = motion.see(buffer, &boxes, tracker.places(), elapsed)?;
            let frame =
                TrackerInput { elapsed, camera: moved.camera, flow: &moved.flow, ..TrackerInput::of(&[]) };
            tracker.pass_frame(&frame, &mut carried.tracks);
            if tracker.unseen() > tracker.longest_gap() {
                now.beyond = tracker.unseen();
            }
            carried.next()
        };
        if *between == Between::None {
            next.clear();
        }
        number(&mut next, on_frame);
        element.tally.carried.add_size(next.len());
        let param = |track: &Track| param(track, pace.rate(), seen_at.of(track.id));
        forms.write(buffer, |buffer| {
            for (object, track) in next {
                Object { tracking: Some(param(&track)), ..object }.put(buffer, &track.rect);
            }
            if *publish_lost {
                put_lost(buffer, tracker, scene, param);
            }
        });
        Ok(())
    }

    /// A frame that a model has seen, all of it or parts.
    fn track(
        &mut self,
        element: &Surroundings<'_>,
        buffer: &mut gst::BufferRef,
        Arrival { kind, mut seen, elapsed, time }: Arrival,
        now: &mut Warnings,
    ) -> Result<(), String> {
        let Self { streams, tracks, publish_lost, between, forms, .. } = self;
        let tally = element.tally;
        let StreamTracker {
            tracker,
            scene,
            pace,
            embedder,
            motion,
            carried,
            confirmation,
            seen: seen_at,
            ..
        } = streams.current_mut();
        let mut kept = HashSet::new();
        if let Some(parts) = between::regions(buffer).filter(|_| *between != Between::None) {
            let mut still = carried.now();
            still.retain(|(_, track)| !is_in(&track.rect, &parts));
            number(&mut still, &seen);
            tally.carried.add_size(still.len());
            forms.write(buffer, |buffer| {
                still.iter().for_each(|(object, track)| object.put(buffer, &track.rect))
            });
            kept.extend(still.iter().map(|(object, _)| object.id));
            seen = objects(buffer);
            scene.see(&seen);
        }
        let boxes: Vec<_> = scene.detections().iter().map(|detection| detection.rect).collect();
        let wanted = tracker.compares_appearance() || boxes.len() > 1 && tracker.wants_embeddings();
        let stream = || Ok(Arc::clone(element.gpu.session_now(&element.object, element.counters)?.stream()));
        if wanted && let Err(why) = embedder.make_describer(&seen, stream) {
            gst::info!(CAT, obj = element.object, "appearance=auto compares no histograms: {why}");
        }
        let changed = embedder.see(buffer, &seen, scene.members(), &boxes, wanted).map(|kind| kind.cloned());
        match changed {
            Ok(Some(kind)) => compare_by(tracker, &kind, &lock(element.settings))?,
            Ok(None) => (),
            Err(why) if embedder.give_up() => {
                gst::warning!(
                    CAT,
                    obj = element.object,
                    "appearance=auto compares no more histograms: {why}"
                );
            }
            Err(why) => return Err(why),
        }
        if embedder.used_up_tensors() {
            TensorSet::take(buffer);
            gst_tensor::remove(buffer);
        }
        let moved = motion.see(buffer, &boxes, tracker.places(), elapsed)?;
        let frame = TrackerInput {
            detections: scene.detections(),
            poses: scene.poses(),
            angles: scene.angles(),
            embeddings: embedder.embeddings(),
            elapsed,
            camera: moved.camera,
            flow: &moved.flow,
        };
        now.surplus = tracker.update_frame(&frame, tracks);
        if let Some(switch) = tracker.take_appearance_switch() {
            log_switch(element, switch);
        }
        (now.unboxed, now.sizeless) = (scene.unboxed(), scene.sizeless());
        now.above = tracker.above_max_tracks();
        now.unconfirmed = confirmation.see(scene.detections(), tracks, tracker);
        tally.surplus.add_size(now.surplus);
        tally.above_max_tracks.add_size(now.above);
        tally.detections.add_size(tracks.len());
        tally.untracked.add_size(tracks.iter().filter(|track| track.is_none()).count());
        tally.without_points.add_size(scene.without_points());
        tally.unboxed.add_size(now.unboxed + now.sizeless);
        seen_at.update(
            time,
            tracks.iter().flatten().map(|track| track.id),
            tracker.lost().map(|track| track.id),
        );
        let param = |track: &Track| param(track, pace.rate(), seen_at.of(track.id));
        let members = seen.iter().zip(scene.members()).filter(|(_, member)| **member);
        for (track, _) in tracks.iter_mut().zip(members).filter(|(_, (object, _))| kept.contains(&object.id))
        {
            track.iter_mut().for_each(|track| track.state = kernels::State::Carried);
        }
        let mut params = tracks.iter().map(|track| track.as_ref().map(param));
        forms.write(buffer, |buffer| {
            let of_member = |member: &bool| if *member { params.next().flatten() } else { None };
            add_tracking(buffer, scene.members().iter().map(of_member));
            if *publish_lost {
                put_lost(buffer, tracker, scene, param);
            }
        });
        if kind.is_some() {
            carried.keep(seen, scene.members(), tracks);
        }
        Ok(())
    }
}

/// Whether half of a box or more lies in one of these parts of a frame.
fn is_in(rect: &Rect, parts: &[Rect]) -> bool {
    parts.iter().any(|part| rect.common(part).area() >= rect.area() / 2.0)
}

/// Gives objects ids that none of those on the frame has, and their parents likewise; a parent that is not among them is none.
fn number(objects: &mut [(Object, Track)], on_frame: &[Object]) {
    let ids: HashMap<i32, i32> =
        objects.iter().map(|(object, _)| object.id).zip(next_ids(on_frame)).collect();
    for (object, _) in objects {
        object.parent = object.parent.and_then(|parent| ids.get(&parent).copied());
        object.id = ids.get(&object.id).copied().unwrap_or(object.id);
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
    let new_kind = tracked.embedder.prepare(caps, settings.appearance(), output, embedded, stream)?;
    if let Some(kind) = new_kind {
        compare_by(&mut tracked.tracker, kind, &settings)?;
    }
    tracked.motion.prepare(caps, Wanted { camera: settings.camera_motion(), flow: false }, stream)?;
    tracked.caps = Some(caps.clone());
    Ok(())
}

/// The flow of pixels is looked at as well, from the first frame of a stream with an interval on.
fn prepare_flow(
    element: &Surroundings<'_>,
    tracked: &mut StreamTracker,
    caps: &gst::Caps,
) -> Result<(), String> {
    let wanted = tracked.motion.wanted();
    if wanted.flow {
        return Ok(());
    }
    let stream = || Ok(Arc::clone(element.gpu.session_now(&element.object, element.counters)?.stream()));
    tracked.motion.prepare(caps, Wanted { flow: true, ..wanted }, stream)
}

/// Embeddings of another kind have another distance, and cannot be compared with earlier ones.
fn compare_by(
    tracker: &mut kernels::Tracker,
    kind: &EmbeddingKind,
    settings: &Settings,
) -> Result<(), String> {
    let distance = settings.appearance_distance(*kind == EmbeddingKind::Histogram);
    // Who puts a model there that makes embeddings wants them compared, unless they turn out to tell nothing apart.
    let at_first = matches!(kind, EmbeddingKind::Model(..) | EmbeddingKind::Object(..));
    tracker.change_appearance(distance, at_first).map_err(|e| e.to_string())
}

fn log_switch(element: &Surroundings<'_>, switch: AppearanceSwitch) {
    let AppearanceSwitch { counts, over_time, neighbours } = switch;
    let now = if counts { "counts from now on" } else { "no longer counts" };
    gst::info!(
        CAT,
        obj = element.object,
        "appearance {now}: neighbours differ by {neighbours:.3}, and an object over time by {over_time:.3} (half the cosine distance)"
    );
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

/// Puts objects that are lost on a frame.
fn put_lost(
    buffer: &mut gst::BufferRef,
    tracker: &kernels::Tracker,
    scene: &Scene,
    param: impl Fn(&Track) -> TrackingParam,
) {
    let ids = next_ids(&objects(buffer));
    for (track, id) in tracker.lost().zip(ids) {
        let (label, tracking) = (scene.label(track.class).to_owned(), Some(param(&track)));
        Object { id, label, tracking, ..Object::default() }.put(buffer, &track.rect);
    }
}
