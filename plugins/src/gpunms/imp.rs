use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::detect::{self as kernels, Params, choose};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::masks;
use super::objects::Objects;
use super::settings::{SIGMA, Settings};
use crate::caps::{self, ModelOutputs};
use crate::decoding::{Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming};
use crate::model::ModelInfo;
use crate::model::enums::detection::{Decoder, NmsMode};
use crate::stats;
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("gpunms", gst::DebugColorFlags::empty(), Some("detections from output tensors"))
});

#[derive(Default)]
pub struct GpuNms {
    settings: Mutex<Settings>,
}

impl GpuNms {
    fn choose(&self, incaps: &gst::Caps, info: &ModelInfo) -> Result<kernels::Decoder, String> {
        let model = ModelOutputs::of(incaps)?;
        let settings = lock(&self.settings);
        choose(&model.outputs, model.input, settings.decoder(info), &settings.hints(info)).map_err(|e| {
            match (info.output.keypoints, info.skeleton.points.len()) {
                (None, points @ 1..) if !matches!(e, kernels::DetectError::Keypoints { .. }) => {
                    format!("{e} (the skeleton in the model's sidecar has {points} points: so many keypoints are expected)")
                }
                _ => e.to_string(),
            }
        })
    }

    /// What frames of these caps, decoded so, go on with: tensors only where whoever is behind asks for them.
    fn outgoing(&self, caps: &gst::Caps, offered: &gst::Caps, info: &ModelInfo) -> gst::Caps {
        let peer = self.obj().static_pad("src").map(|src| src.peer_query_caps(None));
        masks::fixate(caps, offered, peer.as_ref(), || self.choose(caps, info).ok())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for GpuNms {
    const NAME: &'static str = "GstCudaInferGpuNms";
    type Type = super::GpuNms;
    type ParentType = DecodingElement;
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
        if !crate::mutability::settable(&*self.obj(), pspec)
            || !crate::strings::is_text(&*self.obj(), value, pspec)
        {
            return;
        }
        let mut settings = lock(&self.settings);
        let text = || value.get::<Option<String>>().ok().flatten().unwrap_or_default();
        match pspec.name() {
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
            "stats" => self.stats().to_value(),
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
            self.outgoing(caps, &other, &self.ask_model(caps))
        } else {
            other
        };
        self.parent_fixate_caps(direction, caps, other)
    }
}

impl DecodingElementImpl for GpuNms {
    const COUNTS: &'static [&'static str] = &["objects", "candidates", "non-finite", "truncated"];
    const NON_FINITE: &'static str = "candidates of this frame";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let info = incoming.info;
        let decoder = self.choose(incoming.caps, info)?;
        gst::info!(CAT, imp = self, "decodes as {}", decoder.kind().name());
        let params = lock(&self.settings).params(info, decoder.kind())?;
        let with_masks = incoming.outgoing.is_some_and(|caps| caps::has_tensors(caps));
        if with_masks {
            check_masks(&decoder)?;
        }
        let frame = caps::frame_size(incoming.caps);
        Ok(Box::new(Objects::new(decoder, params, info.clone(), frame, with_masks)?))
    }

    fn hands_on(&self, caps: &gst::Caps, info: &ModelInfo) -> Result<Option<gst::Caps>, String> {
        let Some(src) = self.obj().static_pad("src") else { return Ok(None) };
        let offered = masks::transform(gst::PadDirection::Sink, caps, Some(&src.peer_query_caps(None)));
        let outgoing = self.outgoing(caps, &offered, info);
        if caps::has_tensors(&outgoing) {
            check_masks(&self.choose(caps, info)?)?;
        }
        Ok(Some(outgoing))
    }
}

/// Whether there are masks' tensors to hand on.
fn check_masks(decoder: &kernels::Decoder) -> Result<(), String> {
    let kind = decoder.kind();
    decoder.masks().map(drop).ok_or_else(|| {
        format!(
            "what is behind asks for tensors, but a model that is decoded as {kind} has no masks to hand on. Take out the \
             element or caps that want tensors, or use a model of decoder yolo-seg"
        )
    })
}
