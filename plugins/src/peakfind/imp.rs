use std::sync::{LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::grouping::Outputs;
use super::objects::Points;
use super::search::Search;
use super::settings::{PROPERTIES, Settings};
use crate::caps;
use crate::decoding::{Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming};
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "peakfind",
        gst::DebugColorFlags::empty(),
        Some("points from the outputs of pose models"),
    )
});

#[derive(Default)]
pub struct PeakFind {
    settings: Mutex<Settings>,
}

#[glib::object_subclass]
impl ObjectSubclass for PeakFind {
    const NAME: &'static str = "GstCudaInferPeakFind";
    type Type = super::PeakFind;
    type ParentType = DecodingElement;
}

impl ObjectImpl for PeakFind {
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

impl GstObjectImpl for PeakFind {}

impl ElementImpl for PeakFind {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Keypoint finder",
                "Filter/Analyzer/Video",
                "Finds keypoints in the outputs of pose models and groups them into objects",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> =
            LazyLock::new(|| caps::pad_templates(&caps::sink_template(), &caps::any_video()));
        &TEMPLATES
    }
}

impl BaseTransformImpl for PeakFind {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
}

impl DecodingElementImpl for PeakFind {
    const COUNTS: &'static [&'static str] = &["peaks", "instances", "non-finite", "truncated"];
    const NON_FINITE: &'static str = "values of this frame's keypoint outputs";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let Incoming { model, info, .. } = incoming;
        let settings = lock(&self.settings);
        let chosen = Outputs::new(&model.outputs, &settings, info).choose(model.input)?;
        match chosen.guess {
            Some(guess) => gst::warning!(CAT, imp = self, "{guess}"),
            None => gst::info!(CAT, imp = self, "reads {:?} as {:?}", chosen.outputs, chosen.reading),
        }
        let (outputs, plan, reading) = (chosen.outputs, chosen.plan, chosen.reading);
        let search = Search { outputs, plan, input: model.input, reading };
        let info = (*info).clone();
        Ok(Box::new(Points::new(search, info, caps::frame_size(incoming.caps))?))
    }
}
