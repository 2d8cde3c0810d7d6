//! A convolution and its epilogue as cuDNN's operations, and the ways in which it can run.

use std::ffi::c_void;
use std::sync::Arc;

use cudainfer_kernels::tensor::TensorType;
use cudarc::cudnn::sys::{
    cudnnBackendAttributeName_t as Attribute, cudnnBackendAttributeType_t as Type,
    cudnnBackendDescriptorType_t as Kind, cudnnBackendHeurMode_t as Heuristics,
    cudnnBackendNumericalNote_t as Note, cudnnConvolutionMode_t, cudnnDataType_t as Data,
    cudnnPointwiseMode_t as Mode,
};

use super::descriptor::Descriptor;
use super::{Cudnn, Handle};
use crate::gpu::GpuError;
use crate::graph::Unary;
use crate::plan::{Convolution, Epilogue, View};

/// A convolution as cuDNN knows it.
#[derive(Debug)]
pub(in crate::gpu) struct ConvolutionGraph {
    cudnn: Arc<Cudnn>,
    graph: Descriptor,
    /// The tensors that have addresses: their uids are their indices.
    tensors: Vec<View>,
    /// What the graph refers to.
    _parts: Vec<Descriptor>,
}

/// A way to run a graph.
#[derive(Debug)]
pub(in crate::gpu) struct Engine {
    plan: Descriptor,
    /// Bytes of memory that it needs while it runs.
    pub workspace: usize,
    _config: Descriptor,
}

/// A way to run a graph, with the addresses to run it on.
#[derive(Debug)]
pub(in crate::gpu) struct Execution {
    engine: Arc<Engine>,
    pack: Descriptor,
}

impl Execution {
    pub(super) fn raw(&self) -> (*mut c_void, *mut c_void) {
        (self.engine.plan.raw(), self.pack.raw())
    }
}

/// Bytes that tensors' addresses are multiples of.
const ALIGNMENT: i64 = 16;

/// What a graph is made of.
struct Parts<'a> {
    cudnn: &'a Arc<Cudnn>,
    tensors: Vec<View>,
    all: Vec<Descriptor>,
    virtuals: i64,
}

impl ConvolutionGraph {
    /// Nothing where cuDNN has no operation for a part of it.
    pub fn new(handle: &Handle, convolution: &Convolution) -> Result<Option<Self>, GpuError> {
        let Convolution { input, weights, bias, window, epilogue, output, .. } = convolution;
        if !matches!(input.ty, TensorType::Float32 | TensorType::Float16) {
            return Ok(None);
        }
        let cudnn = &handle.cudnn;
        let mut parts = Parts { cudnn, tensors: Vec::new(), all: Vec::new(), virtuals: 1000 };
        let conv = Descriptor::new(cudnn, Kind::CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)?;
        let pair = |pair: [usize; 2]| pair.map(|n| i64::try_from(n).unwrap_or(0));
        let pads = |pair: [isize; 2]| pair.map(|n| i64::try_from(n).unwrap_or(0));
        // SAFETY: both are enums, as cuDNN's types say.
        unsafe {
            conv.set(
                Attribute::CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                Type::CUDNN_TYPE_DATA_TYPE,
                &[Data::CUDNN_DATA_FLOAT],
            )?;
            let mode = cudnnConvolutionMode_t::CUDNN_CROSS_CORRELATION;
            conv.set(
                Attribute::CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                Type::CUDNN_TYPE_CONVOLUTION_MODE,
                &[mode],
            )?;
        }
        conv.integers(Attribute::CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, &[2])?;
        conv.integers(Attribute::CUDNN_ATTR_CONVOLUTION_DILATIONS, &pair(window.dilations))?;
        conv.integers(Attribute::CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &pair(window.strides))?;
        conv.integers(Attribute::CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &pads(window.begin))?;
        conv.integers(Attribute::CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &pads(window.end))?;
        conv.finalize("a convolution")?;

        // The bias is the first addition.
        let mut functions: Vec<Epilogue> = bias.iter().map(|bias| Epilogue::Add(per_channel(bias))).collect();
        functions.extend(epilogue.iter().cloned());
        let x = parts.tensor(input)?;
        let w = parts.tensor(weights)?;
        let mut operations = Vec::new();
        let last = functions.len();
        let mut y = if last == 0 { parts.tensor(output)? } else { parts.between(output)? };
        let forward = Descriptor::new(cudnn, Kind::CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)?;
        forward.descriptors(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, &[&conv])?;
        for (name, tensor) in [
            (Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x),
            (Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w),
            (Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y),
        ] {
            forward.descriptors(name, &[&parts.all[tensor]])?;
        }
        forward.float(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0)?;
        forward.float(Attribute::CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0)?;
        forward.finalize("a convolution's operation")?;
        operations.push(forward);
        for (index, function) in functions.into_iter().enumerate() {
            let (mode, other) = match &function {
                Epilogue::Add(view) => (Mode::CUDNN_POINTWISE_ADD, Some(view)),
                Epilogue::Multiply(view) => (Mode::CUDNN_POINTWISE_MUL, Some(view)),
                Epilogue::Unary(function) => match mode_of(*function) {
                    Some(mode) => (mode, None),
                    None => return Ok(None),
                },
                Epilogue::AddQuantized(..) | Epilogue::Store(_) | Epilogue::Table(_) => return Ok(None),
            };
            let pointwise = Descriptor::new(cudnn, Kind::CUDNN_BACKEND_POINTWISE_DESCRIPTOR)?;
            // SAFETY: both are enums, as cuDNN's types say.
            unsafe {
                pointwise.set(
                    Attribute::CUDNN_ATTR_POINTWISE_MODE,
                    Type::CUDNN_TYPE_POINTWISE_MODE,
                    &[mode],
                )?;
                let float = [Data::CUDNN_DATA_FLOAT];
                pointwise.set(
                    Attribute::CUDNN_ATTR_POINTWISE_MATH_PREC,
                    Type::CUDNN_TYPE_DATA_TYPE,
                    &float,
                )?;
            }
            if let Epilogue::Unary(function) = &function {
                set_parameters(&pointwise, *function)?;
            }
            pointwise.finalize("a function")?;
            let operation = Descriptor::new(cudnn, Kind::CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)?;
            operation.descriptors(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, &[&pointwise])?;
            operation.descriptors(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &[&parts.all[y]])?;
            if let Some(other) = other {
                let other = parts.tensor(other)?;
                operation
                    .descriptors(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_BDESC, &[&parts.all[other]])?;
            }
            y = if index + 1 == last { parts.tensor(output)? } else { parts.between(output)? };
            operation.descriptors(Attribute::CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &[&parts.all[y]])?;
            operation.finalize("a function's operation")?;
            parts.all.push(pointwise);
            operations.push(operation);
        }
        let graph = Descriptor::new(cudnn, Kind::CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)?;
        // SAFETY: a HANDLE is the handle's pointer.
        unsafe {
            graph.set(Attribute::CUDNN_ATTR_OPERATIONGRAPH_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.raw])?
        };
        let all: Vec<&Descriptor> = operations.iter().collect();
        graph.descriptors(Attribute::CUDNN_ATTR_OPERATIONGRAPH_OPS, &all)?;
        graph.finalize("a graph of operations")?;
        let Parts { tensors, mut all, .. } = parts;
        all.push(conv);
        all.extend(operations);
        Ok(Some(Self { cudnn: Arc::clone(cudnn), graph, tensors, _parts: all }))
    }

    /// The tensors that it is run on, in the order of [`ConvolutionGraph::on`].
    pub fn tensors(&self) -> &[View] {
        &self.tensors
    }

    /// Up to `most` ways to run it, those first that cuDNN believes to be the fastest.
    pub fn engines(&self, handle: &Handle, most: usize) -> Vec<Engine> {
        let configs = self.configs(most).unwrap_or_default().into_iter();
        let plain = configs.filter(|config| self.is_plain(config).unwrap_or(false));
        plain.filter_map(|config| self.engine(handle, config).ok()).collect()
    }

    fn configs(&self, most: usize) -> Result<Vec<Descriptor>, GpuError> {
        let heuristics = Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)?;
        heuristics.descriptors(Attribute::CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, &[&self.graph])?;
        let mode = Heuristics::CUDNN_HEUR_MODE_A;
        // SAFETY: an enum, as cuDNN's type says.
        unsafe {
            heuristics.set(Attribute::CUDNN_ATTR_ENGINEHEUR_MODE, Type::CUDNN_TYPE_HEUR_MODE, &[mode])?
        };
        heuristics.finalize("its heuristics")?;
        let mut configs = Vec::new();
        for _ in 0..most {
            configs.push(Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?);
        }
        let count = heuristics.fill(Attribute::CUDNN_ATTR_ENGINEHEUR_RESULTS, &mut configs)?;
        configs.truncate(count);
        Ok(configs)
    }

    /// Whether an engine computes as plain sums in float32 do: the same at each run, and not in fewer digits.
    fn is_plain(&self, config: &Descriptor) -> Result<bool, GpuError> {
        let mut engine = [Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_ENGINE_DESCRIPTOR)?];
        config.fill(Attribute::CUDNN_ATTR_ENGINECFG_ENGINE, &mut engine)?;
        let notes = engine[0].notes()?;
        let is_float32 = self.tensors.first().is_some_and(|input| input.ty == TensorType::Float32);
        let refused = |note: &Note| match note {
            Note::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
            | Note::CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION => true,
            Note::CUDNN_NUMERICAL_NOTE_TENSOR_CORE | Note::CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS => {
                is_float32
            }
            _ => false,
        };
        Ok(!notes.iter().any(refused))
    }

    fn engine(&self, handle: &Handle, config: Descriptor) -> Result<Engine, GpuError> {
        let plan = Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?;
        // SAFETY: a HANDLE is the handle's pointer.
        unsafe {
            plan.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.raw])?
        };
        plan.descriptors(Attribute::CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, &[&config])?;
        plan.finalize("a way to run a convolution")?;
        let workspace = plan.integer(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)?;
        Ok(Engine { plan, workspace: usize::try_from(workspace).unwrap_or(usize::MAX), _config: config })
    }

    /// The way of running it that a text says, which [`Engine::text`] gave.
    pub fn restore(&self, handle: &Handle, text: &[u8]) -> Result<Engine, GpuError> {
        let plan = Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)?;
        // SAFETY: a HANDLE is the handle's pointer, a CHAR a byte.
        unsafe {
            plan.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_HANDLE, Type::CUDNN_TYPE_HANDLE, &[handle.raw])?;
            plan.set(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, Type::CUDNN_TYPE_CHAR, text)?;
        }
        plan.finalize("a way to run a convolution that was kept")?;
        let workspace = plan.integer(Attribute::CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)?;
        let config = Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)?;
        Ok(Engine { plan, workspace: usize::try_from(workspace).unwrap_or(usize::MAX), _config: config })
    }

    /// An engine on tensors at these addresses, and with this workspace.
    pub fn on(&self, engine: &Arc<Engine>, addresses: &[u64], workspace: u64) -> Result<Execution, GpuError> {
        let pack = Descriptor::new(&self.cudnn, Kind::CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)?;
        let uids: Vec<i64> = (0..self.tensors.len()).filter_map(|index| i64::try_from(index).ok()).collect();
        // SAFETY: VOID_PTR are pointers, which these numbers are on the device.
        unsafe {
            pack.set(Attribute::CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, Type::CUDNN_TYPE_VOID_PTR, addresses)?;
            pack.set(Attribute::CUDNN_ATTR_VARIANT_PACK_WORKSPACE, Type::CUDNN_TYPE_VOID_PTR, &[workspace])?;
        }
        pack.integers(Attribute::CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &uids)?;
        pack.finalize("addresses")?;
        Ok(Execution { engine: Arc::clone(engine), pack })
    }
}

impl Engine {
    /// What [`ConvolutionGraph::restore`] makes it of again, on the same kind of device with the same cuDNN.
    pub fn text(&self) -> Result<Vec<u8>, GpuError> {
        self.plan.text(Attribute::CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
    }
}

impl Parts<'_> {
    /// A tensor that has an address; the index of its descriptor.
    fn tensor(&mut self, view: &View) -> Result<usize, GpuError> {
        let uid = i64::try_from(self.tensors.len()).unwrap_or(0);
        self.tensors.push(view.clone());
        let data = match view.ty {
            TensorType::Float16 => Data::CUDNN_DATA_HALF,
            _ => Data::CUDNN_DATA_FLOAT,
        };
        self.add(view, data, uid, false)
    }

    /// One that lies between two operations.
    fn between(&mut self, like: &View) -> Result<usize, GpuError> {
        self.virtuals += 1;
        self.add(like, Data::CUDNN_DATA_FLOAT, self.virtuals, true)
    }

    fn add(&mut self, view: &View, data: Data, uid: i64, between: bool) -> Result<usize, GpuError> {
        let tensor = Descriptor::new(self.cudnn, Kind::CUDNN_BACKEND_TENSOR_DESCRIPTOR)?;
        let dims: Vec<i64> = view.dims.iter().filter_map(|n| i64::try_from(*n).ok()).collect();
        let strides: Vec<i64> = view.strides.iter().filter_map(|n| i64::try_from(*n).ok()).collect();
        // SAFETY: an enum, as cuDNN's type says; a BOOLEAN is a byte.
        unsafe {
            tensor.set(Attribute::CUDNN_ATTR_TENSOR_DATA_TYPE, Type::CUDNN_TYPE_DATA_TYPE, &[data])?;
            tensor.set(Attribute::CUDNN_ATTR_TENSOR_IS_VIRTUAL, Type::CUDNN_TYPE_BOOLEAN, &[between])?;
        }
        let size = view.ty.size();
        let aligned = alignment(view.offset * size);
        tensor.integers(Attribute::CUDNN_ATTR_TENSOR_DIMENSIONS, &dims)?;
        tensor.integers(Attribute::CUDNN_ATTR_TENSOR_STRIDES, &strides)?;
        tensor.integers(Attribute::CUDNN_ATTR_TENSOR_UNIQUE_ID, &[uid])?;
        tensor.integers(Attribute::CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &[aligned])?;
        tensor.finalize("a tensor")?;
        self.all.push(tensor);
        Ok(self.all.len() - 1)
    }
}

/// The largest power of two that divides an offset from an aligned address, as far as it matters.
fn alignment(bytes: usize) -> i64 {
    if bytes == 0 { ALIGNMENT } else { (1 << bytes.trailing_zeros().min(30)).min(ALIGNMENT) }
}

/// A `[K]` as `[1, K, 1, 1]`.
fn per_channel(bias: &View) -> View {
    let channels = bias.dims.first().copied().unwrap_or(1);
    let row = channels.cast_signed();
    View { dims: vec![1, channels, 1, 1], strides: vec![row, 1, row, row], ..bias.clone() }
}

/// cuDNN's name for a function.
fn mode_of(function: Unary) -> Option<Mode> {
    Some(match function {
        Unary::Relu | Unary::LeakyRelu { .. } => Mode::CUDNN_POINTWISE_RELU_FWD,
        Unary::Clip { low: 0.0, .. } => Mode::CUDNN_POINTWISE_RELU_FWD,
        Unary::Sigmoid => Mode::CUDNN_POINTWISE_SIGMOID_FWD,
        Unary::Tanh => Mode::CUDNN_POINTWISE_TANH_FWD,
        Unary::Silu => Mode::CUDNN_POINTWISE_SWISH_FWD,
        Unary::Elu { .. } => Mode::CUDNN_POINTWISE_ELU_FWD,
        Unary::Gelu => Mode::CUDNN_POINTWISE_GELU_FWD,
        Unary::GeluTanh => Mode::CUDNN_POINTWISE_GELU_APPROX_TANH_FWD,
        Unary::Softplus => Mode::CUDNN_POINTWISE_SOFTPLUS_FWD,
        _ => return None,
    })
}

fn set_parameters(pointwise: &Descriptor, function: Unary) -> Result<(), GpuError> {
    match function {
        Unary::LeakyRelu { slope } => {
            pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, slope)
        }
        Unary::Clip { low, high } => {
            pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, low)?;
            pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, high)
        }
        Unary::Silu => pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_SWISH_BETA, 1.0),
        Unary::Elu { alpha } => pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_ELU_ALPHA, alpha),
        Unary::Softplus => pointwise.float(Attribute::CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1.0),
        _ => Ok(()),
    }
}
