use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counters, Stream};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::peaks::{CudaPeaks, Outcome, Params, Peak, PeakFinder};
use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::{Activation, Grid, Mode, Refinement};
use super::settings::Settings;
use crate::caps::{self, ModelOutputs};
use crate::device::{self, Results};
use crate::engine::ModelInfo;
use crate::fusedpreproc::Layout;
use crate::memory::order;
use crate::meta::batch::Batch;
use crate::meta::object::{KeypointsParam, Object, objects};
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};
use crate::sync::lock;
use crate::trtinfer::answer_change;
use crate::{meta, notice, stats};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("peakfind", gst::DebugColorFlags::empty(), Some("points from confidence maps"))
});

/// What negotiation decided.
struct State {
    /// The maps as the caps announce them, and the size of the network's input.
    announced: (TensorDesc, [usize; 2]),
    params: Params,
    /// All that points depend on besides the maps.
    key: String,
    frame: [usize; 2],
    side: Option<Side>,
    info: ModelInfo,
    peaks: Vec<Peak>,
}

/// Where peaks are looked for, known with the first maps.
enum Side {
    Cpu(Box<PeakFinder>),
    /// In the stream that it was made for.
    Gpu(Box<CudaPeaks>, Arc<Stream>),
}

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    peaks: u64,
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
        let map = &model.outputs[settings.output(&model.outputs, &info)?];
        let params = settings.params(&info);
        // Wrong parameters are said now, not with the first frame.
        PeakFinder::new(map, model.input, params).map_err(|e| e.to_string())?;
        Ok(State {
            key: format!("{map:?} {params:?}"),
            announced: (map.clone(), model.input),
            params,
            frame: caps::frame_size(incaps),
            side: None,
            info,
            peaks: Vec::new(),
        })
    }

    /// Returns how many values are to be warned of, once.
    fn find(&self, state: &mut State, set: &TensorSet) -> Result<usize, String> {
        let name = &state.announced.0.name;
        let missing = || format!("a frame came without the tensor '{name}'");
        let (batch, row) = set.batch(state.frame);
        let maps = batch.tensors().iter().find(|t| t.desc.name == *name).ok_or_else(missing)?;
        let outcome = match self.device.on_device(std::slice::from_ref(maps), &self.counters)? {
            Some((maps, stream)) => {
                state.find_on_gpu(&batch, row, &maps, &stream).map_err(|e| e.to_string())?
            }
            None => {
                let map = set.tensors.iter().find(|t| t.desc.name == *name).ok_or_else(missing)?;
                let map = map.clone();
                state.find_on_cpu(&map, &set.to_frame)?
            }
        };
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0 && outcome.non_finite > 0;
        stats.peaks += state.peaks.len() as u64;
        stats.non_finite += outcome.non_finite as u64;
        stats.truncated += outcome.truncated as u64;
        drop(stats);
        Ok(if first_non_finite { outcome.non_finite } else { 0 })
    }
}

impl State {
    fn find_on_cpu(&mut self, map: &Tensor, to_frame: &Affine) -> Result<Outcome, String> {
        let mapped = map.map().map_err(|e| e.to_string())?;
        let view = mapped.view().map_err(|e| e.to_string())?;
        if !matches!(self.side, Some(Side::Cpu(_))) {
            let finder = PeakFinder::new(&self.announced.0, self.announced.1, self.params);
            self.side = Some(Side::Cpu(Box::new(finder.map_err(|e| e.to_string())?)));
        }
        let Some(Side::Cpu(finder)) = &mut self.side else { return Err("there is no finder".into()) };
        finder.run(&view, to_frame, &mut self.peaks).map_err(|e| e.to_string())
    }

    /// The one place where the host waits for the GPU: here results become metadata. Whichever frame of a batch comes first
    /// has all of it searched.
    fn find_on_gpu(
        &mut self,
        batch: &Batch,
        row: usize,
        maps: &OnDevice<'_>,
        stream: &Arc<Stream>,
    ) -> Result<Outcome, Failure> {
        let Self { announced: (map, input), params, key, side, peaks, .. } = self;
        let found = batch.once(key, || {
            if !matches!(side, Some(Side::Gpu(_, made_for)) if Arc::ptr_eq(made_for, stream)) {
                let finder = CudaPeaks::new(map, *input, *params, stream)?;
                *side = Some(Side::Gpu(Box::new(finder), Arc::clone(stream)));
            }
            let Some(Side::Gpu(finder, _)) = side else { return Err("there is no finder".into()) };
            let to_frame: Vec<Affine> = batch.rows().iter().map(|row| row.to_frame).collect();
            maps.read(stream, |views| {
                let [map, ..] = views else { return Err("there are no maps".into()) };
                stream.sampled(|| Ok(finder.start(stream, map, &to_frame)?))
            })?;
            let mut found = Vec::new();
            let outcomes = finder.finish(stream, &mut found)?;
            Ok::<_, Failure>(found.into_iter().zip(outcomes).collect::<Vec<_>>())
        })?;
        let (of_row, outcome) = found.get(row).ok_or("the batch has no such frame")?;
        peaks.clone_from(of_row);
        Ok(*outcome)
    }
}

/// The points as one object, with the box around them.
fn object(peaks: &[Peak], info: &ModelInfo, id: usize) -> (Object, Rect) {
    let mut points = KeypointsParam::default();
    let (mut low, mut high) = ((f32::MAX, f32::MAX), (f32::MIN, f32::MIN));
    for peak in peaks {
        points.names.push(info.point(peak.channel));
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
                stats::param_spec("; peaks, non-finite (cells of NaN or infinity), truncated (cut by max-peaks)"),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
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
            "stats" => {
                let stats = *lock(&self.stats);
                let mut fields = stats::structure(&self.counters);
                fields.set("peaks", stats.peaks);
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
        let name = self.obj().name();
        let refused = |why| format!("{name}: {why}");
        answer_change(query, |caps, info| self.prepare(caps, info).map(drop).map_err(refused))
            || BaseTransformImplExt::parent_query(self, direction, query)
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
        let found = TensorSet::take(buffer)
            .ok_or_else(|| "a frame came without its tensors".to_owned())
            .and_then(|sets| match &sets[..] {
                [set @ TensorSet { object: None, .. }] => self.find(state, set),
                _ => Err("regions of a frame are not read here".to_owned()),
            });
        if found.is_ok() && !state.peaks.is_empty() {
            let (object, outline) = object(&state.peaks, &state.info, objects(buffer).len());
            object.put(buffer, &outline);
        }
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
