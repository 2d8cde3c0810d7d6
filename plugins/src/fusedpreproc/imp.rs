use std::sync::{LazyLock, Mutex};

use cudainfer_kernels::frame::FrameFormat;
use cudainfer_kernels::preproc::Preproc;
use cudainfer_kernels::tensor::TensorDesc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::enums::{ChannelOrder, ElementType, Interpolation, Layout, Resize};
use super::negotiate::{Settings, possible};
use crate::meta::tensor::{Tensor, TensorSet};
use crate::sync::lock;
use crate::{caps, meta, notice, video};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("fusedpreproc", gst::DebugColorFlags::empty(), Some("frame to input tensor"))
});

/// What negotiation decided.
struct State {
    info: gst_video::VideoInfo,
    format: FrameFormat,
    preproc: Preproc,
    desc: TensorDesc,
    input: [usize; 2],
    pool: gst::BufferPool,
}

#[derive(Default)]
pub struct FusedPreproc {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
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
        let preproc = Preproc::new(format, params.clone()).map_err(|e| e.to_string())?;
        let name = s.get::<&str>("tensor-name").unwrap_or("input");
        let desc = TensorDesc::fixed(name, params.ty, &preproc.dims());
        let size =
            u32::try_from(preproc.bytes()).map_err(|_| "the tensor is larger than 4 GiB".to_owned())?;
        let pool = pool(size).map_err(|e| e.to_string())?;
        gst::info!(CAT, imp = self, "{:?} becomes {desc}: {params:?}", format);
        Ok(State { info, format, preproc, desc, input, pool })
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
            let frames = gst_video::VideoCapsBuilder::new().format_list(video::READABLE).build();
            caps::pad_templates(&frames, &caps::with_feature(&frames))
        });
        &TEMPLATES
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
        let mut other = if direction == gst::PadDirection::Sink {
            caps::with_fields(from, &possible())
        } else {
            caps::without_tensors(from)
        };
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
        let mut data = state.pool.acquire_buffer(None)?;
        let made = (|| -> Result<(), String> {
            let mapped = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &state.info)
                .map_err(|_| "the frame cannot be mapped, or is smaller than its caps say".to_owned())?;
            let frame = video::frame(&state.format, &mapped).map_err(|e| e.to_string())?;
            let tensor = data.get_mut().ok_or("the tensor is in use")?;
            let mut tensor = tensor.map_writable().map_err(|e| e.to_string())?;
            state.preproc.run(&frame, tensor.as_mut_slice()).map_err(|e| e.to_string())
        })();
        if let Err(why) = made {
            gst::element_imp_error!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
            return Err(gst::FlowError::Error);
        }
        let set = TensorSet {
            tensors: vec![Tensor { desc: state.desc.clone(), data }],
            input: state.input,
            to_frame: state.preproc.affine(),
        };
        set.put(buffer);
        Ok(gst::FlowSuccess::Ok)
    }
}
