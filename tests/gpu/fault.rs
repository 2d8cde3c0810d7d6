//! A fault on the GPU in the middle of a pipeline: an error on the bus, and a process that goes on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::sync::Arc;

use cudainfer_kernels::device::{
    Choice, Context, CudaStream, DeviceFrame, DevicePlane, DeviceSlice, Resolved,
};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{CudaPreproc, PreprocParams};
use cudainfer_tests::{TestPipeline, model, until};
use gst::prelude::*;

/// Makes the GPU write where there is no memory: nothing in this process can use the context any more.
fn fault() {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else { panic!("needs a CUDA device") };
    let stream = CudaStream::new(&Context::new(&device).unwrap(), &Arc::default()).unwrap();
    let (pixels, matrix, range) = (PixelFormat::Rgba, Matrix::Bt601, Range::Full);
    let format = FrameFormat { pixels, width: 64, height: 64, matrix, range };
    let preproc = CudaPreproc::new(
        format,
        PreprocParams { width: 64, height: 64, ..PreprocParams::default() },
        &stream,
    )
    .unwrap();
    let frame = stream.allocate(64 * 64 * 4).unwrap();
    let frame = DeviceFrame::new(&format, &[DevicePlane::new(frame.slice(), 64 * 4)]).unwrap();
    // SAFETY: this is not safe on the GPU: the fault is its purpose. On the host, the arguments are valid.
    let nowhere = unsafe { DeviceSlice::from_raw(1 << 46, preproc.bytes()) };
    let _ = preproc.run(&stream, &[frame], nowhere);
    let error = stream.synchronize().unwrap_err().to_string();
    assert!(error.contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_ends_the_pipeline_with_an_error_and_the_process_goes_on() {
    let pipeline = TestPipeline::start(&format!(
        "videotestsrc is-live=true ! video/x-raw,format=NV12,width=64,height=64,framerate=200/1 ! cudainferupload \
         ! fusedpreproc ! trtinfer model={} provider=cuda ! gpunms name=n ! fakesink",
        model("detector")
    ));
    let nms = pipeline.element("n");
    let frames = move || nms.property::<gst::Structure>("stats").get::<u64>("frames").unwrap();
    until("the line runs", || frames() > 50);
    fault();
    let report = pipeline.wait();
    assert!(report.errors.iter().any(|error| error.contains("CUDA")), "{report:?}");
    pipeline.stop();
    // The CPU still serves.
    cudainfer_tests::run(&format!(
        "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=64,height=64 ! fusedpreproc device=cpu \
         ! trtinfer model={} device=cpu ! gpunms device=cpu ! fakesink",
        model("detector")
    ))
    .succeeds();
}
