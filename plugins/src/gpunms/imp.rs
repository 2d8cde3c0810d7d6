use std::sync::Mutex;

use cudainfer_kernels::detect as kernels;
use cudainfer_kernels::sanity::Expected;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::contradictions::{self, ChosenDecoder};
use super::masks;
use super::objects::{Detections, Objects};
use super::settings::{PROPERTIES, Settings};
use crate::caps::{self, ModelOutputs};
use crate::decoding::{
    self, Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, HandsOn, Incoming, Reading,
    hand_on,
};
use crate::element::described;
use crate::log::GPUNMS as CAT;
use crate::meta::analytics::{Contents, Forms};
use crate::model::ModelInfo;
use crate::sync::lock;

#[derive(Default)]
pub struct GpuNms {
    settings: Mutex<Settings>,
}

impl GpuNms {
    fn choose(&self, incaps: &gst::Caps, info: &ModelInfo) -> Result<ChosenDecoder, String> {
        let model = ModelOutputs::of(incaps)?;
        contradictions::choose(&lock(&self.settings), &model, info)
    }

    /// The caps of the frames that go on, from those that arrive: with tensors only if an element downstream asks for them.
    fn outgoing(&self, caps: &gst::Caps, offered: &gst::Caps, info: &ModelInfo) -> gst::Caps {
        let peer = self.obj().static_pad("src").map(|src| src.peer_query_caps(None));
        masks::fixate(caps, offered, peer.as_ref(), || Some(self.choose(caps, info).ok()?.decoder))
    }
}

#[glib::object_subclass]
impl ObjectSubclass for GpuNms {
    const NAME: &'static str = "GstCudaInferGpuNms";
    type Type = super::GpuNms;
    type ParentType = DecodingElement;
}

impl ObjectImpl for GpuNms {
    decoding::properties!(PROPERTIES, then changed);
}

impl GstObjectImpl for GpuNms {}

impl ElementImpl for GpuNms {
    described! {
        "Detection decoding and NMS",
        "Filter/Analyzer/Video",
        "Decodes a detector's output tensors into objects: thresholds, top-k and non-maximum suppression",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }
}

impl BaseTransformImpl for GpuNms {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, other: gst::Caps) -> gst::Caps {
        let other = if direction == gst::PadDirection::Sink {
            // Where nothing is linked, BaseTransform offers only the incoming caps, tensors and all.
            let linked = self.obj().static_pad("src").is_some_and(|src| src.is_linked());
            let other = if linked { other } else { hand_on::transform(direction, caps, None) };
            self.outgoing(caps, &other, &self.ask_model(caps))
        } else {
            other
        };
        self.parent_fixate_caps(direction, caps, other)
    }
}

impl DecodingElementImpl for GpuNms {
    const HANDS_ON: HandsOn = HandsOn::Some;
    const COUNTS: &'static [&'static str] =
        &["objects", "candidates", "non-finite", "truncated", "limited", "merged"];
    const NON_FINITE: &'static str =
        "candidates of this frame (with such a value, or with a label or number of boxes that cannot be)";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn forms(&self) -> Result<Forms, String> {
        lock(&self.settings).metadata.forms(Contents::Objects)
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let ChosenDecoder { decoder, info, .. } = self.choose(incoming.caps, incoming.info)?.named();
        gst::info!(CAT, imp = self, "decodes as {}", decoder.kind());
        let (params, merging, limits, is_auto) = {
            let settings = lock(&self.settings);
            if decoder.keypoints() > 0 {
                settings.metadata.forms(Contents::Keypoints)?;
            }
            let params = settings.params(&info, &decoder)?;
            let merging = settings.merging(&decoder, &params)?;
            let limits = settings.limits(&params);
            (params, merging, limits, settings.nms(&info).is_none())
        };
        let with_masks = incoming.outgoing.is_some_and(|caps| caps::has_tensors(caps));
        if with_masks {
            check_masks(&decoder)?;
        }
        let frame = caps::frame_size(incoming.caps);
        let expected = decoder.expected(&params, info.output.labels.len());
        // A user who sets the suppression knows what overlaps.
        let expected = Expected { unique: expected.unique && is_auto, ..expected };
        let detections = Detections { decoder, params, expected, input: incoming.model.input };
        Ok(Box::new(Objects::new(detections, info, frame, with_masks, merging, limits)?))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let Ok(choice) = self.choose(incoming.caps, incoming.info) else { return Reading::default() };
        let (what, suppression) = {
            let settings = lock(&self.settings);
            let doubt = settings.suppression_doubt(&choice.info, &choice.decoder, incoming.model);
            (choice.reading(&settings, incoming.model), doubt)
        };
        let sidecar = choice.info.to_toml(Some(choice.decoder.kind()));
        let warnings = choice.warning.into_iter().chain(suppression).collect();
        Reading { sidecar, warnings, ..Reading::of(incoming, &choice.info, &what) }
    }

    fn hands_on(&self, caps: &gst::Caps, info: &ModelInfo) -> Result<Option<gst::Caps>, String> {
        let Some(src) = self.obj().static_pad("src") else { return Ok(None) };
        let offered = hand_on::transform(gst::PadDirection::Sink, caps, Some(&src.peer_query_caps(None)));
        let outgoing = self.outgoing(caps, &offered, info);
        if caps::has_tensors(&outgoing) {
            check_masks(&self.choose(caps, info)?.decoder)?;
        }
        Ok(Some(outgoing))
    }
}

/// Whether there are tensors of masks to pass on.
fn check_masks(decoder: &kernels::Decoder) -> Result<(), String> {
    let kind = decoder.kind();
    decoder.masks().map(drop).ok_or_else(|| {
        format!(
            "an element downstream needs tensors, but decoder {kind} has no masks to pass on. Remove that element or its \
             caps, or set a model with masks: of decoder yolo-seg, or of queries or detections with an output for them"
        )
    })
}
