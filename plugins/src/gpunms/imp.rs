use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::detect::{self as kernels, choose};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::masks;
use super::objects::Objects;
use super::settings::{PROPERTIES, Settings};
use crate::caps::{self, ModelOutputs};
use crate::decoding::{Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming};
use crate::model::ModelInfo;
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

    /// The caps of the frames that go on, from those that arrive: with tensors only if an element downstream asks for them.
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
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        if pspec.name() == "stats" {
            return self.stats().to_value();
        }
        let value = PROPERTIES.get(&lock(&self.settings), pspec);
        value.unwrap_or_else(|| pspec.default_value().clone())
    }
}

impl GstObjectImpl for GpuNms {}

impl ElementImpl for GpuNms {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Detection decoding and NMS",
                "Filter/Analyzer/Video",
                "Decodes a detector's output tensors into objects: thresholds, top-k and non-maximum suppression",
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
    const NON_FINITE: &'static str =
        "candidates of this frame (with such a value, or with a label or number of boxes that cannot be)";

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

/// Whether there are tensors of masks to pass on.
fn check_masks(decoder: &kernels::Decoder) -> Result<(), String> {
    let kind = decoder.kind();
    decoder.masks().map(drop).ok_or_else(|| {
        format!(
            "an element downstream needs tensors, but decoder {kind} has no masks to pass on: remove that element or its \
             caps, or use a model of decoder yolo-seg"
        )
    })
}
