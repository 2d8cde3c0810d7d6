//! A run in flight: OpenVINO's request, filled by us, and what becomes of it.

use std::sync::atomic::{AtomicBool, Ordering};

use openvino::{InferRequest, InferenceErrorKind};

use super::failure::failed;
use super::network::{Compiled, Network};
use crate::inference::InferenceError;
use crate::inference::stop::Interrupt;

/// How long a run is waited for between two looks whether it must end, in milliseconds. It returns as soon as it is done.
const LOOK: i64 = 20;

/// Whether the current run must end, or the next one.
#[derive(Debug, Default)]
pub(super) struct Interrupted(AtomicBool);

impl Interrupted {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Takes the interruption back, and returns whether there was one.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Interrupt for Interrupted {
    fn interrupt(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn withdraw(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// A request, of which one run at a time is in flight.
pub(super) struct Request {
    request: InferRequest,
    /// Its inputs, in the network's order; their memory is the request's own.
    pub inputs: Vec<openvino::Tensor>,
    in_flight: bool,
}

impl Request {
    /// Another request of the compiled network.
    ///
    /// # Errors
    /// OpenVINO's, for want of memory for example.
    pub fn new(network: &Network, compiled: &Compiled) -> Result<Self, InferenceError> {
        let request = compiled.request().map_err(|e| failed(&e))?;
        let inputs = network.inputs.iter().map(|input| request.get_tensor(&input.name));
        let inputs = inputs.collect::<Result<_, _>>().map_err(|e| failed(&e))?;
        Ok(Self { request, inputs, in_flight: false })
    }

    /// Starts a run on what the inputs hold.
    ///
    /// # Errors
    /// OpenVINO's own.
    pub fn start(&mut self) -> Result<(), InferenceError> {
        self.request.infer_async().map_err(|e| failed(&e))?;
        self.in_flight = true;
        Ok(())
    }

    /// Waits until the run is over. Where it is interrupted, it is cancelled.
    ///
    /// # Errors
    /// OpenVINO's own, or [`InferenceError::Interrupted`].
    pub fn finish(&mut self, interrupted: &Interrupted) -> Result<(), InferenceError> {
        while self.in_flight {
            if interrupted.is_set() {
                self.cancel();
                return Err(InferenceError::Interrupted);
            }
            match self.request.wait(LOOK) {
                Ok(()) => self.in_flight = false,
                Err(e) if e.kind == InferenceErrorKind::ResultNotReady => (),
                Err(e) => {
                    self.in_flight = false;
                    return Err(failed(&e));
                }
            }
        }
        Ok(())
    }

    /// Ends the run, if there is one, and waits for its end: at the latest with the operation that is under way.
    pub fn cancel(&mut self) {
        if self.in_flight && self.request.cancel().is_ok() {
            while self.request.wait(LOOK).is_err_and(|e| e.kind == InferenceErrorKind::ResultNotReady) {}
        }
        self.in_flight = false;
    }

    /// The output that the model has at this place, as the last run has made it: its dimensions, and its bytes.
    ///
    /// # Errors
    /// OpenVINO's own.
    pub fn output<T>(
        &self,
        place: usize,
        read: impl FnOnce(&[i64], &[u8]) -> T,
    ) -> Result<T, InferenceError> {
        let output = self.request.get_output_tensor_by_index(place).map_err(|e| failed(&e))?;
        let shape = output.get_shape().map_err(|e| failed(&e))?;
        // Nothing has no address.
        let is_empty = output.get_byte_size().map_err(|e| failed(&e))? == 0;
        let bytes = if is_empty { &[][..] } else { output.get_raw_data().map_err(|e| failed(&e))? };
        Ok(read(shape.get_dimensions(), bytes))
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.cancel();
    }
}
