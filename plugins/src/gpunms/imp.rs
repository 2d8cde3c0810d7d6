use std::sync::Mutex;

use cudainfer_kernels::sanity::Expected;
use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::contradictions::{self, ChosenDecoder};
use super::masks;
use super::objects::{Detections, Objects};
use super::settings::{PROPERTIES, Settings};
use crate::caps::{self, ModelOutputs};
use crate::decoding::{
    self, Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading, hand_on,
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
}

impl DecodingElementImpl for GpuNms {
    const HANDS_ON: bool = true;
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
        let hands_on = incoming.outgoing.is_some_and(|caps| caps::has_tensors(caps));
        let masks = decoder.masks().filter(|_| hands_on && !caps::of_regions(incoming.caps));
        let frame = caps::frame_size(incoming.caps);
        let expected = decoder.expected(&params, info.output.labels.len());
        // A user who sets the suppression knows what overlaps.
        let expected = Expected { unique: expected.unique && is_auto, ..expected };
        let detections = Detections { decoder, params, expected, input: incoming.model.input };
        Ok(Box::new(Objects::new(detections, &incoming.model.outputs, info, frame, masks, merging, limits)?))
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

    fn added_fields(&self, caps: &gst::Caps, info: &ModelInfo) -> gst::Structure {
        let masks = self.choose(caps, info).ok().and_then(|choice| choice.decoder.masks());
        masks::fields(caps, masks.filter(|_| !caps::of_regions(caps)))
    }
}
