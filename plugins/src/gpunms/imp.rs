use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::detect::{
    self as kernels, Attached, CudaDetector, Detection, Detector, Outcome, Params, choose,
};
use cudainfer_kernels::device::{Counters, Stream};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::masks;
use super::points::Points;
use super::settings::{SIGMA, Settings};
use crate::caps::{self, ModelOutputs};
use crate::device::{self, Results};
use crate::memory::order;
use crate::meta::batch::Batch;
use crate::meta::object::{DetectionParam, Object, objects};
use crate::meta::tensor::{Failure, OnDevice, TensorSet};
use crate::model::enums::detection::{Decoder, NmsMode};
use crate::model::{ModelInfo, accepts};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{meta, notice, stats, strings};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("gpunms", gst::DebugColorFlags::empty(), Some("detections from output tensors"))
});

/// What negotiation decided.
struct State {
    decoder: kernels::Decoder,
    params: Params,
    /// All that detections depend on besides the tensors.
    key: String,
    side: Option<Side>,
    info: ModelInfo,
    frame: [usize; 2],
    points: Points,
    /// Whether the masks' tensors are handed on.
    with_masks: bool,
    found: Vec<Detection>,
    attached: Attached,
}

/// Where detections are made of tensors, known with the first ones.
enum Side {
    Cpu(Box<Detector>),
    /// In the stream that it was made for.
    Gpu(Box<CudaDetector>, Arc<Stream>),
}

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    objects: u64,
    candidates: u64,
    non_finite: u64,
    truncated: u64,
}

#[derive(Default)]
pub struct GpuNms {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    stats: Mutex<Stats>,
    device: Results,
    counters: Arc<Counters>,
}

impl GpuNms {
    fn choose(&self, incaps: &gst::Caps, info: &ModelInfo) -> Result<kernels::Decoder, String> {
        let model = ModelOutputs::of(incaps)?;
        let settings = lock(&self.settings);
        choose(&model.outputs, model.input, settings.decoder(info), &settings.hints(info)).map_err(|e| {
            match (info.output.keypoints, info.skeleton.points.len()) {
                (None, points @ 1..) => {
                    format!("{e} (the skeleton in the model's sidecar has {points} points: so many keypoints are expected)")
                }
                _ => e.to_string(),
            }
        })
    }

    fn prepare(&self, incaps: &gst::Caps, info: ModelInfo) -> Result<State, String> {
        let decoder = self.choose(incaps, &info)?;
        gst::info!(CAT, imp = self, "decodes as {}", decoder.kind().name());
        let params = lock(&self.settings).params(&info, decoder.kind())?;
        // Wrong parameters are said now, not with the first frame.
        Detector::new(decoder.clone(), params.clone()).map_err(|e| e.to_string())?;
        Ok(State {
            key: format!("{decoder:?} {params:?}"),
            points: Points::new(&info, decoder.keypoints()),
            decoder,
            params,
            side: None,
            info,
            frame: caps::frame_size(incaps),
            with_masks: false,
            found: Vec::new(),
            attached: Attached::default(),
        })
    }

    /// What the element before knows of the model that made tensors of these caps.
    fn ask(&self, incaps: &gst::Caps) -> ModelInfo {
        let sink = self.obj().static_pad("sink");
        sink.map(|sink| ModelInfo::ask(&sink, incaps)).unwrap_or_default()
    }

    /// Whether the element could work with frames of these caps, and so could what is behind it with what they go on with.
    fn accepts(&self, caps: &gst::Caps, info: ModelInfo) -> Result<(), String> {
        let refused = |why| format!("{}: {why}", self.obj().name());
        let decoder = self.prepare(caps, info.clone()).map_err(refused)?.decoder;
        let Some(src) = self.obj().static_pad("src") else { return Ok(()) };
        let peer = src.peer_query_caps(None);
        let offered = masks::transform(gst::PadDirection::Sink, caps, Some(&peer));
        accepts::ask(&src, &masks::fixate(caps, &offered, Some(&peer), || Some(decoder)), &info)
    }

    /// Puts the objects of a frame, or of its regions, on it. Returns how many values are to be warned of, once.
    fn process(&self, state: &mut State, buffer: &mut gst::BufferRef) -> Result<usize, String> {
        let sets = TensorSet::take(buffer).ok_or("a frame came without its tensors")?;
        let mut warned = 0;
        for set in &sets {
            warned += self.detect(state, set)?;
            state.put(buffer);
        }
        if let ([set], true, Some(masks)) = (&sets[..], state.with_masks, state.decoder.masks()) {
            let kept = masks::tensors(set, masks, &state.attached.coefficients);
            TensorSet::put(&[kept.ok_or("a frame came without its prototypes")?], buffer);
        }
        Ok(warned)
    }

    /// The objects of one frame or region, in `state.found`.
    /// Returns how many values are to be warned of, once.
    fn detect(&self, state: &mut State, set: &TensorSet) -> Result<usize, String> {
        let (batch, row) = set.batch(state.frame);
        let outcome = match self.device.on_device(batch.tensors(), &self.counters)? {
            Some((tensors, stream)) => {
                state.detect_on_gpu(&batch, row, &tensors, &stream).map_err(|e| e.to_string())?
            }
            None => state.detect_on_cpu(set)?,
        };
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0 && outcome.non_finite > 0;
        stats.objects += state.found.len() as u64;
        stats.candidates += outcome.candidates as u64;
        stats.non_finite += outcome.non_finite as u64;
        stats.truncated += outcome.truncated as u64;
        drop(stats);
        Ok(if first_non_finite { outcome.non_finite } else { 0 })
    }
}

impl State {
    fn detect_on_cpu(&mut self, set: &TensorSet) -> Result<Outcome, String> {
        let mapped =
            set.tensors.iter().map(|t| t.map().map_err(|e| e.to_string())).collect::<Result<Vec<_>, _>>()?;
        let views =
            mapped.iter().map(|m| m.view().map_err(|e| e.to_string())).collect::<Result<Vec<_>, _>>()?;
        if !matches!(self.side, Some(Side::Cpu(_))) {
            let detector = Detector::new(self.decoder.clone(), self.params.clone());
            self.side = Some(Side::Cpu(Box::new(detector.map_err(|e| e.to_string())?)));
        }
        let Some(Side::Cpu(detector)) = &mut self.side else { return Err("there is no detector".into()) };
        let outcome = detector.run(&views, &set.to_frame, self.frame, &mut self.found);
        self.attached.clone_from(detector.attached());
        outcome.map_err(|e| e.to_string())
    }

    /// Puts what was found last on the buffer.
    fn put(&self, buffer: &mut gst::BufferRef) {
        let first = objects(buffer).len();
        let mut points = self.attached.keypoints.chunks_exact(self.points.count().max(1));
        for (id, detection) in (first..).zip(&self.found) {
            let object = Object {
                id: i32::try_from(id).unwrap_or(i32::MAX),
                label: self.info.label(detection.class),
                detection: Some(DetectionParam {
                    rect: detection.rect,
                    confidence: detection.confidence,
                    label_id: detection.class,
                }),
                keypoints: points.next().map(|points| self.points.param(points)),
                ..Object::default()
            };
            object.put(buffer, &detection.rect);
        }
    }

    /// The one place where the host waits for the GPU: here results become metadata. Whichever frame of a batch comes first
    /// has all of it decoded.
    fn detect_on_gpu(
        &mut self,
        batch: &Batch,
        row: usize,
        tensors: &OnDevice<'_>,
        stream: &Arc<Stream>,
    ) -> Result<Outcome, Failure> {
        let Self { decoder, params, key, side, found, attached, .. } = self;
        let decoded = batch.once(key, || {
            if !matches!(side, Some(Side::Gpu(_, made_for)) if Arc::ptr_eq(made_for, stream)) {
                let detector = CudaDetector::new(decoder.clone(), params.clone(), stream)?;
                *side = Some(Side::Gpu(Box::new(detector), Arc::clone(stream)));
            }
            let Some(Side::Gpu(detector, _)) = side else { return Err("there is no detector".into()) };
            tensors.read(stream, |views| {
                stream.sampled(|| Ok(detector.start(stream, views, batch.rows())?))
            })?;
            let mut found = Vec::new();
            let outcomes = detector.finish(stream, &mut found)?;
            let attached = detector.attached().iter().cloned();
            let rows = found.into_iter().zip(attached).zip(outcomes);
            Ok::<_, Failure>(rows.collect::<Vec<_>>())
        })?;
        let ((detections, besides), outcome) = decoded.get(row).ok_or("the batch has no such frame")?;
        found.clone_from(detections);
        attached.clone_from(besides);
        Ok(*outcome)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for GpuNms {
    const NAME: &'static str = "GstGpuNms";
    type Type = super::GpuNms;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for GpuNms {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let defaults = Params::default();
            let fraction = |name: &str, nick: &str, blurb: &str, default: f32| {
                glib::ParamSpecFloat::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .minimum(0.0)
                    .maximum(1.0)
                    .default_value(default)
                    .mutable_ready()
                    .build()
            };
            let text = |name: &str, nick: &str, blurb: &str| {
                glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_ready().build()
            };
            let count = |name: &str, nick: &str, blurb: &str, default: usize| {
                glib::ParamSpecUInt::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .minimum(1)
                    .maximum(1_000_000)
                    .default_value(u32::try_from(default).unwrap_or(1))
                    .mutable_ready()
                    .build()
            };
            let pixels = |name: &str, nick: &str, blurb: &str| {
                glib::ParamSpecFloat::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .minimum(0.0)
                    .maximum(1e6)
                    .mutable_ready()
                    .build()
            };
            vec![
                device::param_spec(),
                glib::ParamSpecEnum::builder::<Decoder>("decoder")
                    .nick("Decoder")
                    .blurb("How the detector writes its boxes")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<NmsMode>("nms")
                    .nick("NMS")
                    .blurb("What suppresses overlapping boxes")
                    .mutable_ready()
                    .build(),
                fraction(
                    "confidence",
                    "Confidence threshold",
                    "Boxes below this confidence are dropped; not set, it is the sidecar's, else the default",
                    defaults.confidence,
                ),
                fraction(
                    "iou",
                    "IoU threshold",
                    "Overlap (intersection over union) above which the weaker box is suppressed; not set, it is the sidecar's, else the default",
                    defaults.iou,
                ),
                text(
                    "class-confidence",
                    "Class confidence",
                    "Confidence thresholds of single classes, as person=0.5,car=0.3",
                ),
                text("class-iou", "Class IoU", "IoU thresholds of single classes, as person=0.5,car=0.3"),
                text(
                    "classes",
                    "Classes",
                    "Classes to keep, by name or number, as person,car; empty keeps all",
                ),
                glib::ParamSpecFloat::builder("sigma")
                    .nick("Sigma")
                    .blurb("Width of the gaussian of nms=soft-gaussian")
                    .minimum(f32::MIN_POSITIVE)
                    .maximum(100.0)
                    .default_value(SIGMA)
                    .mutable_ready()
                    .build(),
                count(
                    "top-k-before",
                    "Top k before NMS",
                    "Strongest candidates that go into NMS",
                    defaults.top_k_before,
                ),
                count(
                    "top-k-after",
                    "Top k after NMS",
                    "Strongest boxes that are kept of a frame",
                    defaults.top_k_after,
                ),
                pixels(
                    "min-width",
                    "Minimum width",
                    "Boxes narrower than this many pixels of the frame are dropped",
                ),
                pixels(
                    "min-height",
                    "Minimum height",
                    "Boxes less high than this many pixels of the frame are dropped",
                ),
                stats::param_spec(
                    "; objects, candidates above the threshold, non-finite (dropped for NaN or infinity), truncated (cut by top-k-before)",
                ),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if !settable(&*self.obj(), pspec) || !strings::is_text(&*self.obj(), value, pspec) {
            return;
        }
        let mut settings = lock(&self.settings);
        let text = || value.get::<Option<String>>().ok().flatten().unwrap_or_default();
        match pspec.name() {
            "device" => self.device.set_device(value.get().ok().flatten()),
            "decoder" => settings.decoder = value.get().unwrap_or_default(),
            "nms" => settings.nms = value.get().unwrap_or_default(),
            "confidence" => settings.confidence = value.get().ok(),
            "iou" => settings.iou = value.get().ok(),
            "class-confidence" => settings.class_confidence = text(),
            "class-iou" => settings.class_iou = text(),
            "classes" => settings.classes = text(),
            "sigma" => settings.sigma = value.get().ok(),
            "top-k-before" => settings.top_k_before = value.get().ok(),
            "top-k-after" => settings.top_k_after = value.get().ok(),
            "min-width" => settings.min_width = value.get().unwrap_or_default(),
            "min-height" => settings.min_height = value.get().unwrap_or_default(),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        let or_default = |set: Option<glib::Value>| set.unwrap_or_else(|| pspec.default_value().clone());
        match pspec.name() {
            "device" => self.device.device().to_value(),
            "decoder" => settings.decoder.to_value(),
            "nms" => settings.nms.to_value(),
            "confidence" => or_default(settings.confidence.map(|v| v.to_value())),
            "iou" => or_default(settings.iou.map(|v| v.to_value())),
            "class-confidence" => settings.class_confidence.to_value(),
            "class-iou" => settings.class_iou.to_value(),
            "classes" => settings.classes.to_value(),
            "sigma" => or_default(settings.sigma.map(|v| v.to_value())),
            "top-k-before" => or_default(settings.top_k_before.map(|v| v.to_value())),
            "top-k-after" => or_default(settings.top_k_after.map(|v| v.to_value())),
            "min-width" => settings.min_width.to_value(),
            "min-height" => settings.min_height.to_value(),
            "stats" => {
                let stats = *lock(&self.stats);
                let mut fields = stats::structure(&self.counters);
                fields.set("objects", stats.objects);
                fields.set("candidates", stats.candidates);
                fields.set("non-finite", stats.non_finite);
                fields.set("truncated", stats.truncated);
                fields.to_value()
            }
            _ => pspec.default_value().clone(),
        }
    }
}

impl GstObjectImpl for GpuNms {}

impl ElementImpl for GpuNms {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Detection decoding and NMS",
                "Filter/Analyzer/Video",
                "Turns a detector's output tensors into objects on the frame: decode, threshold, top-k, non-maximum suppression",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> =
            LazyLock::new(|| caps::pad_templates(&caps::sink_template(), &masks::src_template()));
        &TEMPLATES
    }
}

impl BaseTransformImpl for GpuNms {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        device::check(&self.device.device(), &*self.obj())?;
        *lock(&self.stats) = Stats::default();
        self.counters.reset();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        self.device.forget();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        Some(masks::transform(direction, from, filter))
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, other: gst::Caps) -> gst::Caps {
        let other = if direction == gst::PadDirection::Sink {
            let peer = self.obj().static_pad("src").map(|src| src.peer_query_caps(None));
            masks::fixate(caps, &other, peer.as_ref(), || self.choose(caps, &self.ask(caps)).ok())
        } else {
            other
        };
        self.parent_fixate_caps(direction, caps, other)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let prepared = self.prepare(incaps, self.ask(incaps)).and_then(|mut state| {
            state.with_masks = caps::has_tensors(outcaps);
            if state.with_masks && state.decoder.masks().is_none() {
                let kind = state.decoder.kind();
                return Err(format!(
                    "what is behind asks for tensors, but a model that is decoded as {kind} has no masks to hand on: take out the element or caps that want tensors, or use a model of decoder yolo-seg"
                ));
            }
            Ok(state)
        });
        let state = prepared.map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.state) = Some(state);
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if let Some((caps, info)) = accepts::asked(query) {
            return accepts::answer(query, self.accepts(&caps, info));
        }
        BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        // Where the results are there, so is everything that they were made of.
        order::promise(query);
        Ok(())
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut guard = lock(&self.state);
        let state = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let detected = self.process(state, buffer);
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        match detected {
            Ok(0) => Ok(gst::FlowSuccess::Ok),
            Ok(count) => {
                notice::non_finite(&*self.obj(), count, "candidates of this frame");
                Ok(gst::FlowSuccess::Ok)
            }
            Err(why) => {
                gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
                Err(gst::FlowError::Error)
            }
        }
    }
}
