use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::peaks::Params;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::grouping::Outputs;
use super::objects::Points;
use super::search::Search;
use super::settings::Settings;
use crate::decoding::{Decode, DecodingElement, DecodingElementImpl, DecodingElementImplExt, Incoming};
use crate::model::enums::peaks::{Activation, Grid, Grouping, Mode, PafLayout, Refinement};
use crate::model::enums::tensor::Layout;
use crate::sync::lock;
use crate::{caps, stats};

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
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let defaults = Params::default();
            vec![
                glib::ParamSpecString::builder("output")
                    .nick("Output")
                    .blurb("The model's output that holds the confidence maps; not set, it is the sidecar's, else the only one there is")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Mode>("mode")
                    .nick("Mode")
                    .blurb("How many peaks a channel has")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Refinement>("refinement")
                    .nick("Refinement")
                    .blurb("How a peak is placed between cells")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Activation>("activation")
                    .nick("Activation")
                    .blurb("What makes the maps probabilities")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Layout>("layout")
                    .nick("Layout")
                    .blurb("Order of the maps' dimensions; auto reads it off their shape")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Grid>("grid")
                    .nick("Grid")
                    .blurb("How the maps' cells lie on the network's input")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecFloat::builder("threshold")
                    .nick("Threshold")
                    .blurb("Peaks below this value, after the activation, are dropped; not set, it is the sidecar's, else the default")
                    .minimum(-1e6)
                    .maximum(1e6)
                    .default_value(defaults.threshold)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("max-peaks")
                    .nick("Maximum of peaks")
                    .blurb("Highest peaks that are kept of a channel with mode=local")
                    .minimum(1)
                    .maximum(100_000)
                    .default_value(u32::try_from(defaults.top_k).unwrap_or(100))
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Grouping>("grouping")
                    .nick("Grouping")
                    .blurb("Which points belong to the same object")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecString::builder("pafs")
                    .nick("Part affinity fields")
                    .blurb("With grouping=paf, the model's output that holds the part affinity fields; not set, it is the sidecar's, else the other one there is")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<PafLayout>("paf-layout")
                    .nick("Layout of part affinity fields")
                    .blurb("Whose part affinity fields they are, which also says how points are joined")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecFloat::builder("min-line-score")
                    .nick("Least score of a line")
                    .blurb("With grouping=paf, two points are joined only if the line between them has this score; not set, it is the sidecar's, else 0.25 (sleap) or 0 (openpose)")
                    .minimum(-1e6)
                    .maximum(1e6)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("min-points")
                    .nick("Least points")
                    .blurb("With grouping=paf and displacements, objects with fewer points are dropped; not set, it is the sidecar's, else 0 (4 with paf-layout=openpose)")
                    .maximum(100_000)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecFloat::builder("min-score")
                    .nick("Least score")
                    .blurb("With grouping=paf and displacements, objects with a lower score are dropped; not set, it is the sidecar's, else 0 (0.4 with paf-layout=openpose)")
                    .minimum(-1e6)
                    .maximum(1e6)
                    .mutable_ready()
                    .build(),
                stats::param_spec("; peaks (points), instances (objects that points were grouped to), non-finite (cells of NaN or infinity), truncated (cut by max-peaks)"),
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
            "mode" => settings.mode = value.get().unwrap_or_default(),
            "refinement" => settings.refinement = value.get().unwrap_or_default(),
            "activation" => settings.activation = value.get().unwrap_or_default(),
            "layout" => settings.layout = value.get().unwrap_or_default(),
            "grid" => settings.grid = value.get().unwrap_or_default(),
            "threshold" => settings.threshold = value.get().ok(),
            "max-peaks" => settings.max_peaks = value.get().ok(),
            "grouping" => settings.grouping = value.get().unwrap_or_default(),
            "pafs" => settings.pafs = value.get::<Option<String>>().ok().flatten().unwrap_or_default(),
            "paf-layout" => settings.paf_layout = value.get().unwrap_or_default(),
            "min-line-score" => settings.min_line_score = value.get().ok(),
            "min-points" => settings.min_points = value.get().ok(),
            "min-score" => settings.min_score = value.get().ok(),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        let or_default = |set: Option<glib::Value>| set.unwrap_or_else(|| pspec.default_value().clone());
        match pspec.name() {
            "output" => settings.output.to_value(),
            "mode" => settings.mode.to_value(),
            "refinement" => settings.refinement.to_value(),
            "activation" => settings.activation.to_value(),
            "layout" => settings.layout.to_value(),
            "grid" => settings.grid.to_value(),
            "threshold" => or_default(settings.threshold.map(|v| v.to_value())),
            "max-peaks" => or_default(settings.max_peaks.map(|v| v.to_value())),
            "grouping" => settings.grouping.to_value(),
            "pafs" => settings.pafs.to_value(),
            "paf-layout" => settings.paf_layout.to_value(),
            "min-line-score" => or_default(settings.min_line_score.map(|v| v.to_value())),
            "min-points" => or_default(settings.min_points.map(|v| v.to_value())),
            "min-score" => or_default(settings.min_score.map(|v| v.to_value())),
            "stats" => self.stats().to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}

impl GstObjectImpl for PeakFind {}

impl ElementImpl for PeakFind {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Confidence map peaks",
                "Filter/Analyzer/Video",
                "Turns confidence maps into keypoints on the frame, to a fraction of a cell",
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

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let Incoming { model, info, .. } = incoming;
        let settings = lock(&self.settings);
        let (plan, outputs) = Outputs::new(&model.outputs, &settings, info).plan()?;
        let search = Search { outputs, plan, input: model.input, params: settings.params(info) };
        let info = (*info).clone();
        Ok(Box::new(Points::new(search, info, caps::frame_size(incoming.caps))?))
    }
}
