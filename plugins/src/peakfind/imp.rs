use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::peaks::{Params, Peak, PeakFinder};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::{Activation, Grid, Mode, Refinement};
use super::settings::Settings;
use crate::caps::{self, ModelOutputs};
use crate::engine::ModelInfo;
use crate::fusedpreproc::Layout;
use crate::meta::object::{KeypointsParam, Object, objects};
use crate::meta::tensor::TensorSet;
use crate::sync::lock;
use crate::{meta, notice};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("peakfind", gst::DebugColorFlags::empty(), Some("points from confidence maps"))
});

/// What negotiation decided.
struct State {
    finder: PeakFinder,
    output: String,
    info: ModelInfo,
    peaks: Vec<Peak>,
}

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    frames: u64,
    peaks: u64,
    non_finite: u64,
    truncated: u64,
}

#[derive(Default)]
pub struct PeakFind {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    stats: Mutex<Stats>,
}

impl PeakFind {
    fn prepare(&self, incaps: &gst::Caps) -> Result<State, String> {
        let model = ModelOutputs::of(incaps)?;
        let info = ModelInfo::ask(self.obj().static_pad("sink").as_ref().ok_or("there is no sink pad")?);
        let settings = lock(&self.settings);
        let map = &model.outputs[settings.output(&model.outputs, &info)?];
        let finder = PeakFinder::new(map, model.input, settings.params(&info)).map_err(|e| e.to_string())?;
        Ok(State { finder, output: map.name.clone(), info, peaks: Vec::new() })
    }

    fn find(&self, state: &mut State, set: &TensorSet) -> Result<(), String> {
        let map = set
            .tensors
            .iter()
            .find(|t| t.desc.name == state.output)
            .ok_or_else(|| format!("a frame came without the tensor '{}'", state.output))?;
        let mapped = map.map().map_err(|e| e.to_string())?;
        let view = mapped.view().map_err(|e| e.to_string())?;
        state.peaks.clear();
        let outcome = state.finder.run(&view, &set.to_frame, &mut state.peaks).map_err(|e| e.to_string())?;
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0 && outcome.non_finite > 0;
        stats.frames += 1;
        stats.peaks += state.peaks.len() as u64;
        stats.non_finite += outcome.non_finite as u64;
        stats.truncated += outcome.truncated as u64;
        drop(stats);
        if first_non_finite {
            notice::non_finite(&*self.obj(), outcome.non_finite, "cells of this frame's maps");
        }
        Ok(())
    }
}

/// The points as one object, with the box around them.
fn object(peaks: &[Peak], info: &ModelInfo, id: usize) -> (Object, Rect) {
    let mut points = KeypointsParam::default();
    let (mut low, mut high) = ((f32::MAX, f32::MAX), (f32::MIN, f32::MIN));
    for peak in peaks {
        points.names.push(info.label(peak.channel));
        points.x.push(peak.x.into());
        points.y.push(peak.y.into());
        points.score.push(peak.score.into());
        low = (low.0.min(peak.x), low.1.min(peak.y));
        high = (high.0.max(peak.x), high.1.max(peak.y));
    }
    let object = Object {
        id: i32::try_from(id).unwrap_or(i32::MAX),
        label: "keypoints".into(),
        keypoints: Some(points),
        ..Object::default()
    };
    (object, Rect::from_corners(low.0, low.1, high.0, high.1))
}

#[glib::object_subclass]
impl ObjectSubclass for PeakFind {
    const NAME: &'static str = "GstPeakFind";
    type Type = super::PeakFind;
    type ParentType = gst_base::BaseTransform;
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
                glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                    .nick("Statistics")
                    .blurb("Counts (uint64) since PAUSED: frames, peaks, non-finite (cells of NaN or infinity), truncated (cut by max-peaks)")
                    .read_only()
                    .build(),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
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
            "stats" => {
                let stats = *lock(&self.stats);
                gst::Structure::builder("stats")
                    .field("frames", stats.frames)
                    .field("peaks", stats.peaks)
                    .field("non-finite", stats.non_finite)
                    .field("truncated", stats.truncated)
                    .build()
                    .to_value()
            }
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

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.stats) = Stats::default();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        Some(caps::consumed(direction, from, filter))
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let state = self.prepare(incaps).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.state) = Some(state);
        Ok(())
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let mut state = lock(&self.state);
        let state = state.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let found = TensorSet::take(buffer)
            .ok_or_else(|| "a frame came without its tensors".to_owned())
            .and_then(|set| self.find(state, &set));
        if let Err(why) = found {
            gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
            return Err(gst::FlowError::Error);
        }
        if !state.peaks.is_empty() {
            let (object, outline) = object(&state.peaks, &state.info, objects(buffer).len());
            object.put(buffer, &outline);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
