//! Errors of elements.

use gst::prelude::*;

/// Faults after which nothing in the process can use the GPU's context any more, as errors of the driver, of ONNX Runtime and of
/// CUDA's runtime name them.
const FAULTS: [&str; 22] = [
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    "CUDA_ERROR_INVALID_PC",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_ASSERT",
    "CUDA_ERROR_DEINITIALIZED",
    "an illegal memory access was encountered",
    "an illegal instruction was encountered",
    "misaligned address",
    "unspecified launch failure",
    "the launch timed out and was terminated",
    "hardware stack error",
    "uncorrectable ECC error encountered",
    "uncorrectable NVLink error",
    "device-side assert triggered",
];

/// Whether an error's text is that of a fault on the GPU.
pub fn is_gpu_fault(text: &str) -> bool {
    FAULTS.iter().any(|fault| text.contains(fault))
}

/// The element's sentence. If that is GStreamer's general one, the element's name and the end of the debug text are added.
pub fn text(error: &gst::message::Error) -> String {
    let element = error.src().and_then(|source| source.downcast_ref::<gst::Element>());
    let posted = error.error();
    let debug = error.debug();
    let more = debug.as_deref().and_then(|debug| debug.lines().next_back()).filter(|more| !more.is_empty());
    match (element, more) {
        (Some(element), Some(more)) if posted.matches(gst::StreamError::Failed) => {
            format!("{}: {} ({more})", element.name(), posted.message())
        }
        _ => posted.message().to_owned(),
    }
}
