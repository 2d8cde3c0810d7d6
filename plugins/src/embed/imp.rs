use std::sync::{LazyLock, Mutex};

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::objects::Embeddings;
use super::rows;
use super::settings::{PROPERTIES, Settings};
use crate::caps;
use crate::decoding::{
    self, Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading, hand_on,
};
use crate::log::EMBED as CAT;
use crate::meta::analytics::Forms;
use crate::model::ModelInfo;
use crate::sync::lock;

#[derive(Default)]
pub struct Embed {
    settings: Mutex<Settings>,
}

#[glib::object_subclass]
impl ObjectSubclass for Embed {
    const NAME: &'static str = "GstCudaInferEmbed";
    type Type = super::Embed;
    type ParentType = DecodingElement;
}

impl ObjectImpl for Embed {
    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        decoding::value_of(self, &PROPERTIES, &self.settings, pspec)
    }
}

impl GstObjectImpl for Embed {}

impl ElementImpl for Embed {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Object embeddings",
                "Filter/Analyzer/Video",
                "Gives the frame or its objects the embeddings that a model makes of them",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> =
            LazyLock::new(|| caps::pad_templates(&caps::sink_template(), &hand_on::src_template()));
        &TEMPLATES
    }
}

impl BaseTransformImpl for Embed {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        rows::asked(query) || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        Some(hand_on::transform(direction, from, filter))
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, other: gst::Caps) -> gst::Caps {
        let sink = direction == gst::PadDirection::Sink;
        let other = if sink { self.handed_on(caps, Some(&other)) } else { other };
        self.parent_fixate_caps(direction, caps, other)
    }
}

impl DecodingElementImpl for Embed {
    const COUNTS: &'static [&'static str] = &["objects", "non-finite"];
    const NON_FINITE: &'static str = "embeddings of this frame";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    /// Analytics metadata hold none of this element's results.
    fn forms(&self) -> Result<Forms, String> {
        Ok(Forms::default())
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let settings = lock(&self.settings).clone();
        let output = settings.output(&incoming.model.outputs, incoming.info)?;
        let model = caps::loaded_model(incoming.caps);
        Ok(Box::new(Embeddings {
            output: output.name.clone(),
            model: caps::model_name(&model.unwrap_or_default()).to_owned(),
            normalize: settings.normalize(incoming.info),
            frame: caps::frame_size(incoming.caps),
            hands_on: incoming.outgoing.is_some_and(|caps| caps::has_tensors(caps)),
        }))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let settings = lock(&self.settings).clone();
        let output = settings.output(&incoming.model.outputs, incoming.info).ok();
        let what = match output.and_then(|output| output.dims.iter().copied().product::<Option<usize>>()) {
            Some(length) => format!("embeddings of {length} numbers"),
            None => "embeddings".into(),
        };
        Reading::of(incoming, incoming.info, &what)
    }

    fn hands_on(&self, caps: &gst::Caps, _info: &ModelInfo) -> Result<Option<gst::Caps>, String> {
        Ok(Some(self.handed_on(caps, None)).filter(|caps| caps::has_tensors(caps)))
    }

    fn tensors_taken(taker: &str) -> String {
        format!(
            "frames arrive without tensors: '{taker}' has taken them. Put this element before '{taker}', or put fusedpreproc and a \
             trtinfer with a model for this one between them"
        )
    }
}
