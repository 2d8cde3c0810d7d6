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
use crate::decoding::{
    Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming, Reading,
};
use crate::model::{Group, origins_reading};
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("peakfind", gst::DebugColorFlags::empty(), Some("points from confidence maps"))
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
                "Confidence map peaks",
                "Filter/Analyzer/Video",
                "Finds keypoints in confidence maps and groups them into objects",
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
    const NON_FINITE: &'static str = "cells of this frame's maps";
    const SECTION: &'static str = "[peaks]";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let Incoming { model, info, .. } = incoming;
        let settings = lock(&self.settings);
        let points = || {
            let (plan, outputs) = Outputs::new(&model.outputs, &settings, info).plan()?;
            let search = Search { outputs, plan, input: model.input, params: settings.params(info) };
            Points::new(search, (*info).clone(), caps::frame_size(incoming.caps))
        };
        let points = points().map_err(|why| incoming.detector("peakfind").unwrap_or(why))?;
        Ok(Box::new(points))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let info = incoming.info;
        let what = match info.skeleton.points.len() {
            0 => "points of confidence maps".to_owned(),
            points => format!("{points} points{}", origins_reading(info, &[Group::Keypoints])),
        };
        Reading::of(incoming, info, &what)
    }
}
