use std::sync::Mutex;

use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::asked;
use super::objects::Embeddings;
use super::settings::{PROPERTIES, Settings};
use crate::caps;
use crate::decoding::{self, Decode, DecodingElement, DecodingElementImpl, Incoming, Reading, hand_on};
use crate::element::described;
use crate::log::EMBED as CAT;
use crate::meta::analytics::Forms;
use crate::meta::row::OutputRows;
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
    decoding::properties!(PROPERTIES);
}

impl GstObjectImpl for Embed {}

impl ElementImpl for Embed {
    described! {
        "Object embeddings",
        "Filter/Analyzer/Video",
        "Gives the frame or its objects the embeddings that a model makes of them",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }
}

impl BaseTransformImpl for Embed {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        asked::asked(query) || BaseTransformImplExt::parent_query(self, direction, query)
    }
}

impl DecodingElementImpl for Embed {
    const COUNTS: &'static [&'static str] = &["objects", "non-finite"];
    const HANDS_ON: bool = true;
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
            output: OutputRows::new(output.name.clone()),
            model: caps::model_name(&model.unwrap_or_default()).to_owned(),
            normalize: settings.normalize(incoming.info),
            frame: caps::frame_size(incoming.caps),
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
}
