use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counters, Stream};
use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::preproc::{CudaPreproc, Preproc, PreprocError};
use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::{ChannelOrder, ElementType, Interpolation, Layout, Resize};
use super::negotiate::{Settings, possible};
use crate::device::Gpu;
use crate::memory::caps::in_cuda;
use crate::memory::tensor::{TensorAllocator, device_memory};
use crate::memory::{MappedFrame, order};
use crate::meta::tensor::{Tensor, TensorSet};
use crate::sync::lock;
use crate::{caps, device, meta, notice, stats, video};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("fusedpreproc", gst::DebugColorFlags::empty(), Some("frame to input tensor"))
});

/// What negotiation decided.
struct State {
    info: gst_video::VideoInfo,
    format: FrameFormat,
    preproc: Side,
    to_frame: Affine,
    desc: TensorDesc,
    input: [usize; 2],
    pool: gst::BufferPool,
    /// Whether frames are copied from another CUDA context.
    copied: bool,
}

/// Where the frames lie, and so where the tensor is made.
enum Side {
    Cpu(Box<Preproc>),
    Gpu { preproc: Box<CudaPreproc>, stream: Arc<Stream> },
}

#[derive(Default)]
pub struct FusedPreproc {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    gpu: Gpu,
    counters: Arc<Counters>,
}

impl FusedPreproc {
    fn prepare(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<State, String> {
        let info =
            gst_video::VideoInfo::from_caps(incaps).map_err(|e| format!("{incaps} is no video: {e}"))?;
        let format = video::frame_format(&info)
            .ok_or_else(|| format!("frames of format {} are not read", info.format()))?;
        let s = outcaps.structure(0).ok_or("there are no caps behind this element")?;
        let params = {
            let settings = lock(&self.settings);
            settings.check()?;
            settings.params(s)
        };
        let input = [params.width, params.height];
        let name = s.get::<&str>("tensor-name").unwrap_or("input");
        gst::info!(CAT, imp = self, "{format:?} becomes '{name}': {params:?}");
        let ty = params.ty;
        let (preproc, dims, to_frame, pool) = if in_cuda(incaps) {
            let session =
                self.gpu.session().ok_or("the frames lie in CUDA memory, and there is no usable GPU")?;
            let stream = Arc::clone(session.stream());
            let preproc = Box::new(CudaPreproc::new(format, params, &stream).map_err(|e| e.to_string())?);
            let allocator = TensorAllocator::new(&stream).map_err(|e| e.to_string())?;
            let pool = allocator.pool(preproc.bytes());
            let (dims, to_frame) = (preproc.dims(), preproc.affine());
            (Side::Gpu { preproc, stream }, dims, to_frame, pool)
        } else {
            self.gpu.check_host()?;
            let preproc = Preproc::new(format, params).map_err(|e| e.to_string())?;
            let size =
                u32::try_from(preproc.bytes()).map_err(|_| "the tensor is larger than 4 GiB".to_owned())?;
            let (dims, to_frame) = (preproc.dims(), preproc.affine());
            (Side::Cpu(Box::new(preproc)), dims, to_frame, pool(size))
        };
        let desc = TensorDesc::fixed(name, ty, &dims);
        let pool = pool.map_err(|e| e.to_string())?;
        Ok(State { info, format, preproc, to_frame, desc, input, pool, copied: false })
    }
}

/// A pool of tensors, aligned for every vector instruction.
fn pool(size: u32) -> Result<gst::BufferPool, glib::BoolError> {
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(None, size, 0, 0);
    config.set_allocator(
        None::<&gst::Allocator>,
        Some(&gst::AllocationParams::new(gst::MemoryFlags::empty(), 63, 0, 0)),
    );
    pool.set_config(config)?;
    pool.set_active(true)?;
    Ok(pool)
}

impl State {
    /// Makes a frame's tensor; on the GPU it is only enqueued.
    fn make(&mut self, buffer: &mut gst::BufferRef) -> Result<gst::Buffer, String> {
        let mut data =
            self.pool.acquire_buffer(None).map_err(|e| format!("there is no memory for the tensor: {e}"))?;
        match &mut self.preproc {
            Side::Cpu(preproc) => {
                let mapped = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &self.info)
                    .map_err(|_| "the frame cannot be mapped, or is smaller than its caps say".to_owned())?;
                let frame = video::frame(&self.format, &mapped).map_err(|e| e.to_string())?;
                let tensor = data.get_mut().ok_or("the tensor is in use")?;
                let mut tensor = tensor.map_writable().map_err(|e| e.to_string())?;
                preproc.run(&frame, tensor.as_mut_slice()).map_err(|e| e.to_string())?;
            }
            Side::Gpu { preproc, stream } => {
                let memory = device_memory(&data).ok_or("the tensor does not lie on the GPU")?;
                let mapped = MappedFrame::read(buffer, &self.info, stream).map_err(|e| e.to_string())?;
                let frame = video::device_frame(&self.format, &mapped).map_err(|e| e.to_string())?;
                let enqueue = || -> Result<(), PreprocError> {
                    memory.begin_write(stream)?;
                    stream.sampled(|| preproc.run(stream, &[frame], memory.slice()))?;
                    memory.end_write(stream)?;
                    Ok(())
                };
                enqueue().map_err(|e| e.to_string())?;
                self.copied |= mapped.is_copied();
                drop(mapped);
                // The frame goes on before it has been read.
                order::guard(buffer);
            }
        }
        Ok(data)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = self.pool.set_active(false);
    }
}

#[glib::object_subclass]
impl ObjectSubclass for FusedPreproc {
    const NAME: &'static str = "GstFusedPreproc";
    type Type = super::FusedPreproc;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for FusedPreproc {
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
                stats::param_spec(""),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
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
            _ => (),
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        match pspec.name() {
            "device" => self.gpu.device().to_value(),
            "stats" => stats::structure(&self.counters).to_value(),
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
        let state = self.prepare(incaps, outcaps).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.state) = Some(state);
        if !in_cuda(incaps) && self.gpu.session().is_some() {
            self.counters.fallbacks.add(1);
            notice::frames_on_host(&*self.obj());
        }
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
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
        let mut guard = lock(&self.state);
        let state = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let made = state.make(buffer).map(|data| TensorSet {
            tensors: vec![Tensor { desc: state.desc.clone(), data }],
            input: state.input,
            batch: None,
            to_frame: state.to_frame,
            object: None,
        });
        let copied = state.copied;
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        if copied {
            notice::copied_between_contexts(self.obj().upcast_ref());
        }
        let set = made.map_err(|why| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
            gst::FlowError::Error
        })?;
        TensorSet::put(&[set], buffer);
        Ok(gst::FlowSuccess::Ok)
    }
}
