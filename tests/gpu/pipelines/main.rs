//! Whole pipelines on the GPU: their results, copies over the bus, waits for the GPU and memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod bus;
mod contexts;
mod earlier;
mod golden;
mod load;
mod readers;
mod recurrent;
mod results;
mod stopping;
mod two_gpus;
mod unseen;
mod variants;

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Context, CudaStream, DeviceError, Memory, Resolved};
use cudainfer_tests::{TestPipeline, buffers, fetched, model, run, scratch, until};
use gst::prelude::*;
use gstcudainfer::memory::tensor::device_memory;
use gstcudainfer::meta::mask;
use gstcudainfer::meta::object::{Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

fn context() -> Arc<Context> {
    let Ok(Resolved::Cuda(device)) = Choice::Cuda(0).resolve() else { panic!("needs a CUDA device") };
    Context::new(&device).unwrap()
}

/// From NVDEC, `frames` frames in CUDA memory.
fn decoded(frames: u32) -> String {
    format!(
        "filesrc location={} ! qtdemux ! h264parse ! nvh264dec ! identity eos-after={frames}",
        fetched("video/vtest-1080p.mp4")
    )
}

/// A count of `element` a frame.
fn per_frame(element: &gst::Element, name: &str) -> f64 {
    let stats = element.property::<gst::Structure>("stats");
    let count = |name| stats.get::<u64>(name).unwrap() as f64;
    count(name) / count("frames").max(1.0)
}

fn found(pipeline: &str) -> Vec<Vec<Object>> {
    buffers(pipeline).iter().map(|buffer| objects(buffer)).collect()
}
