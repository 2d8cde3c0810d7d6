//! Where an element works, decided once for each time out of NULL.

use std::sync::Arc;

use cudainfer_kernels::device::{Choice, Counters, Resolved};
use gst::prelude::*;

use super::GpuSession;
use crate::auto_gpu;

/// Where an element works.
#[derive(Clone, Debug, Default)]
pub enum ChosenDevice {
    /// Not decided: in NULL, before anything asked for it.
    #[default]
    Undecided,
    /// On this GPU.
    Gpu(GpuSession),
    /// On the CPU, in system memory.
    Cpu,
}

impl ChosenDevice {
    /// Finds the device that the property `device` asks for. The second value is why that is the CPU although the
    /// user left it open. `offered` is the CUDA context that `element` was last given, if any.
    ///
    /// # Errors
    /// `NotFound` if a GPU was asked for and there is none that can be used.
    pub fn decide(
        choice: Choice,
        element: &gst::Element,
        offered: Option<&gst::Context>,
        counters: &Arc<Counters>,
    ) -> Result<(Self, Option<String>), gst::ErrorMessage> {
        let name = element.name();
        let missing = |reason: String| {
            gst::error_msg!(gst::ResourceError::NotFound, ("{name}: device={choice}: {reason}"))
        };
        let resolved = if choice == Choice::Auto { auto_gpu::auto_for(element) } else { choice.resolve() };
        let device = match resolved.map_err(|error| missing(error.to_string()))? {
            Resolved::Cpu { reason } => return Ok((Self::Cpu, reason)),
            Resolved::Cuda(device) => device,
        };
        match GpuSession::open(&device, element, offered, counters) {
            Ok(session) => Ok((Self::Gpu(session), None)),
            Err(error) if choice == Choice::Auto => Ok((Self::Cpu, Some(error.to_string()))),
            Err(error) => Err(missing(error.to_string())),
        }
    }
}
