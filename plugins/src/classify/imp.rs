use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::classify::{Class, Classifier, CudaClassifier, MOST, Params};
use cudainfer_kernels::device::{Counters, Stream};
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::settings::Settings;
use crate::caps::{self, ModelOutputs};
use crate::device::{self, Results};
use crate::memory::order;
use crate::meta::batch::Batch;
use crate::meta::object::{ClassificationParam, Finding, Object, attach, objects};
use crate::meta::tensor::{Failure, OnDevice, Tensor, TensorSet};
use crate::model::enums::classes::Activation;
use crate::model::{ModelInfo, accepts};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{meta, notice, stats, strings};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("classify", gst::DebugColorFlags::empty(), Some("classes from scores"))
});

/// What negotiation decided.
struct State {
    /// The scores as the caps announce them.
    scores: TensorDesc,
    params: Params,
    /// All that classes depend on besides the scores.
    key: String,
    frame: [usize; 2],
    side: Option<Side>,
    info: ModelInfo,
}

/// Where classes are chosen, known with the first scores.
enum Side {
    Cpu(Box<Classifier>),
    /// In the stream that it was made for.
    Gpu(Box<CudaClassifier>, Arc<Stream>),
}

/// The classes of one row, and how many of its scores are not finite.
type Row = (Vec<Class>, usize);

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    objects: u64,
    non_finite: u64,
}

#[derive(Default)]
pub struct Classify {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    stats: Mutex<Stats>,
    device: Results,
    counters: Arc<Counters>,
}

impl Classify {
    fn prepare(&self, incaps: &gst::Caps, info: ModelInfo) -> Result<State, String> {
        let model = ModelOutputs::of(incaps)?;
        let settings = lock(&self.settings);
        let scores = &model.outputs[settings.output(&model.outputs, &info)?];
        let params = settings.params(&info);
        // Wrong parameters are said now, not with the first frame.
        Classifier::new(scores, params).map_err(|e| e.to_string())?;
        Ok(State {
            key: format!("{scores:?} {params:?}"),
            scores: scores.clone(),
            params,
            frame: caps::frame_size(incaps),
            side: None,
            info,
        })
    }

    /// Puts the classes of the frame, or of each of its regions, on the buffer. Returns how many scores are to be warned of,
    /// once.
    fn classify(&self, state: &mut State, buffer: &mut gst::BufferRef) -> Result<usize, String> {
        let sets = TensorSet::take(buffer).ok_or("a frame came without its tensors")?;
        let mut seen = Stats::default();
        for set in &sets {
            let (classes, non_finite) = self.find(state, set)?;
            seen.non_finite += non_finite as u64;
            seen.objects += u64::from(state.put(&classes, set.object, buffer));
        }
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0 && seen.non_finite > 0;
        stats.objects += seen.objects;
        stats.non_finite += seen.non_finite;
        Ok(if first_non_finite { usize::try_from(seen.non_finite).unwrap_or(usize::MAX) } else { 0 })
    }

    fn find(&self, state: &mut State, set: &TensorSet) -> Result<Row, String> {
        let name = state.scores.name.clone();
        let missing = || format!("a frame came without the tensor '{name}'");
        let (batch, row) = set.batch(state.frame);
        let scores = batch.tensors().iter().find(|t| t.desc.name == name).ok_or_else(missing)?;
        match self.device.on_device(std::slice::from_ref(scores), &self.counters)? {
            Some((scores, stream)) => {
                state.find_on_gpu(&batch, row, &scores, &stream).map_err(|e| e.to_string())
            }
            None => state.find_on_cpu(set.tensors.iter().find(|t| t.desc.name == name).ok_or_else(missing)?),
        }
    }
}

impl State {
    fn find_on_cpu(&mut self, scores: &Tensor) -> Result<Row, String> {
        let mapped = scores.map().map_err(|e| e.to_string())?;
        let view = mapped.view().map_err(|e| e.to_string())?;
        if !matches!(self.side, Some(Side::Cpu(_))) {
            let classifier = Classifier::new(&self.scores, self.params);
            self.side = Some(Side::Cpu(Box::new(classifier.map_err(|e| e.to_string())?)));
        }
        let Some(Side::Cpu(classifier)) = &mut self.side else { return Err("there is no classifier".into()) };
        let mut classes = Vec::new();
        let non_finite = classifier.run(&view, &mut classes).map_err(|e| e.to_string())?;
        Ok((classes, non_finite))
    }

    /// The one place where the host waits for the GPU: here results become metadata. Whichever row of a batch comes first
    /// has all of it classified.
    fn find_on_gpu(
        &mut self,
        batch: &Batch,
        row: usize,
        scores: &OnDevice<'_>,
        stream: &Arc<Stream>,
    ) -> Result<Row, Failure> {
        let Self { scores: announced, params, key, side, .. } = self;
        let found = batch.once(key, || {
            if !matches!(side, Some(Side::Gpu(_, made_for)) if Arc::ptr_eq(made_for, stream)) {
                let classifier = CudaClassifier::new(announced, *params, stream)?;
                *side = Some(Side::Gpu(Box::new(classifier), Arc::clone(stream)));
            }
            let Some(Side::Gpu(classifier, _)) = side else { return Err("there is no classifier".into()) };
            scores.read(stream, |views| {
                let [scores, ..] = views else { return Err("there are no scores".into()) };
                stream.sampled(|| Ok(classifier.start(stream, scores, batch.rows().len())?))
            })?;
            let mut found = Vec::new();
            let non_finite = classifier.finish(stream, &mut found)?;
            Ok::<_, Failure>(found.into_iter().zip(non_finite).collect::<Vec<Row>>())
        })?;
        Ok(found.get(row).ok_or("the batch has no such row")?.clone())
    }

    /// Puts classes on the object of that number, or on one that is as large as the frame; false where there are none, or the
    /// object is gone.
    fn put(&self, classes: &[Class], object: Option<i32>, buffer: &mut gst::BufferRef) -> bool {
        let Some(best) = classes.first() else { return false };
        let param = ClassificationParam {
            labels: classes.iter().map(|class| self.info.label(class.index)).collect(),
            label_ids: classes.iter().map(|class| class.index).collect(),
            confidence: classes.iter().map(|class| class.confidence.into()).collect(),
        };
        if let Some(object) = object {
            return attach(buffer, object, &Finding::Classification(param));
        }
        let [w, h] = self.frame.map(|side| side as f32);
        let whole = Object {
            id: i32::try_from(objects(buffer).len()).unwrap_or(i32::MAX),
            label: self.info.label(best.index),
            classification: Some(param),
            ..Object::default()
        };
        whole.put(buffer, &Rect { x: 0.0, y: 0.0, w, h });
        true
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Classify {
    const NAME: &'static str = "GstCudaInferClassify";
    type Type = super::Classify;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for Classify {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                device::param_spec(),
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
        if !settable(&*self.obj(), pspec) || !strings::is_text(&*self.obj(), value, pspec) {
            return;
        }
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "device" => self.device.set_device(value.get().ok().flatten()),
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
            "device" => self.device.device().to_value(),
            "output" => settings.output.to_value(),
            "activation" => settings.activation.to_value(),
            "top-k" => or_default(settings.top_k.map(|v| v.to_value())),
            "threshold" => or_default(settings.threshold.map(|v| v.to_value())),
            "stats" => {
                let stats = *lock(&self.stats);
                let mut fields = stats::structure(&self.counters);
                fields.set("objects", stats.objects);
                fields.set("non-finite", stats.non_finite);
                fields.to_value()
            }
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
        let done = self.classify(state, buffer);
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        match done {
            Ok(0) => Ok(gst::FlowSuccess::Ok),
            Ok(count) => {
                notice::non_finite(&*self.obj(), count, "of this frame's scores");
                Ok(gst::FlowSuccess::Ok)
            }
            Err(why) => {
                gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
                Err(gst::FlowError::Error)
            }
        }
    }
}
