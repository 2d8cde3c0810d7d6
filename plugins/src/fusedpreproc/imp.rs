use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::Roi;
use super::maker::Maker;
use super::negotiate::{Settings, possible};
use super::regions::Turns;
use crate::device::Gpu;
use crate::memory::caps::in_cuda;
use crate::memory::order;
use crate::meta::tensor::TensorSet;
use crate::model::accepts;
use crate::model::enums::tensor::{ChannelOrder, ElementType, Interpolation, Layout, Resize};
use crate::mutability::settable;
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{caps, device, meta, notice, stats, strings, video};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("fusedpreproc", gst::DebugColorFlags::empty(), Some("frame to input tensor"))
});

#[derive(Default)]
pub struct FusedPreproc {
    settings: Mutex<Settings>,
    maker: Mutex<Option<Maker>>,
    turns: Mutex<Streams<Turns>>,
    /// Tensors that were made.
    tensors: Counter,
    /// Objects that no region was made of.
    skipped: Counter,
    gpu: Gpu,
    counters: Arc<Counters>,
}

impl FusedPreproc {
    fn prepare(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<Maker, String> {
        let info =
            gst_video::VideoInfo::from_caps(incaps).map_err(|e| format!("{incaps} is no video: {e}"))?;
        let s = outcaps.structure(0).ok_or("there are no caps behind this element")?;
        let (params, rules) = {
            let settings = lock(&self.settings);
            settings.check()?;
            let params = settings.params(s);
            let rules = settings.rules(s, params.resize);
            (params, rules)
        };
        let name = s.get::<&str>("tensor-name").unwrap_or("input");
        gst::info!(CAT, imp = self, "{} becomes '{name}': {params:?}, {rules:?}", info.format());
        let stream = if in_cuda(incaps) {
            let session =
                self.gpu.session().ok_or("the frames lie in CUDA memory, and there is no usable GPU")?;
            Some(Arc::clone(session.stream()))
        } else {
            self.gpu.check_host()?;
            None
        };
        Maker::new(info, params, rules, name, stream)
    }
}

#[glib::object_subclass]
impl ObjectSubclass for FusedPreproc {
    const NAME: &'static str = "GstCudaInferFusedPreproc";
    type Type = super::FusedPreproc;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for FusedPreproc {
    fn constructed(&self) {
        self.parent_constructed();
        crate::names::shorten(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            let size = |name: &str, what: &str| {
                glib::ParamSpecUInt::builder(name)
                    .nick(what)
                    .blurb(&format!("{what} of the tensor in pixels; 0 leaves it to the model (a model that leaves it open gets the frame's, rounded up to a multiple of 32)"))
                    .maximum(16384)
                    .mutable_ready()
                    .build()
            };
            let double = |name: &str, nick: &str, blurb: &str, default: f64| {
                glib::ParamSpecDouble::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .default_value(default)
                    .minimum(f64::from(f32::MIN_POSITIVE))
                    .maximum(1e6)
                    .mutable_ready()
                    .build()
            };
            let per_channel = |name: &str, nick: &str, blurb: &str| {
                gst::ParamSpecArray::builder(name)
                    .nick(nick)
                    .blurb(blurb)
                    .element_spec(
                        &glib::ParamSpecDouble::builder("value")
                            .nick("Value")
                            .blurb("Value of a channel")
                            .minimum(-1e6)
                            .maximum(1e6)
                            .build(),
                    )
                    .mutable_ready()
                    .build()
            };
            vec![
                device::param_spec(),
                size("width", "Width"),
                size("height", "Height"),
                glib::ParamSpecEnum::builder::<ElementType>("tensor-type")
                    .nick("Tensor type")
                    .blurb("Element type of the tensor")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Layout>("layout")
                    .nick("Layout")
                    .blurb("Order of the tensor's dimensions")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<ChannelOrder>("channels")
                    .nick("Channels")
                    .blurb("Order of the tensor's channels")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Resize>("resize")
                    .nick("Resize")
                    .blurb("How the frame fills the tensor")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Interpolation>("interpolation")
                    .nick("Interpolation")
                    .blurb("How pixels are sampled")
                    .mutable_ready()
                    .build(),
                double("scale", "Scale", "Factor on the pixel value (0..255) before the mean is subtracted; not set, it is the sidecar's, else 1/255 (1 for integer tensors)", 1.0 / 255.0),
                per_channel("mean", "Mean", "Subtracted after scaling: one value, or one a channel in the tensor's order, as <0.485,0.456,0.406>; not set, it is the sidecar's, else 0"),
                per_channel("std", "Standard deviation", "Divided by after subtracting the mean: one value, or one a channel; not set, it is the sidecar's, else 1"),
                glib::ParamSpecUInt::builder("padding")
                    .nick("Padding")
                    .blurb("Pixel value (0..255) of what letterboxing adds, before normalisation; not set, it is the sidecar's, else 114")
                    .maximum(255)
                    .default_value(114)
                    .mutable_ready()
                    .build(),
                double("quant-scale", "Quantisation scale", "Real value of one step of an integer tensor; not set, it is the sidecar's, else 1", 1.0),
                glib::ParamSpecInt::builder("zero-point")
                    .nick("Zero point")
                    .blurb("Integer that stands for 0 in an integer tensor; not set, it is the sidecar's, else 0 for uint8 and -128 for int8")
                    .minimum(-128)
                    .maximum(255)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecEnum::builder::<Roi>("roi")
                    .nick("Region of interest")
                    .blurb("What becomes a tensor: the frame, or the region of each object that was found before, for a second model that looks at objects")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecDouble::builder("roi-padding")
                    .nick("Padding of regions")
                    .blurb("With roi=objects, factor on an object's width and height, as 1.25 for an eighth more on each side; not set, it is the sidecar's, else 1")
                    .minimum(0.01)
                    .maximum(100.0)
                    .default_value(1.0)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("roi-size")
                    .nick("Size of regions")
                    .blurb("With roi=objects, pixels of the frame that the tensor's longer side covers around an object's centre, the same for all objects; 0 goes by each object's box; not set, it is the sidecar's, else 0")
                    .maximum(16384)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecString::builder("classes")
                    .nick("Classes")
                    .blurb("With roi=objects, labels of the objects to look at, as person,car; empty takes all")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("min-size")
                    .nick("Minimum size")
                    .blurb("With roi=objects, pixels of the frame that an object's box must be wide and high")
                    .maximum(16384)
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("interval")
                    .nick("Interval")
                    .blurb("With roi=objects, frames that an object is not looked at between two that it is; a tracked object is looked at when it appears, too")
                    .mutable_ready()
                    .build(),
                stats::param_spec("; tensors, skipped (objects whose region lies outside the frame, or beyond the first 1024)"),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if !settable(&*self.obj(), pspec) || !strings::is_text(&*self.obj(), value, pspec) {
            return;
        }
        fn get<'a, T: glib::value::FromValue<'a> + Default>(value: &'a glib::Value) -> T {
            // The type is the param spec's, which GObject has checked.
            value.get().unwrap_or_default()
        }
        let doubles = || get_array(value);
        if pspec.name() == "device" {
            self.gpu.set_device(get::<Option<String>>(value));
        }
        let mut settings = lock(&self.settings);
        match pspec.name() {
            "width" => settings.width = get(value),
            "height" => settings.height = get(value),
            "tensor-type" => settings.ty = get(value),
            "layout" => settings.layout = get(value),
            "channels" => settings.order = get(value),
            "resize" => settings.resize = get(value),
            "interpolation" => settings.interpolation = get(value),
            "scale" => settings.scale = Some(get(value)),
            "mean" => settings.mean = doubles(),
            "std" => settings.std = doubles(),
            "padding" => settings.padding = u8::try_from(get::<u32>(value)).ok(),
            "quant-scale" => settings.quant_scale = Some(get(value)),
            "zero-point" => settings.zero_point = Some(get(value)),
            "roi" => settings.roi = get(value),
            "roi-padding" => settings.roi_padding = Some(get(value)),
            "roi-size" => settings.roi_size = Some(get(value)),
            "classes" => settings.classes = get::<Option<String>>(value).unwrap_or_default(),
            "min-size" => settings.min_size = get(value),
            "interval" => settings.interval = get(value),
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        match pspec.name() {
            "device" => self.gpu.device().to_value(),
            "stats" => {
                let mut fields = stats::structure(&self.counters);
                fields.set("tensors", self.tensors.get());
                fields.set("skipped", self.skipped.get());
                fields.to_value()
            }
            "width" => settings.width.to_value(),
            "height" => settings.height.to_value(),
            "tensor-type" => settings.ty.to_value(),
            "layout" => settings.layout.to_value(),
            "channels" => settings.order.to_value(),
            "resize" => settings.resize.to_value(),
            "interpolation" => settings.interpolation.to_value(),
            "scale" => settings.scale.unwrap_or(1.0 / 255.0).to_value(),
            "mean" => gst::Array::new(settings.mean.iter()).to_value(),
            "std" => gst::Array::new(settings.std.iter()).to_value(),
            "padding" => settings.padding.map_or(114, u32::from).to_value(),
            "quant-scale" => settings.quant_scale.unwrap_or(1.0).to_value(),
            "zero-point" => settings.zero_point.unwrap_or(0).to_value(),
            "roi" => settings.roi.to_value(),
            "roi-padding" => settings.roi_padding.unwrap_or(1.0).to_value(),
            "roi-size" => settings.roi_size.unwrap_or(0).to_value(),
            "classes" => settings.classes.to_value(),
            "min-size" => settings.min_size.to_value(),
            "interval" => settings.interval.to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}

fn get_array(value: &glib::Value) -> Vec<f64> {
    value
        .get::<gst::ArrayRef>()
        .map_or_else(|_| Vec::new(), |a| a.iter().filter_map(|v| v.get().ok()).collect())
}

impl GstObjectImpl for FusedPreproc {}

impl ElementImpl for FusedPreproc {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "Fused preprocessing",
                "Filter/Converter/Video",
                "Makes a network's input tensor from a frame in one pass: colour conversion, resize, normalisation, layout",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let mut frames = video::readable_on_gpu();
            frames.merge(gst_video::VideoCapsBuilder::new().format_list(video::READABLE).build());
            caps::pad_templates(&frames, &caps::with_feature(&frames))
        });
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
        self.gpu.before(transition, self.obj().upcast_ref(), &self.counters)?;
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for FusedPreproc {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        [&self.tensors, &self.skipped].into_iter().for_each(Counter::reset);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.maker) = None;
        *lock(&self.turns) = Streams::default();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let other = if direction == gst::PadDirection::Sink {
            caps::with_fields(from, &possible())
        } else {
            caps::without_tensors(from)
        };
        let mut other = self.gpu.allowed(&other);
        if let Some(filter) = filter {
            other = filter.intersect_with_mode(&other, gst::CapsIntersectMode::First);
        }
        Some(other)
    }

    fn fixate_caps(&self, direction: gst::PadDirection, from: &gst::Caps, mut other: gst::Caps) -> gst::Caps {
        if direction == gst::PadDirection::Sink {
            other.truncate();
            let size = from
                .structure(0)
                .map_or((0, 0), |s| (s.get("width").unwrap_or(0), s.get("height").unwrap_or(0)));
            if let Some(s) = other.make_mut().structure_mut(0) {
                lock(&self.settings).fixate(s, size);
            }
        }
        other.fixate();
        other
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let maker = self.prepare(incaps, outcaps).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.maker) = Some(maker);
        if !in_cuda(incaps) && self.gpu.session().is_some() {
            self.counters.fallbacks.add(1);
            notice::frames_on_host(&*self.obj());
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if streams::concerns(&event) {
            lock(&self.turns).see(&event);
        }
        self.parent_sink_event(event)
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if accepts::asked(query).is_some() {
            // Elements downstream get the tensors made here, whatever the model upstream is.
            return accepts::answer(query, Ok(()));
        }
        self.gpu.answer(self.obj().upcast_ref(), &self.counters, query)
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
        if let Some(source) = self.obj().static_pad("src") {
            order::promise_for(&source, query);
        }
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
        let mut guard = lock(&self.maker);
        let maker = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let made = maker.make(buffer, lock(&self.turns).current_mut());
        let copied = maker.copied;
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        if copied {
            notice::copied_between_contexts(self.obj().upcast_ref());
        }
        let (sets, skipped) = made.map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
            gst::FlowError::Error
        })?;
        self.tensors.add_size(sets.len());
        self.skipped.add_size(skipped);
        TensorSet::put(&sets, buffer);
        Ok(gst::FlowSuccess::Ok)
    }
}
