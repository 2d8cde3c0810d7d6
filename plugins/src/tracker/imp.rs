use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::track::{self as kernels, MOST_DETECTIONS, MOST_POSES, Track, TrackerInput};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::Similarity;
use super::appearance::{EmbeddingKind, has_embeddings, refusal};
use super::pace::Unknown;
use super::properties::PROPERTIES;
use super::scene::Scene;
use super::settings::Settings;
use super::stream_tracker::{CrowdDevice, StreamTracker};
use crate::device::{self, Gpu};
use crate::embed::rows;
use crate::meta::object::{Object, TrackingParam, add_tracking, objects};
use crate::meta::tensor::TensorSet;
use crate::model::{ModelInfo, Skeleton, accepts};
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{caps, meta, notice, stats};

struct State {
    streams: Streams<StreamTracker>,
    tracks: Vec<Option<Track>>,
    publish_lost: bool,
    warned: Warnings,
    /// The last caps, and the skeleton of the model that they are of.
    caps: Option<gst::Caps>,
    skeleton: Option<Skeleton>,
    /// Whether an element upstream gives objects embeddings.
    embedded: bool,
}

/// What a frame, or any so far, has given reason to warn of.
#[derive(Clone, Copy, Default)]
struct Warnings {
    backwards: bool,
    /// How many detections were too many.
    surplus: usize,
    /// How many frames later each frame comes, when that is too late for anybody to be known still.
    late: f64,
}

/// So many late frames in a row are no gap.
const MANY_LATE: u32 = 10;

impl Warnings {
    /// Adds those of a frame; returns what there was none of before.
    fn first(&mut self, now: Self) -> Self {
        let backwards = now.backwards && !self.backwards;
        let surplus = if self.surplus == 0 { now.surplus } else { 0 };
        let late = if self.late == 0.0 { now.late } else { 0.0 };
        *self = Self {
            backwards: self.backwards || now.backwards,
            surplus: self.surplus.max(now.surplus),
            late: self.late.max(now.late),
        };
        Self { backwards, surplus, late }
    }
}

#[derive(Default)]
pub struct Tracker {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    gpu: Gpu,
    counters: Arc<Counters>,
    /// Detections that came.
    detections: Counter,
    /// Those of them that got no identity.
    untracked: Counter,
    /// Those of them that were compared by their boxes, though points should be compared.
    without_points: Counter,
    /// Those of them that were too many.
    surplus: Counter,
    /// Frames of which it is not known how long after the one before they are.
    untimed: Counter,
}

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("tracker", gst::DebugColorFlags::empty(), Some("identities of objects"))
});

impl Tracker {
    /// Takes the GPU along when there are enough points for it to be faster, and lets go of one that failed.
    fn choose_crowd_device(&self, tracked: &mut StreamTracker) {
        let crowd = tracked.scene.is_crowd();
        let failure = match tracked.gpu {
            CrowdDevice::Open if crowd && self.gpu.device() != "cpu" => {
                let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters);
                let taken =
                    session.and_then(|s| tracked.tracker.use_gpu(s.stream()).map_err(|e| e.to_string()));
                tracked.gpu = if taken.is_ok() { CrowdDevice::Gpu } else { CrowdDevice::Cpu };
                taken.err()
            }
            CrowdDevice::Gpu => tracked.tracker.gpu_failure().map(ToString::to_string),
            CrowdDevice::Open | CrowdDevice::Cpu => None,
        };
        if let Some(failure) = failure {
            gst::warning!(CAT, imp = self, "objects are compared on the CPU: {failure}");
            tracked.gpu = CrowdDevice::Cpu;
            self.counters.fallbacks.add(1);
        }
    }

    fn warn_of_backwards(&self) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Format,
            (
                "{}: a frame's timestamp is not after the one before. The frame is treated as if it came one frame period \
                 later. The property stats counts such frames as untimed",
                self.obj().name()
            )
        );
    }

    fn warn_of_late_frames(&self, late: f64) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Format,
            (
                "{}: frames are {late:.0} frame durations of the caps' frame rate apart, so tracks end before they can be \
                 matched. Put videorate before this element, so that the caps have the real frame rate, or raise max-lost",
                self.obj().name()
            )
        );
    }

    fn warn_of_surplus(&self, surplus: usize) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            (
                "{}: a frame has {surplus} detections more than the {MOST_DETECTIONS} that are tracked ({MOST_POSES} where \
                 poses are compared). The least confident are left out. Raise gpunms' confidence, or lower its top-k-after",
                self.obj().name()
            )
        );
    }

    /// What a stream is tracked with, from its caps. A stream that shares the element has no `set_caps` of its own where its
    /// caps are those of the stream before.
    fn prepare(
        &self,
        tracked: &mut StreamTracker,
        caps: &gst::Caps,
        skeleton: Option<&Skeleton>,
        embedded: bool,
    ) -> Result<(), String> {
        if tracked.caps.as_ref() == Some(caps) {
            return Ok(());
        }
        let settings = lock(&self.settings).clone();
        tracked.pace.set_rate(caps);
        if let Some(skeleton) = skeleton {
            tracked.scene.set_skeleton(skeleton.clone());
        }
        let stream = || {
            let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters)?;
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

    /// One frame. Returns what is to be warned of.
    fn follow(&self, state: &mut State, buffer: &mut gst::BufferRef) -> Result<Warnings, String> {
        let State { streams, tracks, publish_lost, warned, caps, skeleton, embedded } = state;
        let tracked = streams.current_mut();
        if let Some(caps) = caps {
            self.prepare(tracked, caps, skeleton.as_ref(), *embedded)?;
        }
        let seen = objects(buffer);
        tracked.scene.see(&seen);
        self.choose_crowd_device(tracked);
        let StreamTracker { tracker, scene, pace, embedder, camera, late, .. } = tracked;
        let boxes: Vec<_> = scene.detections().iter().map(|detection| detection.rect).collect();
        if let Some(kind) = embedder.see(buffer, &seen, scene.members(), &boxes)? {
            compare_by(tracker, kind, &lock(&self.settings))?;
        }
        let camera = camera.see(buffer, &boxes)?;
        if embedder.used_up_tensors() {
            TensorSet::take(buffer);
        }
        let mut now = Warnings::default();
        let elapsed = pace.elapsed(buffer.pts()).unwrap_or_else(|why| {
            self.untimed.add(1);
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
        self.surplus.add_size(now.surplus);
        self.detections.add_size(tracks.len());
        self.untracked.add_size(tracks.iter().filter(|track| track.is_none()).count());
        self.without_points.add_size(scene.without_points());
        let rate = pace.rate();
        let mut params = tracks.iter().map(|track| track.as_ref().map(|track| param(track, rate)));
        add_tracking(
            buffer,
            scene.members().iter().map(|member| if *member { params.next().flatten() } else { None }),
        );
        if *publish_lost {
            let mut id = seen.iter().map(|object| object.id).max().unwrap_or(-1);
            for track in tracker.lost() {
                id = id.saturating_add(1);
                put_lost(buffer, id, scene.label(track.class), param(&track, rate));
            }
        }
        Ok(warned.first(now))
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("detections", self.detections.get());
        stats.set("untracked", self.untracked.get());
        stats.set("without-points", self.without_points.get());
        stats.set("surplus", self.surplus.get());
        stats.set("untimed", self.untimed.get());
        stats
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Tracker {
    const NAME: &'static str = "GstCudaInferTracker";
    type Type = super::Tracker;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for Tracker {
    fn constructed(&self) {
        self.parent_constructed();
        crate::names::shorten(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if !PROPERTIES.set(&*self.obj(), &self.settings, value, pspec) {
            self.gpu.set_property(&*self.obj(), value, pspec);
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.stats().to_value(),
            "device" => self.gpu.device().to_value(),
            _ => {
                let value = PROPERTIES.get(&lock(&self.settings), pspec);
                value.unwrap_or_else(|| pspec.default_value().clone())
            }
        }
    }
}

impl GstObjectImpl for Tracker {}

impl ElementImpl for Tracker {
    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }

    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Multi-object tracker",
                "Filter/Analyzer/Video",
                "Gives objects identities that last from frame to frame (auto, SORT, ByteTrack, OC-SORT, BoT-SORT, C-BIoU)",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let any = caps::any_memory();
            caps::pad_templates(&any, &any)
        });
        &TEMPLATES
    }
}

impl BaseTransformImpl for Tracker {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let wrong =
            |why: String| gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        let sigmas = settings.sigmas.parse().map_err(wrong)?;
        let tracked = StreamTracker::new(settings.params(), Scene::new(settings.similarity, sigmas));
        let streams = Streams::new(tracked.map_err(|e| wrong(e.to_string()))?);
        device::check(&self.gpu.device(), &*self.obj())?;
        self.counters.reset();
        for counter in [&self.detections, &self.untracked, &self.without_points, &self.surplus, &self.untimed]
        {
            counter.reset();
        }
        *lock(&self.state) = Some(State {
            streams,
            tracks: Vec::new(),
            publish_lost: settings.publish_lost,
            warned: Warnings::default(),
            caps: None,
            skeleton: None,
            embedded: false,
        });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        Ok(())
    }

    /// Embeddings are used up here; other tensors pass.
    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let mut other = from.clone();
        if direction == gst::PadDirection::Src {
            let mut with_embeddings = caps::with_feature(&caps::without_tensors(from));
            with_embeddings.make_mut().set(caps::ROI, "objects");
            other.make_mut().append(with_embeddings);
        } else if has_embeddings(from) {
            other = caps::without_tensors(from);
        }
        Some(match filter {
            Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
            None => other,
        })
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let oks = lock(&self.settings).similarity == Similarity::Oks;
        let sink = self.obj().static_pad("sink");
        let embedded = sink.as_ref().is_some_and(rows::are_made_upstream);
        let skeleton = sink.filter(|_| oks).map(|sink| ModelInfo::ask_skeleton(&sink));
        let prepared = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut() else { return Ok(()) };
            (state.caps, state.skeleton, state.embedded) = (Some(incaps.clone()), skeleton, embedded);
            self.prepare(state.streams.current_mut(), incaps, state.skeleton.as_ref(), embedded)
        };
        // Messages run handlers, which may stop us: no lock is held here.
        prepared.map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if streams::concerns(&event)
            && let Some(state) = lock(&self.state).as_mut()
        {
            state.streams.see(&event);
        }
        self.parent_sink_event(event)
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        // Other tensors pass: the elements downstream are asked about them.
        if let Some((caps, _)) = accepts::asked(query).filter(|(caps, _)| has_embeddings(caps)) {
            let why = refusal(&caps, lock(&self.settings).embedding_output());
            let refused = |why| Err(format!("{}: {why}", self.obj().name()));
            return accepts::answer(query, why.map_or(Ok(()), refused));
        }
        BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let result = match lock(&self.state).as_mut() {
            Some(state) => self.follow(state, buffer),
            None => return Err(gst::FlowError::Flushing),
        };
        let warnings = result.map_err(|why| {
            let name = self.obj().name();
            gst::element_error!(self.obj(), gst::StreamError::Failed, ("{name}: {why}"));
            gst::FlowError::Error
        })?;
        if warnings.backwards {
            self.warn_of_backwards();
        }
        if warnings.late > 0.0 {
            self.warn_of_late_frames(warnings.late);
        }
        if warnings.surplus > 0 {
            self.warn_of_surplus(warnings.surplus);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}

/// Embeddings of another kind have another distance, and cannot be compared with those before.
fn compare_by(
    tracker: &mut kernels::Tracker,
    kind: &EmbeddingKind,
    settings: &Settings,
) -> Result<(), String> {
    let distance = settings.appearance_distance(*kind == EmbeddingKind::Histogram);
    tracker.change_appearance(distance).map_err(|e| e.to_string())
}

/// A track as metadata has it, in a video of so many frames per second.
fn param(track: &Track, rate: f64) -> TrackingParam {
    TrackingParam {
        id: track.id,
        age: track.age,
        hits: track.hits,
        state: track.state.name().to_owned(),
        rect: track.rect,
        velocity: track.velocity.map(|v| f64::from(v) * rate),
    }
}

/// Puts an object that was not detected on a frame.
fn put_lost(buffer: &mut gst::BufferRef, id: i32, label: &str, tracking: TrackingParam) {
    let rect = tracking.rect;
    let lost = Object { id, label: label.to_owned(), tracking: Some(tracking), ..Object::default() };
    lost.put(buffer, &rect);
}
