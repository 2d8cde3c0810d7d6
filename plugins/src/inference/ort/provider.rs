//! Execution providers: which there are, in which order they are tried, and how each is set up.

use std::path::Path;
use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Counters, CudaStream, Device, Resolved};
use ort::environment::Environment;
use ort::ep::cuda::ConvAlgorithmSearch;
use ort::ep::{self, ExecutionProvider, ExecutionProviderDispatch};
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

use super::cudnn;
use super::failure::words;
use super::gpu_libraries::open_missing;
use super::model_form::ModelForm;
use super::profile::Profile;
use super::provider_libraries::ProviderLibraries;
use super::runtime_library::open_provider;
use super::session::{OrtSession, builder, describe, load_with};
use super::variant::{self, PLAIN, Variant};
use crate::inference::backend::{Opened, loading};
use crate::inference::cache::{Cache, Choices};
use crate::inference::gpu::Gpu;
use crate::inference::progress::{Progress, watched};
use crate::inference::search::open_first;
use crate::inference::{Config, InferenceError, Precision, Provider, Session, unwinder};
use crate::log::ENGINE as CAT;
use crate::model::Group;
use crate::model::ModelInfo;
use crate::model::onnx::has_float16_weights;
use crate::property::nick;
use crate::sync::lock;

/// The state of the providers' libraries.
static LIBRARIES: Mutex<ProviderLibraries> = Mutex::new(ProviderLibraries::new());

/// Whether an exception in this GPU provider would end the process.
pub(super) fn has_uncaught(provider: Provider) -> bool {
    lock(&LIBRARIES).has_uncaught(provider)
}

impl Provider {
    /// Opens the model in ONNX Runtime on this provider, in this stream, from the cache where it has it. `graphs`
    /// asks for a session that can be captured as a CUDA graph.
    ///
    /// # Errors
    /// A sentence: what is missing, or ONNX Runtime's own words.
    pub(super) fn session(
        self,
        builder: impl Fn() -> Result<SessionBuilder, InferenceError>,
        source: &ModelForm<'_>,
        stream: &CudaStream,
        variant: &Variant,
        graphs: bool,
        cache: &mut Cache,
    ) -> Result<ort::session::Session, String> {
        let (config, device) = (source.config, stream.context().device());
        let new = || builder().map_err(|e| e.to_string());
        let profile = if self == Self::TensorRt { profile(new()?, config)? } else { None };
        let prepare = |engines: Option<&Path>| {
            let registrations =
                self.registrations(config, stream, variant, graphs, engines, profile.as_ref())?;
            self.register(new, &registrations)
        };
        load_with(cache, source, self, Some(device), prepare, words)
    }

    /// Opens the provider's libraries before ONNX Runtime does, so that their exceptions can be caught.
    fn open_own(self, mut scratch: SessionBuilder) {
        // Whatever the result: before ONNX Runtime looks for TensorRT's library, it gives all providers its own functions.
        let dispatch: ExecutionProviderDispatch = ep::TensorRT::default().into();
        if let Err(e) = dispatch.error_on_failure().register(&mut scratch) {
            gst::debug!(CAT, "TensorRT was only asked for: {e}");
        }
        for why in lock(&LIBRARIES).open(self, open_provider) {
            gst::debug!(CAT, "left to ONNX Runtime: {why}");
        }
    }

    /// Registers these providers with what `new` makes.
    fn register(
        self,
        new: impl Fn() -> Result<SessionBuilder, String>,
        registrations: &[ExecutionProviderDispatch],
    ) -> Result<SessionBuilder, String> {
        let mut builder = new()?;
        let differs = unwinder::differs();
        for registration in registrations {
            loop {
                if differs {
                    // Before each attempt: what could not be opened at the previous one may have what it needs now.
                    self.open_own(new()?);
                }
                match registration.clone().error_on_failure().register(&mut builder) {
                    Ok(()) => break,
                    Err(e) => {
                        let message = e.to_string();
                        if !open_missing(&message)? {
                            return Err(words(&e));
                        }
                    }
                }
            }
        }
        if differs {
            lock(&LIBRARIES).in_use(self);
        }
        Ok(builder)
    }

    /// What is registered with ONNX Runtime, which falls back to the CPU for single nodes by itself. TensorRT keeps its
    /// engines and timings in the folder `engines`.
    fn registrations(
        self,
        config: &Config,
        stream: &CudaStream,
        variant: &Variant,
        graphs: bool,
        engines: Option<&Path>,
        profile: Option<&Profile>,
    ) -> Result<Vec<ExecutionProviderDispatch>, String> {
        fn built_in<E: ExecutionProvider + Into<ExecutionProviderDispatch>>(
            provider: E,
            package: &str,
        ) -> Result<ExecutionProviderDispatch, String> {
            match E::is_available() {
                Ok(true) => Ok(provider.into()),
                Ok(false) => {
                    Err(format!("this ONNX Runtime was built without {} (it comes with {package})", E::NAME))
                }
                Err(e) => Err(e.to_string()),
            }
        }
        const PACKAGE: &str = "the Python package onnxruntime-gpu";
        let device = i32::try_from(stream.context().device().ordinal).unwrap_or(0);
        let raw = stream.raw().cast();
        // TF32 would round float32 models to 10 bits: boxes then differ from the CPU's by pixels. But without it ONNX
        // Runtime keeps convolutions off the tensor cores, which float16 models are more than ten times as fast with.
        let cuda = || {
            let asked = matches!(config.precision, Precision::Tf32 | Precision::Float16);
            let tf32 = asked || has_float16_weights(&config.model);
            let cuda = ep::CUDA::default().with_device_id(device).with_tf32(tf32).with_cuda_graph(graphs);
            // Trying all algorithms doubles the time of a start, and is not clearly faster afterwards: on an H200 YOLOv8n runs
            // at 1054 frames a second instead of 1081, DeepLabV3 at 486 instead of 461, at batch 8 at 614 instead of 661. So
            // only a variant does.
            let cuda = variant.set(cuda.with_conv_algorithm_search(ConvAlgorithmSearch::Heuristic));
            let cuda = match config.memory_limit {
                0 => cuda,
                limit => cuda.with_memory_limit(limit),
            };
            // SAFETY: `Session` keeps the stream longer than ONNX Runtime's session.
            unsafe { cuda.with_compute_stream(raw) }
        };
        Ok(match self {
            Self::TensorRt => {
                let mut provider = ep::TensorRT::default()
                    .with_device_id(device)
                    .with_fp16(matches!(config.precision, Precision::Float16 | Precision::Int8))
                    .with_int8(config.precision == Precision::Int8)
                    .with_max_workspace_size(config.workspace);
                // ONNX Runtime's options are text.
                if let Some(folder) = engines.and_then(Path::to_str) {
                    provider = provider
                        .with_engine_cache(true)
                        .with_engine_cache_path(folder)
                        .with_timing_cache(true)
                        .with_timing_cache_path(folder);
                }
                if let Some(Profile { min, max }) = profile {
                    // TensorRT must be fastest with full batches.
                    provider = provider
                        .with_profile_min_shapes(min)
                        .with_profile_opt_shapes(max)
                        .with_profile_max_shapes(max);
                }
                // SAFETY: as above.
                let provider = unsafe { provider.with_compute_stream(raw) };
                // Nodes that TensorRT does not take stay on the GPU.
                vec![built_in(provider, PACKAGE)?, built_in(cuda(), PACKAGE)?]
            }
            Self::TensorRtRtx => {
                let provider = ep::NVRTX::default()
                    .with_device_id(u32::try_from(device).unwrap_or(0))
                    .with_max_workspace(config.workspace);
                // SAFETY: as above.
                let provider = unsafe { provider.with_compute_stream(raw) };
                vec![built_in(provider, "builds for TensorRT RTX")?]
            }
            Self::Cuda => vec![built_in(cuda(), PACKAGE)?],
            // OpenVINO is a runtime of its own, and a plugin is appended (`plugin`).
            Self::Cpu | Self::Auto | Self::Fused | Self::OpenVino | Self::Plugin => Vec::new(),
        })
    }
}

/// TensorRT's profile for the model, whose inputs are looked up by loading it as it is.
fn profile(builder: SessionBuilder, config: &Config) -> Result<Option<Profile>, String> {
    let loaded = builder
        .with_optimization_level(GraphOptimizationLevel::Disable)
        .map_err(|e| e.to_string())
        .and_then(|mut builder| builder.commit_from_file(&config.model).map_err(|e| words(&e)))?;
    let inputs = describe(loaded.inputs().iter().map(|input| (input.name(), input.dtype())));
    let info = ModelInfo::read(&config.model, None).map_err(|e| e.to_string())?;
    // A property may override a size that only the model's maker states; the profile would then be wrong.
    Ok(Profile::of(&inputs, &info.without(&[Group::Size]), config.batch.unwrap_or(1)))
}

/// See [`Backend::open`](crate::inference::backend::Backend::open).
pub(super) fn open(
    environment: &Environment,
    config: &Config,
    counters: &Arc<Counters>,
    cache: &mut Cache,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Opened, InferenceError> {
    let mut refused = Vec::new();
    let missing = |reason| InferenceError::Gpu { device: config.device.to_string(), reason };
    if let Choice::Cuda(_) = config.device {
        device(config).map_err(missing)?;
    }
    let on_gpu: &[Provider] = match config.provider {
        Provider::Auto if config.device == Choice::Cpu => &[],
        Provider::Auto => &[Provider::TensorRt, Provider::TensorRtRtx, Provider::Cuda],
        Provider::Cpu | Provider::Plugin => &[],
        ref one => std::slice::from_ref(one),
    };
    // A plugin is tried first where it is named.
    let plugin = match config.provider {
        Provider::Plugin => true,
        Provider::Auto => config.plugin.is_some(),
        _ => false,
    };
    let wanted = plugin.then_some(&Provider::Plugin).into_iter().chain(on_gpu);
    let only = config.provider != Provider::Auto;
    for provider in wanted {
        let refuse = |reason| InferenceError::Provider { provider: nick(*provider), reason };
        let variants = variant::worth_timing(config, *provider);
        let choices = device(config).ok().filter(|_| variants.len() > 1).map(|device| {
            // Only CUDA has several variants.
            load_cuda(environment);
            cache.works_with(&cudnn::version(), &variants);
            cache.choices(config, *provider, Some(&device))
        });
        let choices = choices.unwrap_or_default();
        let open = |name| {
            let variant = variant::named(name).unwrap_or(&PLAIN);
            if *provider == Provider::Plugin {
                return watched(&loading(config, *provider), progress, || {
                    OrtSession::open(environment, config, *provider, None, variant, cache)
                });
            }
            let gpu = device(config).and_then(|device| Gpu::open(&device, counters, variant.image));
            let gpu = gpu.map_err(refuse)?;
            watched(&loading(config, *provider), progress, || {
                OrtSession::open(environment, config, *provider, Some(gpu), variant, cache)
            })
        };
        match open_first(&choices, &variants, config.warm_up, open) {
            Ok((session, variant)) => {
                let session = Box::new(session);
                return Ok(Opened { provider: *provider, session, variant, choices, refused });
            }
            Err(InferenceError::Provider { reason, .. }) if !only => {
                refused.push(format!("{}: {reason}", nick(*provider)));
            }
            // This is not the provider's fault: the CPU would refuse the model too.
            Err(other) => return Err(other),
        }
    }
    if let (true, Choice::Cuda(_)) = (on_gpu.len() > 1, config.device) {
        return Err(missing(format!("no provider runs the model there: {}", refused.join("; "))));
    }
    // The same reason three times means that there is no GPU: it is reported once.
    if let (Err(reason), false) = (device(config), on_gpu.is_empty()) {
        refused.truncate(usize::from(plugin));
        refused.push(reason);
    }
    let session = watched(&loading(config, Provider::Cpu), progress, || {
        OrtSession::open(environment, config, Provider::Cpu, None, &PLAIN, cache)
    })?;
    let (session, choices) = (Box::new(session), Choices::default());
    Ok(Opened { provider: Provider::Cpu, session, variant: PLAIN.name, choices, refused })
}

/// See [`Backend::open_variant`](crate::inference::backend::Backend::open_variant).
pub(super) fn open_variant(
    environment: &Environment,
    config: &Config,
    counters: &Arc<Counters>,
    variant: &str,
) -> Result<Box<dyn Session>, InferenceError> {
    let refuse = |reason| InferenceError::Provider { provider: nick(Provider::Cuda), reason };
    let variant = variant::named(variant).ok_or_else(|| refuse(format!("there is no variant {variant}")))?;
    let gpu =
        device(config).and_then(|device| Gpu::open(&device, counters, variant.image)).map_err(refuse)?;
    // CUDA's sessions are not kept.
    let mut cache = Cache::off();
    let session = OrtSession::open(environment, config, Provider::Cuda, Some(gpu), variant, &mut cache)?;
    Ok(Box::new(session))
}

/// Has ONNX Runtime load the libraries of its CUDA provider, so that their versions are known before a session is opened. Missing
/// libraries are reported then.
fn load_cuda(environment: &Environment) {
    let new = || builder(environment, 1, 1).map_err(|e| e.to_string());
    if let Err(e) = Provider::Cuda.register(new, &[ep::CUDA::default().into()]) {
        gst::debug!(CAT, "the CUDA provider is not loaded yet: {e}");
    }
}

/// The GPU that the NVIDIA providers use.
fn device(config: &Config) -> Result<Device, String> {
    match config.resolve().map_err(|e| e.to_string())? {
        Resolved::Cuda(device) => Ok(device),
        Resolved::Cpu { reason } => Err(reason.unwrap_or_else(|| "the property device says cpu".into())),
    }
}
