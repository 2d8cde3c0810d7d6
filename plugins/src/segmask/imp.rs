use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::Counters;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::{Output, Size};
use super::instances::Instances;
use super::settings::{Settings, Work};
use super::target::Target;
use super::whole::{Wanted, Whole};
use super::{negotiate, properties};
use crate::caps::{self, ModelOutputs};
use crate::device::{self, Gpu, Results};
use crate::inferoverlay::Artist;
use crate::memory::caps::in_cuda;
use crate::memory::order;
use crate::meta::mask::{self, Kind};
use crate::meta::object::objects;
use crate::meta::tensor::TensorSet;
use crate::model::{ModelInfo, accepts};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{meta, notice, stats, strings};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("segmask", gst::DebugColorFlags::empty(), Some("masks from a network's logits"))
});

/// What negotiation decided.
struct State {
    /// The tensor with the logits or the prototypes.
    tensor: String,
    work: Job,
    frame: [usize; 2],
    size: Size,
    result: Target,
}

/// What is made.
enum Job {
    Whole(Box<Whole>, Kind),
    Instances(Box<Instances>),
}

/// What has been seen since PAUSED.
#[derive(Clone, Copy, Default)]
struct Stats {
    masks: u64,
    non_finite: u64,
}

#[derive(Default)]
pub struct SegMask {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    stats: Mutex<Stats>,
    device: Results,
    /// For frames in CUDA memory whose alpha channel is written.
    gpu: Gpu,
    counters: Arc<Counters>,
}

impl SegMask {
    /// The warning is to be posted where the caps are used.
    fn prepare(&self, incaps: &gst::Caps, info: &ModelInfo) -> Result<(State, Option<String>), String> {
        let model = ModelOutputs::of(incaps)?;
        let settings = lock(&self.settings).clone();
        let plan = settings.plan(&model, info)?;
        let result = Target::new(settings.output, &plan.work, incaps)?;
        let work = match plan.work {
            Work::Whole { params, kind, .. } => {
                Job::Whole(Box::new(Whole::new(plan.tensor.clone(), plan.input, params)), kind)
            }
            Work::Instances { layout } => {
                Job::Instances(Box::new(Instances::new(plan.tensor.clone(), plan.input, layout)))
            }
        };
        let state = State {
            tensor: plan.tensor.name,
            work,
            frame: caps::frame_size(incaps),
            size: settings.size,
            result,
        };
        Ok((state, plan.warning))
    }

    /// For the frames of caps that are used from now on.
    fn use_caps(&self, incaps: &gst::Caps, info: &ModelInfo) -> Result<Option<String>, String> {
        let (mut state, warning) = self.prepare(incaps, info)?;
        if let (Target::Alpha { artist, .. }, true) = (&mut state.result, in_cuda(incaps)) {
            let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters);
            let session = session.map_err(|e| format!("the frames lie in CUDA memory, but {e}"))?;
            *artist = Some(Artist::new(session, &caps::without_tensors(incaps))?);
        }
        *lock(&self.state) = Some(state);
        Ok(warning)
    }

    /// Returns how many values are to be warned of, once.
    fn work(&self, state: &mut State, buffer: &mut gst::BufferRef) -> Result<u64, String> {
        let sets = TensorSet::take(buffer).ok_or("a frame came without its tensors")?;
        let [set @ TensorSet { object: None, .. }] = &sets[..] else {
            return Err(
                "masks are made of whole frames, not of regions: leave out fusedpreproc's roi=objects".into(),
            );
        };
        let State { tensor, work, frame, size, result } = state;
        let (count, non_finite) = match work {
            Job::Instances(instances) => {
                let masks = instances.make(set, &objects(buffer), &self.device, &self.counters)?;
                mask::put(buffer, &masks);
                (masks.len() as u64, 0)
            }
            Job::Whole(whole, kind) => {
                let logits = set.tensors.iter().find(|t| t.desc.name == *tensor);
                let logits = logits.ok_or_else(|| format!("a frame came without the tensor '{tensor}'"))?;
                let frame_size = *size == Size::Frame || !matches!(result, Target::Meta);
                let wanted = Wanted { to_frame: set.to_frame, frame: *frame, frame_size };
                let made = whole.make(logits, &wanted, &self.device, &self.counters)?;
                let non_finite = made.non_finite;
                result.deliver(made, kind, buffer)?;
                (1, non_finite)
            }
        };
        let mut stats = lock(&self.stats);
        let first_non_finite = stats.non_finite == 0;
        stats.masks += count;
        stats.non_finite += non_finite;
        Ok(if first_non_finite { non_finite } else { 0 })
    }

    /// The buffer that goes on in place of the one that came, if that is not to be shared.
    fn target(&self, input: &InputBuffer) -> Result<Option<gst::Buffer>, String> {
        let (frame, ours) = match input {
            InputBuffer::Writable(frame) => (&**frame, frame.is_all_memory_writable()),
            InputBuffer::Readable(frame) => (*frame, false),
        };
        let mut state = lock(&self.state);
        let result = state.as_mut().map(|state| &mut state.result);
        let Some(mut target) = result.map_or(Ok(None), |result| result.instead_of(frame, ours))? else {
            return Ok(None);
        };
        let writable = target.get_mut().ok_or("the new frame is in use")?;
        self.parent_copy_metadata(frame, writable).map_err(|e| e.to_string())?;
        Ok(Some(target))
    }

    fn failed(&self, why: &str) -> gst::FlowError {
        gst::element_imp_error!(self, gst::StreamError::Decode, ("{}: {why}", self.obj().name()));
        gst::FlowError::Error
    }
}

#[glib::object_subclass]
impl ObjectSubclass for SegMask {
    const NAME: &'static str = "GstSegMask";
    type Type = super::SegMask;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for SegMask {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(properties::all);
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if !settable(&*self.obj(), pspec) || !strings::is_text(&*self.obj(), value, pspec) {
            return;
        }
        match pspec.name() {
            "device" => self.device.set_device(value.get().ok().flatten()),
            name => lock(&self.settings).set(name, value),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "device" => self.device.device().to_value(),
            "stats" => {
                let stats = *lock(&self.stats);
                let mut fields = stats::structure(&self.counters);
                fields.set("masks", stats.masks);
                fields.set("non-finite", stats.non_finite);
                fields.to_value()
            }
            name => lock(&self.settings).get(name).unwrap_or_else(|| pspec.default_value().clone()),
        }
    }
}

impl GstObjectImpl for SegMask {}

impl ElementImpl for SegMask {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Segmentation masks",
                "Filter/Analyzer/Video",
                "Turns a segmentation network's logits into masks: metadata, the frame's alpha channel, or frames of their own",
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

    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for SegMask {
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
        let output = lock(&self.settings).output;
        Some(negotiate::transform(output, direction, from, filter))
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let sink = self.obj().static_pad("sink");
        let info = sink.map(|sink| ModelInfo::ask(&sink, incaps)).unwrap_or_default();
        let warning = self.use_caps(incaps, &info).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        if let Some(warning) = warning {
            gst::element_imp_warning!(self, gst::StreamError::Decode, ("{}: {warning}", self.obj().name()));
        }
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if let Some((caps, info)) = accepts::asked(query) {
            let refused = |why| format!("{}: {why}", self.obj().name());
            return accepts::answer(query, self.prepare(&caps, &info).map(drop).map_err(refused));
        }
        let alpha = lock(&self.settings).output == Output::Alpha;
        (alpha && self.gpu.answer(self.obj().upcast_ref(), &self.counters, query))
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if matches!(event.view(), gst::EventView::StreamStart(_) | gst::EventView::FlushStop(_))
            && let Some(State { work: Job::Whole(whole, _), .. }) = &mut *lock(&self.state)
        {
            whole.reset();
        }
        self.parent_sink_event(event)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        let output = lock(&self.settings).output;
        if output != Output::Gray {
            self.parent_propose_allocation(decide_query, query)?;
        }
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        match output {
            // The mask is not waited for, so work that reads the frame may be under way when it goes on.
            Output::Meta => {
                if let Some(source) = self.obj().static_pad("src") {
                    order::promise_for(&source, query);
                }
            }
            Output::Alpha | Output::Gray => order::promise(query),
        }
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        if let Some(State { result: Target::Alpha { artist: Some(artist), .. }, .. }) =
            &mut *lock(&self.state)
        {
            artist.promised = order::promised(query);
        }
        self.parent_decide_allocation(query)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        let target = self.target(&input).map_err(|why| self.failed(&why))?;
        Ok(target.map_or_else(|| meta::share(input), PrepareOutputBufferSuccess::Buffer))
    }

    fn transform_meta<'a>(
        &self,
        _outbuf: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _inbuf: &'a gst::BufferRef,
    ) -> bool {
        // The new frame shows the same at the same size. What describes memory never gets here.
        true
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut guard = lock(&self.state);
        let state = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let done = self.work(state, buffer);
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        let non_finite = done.map_err(|why| self.failed(&why))?;
        if non_finite > 0 {
            let count = usize::try_from(non_finite).unwrap_or(usize::MAX);
            notice::non_finite(&*self.obj(), count, "of their values");
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
