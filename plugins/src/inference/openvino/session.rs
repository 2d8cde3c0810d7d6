//! A session of OpenVINO. A batch is as many requests of one frame each, so that a frame's results are the same to the bit in
//! whatever batch it is; only a model of a fixed batch takes one as a whole.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use cudainfer_kernels::convert::convert;
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::failure::failed;
use super::network::{Compiled, InputDims, Network};
use super::request::{Interrupted, Request};
use crate::inference::host_fed::HostFed;
use crate::inference::pictures::Maps;
use crate::inference::shape::Input;
use crate::inference::stop::Interrupt;
use crate::inference::{FedTensors, InferenceError, Outlook, RunShape, Session, exit};
use crate::meta::tensor::Tensor;

/// Shapes that a session keeps ready.
const MOST_SHAPES: usize = 4;

/// A session of OpenVINO.
pub(super) struct OpenVinoSession {
    network: Arc<Network>,
    /// The shapes that ran last, the latest first.
    prepared: ManuallyDrop<Vec<Prepared>>,
    interrupted: Arc<Interrupted>,
}

/// The network for inputs of one shape, with its requests.
struct Prepared {
    dims: InputDims,
    /// Dropped before what they are requests of.
    requests: Vec<Request>,
    compiled: Arc<Compiled>,
}

impl OpenVinoSession {
    /// A session of a network that others may run as well.
    pub fn new(network: Arc<Network>) -> Self {
        exit::register();
        Self { network, prepared: ManuallyDrop::new(Vec::new()), interrupted: Arc::default() }
    }

    /// The network for these inputs, first of those that are prepared, with up to this many requests.
    fn prepare(&mut self, dims: InputDims, requests: usize) -> Result<&mut Prepared, InferenceError> {
        let known = self.prepared.iter().position(|prepared| prepared.dims == dims);
        let prepared = match known {
            Some(known) => self.prepared.remove(known),
            None => {
                self.prepared.truncate(MOST_SHAPES - 1);
                let compiled = self.network.compiled(&dims)?;
                Prepared { dims, requests: Vec::new(), compiled }
            }
        };
        self.prepared.insert(0, prepared);
        let Some(prepared) = self.prepared.first_mut() else {
            return Err(InferenceError::Run("no shape is prepared".into()));
        };
        while prepared.requests.len() < requests.min(prepared.compiled.in_flight).max(1) {
            prepared.requests.push(Request::new(&self.network, &prepared.compiled)?);
        }
        Ok(prepared)
    }

    fn run_all(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let _call = exit::begin()?;
        // Frames of a request, which is all of a fixed batch.
        let rows = shape.fixed.unwrap_or(1).max(1);
        let constants = shape.constants(rows)?;
        let states = HostFed::map(shape, of_request(fed, 0, rows))?;
        let given = [&constants[..], &states.inputs(shape, rows)?[..]].concat();
        let dims = self.input_dims(shape, &given, rows)?;
        let interrupted = Arc::clone(&self.interrupted);
        let network = Arc::clone(&self.network);
        let count = (images.len() / shape.pictures()).div_ceil(rows);
        let prepared = self.prepare(dims, count)?;
        let mut made = Made::new(&network.outputs, count);
        let result = prepared.run(&network, shape, &constants, images, fed, rows, &interrupted, &mut made);
        if result.is_err() {
            // None may be in flight when the next run fills them.
            prepared.requests.iter_mut().for_each(Request::cancel);
        }
        result?;
        Ok(made.tensors())
    }

    /// The dimensions of each input, in the network's order.
    fn input_dims(
        &self,
        shape: &RunShape,
        given: &[Input<'_>],
        rows: usize,
    ) -> Result<InputDims, InferenceError> {
        let of = |input: &TensorDesc| {
            if input.name == shape.image.name {
                return Ok(shape.image_dims(rows));
            }
            let picture = shape.earlier_inputs(rows).find(|(name, _)| *name == input.name);
            if let Some((_, dims)) = picture {
                return Ok(dims);
            }
            let other = given.iter().find(|other| other.name == input.name);
            let missing = || InferenceError::Run(format!("nothing is given for the input '{}'", input.name));
            other.map(|other| other.dims.clone()).ok_or_else(missing)
        };
        self.network.inputs.iter().map(of).collect()
    }
}

impl Prepared {
    /// Runs as many requests as the images need, several of them in flight.
    #[expect(clippy::too_many_arguments, reason = "all of them belong to one run")]
    fn run(
        &mut self,
        network: &Network,
        shape: &RunShape,
        constants: &[Input<'_>],
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
        rows: usize,
        interrupted: &Interrupted,
        made: &mut Made,
    ) -> Result<(), InferenceError> {
        let in_flight = self.requests.len();
        for (turn, images) in images.chunks(rows * shape.pictures()).enumerate() {
            let request = &mut self.requests[turn % in_flight];
            if turn >= in_flight {
                request.finish(interrupted)?;
                made.add(network, request)?;
            }
            if interrupted.is_set() {
                return Err(InferenceError::Interrupted);
            }
            let states = HostFed::map(shape, of_request(fed, turn, rows))?;
            let run = |e: glib::BoolError| InferenceError::Run(e.to_string());
            let maps = images.iter().map(|image| image.map_readable().map_err(run));
            let maps = maps.collect::<Result<Vec<_>, _>>()?;
            let earlier = shape.earlier_pictures(&maps, rows)?;
            let given = [constants, &states.inputs(shape, rows)?, &earlier].concat();
            fill(request, network, shape, &given, &maps)?;
            request.start()?;
        }
        // The oldest first: outputs come in the frames' order.
        let count = (images.len() / shape.pictures()).div_ceil(rows);
        for turn in count.saturating_sub(in_flight)..count {
            let request = &mut self.requests[turn % in_flight];
            request.finish(interrupted)?;
            made.add(network, request)?;
        }
        Ok(())
    }
}

/// What is remembered of the frames of a request, each of which has `rows` rows.
fn of_request(fed: &[Option<FedTensors>], request: usize, rows: usize) -> &[Option<FedTensors>] {
    fed.chunks(rows).nth(request).unwrap_or_default()
}

/// Puts the images and the other inputs into a request; rows without an image are zeros.
fn fill(
    request: &mut Request,
    network: &Network,
    shape: &RunShape,
    given: &[Input<'_>],
    pictures: &Maps<'_>,
) -> Result<(), InferenceError> {
    let run = |e: &dyn fmt::Display| InferenceError::Run(e.to_string());
    let dims = shape.image_dims(1);
    for (input, tensor) in network.inputs.iter().zip(&mut request.inputs) {
        let to = tensor.get_raw_data_mut().map_err(|e| failed(&e))?;
        if let Some(other) = given.iter().find(|other| other.name == input.name) {
            if to.len() != other.data.len() {
                return Err(run(&format!(
                    "'{}' has {} bytes, not {}",
                    input.name,
                    other.data.len(),
                    to.len()
                )));
            }
            to.copy_from_slice(&other.data);
            continue;
        }
        let bytes = shape.image_bytes();
        let (room, needed) = (to.len(), pictures.len() / shape.pictures() * bytes);
        let (used, left) = to
            .split_at_mut_checked(needed)
            .ok_or_else(|| run(&format!("'{}' has room for {room} bytes, not for {needed}", input.name)))?;
        for (row, image) in used.chunks_exact_mut(bytes.max(1)).zip(pictures.chunks(shape.pictures())) {
            let image = shape.join(image)?;
            let image = TensorView::new(&input.name, shape.given, &dims, &image).map_err(|e| run(&e))?;
            convert(&image, shape.image.ty, row).map_err(|e| run(&e))?;
        }
        left.fill(0);
    }
    Ok(())
}

/// The outputs of a run, as its requests add to them.
struct Made {
    /// Requests of the run.
    count: usize,
    outputs: Vec<(TensorDesc, Vec<u8>)>,
}

impl Made {
    fn new(outputs: &[TensorDesc], count: usize) -> Self {
        let empty = |output: &TensorDesc| (TensorDesc { dims: Vec::new(), ..output.clone() }, Vec::new());
        Self { count, outputs: outputs.iter().map(empty).collect() }
    }

    /// Adds the outputs of the next request.
    ///
    /// # Errors
    /// [`InferenceError::Batch`]: they cannot be put together, because they are no rows or differ.
    fn add(&mut self, network: &Network, request: &Request) -> Result<(), InferenceError> {
        for ((desc, bytes), place) in self.outputs.iter_mut().zip(&network.places) {
            let same = request.output(*place, |dims, row| {
                let dims: Vec<_> = dims.iter().map(|dim| usize::try_from(*dim).ok()).collect();
                let is_first = bytes.is_empty() && desc.dims.is_empty();
                if is_first {
                    desc.dims = dims;
                    bytes.reserve_exact(row.len() * self.count);
                } else if desc.dims != dims {
                    return false;
                }
                bytes.extend_from_slice(row);
                self.count == 1 || desc.dims.first() == Some(&Some(1))
            })?;
            if !same {
                return Err(InferenceError::Batch { rows: self.count, output: desc.to_string() });
            }
        }
        Ok(())
    }

    fn tensors(self) -> Vec<Tensor> {
        let tensor = |(mut desc, bytes): (TensorDesc, Vec<u8>)| {
            if let (true, Some(first)) = (self.count > 1, desc.dims.first_mut()) {
                *first = Some(self.count);
            }
            Tensor { desc, data: gst::Buffer::from_slice(bytes) }
        };
        self.outputs.into_iter().map(tensor).collect()
    }
}

impl Session for OpenVinoSession {
    fn inputs(&self) -> &[TensorDesc] {
        &self.network.inputs
    }

    fn outputs(&self) -> &[TensorDesc] {
        &self.network.outputs
    }

    fn stream(&self) -> Option<&Arc<CudaStream>> {
        None
    }

    fn reserve(&mut self, _: usize) {}

    fn sizes(&self, batch: usize) -> Vec<usize> {
        vec![1, batch]
    }

    fn warm_up_runs(&self) -> usize {
        1
    }

    fn rows(&self, shape: &RunShape, frames: usize) -> usize {
        shape.rows(frames)
    }

    fn run(
        &mut self,
        shape: &Arc<RunShape>,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        self.run_on_host(shape, images, fed)
    }

    fn run_on_host(
        &mut self,
        shape: &RunShape,
        images: &[&gst::BufferRef],
        fed: &[Option<FedTensors>],
    ) -> Result<Vec<Tensor>, InferenceError> {
        let made = self.run_all(shape, images, fed);
        // An interruption that came too late for this run does not end the next one.
        self.interrupted.take();
        made
    }

    fn wait_for_turn(&mut self) -> Result<Outlook, InferenceError> {
        Ok(Outlook::default())
    }

    fn interrupt(&self) -> Option<Arc<dyn Interrupt>> {
        Some(self.interrupted.clone())
    }

    fn finish(&mut self) -> Result<(), InferenceError> {
        Ok(())
    }
}

impl Drop for OpenVinoSession {
    fn drop(&mut self) {
        // At the end of the process, the library that would free the requests may be gone.
        let Ok(_call) = exit::begin() else { return };
        // SAFETY: nothing uses them any more.
        unsafe { ManuallyDrop::drop(&mut self.prepared) };
    }
}

impl fmt::Debug for OpenVinoSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenVinoSession").field("network", &self.network).finish_non_exhaustive()
    }
}
