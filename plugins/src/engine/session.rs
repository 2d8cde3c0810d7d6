//! One ONNX Runtime session: opened on one provider, described in our terms, run on mapped tensors.

use std::borrow::Cow;
use std::sync::LazyLock;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use half::f16;
use ort::environment::Environment;
use ort::session::SessionInputValue;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::value::{DynValue, Tensor, TensorElementType, TensorRef, ValueType};

use super::{Config, EngineError, Provider};
use crate::meta::tensor;
use crate::nick::nick;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainfer-engine",
        gst::DebugColorFlags::empty(),
        Some("cudainfer's model runner"),
    )
});

/// A session; it runs one frame at a time.
#[derive(Debug)]
pub struct Session {
    session: ort::session::Session,
    inputs: Vec<TensorDesc>,
    outputs: Vec<TensorDesc>,
}

/// A tensor to feed: name, dimensions, and elements of one type.
pub struct Input<'a> {
    /// The model's name for it.
    pub name: &'a str,
    /// Element type.
    pub ty: TensorType,
    /// Dimensions, outermost first.
    pub dims: &'a [usize],
    /// The elements, dense, row-major, best aligned for their type.
    pub data: &'a [u8],
}

impl Session {
    /// Loads the model on one provider.
    ///
    /// # Errors
    /// [`EngineError::Provider`] where the provider cannot be had, [`EngineError::Model`] where the model is refused.
    pub fn open(environment: &Environment, config: &Config, provider: Provider) -> Result<Self, EngineError> {
        let refused = |reason: String| EngineError::Provider { provider: nick(provider), reason };
        let registration = provider.registration().map_err(refused)?;
        let threads = (config.threads / config.sessions).max(1);
        let on_gpu = registration.is_some();
        let mut builder = builder(environment, threads)
            .map_err(|e| EngineError::Library(format!("ONNX Runtime does not make a session: {e}")))?;
        if let Some(registration) = registration {
            registration.register(&mut builder).map_err(|e| refused(words(&e)))?;
        }
        let session = builder.commit_from_file(&config.model).map_err(|e| {
            // What a GPU provider refuses, the CPU may still run; what the CPU refuses is no model.
            if on_gpu {
                refused(words(&e))
            } else {
                EngineError::Model(config.model.clone(), load_failure(&e))
            }
        })?;
        let (inputs, outputs) = (
            describe(session.inputs().iter().map(|i| (i.name(), i.dtype()))),
            describe(session.outputs().iter().map(|o| (o.name(), o.dtype()))),
        );
        Ok(Self { session, inputs, outputs })
    }

    /// The inputs that are tensors of numbers.
    pub fn inputs(&self) -> &[TensorDesc] {
        &self.inputs
    }

    /// The outputs that are tensors of numbers.
    pub fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    /// Runs the model once. The outputs own their memory.
    ///
    /// # Errors
    /// [`EngineError::Run`] with ONNX Runtime's own words.
    pub fn run(&mut self, inputs: &[Input<'_>]) -> Result<Vec<tensor::Tensor>, EngineError> {
        let failed = |e: ort::Error| EngineError::Run(words(&e));
        let values = inputs
            .iter()
            .map(|input| Ok((Cow::Borrowed(input.name), value(input)?)))
            .collect::<Result<Vec<(Cow<'_, str>, SessionInputValue<'_>)>, EngineError>>()?;
        let mut outputs = self.session.run(values).map_err(failed)?;
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
}

fn builder(environment: &Environment, threads: usize) -> Result<SessionBuilder, ort::Error> {
    Ok(ort::session::Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .with_intra_threads(threads)?
        // Spinning threads would take the cores from decoding and from the other sessions.
        .with_intra_op_spinning(false)?)
}

/// ONNX Runtime's own words, without the place in its sources and the code before them.
fn words(error: &ort::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit("[ONNXRuntimeError] : ").next().unwrap_or_default();
    // What is left begins with a number and a name: `1 : FAIL : `.
    let said = text.splitn(3, " : ").last().unwrap_or(text);
    said.trim().to_owned()
}

/// ONNX Runtime's refusal, with what it usually means.
fn load_failure(error: &ort::Error) -> String {
    let words = words(error);
    let says = ["Protobuf parsing failed", "ModelProto does not have a graph", "No graph was found"];
    if says.iter().any(|part| words.contains(part)) {
        return format!("it is not an ONNX model, or it was cut off ({words})");
    }
    words
}

fn describe<'a>(tensors: impl Iterator<Item = (&'a str, &'a ValueType)>) -> Vec<TensorDesc> {
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
        _ => return None,
    })
}

/// ONNX Runtime's view of an input's bytes, without a copy.
fn value<'a>(input: &Input<'a>) -> Result<SessionInputValue<'a>, EngineError> {
    fn of<'a, T>(input: &Input<'a>) -> Result<SessionInputValue<'a>, EngineError>
    where
        T: ort::value::PrimitiveTensorElementType
            + bytemuck::AnyBitPattern
            + bytemuck::NoUninit
            + std::fmt::Debug,
    {
        let dims: Vec<i64> = input.dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
        let value = match bytemuck::try_cast_slice::<u8, T>(input.data) {
            Ok(data) => TensorRef::from_array_view((dims, data)).map(Into::into),
            // Not aligned: never a frame's tensor, whose pool aligns it.
            Err(_) => {
                Tensor::from_array((dims, bytemuck::allocation::pod_collect_to_vec::<u8, T>(input.data)))
                    .map(Into::into)
            }
        };
        value.map_err(|e| EngineError::Run(format!("'{}': {e}", input.name)))
    }
    match input.ty {
        TensorType::Float32 => of::<f32>(input),
        TensorType::Float16 => of::<f16>(input),
        TensorType::UInt8 => of::<u8>(input),
        TensorType::Int8 => of::<i8>(input),
        TensorType::Int32 => of::<i32>(input),
        TensorType::Int64 => of::<i64>(input),
    }
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
        }
    }
}
