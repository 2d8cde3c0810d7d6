//! How what each frame feeds beside its picture goes into a run on the host, and what a run leaves for the next one.

use std::borrow::Cow;

use cudainfer_kernels::tensor::TensorDesc;
use gst::buffer::{MappedBuffer, Readable};

use super::elements::reserved;
use super::fed::{Fed, FedTensors, Source};
use super::shape::Input;
use super::{InferenceError, RunShape};
use crate::meta::tensor::Tensor;

/// What a run's frames feed, mapped on the host, in the order of [`super::FrameTensors::fed`].
pub(super) struct HostFed(Vec<HostFedInput>);

/// An input of a run's frames.
struct HostFedInput {
    /// Of each frame, what it feeds; frames that are beyond have nothing.
    frames: Vec<Option<MappedBuffer<Readable>>>,
    /// The dimensions of the first frame's.
    dims: Vec<usize>,
}

impl HostFed {
    /// Maps what each frame feeds; frames beyond `fed` have nothing.
    ///
    /// # Errors
    /// [`InferenceError::Run`]: a tensor cannot be mapped.
    pub fn map(shape: &RunShape, fed: &[Option<FedTensors>]) -> Result<Self, InferenceError> {
        let inputs = shape.fed.iter().enumerate();
        inputs.map(|(index, input)| HostFedInput::map(input, index, fed)).collect::<Result<_, _>>().map(Self)
    }

    /// The inputs of a run of `rows` rows.
    ///
    /// # Errors
    /// [`InferenceError::Memory`], or [`InferenceError::Run`] where a tensor has another size.
    pub fn inputs<'a>(&'a self, shape: &'a RunShape, rows: usize) -> Result<Vec<Input<'a>>, InferenceError> {
        shape.fed.iter().zip(&self.0).map(|(input, host)| host.input(input, rows)).collect()
    }
}

impl HostFedInput {
    fn map(input: &Fed, index: usize, fed: &[Option<FedTensors>]) -> Result<Self, InferenceError> {
        let of_frame = |fed: &'_ Option<FedTensors>| fed.as_ref()?.get(index).cloned();
        let map = |tensor: Tensor| {
            let Tensor { desc, data } = tensor;
            let mapped = data.into_mapped_buffer_readable();
            mapped.map_err(|_| InferenceError::Run(format!("the tensor {desc} cannot be mapped")))
        };
        let first = fed.first().and_then(of_frame);
        let dims = first.map_or_else(
            || input.dims(1),
            |tensor| tensor.desc.dims.iter().map(|dim| dim.unwrap_or(0)).collect(),
        );
        let frames = fed.iter().map(|fed| of_frame(fed).map(map).transpose());
        Ok(Self { frames: frames.collect::<Result<_, _>>()?, dims })
    }

    /// The input of a run of `rows` rows.
    fn input<'a>(&'a self, fed: &'a Fed, rows: usize) -> Result<Input<'a>, InferenceError> {
        let rows = if fed.batched { rows } else { 1 };
        let input = |dims, data| Input { name: &fed.input.name, ty: fed.input.ty, dims, data };
        // A frame alone: what it has, in its own dimensions.
        if let ([Some(one)], 1) = (self.frames.as_slice(), rows) {
            return Ok(input(self.dims.clone(), Cow::Borrowed(one.as_slice())));
        }
        let first = fed.at_first()?;
        let mut all = reserved(first.len() * rows)?;
        for row in 0..rows {
            let frame = self.frames.get(row).and_then(Option::as_ref);
            let row = frame.map_or(first.as_slice(), |map| map.as_slice());
            if row.len() != first.len() {
                return Err(InferenceError::Run(format!(
                    "a frame's tensor has {} bytes, but {} has {}",
                    row.len(),
                    fed.input,
                    first.len()
                )));
            }
            all.extend_from_slice(row);
        }
        Ok(input(fed.dims(rows), Cow::Owned(all)))
    }
}

impl RunShape {
    /// Whether the model remembers something of streams.
    pub fn is_recurrent(&self) -> bool {
        self.fed.iter().any(|fed| fed.output().is_some())
    }

    /// Whether frames bring what the model is asked for.
    pub fn is_prompted(&self) -> bool {
        self.fed.iter().any(|fed| fed.source == Source::Frame)
    }

    /// The states among a frame's part of the outputs; nothing where the model remembers nothing.
    pub fn remembered(&self, outputs: &[Tensor]) -> Option<FedTensors> {
        let of = |name| outputs.iter().find(|output| output.desc.name == name).cloned();
        let states = self.fed.iter().filter_map(Fed::output).map(of).collect::<Option<Vec<_>>>()?;
        (!states.is_empty()).then(|| states.into())
    }

    /// Whether frames carry this output, which is a state only.
    pub fn is_result(&self, output: &TensorDesc) -> bool {
        let only_fed = |fed: &Fed| matches!(&fed.source, Source::Run { output: name, is_result: false } if *name == output.name);
        !self.fed.iter().any(only_fed)
    }

    /// The outputs that frames carry.
    pub fn results(&self) -> Vec<TensorDesc> {
        self.outputs.iter().filter(|output| self.is_result(output)).cloned().collect()
    }

    /// Which state a run does not make as it was at first, in a sentence.
    pub(super) fn other_states(&self) -> String {
        let output = |state: &Fed| self.outputs.iter().find(|output| Some(&*output.name) == state.output());
        let other = self.fed.iter().filter_map(|state| Some((state, output(state)?)));
        let other = other.filter(|(state, output)| output.dims != state.input.dims);
        let other: Vec<_> = other
            .map(|(state, output)| format!("{output} is not what {} is at first", state.input))
            .collect();
        format!(
            "{}, so frames of several streams cannot be in one run. Correct shape in the sidecar's [state], or set batch-size=1",
            other.join(", and ")
        )
    }

    /// Whether every state goes into a run as the run before has made it, in the same dimensions as at first.
    pub(in crate::inference) fn has_fixed_states(&self) -> bool {
        self.fed.iter().all(|fed| {
            let Some(name) = fed.output() else { return true };
            let output = self.outputs.iter().find(|output| output.name == name);
            output.is_some_and(|output| output.dims == fed.input.dims)
        })
    }
}
