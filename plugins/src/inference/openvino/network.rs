//! A model in OpenVINO: read once, compiled once for each shape, whichever sessions run it.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, Weak};

use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use openvino::{
    CompiledModel, Core, DeviceType, ElementType, Model, Node, PartialShape, PropertyKey, RwPropertyKey,
};

use super::failure::{failed, refused};
use super::library::Library;
use crate::inference::{Config, InferenceError, OpenVinoDevice, Precision, Provider, exit};
use crate::log::ENGINE as CAT;
use crate::property::nick;
use crate::sync::lock;

/// Dimensions of each input that is fed, in the order of the inputs.
pub(super) type InputDims = Vec<Vec<usize>>;

/// A model that OpenVINO has read, for one device.
pub(super) struct Network {
    loaded: ManuallyDrop<Mutex<Loaded>>,
    /// The inputs that are tensors of numbers.
    pub inputs: Vec<TensorDesc>,
    /// The outputs that are tensors of numbers.
    pub outputs: Vec<TensorDesc>,
    /// Where the model has each of these outputs.
    pub places: Vec<usize>,
    /// What the model was compiled for, as long as sessions use it.
    compiled: Mutex<Vec<(InputDims, Weak<Compiled>)>>,
}

/// OpenVINO's own objects; one thread at a time uses them.
struct Loaded {
    core: Core,
    model: Model,
    device: OpenVinoDevice,
}

/// The model for inputs of fixed sizes.
pub(super) struct Compiled {
    model: Mutex<ManuallyDrop<CompiledModel>>,
    /// Requests that OpenVINO suggests to keep in flight.
    pub in_flight: usize,
}

impl Network {
    /// Reads the model, for the device and the numbers that `config` asks for.
    ///
    /// # Errors
    /// [`InferenceError::Provider`]: OpenVINO does not know the model or the device, or the device does not compute so.
    pub fn open(library: &Library, config: &Config) -> Result<Self, InferenceError> {
        let refuse = |reason: String| InferenceError::Provider { provider: nick(Provider::OpenVino), reason };
        let mut core =
            Core::new().map_err(|e| refuse(format!("OpenVINO {} does not start: {e}", library.version)))?;
        set_up(&mut core, config).map_err(refuse)?;
        let path = config.model.to_str().filter(|path| !path.contains('\0'));
        let path = path.ok_or_else(|| {
            refuse(format!("OpenVINO takes names in UTF-8 only, which '{}' is not", config.model.display()))
        })?;
        let model = core
            .read_model_from_file(path, "")
            .map_err(|e| refuse(format!("OpenVINO cannot read the model ({})", refused(&e))))?;
        let described = (|| {
            let inputs =
                (0..model.get_inputs_len()?).map(|index| describe(&model.get_input_by_index(index)?));
            let outputs =
                (0..model.get_outputs_len()?).map(|index| describe(&model.get_output_by_index(index)?));
            Ok::<_, openvino::InferenceError>((
                inputs.collect::<Result<Vec<_>, _>>()?,
                outputs.collect::<Result<Vec<_>, _>>()?,
            ))
        })();
        let (inputs, outputs) =
            described.map_err(|e| refuse(format!("OpenVINO cannot describe the model ({})", refused(&e))))?;
        let (places, outputs) =
            outputs.into_iter().enumerate().filter_map(|(place, output)| Some((place, output?))).unzip();
        let loaded = Loaded { core, model, device: config.openvino_device };
        Ok(Self {
            loaded: ManuallyDrop::new(Mutex::new(loaded)),
            inputs: inputs.into_iter().flatten().collect(),
            outputs,
            places,
            compiled: Mutex::default(),
        })
    }

    /// The model for inputs of these dimensions, in the order of [`Network::inputs`]; compiled at the first call.
    ///
    /// # Errors
    /// OpenVINO does not compile it for them.
    pub fn compiled(&self, dims: &InputDims) -> Result<Arc<Compiled>, InferenceError> {
        let mut compiled = lock(&self.compiled);
        compiled.retain(|(_, known)| known.strong_count() > 0);
        let known = compiled.iter().find(|(known, _)| known == dims).and_then(|(_, known)| known.upgrade());
        if let Some(known) = known {
            return Ok(known);
        }
        // Others wait: they want the same most of the time.
        let model = Arc::new(self.compile(dims).map_err(|e| failed(&e))?);
        compiled.push((dims.clone(), Arc::downgrade(&model)));
        Ok(model)
    }

    fn compile(&self, dims: &InputDims) -> Result<Compiled, openvino::InferenceError> {
        let mut loaded = lock(&self.loaded);
        let Loaded { core, model, device } = &mut *loaded;
        let shapes = dims
            .iter()
            .map(|dims| {
                let dims: Vec<i64> = dims.iter().map(|dim| i64::try_from(*dim).unwrap_or(i64::MAX)).collect();
                PartialShape::new_static(i64::try_from(dims.len()).unwrap_or(0), &dims)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let names = self.inputs.iter().map(|input| input.name.as_str());
        model.reshape(&names.zip(&shapes).collect::<Vec<_>>())?;
        let compiled = core.compile_model(model, device.name().as_str().into())?;
        let in_flight = compiled.get_property(&PropertyKey::OptimalNumberOfInferRequests)?;
        let in_flight = in_flight.parse().unwrap_or(1).max(1);
        gst::debug!(CAT, "OpenVINO compiled the model for {dims:?}, {in_flight} requests in flight");
        Ok(Compiled { model: Mutex::new(ManuallyDrop::new(compiled)), in_flight })
    }
}

impl Compiled {
    /// Another request of the model.
    ///
    /// # Errors
    /// OpenVINO's, for want of memory for example.
    pub fn request(&self) -> Result<openvino::InferRequest, openvino::InferenceError> {
        lock(&self.model).create_infer_request()
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // At the end of the process, the library that would free it may be gone.
        let Ok(_call) = exit::begin() else { return };
        // SAFETY: nothing uses it any more.
        unsafe { ManuallyDrop::drop(&mut lock(&self.model)) };
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let Ok(_call) = exit::begin() else { return };
        // SAFETY: nothing uses it any more.
        unsafe { ManuallyDrop::drop(&mut self.loaded) };
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

/// Sets the device's properties: what it computes in, and for the CPU as many streams as there are workers, each of as many threads
/// as an operation may have.
fn set_up(core: &mut Core, config: &Config) -> Result<(), String> {
    use RwPropertyKey::{
        HintEnableCpuPinning, HintInferencePrecision, HintPerformanceMode, InferenceNumThreads, NumStreams,
    };
    let device = config.openvino_device.name();
    let known = core.available_devices().map_err(|e| refused(&e))?;
    let is_known = |device: &str| known.iter().any(|known| known.as_ref() == device);
    // A single GPU is called GPU, the first of several GPU.0.
    if !is_known(&device) && !is_known(&format!("{device}.0")) {
        let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
        return Err(format!(
            "OpenVINO finds no device {device} on this machine, only {}: its driver may be missing",
            known.join(", ")
        ));
    }
    let key = DeviceType::from(device.as_str());
    let precision = if config.precision == Precision::Bfloat16 {
        let able = core.get_property(&key, &PropertyKey::DeviceCapabilities).map_err(|e| refused(&e))?;
        if !able.split([' ', ',']).any(|able| able == "BF16") {
            return Err(format!(
                "precision=bfloat16 needs a processor that computes in bfloat16 (AVX-512 BF16 or AMX), and {device} computes in {}",
                able.trim()
            ));
        }
        "bf16"
    } else {
        // OpenVINO's own default is bfloat16 wherever the processor has it.
        "f32"
    };
    let [streams, threads] =
        [config.sessions, config.sessions * config.intra_threads].map(|count| count.to_string());
    let properties = match config.openvino_device {
        // Pinned threads of several elements would share a core and leave others idle.
        OpenVinoDevice::Cpu => vec![
            (HintInferencePrecision, precision),
            (NumStreams, streams.as_str()),
            (InferenceNumThreads, threads.as_str()),
            (HintEnableCpuPinning, "NO"),
        ],
        OpenVinoDevice::Gpu(_) => {
            vec![(HintInferencePrecision, precision), (HintPerformanceMode, "THROUGHPUT")]
        }
        // It computes in float16 and int8 only.
        OpenVinoDevice::Npu => vec![(HintPerformanceMode, "THROUGHPUT")],
    };
    core.set_properties(&key, properties).map_err(|e| refused(&e))
}

/// A tensor of numbers; nothing for another one.
fn describe(node: &Node) -> Result<Option<TensorDesc>, openvino::InferenceError> {
    let name = node.get_name()?;
    let ty = node.get_element_type()?;
    let Some(ty) = tensor_type(ty) else {
        gst::warning!(CAT, "'{name}' of type {ty} is left out: only numbers of up to 64 bits serve");
        return Ok(None);
    };
    let shape = node.get_partial_shape()?;
    let dims = shape.get_dimensions().iter().map(|dim| {
        let fixed = dim.get_min() == dim.get_max();
        usize::try_from(dim.get_min()).ok().filter(|_| fixed)
    });
    Ok(Some(TensorDesc { name, ty, dims: dims.collect() }))
}

fn tensor_type(ty: ElementType) -> Option<TensorType> {
    Some(match ty {
        ElementType::F32 => TensorType::Float32,
        ElementType::F16 => TensorType::Float16,
        ElementType::U8 => TensorType::UInt8,
        ElementType::I8 => TensorType::Int8,
        ElementType::I32 => TensorType::Int32,
        ElementType::I64 => TensorType::Int64,
        ElementType::Boolean => TensorType::Bool,
        _ => return None,
    })
}
