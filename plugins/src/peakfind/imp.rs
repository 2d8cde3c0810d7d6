use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::Counters;
use cudainfer_kernels::peaks::Params;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::grouping::Outputs;
use super::objects;
use super::search::{Found, Search};
use super::settings::Settings;
use crate::caps::{self, ModelOutputs};
use crate::device::{self, Results};
use crate::memory::order;
use crate::meta::tensor::TensorSet;
use crate::model::enums::peaks::{Activation, Grid, Grouping, Mode, PafLayout, Refinement};
use crate::model::enums::tensor::Layout;
use crate::model::{ModelInfo, accepts};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{meta, notice, stats, strings};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("peakfind", gst::DebugColorFlags::empty(), Some("points from confidence maps"))
});

/// What negotiation decided.
struct State {
    search: Search,
    frame: [usize; 2],
    info: ModelInfo,
}

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    peaks: u64,
    instances: u64,
    non_finite: u64,
    truncated: u64,
}

#[derive(Default)]
pub struct PeakFind {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    stats: Mutex<Stats>,
    device: Results,
    counters: Arc<Counters>,
}

impl PeakFind {
    fn prepare(&self, incaps: &gst::Caps, info: ModelInfo) -> Result<State, String> {
        let model = ModelOutputs::of(incaps)?;
        let settings = lock(&self.settings);
        let (plan, outputs) = Outputs::new(&model.outputs, &settings, &info).plan()?;
        // Wrong parameters are said now, not with the first frame.
        let search = Search::new(plan, outputs, model.input, settings.params(&info));
        let search = search.map_err(|e| e.to_string())?;
        Ok(State { search, frame: caps::frame_size(incaps), info })
    }

    /// Puts on the buffer what there is in the tensors of the frame or of one of its regions. Returns how many values are to
    /// be warned of, once.
    fn find(&self, state: &mut State, set: &TensorSet, buffer: &mut gst::BufferRef) -> Result<usize, String> {
        let State { search, frame, info } = state;
        let (batch, row) = set.batch(*frame);
        let tensors = search.tensors(batch.tensors())?;
        let found = match self.device.on_device(&tensors, &self.counters)? {
            Some((tensors, stream)) => search.find_on_gpu(&batch, row, &tensors, &stream),
            None => search.find_on_cpu(&search.tensors(&set.tensors)?, &set.to_frame),
        };
        let (found, outcome) = found.map_err(|e| e.to_string())?;
        objects::put(buffer, &found, &search.plan, info, set);
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0 && outcome.non_finite > 0;
        match &found {
            Found::Peaks(peaks) => stats.peaks += peaks.len() as u64,
            Found::Poses(poses) => {
                stats.peaks += poses.iter().map(|pose| pose.found() as u64).sum::<u64>();
                stats.instances += poses.len() as u64;
            }
        }
        stats.non_finite += outcome.non_finite as u64;
        stats.truncated += outcome.truncated as u64;
        drop(stats);
        Ok(if first_non_finite { outcome.non_finite } else { 0 })
    }
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
                device::param_spec(),
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
        if !settable(&*self.obj(), pspec) || !strings::is_text(&*self.obj(), value, pspec) {
            return;
        }
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "device" => self.device.set_device(value.get().ok().flatten()),
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
            "device" => self.device.device().to_value(),
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
            "stats" => {
                let stats = *lock(&self.stats);
                let mut fields = stats::structure(&self.counters);
                fields.set("peaks", stats.peaks);
                fields.set("instances", stats.instances);
                fields.set("non-finite", stats.non_finite);
                fields.set("truncated", stats.truncated);
                fields.to_value()
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
        device::check(&self.device.device(), &*self.obj())?;
        *lock(&self.stats) = Stats::default();
        self.counters.reset();
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        self.device.forget();
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
        let sink = self.obj().static_pad("sink");
        let info = sink.map(|sink| ModelInfo::ask(&sink, incaps)).unwrap_or_default();
        let state = self.prepare(incaps, info).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.state) = Some(state);
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if let Some((caps, info)) = accepts::asked(query) {
            let refused = |why| format!("{}: {why}", self.obj().name());
            return accepts::answer(query, self.prepare(&caps, info).map(drop).map_err(refused));
        }
        BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        // Where the results are there, so is everything that they were made of.
        order::promise(query);
        Ok(())
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut guard = lock(&self.state);
        let state = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let sets = TensorSet::take(buffer).ok_or_else(|| "a frame came without its tensors".to_owned());
        let found = sets
            .and_then(|sets| sets.iter().try_fold(0, |sum, set| Ok(sum + self.find(state, set, buffer)?)));
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        match found {
            Ok(0) => Ok(gst::FlowSuccess::Ok),
            Ok(count) => {
                notice::non_finite(&*self.obj(), count, "cells of this frame's maps");
                Ok(gst::FlowSuccess::Ok)
            }
            Err(why) => {
                gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
                Err(gst::FlowError::Error)
            }
        }
    }
}
