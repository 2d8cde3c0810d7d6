use std::sync::Mutex;

use cudainfer_kernels::maps::{Place, Range, Region};
use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer};
use gst_base::subclass::prelude::*;

use super::decode::{Maps, RangeCheck};
use super::negotiate;
use super::properties::PROPERTIES;
use super::settings::{Output, Settings, TensorMapPlan};
use super::video::{self, Video};
use crate::caps::{self, ModelOutputs};
use crate::decoding::{
    self, Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading, hand_on,
};
use crate::element::described;
use crate::log::TENSORMAP as CAT;
use crate::memory::order;
use crate::meta::analytics::Forms;
use crate::sync::lock;

#[derive(Default)]
pub struct TensorMap {
    settings: Mutex<Settings>,
}

impl TensorMap {
    /// The cells that the frames show where these have the model's size; `None` if frames have their own size, or these caps do
    /// not fit, which is reported elsewhere.
    fn shown(&self, incoming: &gst::Caps) -> Option<Region> {
        let settings = lock(&self.settings).clone();
        let model = ModelOutputs::of(incoming).ok().filter(|_| settings.is_model_sized())?;
        let plan = settings.plan(&model, &self.ask_model(incoming)).ok()?;
        negotiate::region(&plan, incoming).ok()
    }

    /// The frames that are made, if any are.
    fn video(
        &self,
        settings: &Settings,
        plan: &TensorMapPlan,
        incoming: &Incoming<'_>,
    ) -> Result<Option<Video>, String> {
        let Some(format) = negotiate::format(settings.output) else { return Ok(None) };
        let (size, place) = if settings.is_model_sized() {
            let region = negotiate::region(plan, incoming.caps)?;
            (region.size, Some(Place::of_cells([plan.shape.width, plan.shape.height], region)))
        } else {
            (caps::frame_size(incoming.caps), None)
        };
        if let Some(chosen) =
            incoming.outgoing.map(|caps| caps::frame_size(caps)).filter(|chosen| *chosen != size)
        {
            let ([width, height], [other_width, other_height]) = (size, chosen);
            return Err(format!(
                "the frames are {width}x{height}, one pixel for each value of the model, but the elements downstream want \
                 {other_width}x{other_height}. Put videoscale after this element, or set size=frame"
            ));
        }
        Video::new(format, size, place).map(Some)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for TensorMap {
    const NAME: &'static str = "GstCudaInferTensorMap";
    type Type = super::TensorMap;
    type ParentType = DecodingElement;
}

impl ObjectImpl for TensorMap {
    decoding::properties!(PROPERTIES);
}

impl GstObjectImpl for TensorMap {}

impl ElementImpl for TensorMap {
    described! {
        "Maps of numbers",
        "Filter/Analyzer/Video",
        "Reads a network's maps of numbers (depth, anomaly, heat-map) and pictures: as metadata, or as GRAY16 or RGB frames",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }
}

impl BaseTransformImpl for TensorMap {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let settings = lock(&self.settings).clone();
        Some(negotiate::transform(&settings, direction, from, filter))
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, other: gst::Caps) -> gst::Caps {
        let mut other = other;
        if direction == gst::PadDirection::Sink
            && let Some(region) = self.shown(caps)
        {
            negotiate::fixate(&region, caps, &mut other);
        }
        self.parent_fixate_caps(direction, caps, other)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        if lock(&self.settings).output == Output::Meta {
            return self.parent_propose_allocation(decide_query, query);
        }
        // Elements downstream get other frames.
        order::propose(query, None);
        Ok(())
    }
}

impl DecodingElementImpl for TensorMap {
    const HANDS_ON: bool = true;
    const COUNTS: &'static [&'static str] = &["maps", "non-finite", "out-of-range"];
    const NON_FINITE: &'static str = "values of this frame's map";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    /// Analytics metadata hold none of this element's results.
    fn forms(&self) -> Result<Forms, String> {
        Ok(Forms::default())
    }

    fn instead_of(&self, input: &InputBuffer) -> Result<Option<gst::Buffer>, String> {
        let frame = match input {
            InputBuffer::Writable(frame) => &**frame,
            InputBuffer::Readable(frame) => *frame,
        };
        let made = self.with_decoder(|maps: &mut Maps| {
            maps.video.as_ref().map(|video| video.buffer().map(|buffer| (buffer, video.place.is_some())))
        });
        let Some(made) = made.flatten() else { return Ok(None) };
        let (mut target, resized) = made?;
        let writable = target.get_mut().ok_or("the new frame is in use")?;
        self.parent_copy_metadata(frame, writable).map_err(|e| e.to_string())?;
        if resized {
            video::remove_places(writable);
        }
        Ok(Some(target))
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let settings = lock(&self.settings).clone();
        let plan = settings.plan(incoming.model, incoming.info)?;
        let video = self.video(&settings, &plan, incoming)?;
        let frame = caps::frame_size(incoming.caps);
        Ok(Box::new(Maps { plan, frame, video, reader: None, range: RangeCheck::default() }))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let settings = lock(&self.settings).clone();
        let Ok(plan) = settings.plan(incoming.model, incoming.info) else { return Reading::default() };
        let TensorMapPlan { tensor, shape, params, score, counts, range_origin, input } = plan;
        let what = match (shape.channels, settings.output) {
            (1, _) => "map",
            (3, Output::Rgb) => "picture",
            _ => "vectors",
        };
        let mut text = format!("{what} '{}' of {}x{} {}", tensor.name, shape.width, shape.height, tensor.ty);
        if settings.output != Output::Meta {
            let range = match params.range {
                Range::Fixed(min, max) => format!("{min} to {max}"),
                Range::Frame => "that of each frame".into(),
            };
            text += &format!(", range {range}{range_origin}");
        }
        if let Some(counts) = counts {
            text += &format!(", the sum counts {counts}");
        }
        if let Some(score) = score {
            text += &format!(", score '{score}'");
        }
        let [width, height] = input;
        text += &format!(", {width}x{height}");
        Reading { text, sidecar: incoming.info.to_toml(None), warnings: Vec::new() }
    }
}
