//! The GPU for a model, where `device` leaves it open.

use cudainfer_kernels::device::Choice;

use crate::auto_gpu;
use crate::inference::{Config, Provider};

/// The GPU of the element's stream; for an instance that is not `shared` else that of its pipeline.
pub(super) fn near(element: &gst::Element, config: &Config, shared: bool) -> Option<u32> {
    if config.device != Choice::Auto || config.provider == Provider::Cpu || !auto_gpu::is_open() {
        return None;
    }
    let of_pipeline = || if shared { None } else { auto_gpu::remembered(element) };
    auto_gpu::neighbour(element).or_else(of_pipeline)
}
