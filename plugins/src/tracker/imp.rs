use std::fmt::Display;
use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::track::{self, MOST_MOMENTUM_FRAMES, Params, Track};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::scene::Scene;
use super::settings::Settings;
use super::{Algorithm, Similarity};
use crate::device::{self, Gpu};
use crate::engine::ModelInfo;
use crate::meta::object::{TrackingParam, add_tracking, objects};
use crate::sync::lock;
use crate::{caps, meta, stats};

struct State {
    tracker: track::Tracker,
    scene: Scene,
    tracks: Vec<Option<Track>>,
    gpu: Crowds,
}

/// Whether boxes are compared on the GPU where there are many.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crowds {
    /// There have not been that many.
    Open,
    Gpu,
    Cpu,
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
}

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("tracker", gst::DebugColorFlags::empty(), Some("identities of objects"))
});

impl Tracker {
    /// Takes the GPU along when there are enough boxes for it to be faster, and lets go of one that failed.
    fn suit(&self, state: &mut State) {
        let crowd = state.scene.is_crowd();
        let failure = match state.gpu {
            Crowds::Open if crowd && self.gpu.device() != "cpu" => {
                let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters);
                let taken =
                    session.and_then(|s| state.tracker.use_gpu(s.stream()).map_err(|e| e.to_string()));
                state.gpu = if taken.is_ok() { Crowds::Gpu } else { Crowds::Cpu };
                taken.err()
            }
            Crowds::Gpu => state.tracker.gpu_failure().map(ToString::to_string),
            Crowds::Open | Crowds::Cpu => None,
        };
        if let Some(failure) = failure {
            gst::warning!(CAT, imp = self, "objects are compared on the CPU: {failure}");
            state.gpu = Crowds::Cpu;
            self.counters.fallbacks.add(1);
        }
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        stats.set("detections", self.detections.get());
        stats.set("untracked", self.untracked.get());
        stats.set("without-points", self.without_points.get());
        stats
    }
}

/// The default of a property, and its description with the defaults of the other algorithms that it is of.
fn with_defaults<T: PartialEq + Display>(
    blurb: &str,
    of: fn(&Params) -> T,
    among: &[Algorithm],
) -> (T, String) {
    let own = |algorithm: Algorithm| of(&Params::of(algorithm.into()));
    let default = own(among.first().copied().unwrap_or_default());
    let other = |algorithm: &&Algorithm| own(**algorithm) != default;
    let others = among
        .iter()
        .filter(other)
        .map(|&algorithm| format!("{} with {}", own(algorithm), track::Algorithm::from(algorithm)));
    let others: Vec<String> = others.collect();
    let blurb = if others.is_empty() { blurb.to_owned() } else { format!("{blurb} ({})", others.join(", ")) };
    (default, blurb)
}

#[glib::object_subclass]
impl ObjectSubclass for Tracker {
    const NAME: &'static str = "GstTracker";
    type Type = super::Tracker;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for Tracker {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            use Algorithm::{ByteTrack, CBiou, OcSort, Sort};
            let fraction =
                |name: &str, nick: &str, of: fn(&Params) -> f32, among: &[Algorithm], blurb: &str| {
                    let (default, blurb) = with_defaults(blurb, of, among);
                    glib::ParamSpecFloat::builder(name)
                        .nick(nick)
                        .blurb(&blurb)
                        .minimum(0.0)
                        .maximum(1.0)
                        .default_value(default)
                        .mutable_ready()
                        .build()
                };
            let count = |name: &str, nick: &str, of: fn(&Params) -> u32, blurb: &str| {
                let (default, blurb) = with_defaults(blurb, of, &[ByteTrack, Sort, OcSort, CBiou]);
                glib::ParamSpecUInt::builder(name)
                    .nick(nick)
                    .blurb(&blurb)
                    .maximum(1_000_000)
                    .default_value(default)
                    .mutable_ready()
                    .build()
            };
            vec![
                device::param_spec(),
                glib::ParamSpecEnum::builder::<Algorithm>("algorithm")
                    .nick("Algorithm")
                    .blurb("How detections become tracks")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Similarity>("similarity")
                    .nick("Similarity")
                    .blurb(
                        "What is compared; with oks and keypoint-boxes objects without a detection are followed, too, and \
                         those without points are compared by their boxes",
                    )
                    .mutable_ready()
                    .build(),
                glib::ParamSpecString::builder("sigmas")
                    .nick("Sigmas")
                    .blurb(
                        "For similarity=oks: how far points stray, as a fraction of the object's scale; one number for all \
                         points, or nose=0.026,tail=0.1; not set, the sidecar's, else COCO's, else 0.067",
                    )
                    .mutable_ready()
                    .build(),
                glib::ParamSpecBoolean::builder("class-aware")
                    .nick("Class-aware")
                    .blurb("Detections of different classes never belong to the same track")
                    .default_value(Params::bytetrack().class_aware)
                    .mutable_ready()
                    .build(),
                fraction(
                    "min-confidence",
                    "Minimum confidence",
                    |p| p.min_confidence,
                    &[ByteTrack, Sort, OcSort, CBiou],
                    "Weaker detections are ignored; gpunms must let them through to be seen at all",
                ),
                fraction(
                    "high-confidence",
                    "High confidence",
                    |p| p.high_confidence,
                    &[ByteTrack, CBiou],
                    "ByteTrack, C-BIoU: detections from here on are associated first, weaker ones last",
                ),
                fraction(
                    "new-confidence",
                    "New track confidence",
                    |p| p.new_confidence,
                    &[ByteTrack, CBiou],
                    "ByteTrack, C-BIoU: detections from here on may start a track",
                ),
                count(
                    "min-hits",
                    "Minimum hits",
                    |p| p.min_hits,
                    "Frames in a row in which a track must be seen again before it is believed",
                ),
                count(
                    "max-lost",
                    "Maximum lost",
                    |p| p.max_lost,
                    "Frames in a row that a track may stay unseen before it is given up",
                ),
                fraction(
                    "iou",
                    "IoU",
                    |p| p.iou,
                    &[ByteTrack, Sort, OcSort, CBiou],
                    "Lowest similarity of a match; for ByteTrack and C-BIoU it is multiplied by the confidence",
                ),
                fraction(
                    "iou-low",
                    "IoU of weak detections",
                    |p| p.iou_low,
                    &[ByteTrack, CBiou],
                    "ByteTrack, C-BIoU: lowest similarity of a match with a weak detection",
                ),
                fraction(
                    "momentum",
                    "Momentum",
                    |p| p.momentum,
                    &[OcSort],
                    "OC-SORT: weight of the direction; straight on, a match gains half of it",
                ),
                glib::ParamSpecUInt::builder("momentum-frames")
                    .nick("Frames of the momentum")
                    .blurb("OC-SORT: frames from one observation to the other that the direction is taken between")
                    .minimum(1)
                    .maximum(MOST_MOMENTUM_FRAMES)
                    .default_value(Params::ocsort().momentum_frames)
                    .mutable_ready()
                    .build(),
                fraction(
                    "buffer",
                    "Buffer",
                    |p| p.buffer,
                    &[CBiou],
                    "C-BIoU: by how much of its width and height a box grows on each side in the first association",
                ),
                fraction(
                    "buffer-wide",
                    "Wide buffer",
                    |p| p.buffer_wide,
                    &[CBiou],
                    "C-BIoU: the same for who is left over, and for weak detections",
                ),
                stats::param_spec(
                    ", detections, and untracked: those of them that got no identity, because they are too weak, no \
                     numbers or not believed yet; without-points: those that were compared by their boxes, although \
                     similarity says points",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if pspec.name() == "device" {
            self.gpu.set_device(value.get().ok().flatten());
        }
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "algorithm" => settings.algorithm = value.get().unwrap_or_default(),
            "similarity" => settings.similarity = value.get().unwrap_or_default(),
            "sigmas" => settings.sigmas = value.get().ok().flatten().unwrap_or_default(),
            "class-aware" => settings.class_aware = value.get().ok(),
            "min-confidence" => settings.min_confidence = value.get().ok(),
            "high-confidence" => settings.high_confidence = value.get().ok(),
            "new-confidence" => settings.new_confidence = value.get().ok(),
            "min-hits" => settings.min_hits = value.get().ok(),
            "max-lost" => settings.max_lost = value.get().ok(),
            "iou" => settings.iou = value.get().ok(),
            "iou-low" => settings.iou_low = value.get().ok(),
            "momentum" => settings.momentum = value.get().ok(),
            "momentum-frames" => settings.momentum_frames = value.get().ok(),
            "buffer" => settings.buffer = value.get().ok(),
            "buffer-wide" => settings.buffer_wide = value.get().ok(),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        let settings = lock(&self.settings);
        let params = settings.params();
        match pspec.name() {
            "device" => self.gpu.device().to_value(),
            "algorithm" => settings.algorithm.to_value(),
            "similarity" => settings.similarity.to_value(),
            "sigmas" => Some(&settings.sigmas).filter(|text| !text.is_empty()).to_value(),
            "class-aware" => params.class_aware.to_value(),
            "min-confidence" => params.min_confidence.to_value(),
            "high-confidence" => params.high_confidence.to_value(),
            "new-confidence" => params.new_confidence.to_value(),
            "min-hits" => params.min_hits.to_value(),
            "max-lost" => params.max_lost.to_value(),
            "iou" => params.iou.to_value(),
            "iou-low" => params.iou_low.to_value(),
            "momentum" => params.momentum.to_value(),
            "momentum-frames" => params.momentum_frames.to_value(),
            "buffer" => params.buffer.to_value(),
            "buffer-wide" => params.buffer_wide.to_value(),
            _ => pspec.default_value().clone(),
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
                "Gives detected objects identities that last from frame to frame (SORT, ByteTrack, OC-SORT, C-BIoU)",
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
        let tracker = track::Tracker::new(settings.params()).map_err(|e| wrong(e.to_string()))?;
        let scene = Scene::new(settings.similarity, settings.sigmas.parse().map_err(wrong)?);
        device::check(&self.gpu.device(), &*self.obj())?;
        self.counters.reset();
        self.detections.reset();
        self.untracked.reset();
        self.without_points.reset();
        *lock(&self.state) = Some(State { tracker, scene, tracks: Vec::new(), gpu: Crowds::Open });
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        if lock(&self.settings).similarity == Similarity::Oks
            && let Some(sink) = self.obj().static_pad("sink")
        {
            let info = ModelInfo::ask(&sink, incaps);
            if let Some(state) = lock(&self.state).as_mut() {
                state.scene.set_skeleton(info.skeleton.clone());
            }
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let anew = matches!(event.view(), gst::EventView::StreamStart(_) | gst::EventView::FlushStop(_));
        if let (true, Some(state)) = (anew, lock(&self.state).as_mut()) {
            state.tracker.reset();
            state.scene.reset();
        }
        self.parent_sink_event(event)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::Flushing)?;
        state.scene.see(&objects(buffer));
        self.suit(state);
        let State { tracker, scene, tracks, .. } = state;
        tracker.update_poses(scene.detections(), scene.poses(), tracks);
        self.detections.add_size(tracks.len());
        self.untracked.add_size(tracks.iter().filter(|track| track.is_none()).count());
        self.without_points.add_size(scene.without_points());
        let mut params = tracks.iter().map(|track| {
            track.as_ref().map(|track| TrackingParam {
                id: track.id,
                age: track.age,
                state: track.state.name().to_owned(),
                rect: track.rect,
            })
        });
        add_tracking(
            buffer,
            scene.members().iter().map(|member| if *member { params.next().flatten() } else { None }),
        );
        Ok(gst::FlowSuccess::Ok)
    }
}
