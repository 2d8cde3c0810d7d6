//! Runs of the engine on a GPU: a network for each shape and number of rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cudainfer_fused::gpu::{Constants, GpuError, Libraries, Network, Options};
use cudainfer_fused::graph::{Graph, Value, ValueId};
use cudainfer_fused::{import, lower};
use cudainfer_kernels::device::{CudaStream, DeviceSlice, Memory};
use cudainfer_kernels::tensor::TensorDesc;

use super::super::gpu::{RunMemory, Runner};
use super::super::model_file::{float16, read};
use super::super::{Config, FrameTensors, InferenceError, Precision, RunShape};
use super::kept::Kept;
use super::refusal::refused;
use crate::log::ENGINE as CAT;

/// A model's file, in the numbers that it runs in.
#[derive(Debug)]
pub(super) struct Model {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Inputs and outputs as the file declares them.
    pub inputs: Vec<TensorDesc>,
    pub outputs: Vec<TensorDesc>,
}

impl Model {
    /// # Errors
    /// The file cannot be read, or has operators that the engine does not know.
    pub fn read(config: &Config) -> Result<Self, InferenceError> {
        let form = if config.precision == Precision::Float16 { float16(config)? } else { None };
        let bytes = form.map_or_else(|| read(config), Ok)?;
        let [inputs, outputs] = import::signature(&bytes).map_err(|e| refused(&e))?;
        Ok(Self { path: config.model.clone(), bytes, inputs, outputs })
    }

    /// Its graph for a run of this many rows.
    fn graph(&self, shape: &RunShape, rows: usize) -> Result<Graph, InferenceError> {
        let (dims, others) = (shape.image_dims(rows), shape.constants(rows)?);
        let states: Vec<_> = shape.fed.iter().map(|state| (&state.input.name, state.dims(rows))).collect();
        let earlier: Vec<_> = shape.earlier_inputs(rows).collect();
        let mut given: Vec<(&str, &[usize])> = vec![(&shape.image.name, &dims)];
        given.extend(earlier.iter().map(|(name, dims)| (*name, &dims[..])));
        given.extend(others.iter().map(|input| (input.name, &input.dims[..])));
        given.extend(states.iter().map(|(name, dims)| (name.as_str(), &dims[..])));
        let folder = self.path.parent().unwrap_or(Path::new("."));
        import::read(&self.bytes, folder, &given).map_err(|e| refused(&e))
    }

    /// The shape with its outputs' dimensions, which the file need not declare: they follow from the inputs'.
    ///
    /// # Errors
    /// [`InferenceError::Batch`]: an output cannot be divided among the rows; [`InferenceError::Provider`]: the dimensions of states
    /// change.
    pub fn completed(&self, shape: &RunShape, frames: usize) -> Result<RunShape, InferenceError> {
        let rows = shape.rows(frames);
        let graph = self.graph(shape, rows)?;
        let of_one = |value: &ValueId| {
            let Value { name, ty, dims, .. } = graph.value(*value);
            let mut dims = dims.clone();
            match dims.first_mut() {
                Some(first) if *first % rows == 0 => *first /= rows,
                _ if rows == 1 => (),
                _ => {
                    let output = TensorDesc::fixed(name, *ty, &dims).to_string();
                    return Err(InferenceError::Batch { rows, output });
                }
            }
            Ok(TensorDesc::fixed(name, *ty, &dims))
        };
        let outputs = graph.outputs.iter().map(of_one).collect::<Result<_, _>>()?;
        let known = RunShape::new(FrameTensors { outputs, ..FrameTensors::clone(shape) }, frames)?;
        if !known.has_fixed_states() {
            let why = "the dimensions of its states change from the first run to the second, for which a network is made for each. Write \
                       shape for them in the sidecar's [state]";
            return Err(refused(&why));
        }
        Ok(known)
    }
}

/// What makes networks of a model.
#[derive(Debug)]
pub(super) struct FusedRunner {
    pub model: Model,
    pub libraries: Libraries,
    pub stream: Arc<CudaStream>,
    pub kept: Arc<Kept>,
    /// What the networks of its batch sizes share.
    pub constants: Constants,
}

/// A network at fixed addresses.
#[derive(Debug)]
pub(super) struct FusedRun {
    network: Network,
    /// Other inputs, and outputs that nobody asks for.
    _memory: Vec<Memory>,
}

impl Runner for FusedRunner {
    type Run = FusedRun;

    fn bind(&mut self, stream: &CudaStream, memory: RunMemory<'_>) -> Result<FusedRun, InferenceError> {
        let RunMemory { shape, rows, image, earlier, constants, fed, outputs } = memory;
        let others = shape.constants(rows)?;
        let graph = self.model.graph(shape, rows)?;
        let plan = lower::lower(&graph).map_err(|e| refused(&e))?;
        let name = |value: &ValueId| &graph.value(*value).name;
        let mut kept = constants;
        let mut places = [Vec::new(), Vec::new()];
        for input in &graph.inputs {
            let name = name(input);
            let other = others.iter().zip(&kept).find(|(other, _)| other.name == *name);
            let state = shape.fed.iter().zip(&fed).find(|(state, _)| state.input.name == *name);
            let picture = shape.earlier.iter().zip(&earlier).find(|(picture, _)| picture.input == *name);
            let place = other.map(|(_, memory)| memory.pointer());
            let place = place.or(state.map(|(_, memory)| memory.pointer()));
            let place = place.or(picture.map(|(_, memory)| memory.pointer()));
            places[0].push(place.unwrap_or(image.pointer()));
        }
        for (output, view) in graph.outputs.iter().zip(&plan.outputs) {
            let wanted = shape.outputs.iter().position(|desc| desc.name == *name(output));
            let bytes = view.elements() * view.ty.size();
            let place: Option<&DeviceSlice<'_>> = wanted.and_then(|index| outputs.get(index));
            places[1].push(match place.filter(|place| place.bytes() >= bytes) {
                Some(place) => place.pointer(),
                None => {
                    kept.push(stream.allocate(bytes)?);
                    kept.last().map_or(0, Memory::pointer)
                }
            });
        }
        let [inputs, outputs] = &places;
        // SAFETY: the session keeps the memory as long as the run, and the run keeps its own.
        let network = unsafe {
            Network::new(
                &plan,
                &self.libraries,
                &self.stream,
                [inputs, outputs],
                Options::default(),
                &*self.kept,
                &self.constants,
            )
        };
        self.kept.write();
        let network = network.map_err(of_gpu)?;
        gst::info!(
            CAT,
            "{} steps for {rows} frames in {}; {} kinds of convolutions were tried, which took {:?}",
            plan.steps.len(),
            network.report.schedule,
            network.report.lines.len(),
            network.report.stages.took()
        );
        Ok(FusedRun { network, _memory: kept })
    }

    fn enqueue(&mut self, stream: &CudaStream, run: &mut FusedRun, _: bool) -> Result<(), InferenceError> {
        run.network.enqueue(stream).map_err(of_gpu)
    }

    fn is_interrupted(&self) -> bool {
        false
    }
}

fn of_gpu(error: GpuError) -> InferenceError {
    match error {
        GpuError::Device(error) => error.into(),
        other => InferenceError::Run(other.to_string()),
    }
}
