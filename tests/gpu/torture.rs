//! The nth call of the CUDA driver fails, of ONNX Runtime or of what compiles kernels. That a context is lost for good is a case of its
//! own (fault.rs): here the next run finds it as it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

#[path = "../torture/inference.rs"]
mod inference;
#[allow(dead_code)] // the tests without a GPU use all of it
#[path = "../torture/pipeline.rs"]
mod pipeline;

use cudainfer_tests::{model, scratch};
use cudainfer_torture::{Seam, torture};

use inference::Inference;

/// Frames with objects, all on the GPU.
fn run(name: &'static str, seams: &'static [Seam], provider: &str) {
    let description = format!(
        "videotestsrc num-buffers={} pattern=red ! video/x-raw,format=NV12,width=64,height=64 ! cudainferupload ! fusedpreproc \
         ! trtinfer model={} {provider} engine-cache=none ! gpunms name=nms device=cuda ! tracker min-hits=1 ! inferoverlay \
         ! cudainferdownload ! fakesink",
        pipeline::FRAMES,
        model("detector")
    );
    torture(Inference::new(name, seams, description), &scratch("torture-gpu"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_driver_and_onnx_runtime_may_fail() {
    use Seam::{DeviceMemory, DriverCall, Launch, OrtOpen, OrtRun, PinnedMemory, Thread};
    run(
        "gpu",
        &[DeviceMemory, PinnedMemory, Launch, DriverCall, OrtOpen, OrtRun, Thread],
        "provider=cuda device=cuda",
    );
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_engine_fused_may_fail() {
    use Seam::{Compile, DeviceMemory, DriverCall, Launch, PinnedMemory};
    run(
        "gpu-fused",
        &[DeviceMemory, PinnedMemory, Launch, DriverCall, Compile],
        "provider=fused device=cuda",
    );
}
