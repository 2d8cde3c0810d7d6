//! What a recurrent model remembers of streams between runs, and how it goes into a run on the host.

use std::borrow::Cow;
use std::sync::Arc;

use cudainfer_kernels::tensor::TensorDesc;
use gst::buffer::{MappedBuffer, Readable};

use super::elements::reserved;
use super::shape::Input;
use super::{InferenceError, RunShape, State};
use crate::meta::tensor::Tensor;

/// What a run has made of a stream: a tensor for each state, in the order of [`super::FrameTensors::states`].
pub type Remembered = Arc<[Tensor]>;

/// The states of a run's frames, mapped on the host, in the order of [`super::FrameTensors::states`].
pub(super) struct HostStates(Vec<HostState>);

/// A state of a run's frames.
struct HostState {
    /// Of each frame, what is remembered; frames that are beyond have nothing.
    frames: Vec<Option<MappedBuffer<Readable>>>,
    /// The dimensions of the first frame's.
    dims: Vec<usize>,
}

impl HostStates {
    /// Maps what is remembered of each frame's stream; frames beyond `before` have none.
    ///
    /// # Errors
    /// [`InferenceError::Run`]: a tensor cannot be mapped.
    pub fn map(shape: &RunShape, before: &[Option<Remembered>]) -> Result<Self, InferenceError> {
        let states = shape.states.iter().enumerate();
        states.map(|(index, state)| HostState::map(state, index, before)).collect::<Result<_, _>>().map(Self)
    }

    /// The inputs of a run of `rows` rows.
    ///
    /// # Errors
    /// [`InferenceError::Memory`], or [`InferenceError::Run`] where a tensor has another size.
    pub fn inputs<'a>(&'a self, shape: &'a RunShape, rows: usize) -> Result<Vec<Input<'a>>, InferenceError> {
        shape.states.iter().zip(&self.0).map(|(state, host)| host.input(state, rows)).collect()
    }
}

impl HostState {
    fn map(state: &State, index: usize, before: &[Option<Remembered>]) -> Result<Self, InferenceError> {
        let remembered = |before: &'_ Option<Remembered>| before.as_ref()?.get(index).cloned();
        let map = |tensor: Tensor| {
            let Tensor { desc, data } = tensor;
            let mapped = data.into_mapped_buffer_readable();
            mapped.map_err(|_| InferenceError::Run(format!("the state {desc} cannot be mapped")))
        };
        let first = before.first().and_then(remembered);
        let dims = first.map_or_else(
            || state.dims(1),
            |tensor| tensor.desc.dims.iter().map(|dim| dim.unwrap_or(0)).collect(),
        );
        let frames = before.iter().map(|before| remembered(before).map(map).transpose());
        Ok(Self { frames: frames.collect::<Result<_, _>>()?, dims })
    }

    /// The input of a run of `rows` rows.
    fn input<'a>(&'a self, state: &'a State, rows: usize) -> Result<Input<'a>, InferenceError> {
        let rows = if state.batched { rows } else { 1 };
        let input = |dims, data| Input { name: &state.input.name, ty: state.input.ty, dims, data };
        // A frame alone: what it has, in its own dimensions.
        if let ([Some(one)], 1) = (self.frames.as_slice(), rows) {
            return Ok(input(self.dims.clone(), Cow::Borrowed(one.as_slice())));
        }
        let first = state.at_first()?;
        let mut all = reserved(first.len() * rows)?;
        for row in 0..rows {
            let frame = self.frames.get(row).and_then(Option::as_ref);
            let row = frame.map_or(first.as_slice(), |map| map.as_slice());
            if row.len() != first.len() {
                return Err(InferenceError::Run(format!(
                    "a state has {} bytes, but {} has {}",
                    row.len(),
                    state.input,
                    first.len()
                )));
            }
            all.extend_from_slice(row);
        }
        Ok(input(state.dims(rows), Cow::Owned(all)))
    }
}

impl RunShape {
    /// Whether the model remembers something of streams.
    pub fn is_recurrent(&self) -> bool {
        !self.states.is_empty()
    }

    /// The states among a frame's part of the outputs; nothing where the model remembers nothing.
    pub fn remembered(&self, outputs: &[Tensor]) -> Option<Remembered> {
        let of = |state: &State| outputs.iter().find(|output| output.desc.name == state.output).cloned();
        let states = self.states.iter().map(of).collect::<Option<Vec<_>>>()?;
        (!states.is_empty()).then(|| states.into())
    }

    /// Whether frames carry this output, which is a state only.
    pub fn is_result(&self, output: &TensorDesc) -> bool {
        !self.states.iter().any(|state| state.output == output.name && !state.is_result)
    }

    /// The outputs that frames carry.
    pub fn results(&self) -> Vec<TensorDesc> {
        self.outputs.iter().filter(|output| self.is_result(output)).cloned().collect()
    }

    /// Which state a run does not make as it was at first, in a sentence.
    pub(super) fn other_states(&self) -> String {
        let output = |state: &State| self.outputs.iter().find(|output| output.name == state.output);
        let other = self.states.iter().filter_map(|state| Some((state, output(state)?)));
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
        self.states.iter().all(|state| {
            let output = self.outputs.iter().find(|output| output.name == state.output);
            output.is_some_and(|output| output.dims == state.input.dims)
        })
    }
}
