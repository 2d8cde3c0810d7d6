use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::objects::Classes;
use super::settings::{PROPERTIES, Settings};
use crate::caps;
use crate::decoding::reading::settle_labels;
use crate::decoding::{
    Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading,
};
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("classify", gst::DebugColorFlags::empty(), Some("classes from scores"))
});

#[derive(Default)]
pub struct Classify {
    settings: Mutex<Settings>,
}

#[glib::object_subclass]
impl ObjectSubclass for Classify {
    const NAME: &'static str = "GstCudaInferClassify";
    type Type = super::Classify;
    type ParentType = DecodingElement;
}

impl ObjectImpl for Classify {
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

impl GstObjectImpl for Classify {}

impl ElementImpl for Classify {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Best classes",
                "Filter/Analyzer/Video",
                "Finds the best classes of the frame or of its objects in a classifier's scores",
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

impl BaseTransformImpl for Classify {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;
}

impl DecodingElementImpl for Classify {
    const COUNTS: &'static [&'static str] = &["objects", "non-finite"];
    const NON_FINITE: &'static str = "of this frame's scores";
    const SECTION: &'static str = "[classify]";
    const ACTIVATION: &'static str = "softmax";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let (outputs, info) = (&incoming.model.outputs, incoming.info);
        let settings = lock(&self.settings);
        let scores = outputs[settings.output(outputs, info)?].clone();
        let frame = caps::frame_size(incoming.caps);
        let (info, _) = settle_labels(info, classes(&scores));
        Ok(Box::new(Classes::new(scores, settings.params(&info), info, frame)?))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let (outputs, info) = (&incoming.model.outputs, incoming.info);
        let output = lock(&self.settings).output(outputs, info).ok();
        let scores = output.and_then(|index| outputs.get(index));
        let count = scores.and_then(classes);
        let (info, warning) = settle_labels(info, count);
        let what = count.map_or_else(|| "scores of classes".into(), |count| format!("{count} classes"));
        Reading { warnings: warning.into_iter().collect(), ..Reading::of(incoming, &info, &what) }
    }
}

/// Number of classes that these scores are of.
fn classes(scores: &TensorDesc) -> Option<usize> {
    scores.dims.iter().try_fold(1, |product: usize, dim| product.checked_mul((*dim)?))
}
