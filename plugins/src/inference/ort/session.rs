//! One ONNX Runtime session: opened on one provider, described in our terms, run on mapped tensors.

use std::borrow::Cow;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_kernels::device::{CudaStream, Device};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;
use ort::environment::Environment;
use ort::session::SessionInputValue;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::value::{DynValue, Tensor, TensorElementType, TensorRef, ValueType};

use super::failure::{failed, load_failure, words};
use super::model_form::ModelForm;
use super::options::Options;
use super::runner::{OrtRun, OrtRunner};
use super::variant::Variant;
use super::{messages, plugin};
use crate::inference::cache::{Cache, Graph};
use crate::inference::gpu::{self, Gpu};
use crate::inference::host_fed::HostFed;
use crate::inference::image::ImageOrder;
use crate::inference::shape::{Input, batch_dims};
use crate::inference::stop::Interrupt;
use crate::inference::{Config, FedTensors, InferenceError, Outlook, Provider, RunShape, Session, exit};
use crate::log::ENGINE as CAT;
use crate::meta::tensor;
use crate::model::ModelError;
use crate::model::onnx::sized_by_data;
use crate::property::nick;
use crate::sync::lock;

/// A session of ONNX Runtime.
#[derive(Debug)]
pub(super) struct OrtSession {
    /// The stream that the session works in on a GPU. Its bindings keep ONNX Runtime's session, so it is dropped first.
    pub(super) gpu: Option<Gpu<OrtRun>>,
    session: ManuallyDrop<ort::session::Session>,
    /// The inputs as the model has them.
    inputs: Vec<TensorDesc>,
    outputs: Vec<TensorDesc>,
    /// The order of the image.
    image: ImageOrder,
    options: Arc<Options>,
    /// Whether the outputs' sizes have turned out to depend on the picture.
    varies: bool,
    /// Where a batch's tensors are put together on the host; in units of 16 bytes, so that every type is aligned.
    gathered: Vec<u128>,
    /// The stream that the session works in, and must not outlive.
    stream: Option<Arc<CudaStream>>,
    /// What it holds while it runs, where only one session of its provider may.
    turn: Option<&'static Mutex<()>>,
}

impl OrtSession {
    /// Loads the model on one provider, from the cache where it has it; on a GPU provider, `gpu` is where, and CUDA runs it as
    /// `variant` says.
    ///
    /// # Errors
    /// [`InferenceError::Provider`] where the provider is not available, [`ModelError::Unfit`] where the model is refused.
    pub fn open(
        environment: &Environment,
        config: &Config,
        provider: Provider,
        gpu: Option<Gpu<OrtRun>>,
        variant: &Variant,
        cache: &mut Cache,
    ) -> Result<Self, InferenceError> {
        let source = ModelForm::new(config, provider, variant.image)?;
        let Some(mut gpu) = gpu else {
            let refuse = |reason| InferenceError::Provider { provider: nick(provider), reason };
            let refused = |e: &ort::Error| match provider {
                // The CPU may still run a model that a plugin refuses.
                Provider::Plugin => refuse(words(e)),
                _ => ModelError::Unfit(config.model.clone(), load_failure(e)).into(),
            };
            let turn = Cell::new(None);
            let [intra, inter] = [config.intra_threads, config.inter_threads];
            let prepare = |_: Option<&Path>| {
                let mut builder = builder(environment, intra, inter)?;
                if provider == Provider::Plugin {
                    turn.set(plugin::append(&mut builder, environment, config).map_err(refuse)?);
                }
                Ok(builder)
            };
            let _opening = (provider == Provider::Plugin).then(plugin::opening);
            let session = load_with(cache, &source, provider, None, prepare, refused)?;
            let mut made = Self::of(session, None, variant.image)?;
            made.turn = turn.get();
            return Ok(made);
        };
        // With CUDA graphs first: ONNX Runtime refuses them where nodes are left to the CPU.
        let mut refused = String::new();
        let context = Arc::clone(gpu.stream().context());
        let _unrecorded = context.unrecorded();
        // Nor can a run be recorded in which the host must know how large a tensor has become: ONNX Runtime reads a number that is not
        // there yet, and its kernels write out of bounds.
        let by_data = config.graphs.then(|| sized_by_data(&config.model)).flatten();
        if let Some(operator) = by_data {
            gst::info!(
                CAT,
                "runs are not recorded as CUDA graphs: what {operator} gives is as large as the picture says"
            );
        }
        let graphs = config.graphs && by_data.is_none();
        loop {
            for graphs in [true, false].into_iter().filter(|asked| graphs || !asked) {
                match provider.session(
                    || builder(environment, 1, 1),
                    &source,
                    gpu.stream(),
                    variant,
                    graphs,
                    cache,
                ) {
                    Ok(session) => {
                        gpu.allow_graphs(graphs);
                        return Self::of(session, Some(gpu), variant.image);
                    }
                    Err(reason) => refused = reason,
                }
            }
            if !cache.distrust() {
                break;
            }
        }
        // The CPU may still run a model that a GPU provider refuses; what the CPU refuses is no model.
        Err(InferenceError::Provider { provider: nick(provider), reason: refused })
    }

    fn of(
        session: ort::session::Session,
        gpu: Option<Gpu<OrtRun>>,
        image: ImageOrder,
    ) -> Result<Self, InferenceError> {
        exit::register();
        let options = Arc::new(Options::new(gpu.is_some())?);
        let (mut inputs, outputs) = (
            describe(session.inputs().iter().map(|i| (i.name(), i.dtype()))),
            describe(session.outputs().iter().map(|o| (o.name(), o.dtype()))),
        );
        inputs.iter_mut().for_each(|input| image.describe(input));
        let stream = gpu.as_ref().map(|gpu| Arc::clone(gpu.stream()));
        Ok(Self {
            gpu,
            session: ManuallyDrop::new(session),
            inputs,
            outputs,
            image,
            options,
            varies: false,
            gathered: Vec::new(),
            stream,
            turn: None,
        })
    }
}

impl Drop for OrtSession {
    fn drop(&mut self) {
        // At the end of the process, the library that would free the session may be gone.
        let Ok(_call) = exit::begin() else {
            std::mem::forget(self.gpu.take());
            return;
        };
        drop(self.gpu.take());
        let _unrecorded = self.stream.as_ref().map(|stream| stream.context().unrecorded());
        let _turn = self.turn.map(lock);
        // SAFETY: the session is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.session) };
    }
}

impl Session for OrtSession {
    fn inputs(&self) -> &[TensorDesc] {
        &self.inputs
    }

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn stream(&self) -> Option<&Arc<CudaStream>> {
        self.gpu.as_ref().map(Gpu::stream)
    }

    fn reserve(&mut self, batch: usize) {
        if let Some(gpu) = &mut self.gpu {
            gpu.reserve(batch);
        }
    }

    fn sizes(&self, batch: usize) -> Vec<usize> {
        self.gpu.as_ref().map_or_else(|| vec![1, batch], Gpu::sizes)
    }

    fn warm_up_runs(&self) -> usize {
        // One more run, after everything is chosen, allocated and captured.
        self.gpu.as_ref().map_or(1, |_| gpu::WARM_UP + 2)
    }

    fn rows(&self, shape: &RunShape, frames: usize) -> usize {
        match &self.gpu {
            Some(gpu) if shape.is_known() && !self.varies => gpu.rows(shape, frames),
            _ => shape.rows(frames),
        }
    }

    fn run(
        &mut self,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<tensor::Tensor>, InferenceError> {
        let _call = exit::begin()?;
        let made = match &mut self.gpu {
            Some(gpu) if shape.is_known() && !self.varies => {
                let mut runner =
                    OrtRunner { session: &mut self.session, options: &self.options, image: self.image };
                let made = gpu.run(&mut runner, shape, images, fed);
                made.or_else(|failure| self.run_other_size(shape, images, fed, failure))
            }
            Some(gpu) => {
                // Sizes that depend on the picture, or on what is remembered, are known only after the run.
                gpu.stream().counters().fallbacks.add(1);
                self.run_through_host(shape, images, fed)
            }
            None => self.run_through_host(shape, images, fed),
        };
        self.options.conclude(made)
    }

    fn runs_alone(&self) -> bool {
        self.turn.is_some()
    }

    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        self.gpu.as_mut().map_or(Ok(Outlook::default()), Gpu::wait_for_turn)
    }

    fn capturing(&self) -> Duration {
        self.gpu.as_ref().map_or(Duration::ZERO, Gpu::capturing)
    }

    fn interrupt(&self) -> Option<Arc<dyn Interrupt>> {
        Some(self.options.clone())
    }

    fn finish(&mut self) -> Result<(), InferenceError> {
        self.gpu.as_mut().map_or(Ok(()), Gpu::finish)
    }

    fn run_on_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<tensor::Tensor>, InferenceError> {
        let _call = exit::begin()?;
        let made = self.run_through_host(shape, images, fed);
        self.options.conclude(made)
    }
}

impl OrtSession {
    /// A run on tensors of the host, whose outputs are there.
    fn run_through_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<tensor::Tensor>, InferenceError> {
        let rows = shape.rows(images.len() / shape.pictures());
        let maps = images
            .iter()
            .map(|image| image.map_readable().map_err(|e| InferenceError::Run(e.to_string())))
            .collect::<Result<Vec<_>, _>>()?;
        let bytes = match maps.as_slice() {
            [one] if rows == 1 && self.image.is_given(shape) && !shape.looks_back() => one.as_slice(),
            many => self.image.gather(&mut self.gathered, many, shape, rows)?,
        };
        let (name, dims) = self.image.bound(shape, rows);
        let image = Input { name: &name, ty: shape.image.ty, dims, data: Cow::Borrowed(bytes) };
        let mut inputs = shape.constants(rows)?;
        inputs.insert(0, image);
        inputs.extend(shape.earlier_pictures(&maps, rows)?);
        let states = HostFed::map(shape, fed)?;
        inputs.extend(states.inputs(shape, rows)?);
        let values = inputs
            .iter()
            .map(|input| Ok((Cow::Borrowed(input.name), value(input)?)))
            .collect::<Result<Vec<(Cow<'_, str>, SessionInputValue<'_>)>, InferenceError>>()?;
        let _turn = self.turn.map(lock);
        let mut outputs = self.session.run_with_options(values, &self.options.waited).map_err(failed)?;
        let mut tensors = Vec::with_capacity(self.outputs.len());
        for desc in &self.outputs {
            let Some(value) = outputs.remove(&desc.name) else { continue };
            let ValueType::Tensor { shape, .. } = value.dtype() else { continue };
            let dims = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
            let desc = TensorDesc { dims, ..desc.clone() };
            tensors.push(tensor::Tensor {
                data: gst::Buffer::from_slice(OutputBytes { value, ty: desc.ty }),
                desc,
            });
        }
        Ok(tensors)
    }

    /// Replaces a run that has failed on the GPU because the outputs' sizes depend on the picture after all: this one goes
    /// through the host, as do all later ones.
    fn run_other_size(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
        failure: InferenceError,
    ) -> Result<Vec<tensor::Tensor>, InferenceError> {
        let open = self.outputs.iter().any(|output| output.dims.contains(&None));
        if failure.is_memory() || !open {
            return Err(failure);
        }
        let Ok(made) = self.run_through_host(shape, images, fed) else { return Err(failure) };
        let rows = shape.rows(images.len() / shape.pictures());
        let other = |(made, desc): (&tensor::Tensor, &TensorDesc)| {
            !made.desc.dims.iter().copied().eq(batch_dims(desc, rows).into_iter().map(Some))
        };
        if !made.iter().zip(&shape.outputs).any(other) {
            return Err(failure);
        }
        gst::warning!(
            CAT,
            "the outputs' sizes depend on the picture: from now on they come through the host"
        );
        self.varies = true;
        if let Some(gpu) = &self.gpu {
            gpu.stream().counters().fallbacks.add(1);
        }
        Ok(made)
    }
}

/// Opens a session by way of the cache: `prepare` makes a builder with the provider registered, which keeps its engines in the
/// folder, if it is given one; `refused` makes the error of ONNX Runtime's.
pub(super) fn load_with<E>(
    cache: &mut Cache,
    source: &ModelForm<'_>,
    provider: Provider,
    device: Option<&Device>,
    prepare: impl Fn(Option<&Path>) -> Result<SessionBuilder, E>,
    refused: impl Fn(&ort::Error) -> E,
) -> Result<ort::session::Session, E> {
    cache.open(source.config, provider, device, |engines, graph| {
        let builder = prepare(engines)?;
        let (builder, saved) = match graph {
            Graph::Model => (Ok(builder), None),
            Graph::Save(path) => (builder.with_optimized_model_path(path), None),
            Graph::Saved(path) => {
                (builder.with_optimization_level(GraphOptimizationLevel::Disable), Some(path))
            }
        };
        let mut builder = builder.map_err(|e| refused(&e.into()))?;
        let session = match saved {
            Some(path) => builder.commit_from_file(path),
            None => source.commit(&mut builder),
        };
        session.map_err(|e| refused(&e))
    })
}

/// The options of sessions, with this many threads.
pub(super) fn builder(
    environment: &Environment,
    intra: usize,
    inter: usize,
) -> Result<SessionBuilder, InferenceError> {
    let builder = || -> Result<SessionBuilder, ort::Error> {
        Ok(messages::attach(ort::session::Session::builder(environment)?)?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_threads(intra)?
            .with_parallel_execution(inter > 1)?
            .with_inter_threads(inter)?
            // Spinning threads would take the cores from decoding and from the other sessions.
            .with_intra_op_spinning(false)?)
    };
    builder().map_err(|e| InferenceError::Library(format!("ONNX Runtime does not make a session: {e}")))
}

/// The tensors of numbers among these.
pub(super) fn describe<'a>(tensors: impl Iterator<Item = (&'a str, &'a ValueType)>) -> Vec<TensorDesc> {
    tensors
        .filter_map(|(name, dtype)| {
            let ValueType::Tensor { ty, shape, .. } = dtype else { return None };
            let Some(ty) = tensor_type(ty) else {
                gst::warning!(CAT, "'{name}' of type {ty} is left out: only numbers of up to 64 bits serve");
                return None;
            };
            let dims = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
            Some(TensorDesc { name: name.to_owned(), ty, dims })
        })
        .collect()
}

fn tensor_type(ty: &TensorElementType) -> Option<TensorType> {
    Some(match ty {
        TensorElementType::Float32 => TensorType::Float32,
        TensorElementType::Float16 => TensorType::Float16,
        TensorElementType::Uint8 => TensorType::UInt8,
        TensorElementType::Int8 => TensorType::Int8,
        TensorElementType::Int32 => TensorType::Int32,
        TensorElementType::Int64 => TensorType::Int64,
        TensorElementType::Bool => TensorType::Bool,
        _ => return None,
    })
}

/// ONNX Runtime's view of an input's bytes, without a copy.
fn value<'a>(input: &'a Input<'_>) -> Result<SessionInputValue<'a>, InferenceError> {
    fn of<'a, T>(input: &'a Input<'_>) -> Result<SessionInputValue<'a>, InferenceError>
    where
        T: ort::value::PrimitiveTensorElementType
            + bytemuck::AnyBitPattern
            + bytemuck::NoUninit
            + std::fmt::Debug,
    {
        match bytemuck::try_cast_slice::<u8, T>(&input.data) {
            Ok(data) => TensorRef::from_array_view((dims(input), data))
                .map(Into::into)
                .map_err(|e| InferenceError::Run(format!("'{}': {e}", input.name))),
            // Not aligned: never a frame's tensor, whose pool aligns it.
            Err(_) => owned::<T>(input).map(Into::into),
        }
    }
    match input.ty {
        TensorType::Float32 => of::<f32>(input),
        TensorType::Float16 => of::<f16>(input),
        TensorType::UInt8 => of::<u8>(input),
        TensorType::Int8 => of::<i8>(input),
        TensorType::Int32 => of::<i32>(input),
        TensorType::Int64 => of::<i64>(input),
        TensorType::Bool => {
            let values: Vec<bool> = input.data.iter().map(|byte| *byte != 0).collect();
            let value = Tensor::from_array((dims(input), values));
            value
                .map(|value| value.into_dyn().into())
                .map_err(|e| InferenceError::Run(format!("'{}': {e}", input.name)))
        }
    }
}

fn owned<T>(input: &Input<'_>) -> Result<DynValue, InferenceError>
where
    T: ort::value::PrimitiveTensorElementType
        + bytemuck::AnyBitPattern
        + bytemuck::NoUninit
        + std::fmt::Debug,
{
    Tensor::from_array((dims(input), bytemuck::allocation::pod_collect_to_vec::<u8, T>(&input.data)))
        .map(Tensor::into_dyn)
        .map_err(|e| InferenceError::Run(format!("'{}': {e}", input.name)))
}

fn dims(input: &Input<'_>) -> Vec<i64> {
    input.dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect()
}

/// An output's memory, kept alive by the value that owns it.
struct OutputBytes {
    value: DynValue,
    ty: TensorType,
}

impl AsRef<[u8]> for OutputBytes {
    fn as_ref(&self) -> &[u8] {
        fn of<T: ort::value::PrimitiveTensorElementType + bytemuck::NoUninit>(value: &DynValue) -> &[u8] {
            value.try_extract_tensor::<T>().map_or(&[], |(_, data)| bytemuck::cast_slice(data))
        }
        match self.ty {
            TensorType::Float32 => of::<f32>(&self.value),
            TensorType::Float16 => of::<f16>(&self.value),
            TensorType::UInt8 => of::<u8>(&self.value),
            TensorType::Int8 => of::<i8>(&self.value),
            TensorType::Int32 => of::<i32>(&self.value),
            TensorType::Int64 => of::<i64>(&self.value),
            TensorType::Bool => of::<bool>(&self.value),
        }
    }
}
