use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::classify::MOST;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::objects::Classes;
use super::settings::Settings;
use crate::decoding::{Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming};
use crate::model::enums::classes::Activation;
use crate::sync::lock;
use crate::{caps, stats};

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
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                glib::ParamSpecString::builder("output")
                    .nick("Output")
                    .blurb("The model's output that holds the classes' scores; not set, it is the sidecar's, else the only one there is")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Activation>("activation")
                    .nick("Activation")
                    .blurb("What makes the scores probabilities")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("top-k")
                    .nick("Top k")
                    .blurb("Classes that are kept of an object, the surest first; not set, it is the sidecar's, else 1")
                    .minimum(1)
                    .maximum(u32::try_from(MOST).unwrap_or(1))
                    .default_value(1)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecFloat::builder("threshold")
                    .nick("Threshold")
                    .blurb("Classes of a lower confidence are dropped; not set, it is the sidecar's, else none is")
                    .minimum(-1e6)
                    .maximum(1e6)
                    .default_value(0.0)
                    .mutable_ready()
                    .build(),
                stats::param_spec("; objects (that were given classes), non-finite (scores of NaN or infinity)"),
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
        match pspec.name() {
            "output" => settings.output = value.get::<Option<String>>().ok().flatten().unwrap_or_default(),
            "activation" => settings.activation = value.get().unwrap_or_default(),
            "top-k" => settings.top_k = value.get().ok(),
            "threshold" => settings.threshold = value.get().ok(),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        let or_default = |set: Option<glib::Value>| set.unwrap_or_else(|| pspec.default_value().clone());
        match pspec.name() {
            "output" => settings.output.to_value(),
            "activation" => settings.activation.to_value(),
            "top-k" => or_default(settings.top_k.map(|v| v.to_value())),
            "threshold" => or_default(settings.threshold.map(|v| v.to_value())),
            "stats" => self.stats().to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}

impl GstObjectImpl for Classify {}

impl ElementImpl for Classify {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Best classes",
                "Filter/Analyzer/Video",
                "Turns a classifier's scores into the best classes of the frame or of its objects",
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

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let (outputs, info) = (&incoming.model.outputs, incoming.info);
        let settings = lock(&self.settings);
        let scores = outputs[settings.output(outputs, info)?].clone();
        let frame = caps::frame_size(incoming.caps);
        Ok(Box::new(Classes::new(scores, settings.params(info), info.clone(), frame)?))
    }
}
