//! What runs models: libraries, threads and memory.

use cudainfer_tests::{model, openvino_library, scratch};
use cudainfer_torture::{Seam, torture};

use super::inference::Inference;
use super::pipeline::detection;

/// Frames with objects, to their end; `provider` runs the model.
fn run(name: &'static str, seams: &'static [Seam], provider: &str) {
    let detection = detection(&model("detector")).replace("provider=cpu", provider);
    let description = format!("{detection} ! fakesink");
    torture(Inference::new(name, seams, description), &scratch("torture-inference"));
}

#[test]
fn onnx_runtime_threads_and_memory_may_fail() {
    run("inference", &[Seam::OrtOpen, Seam::OrtRun, Seam::Memory, Seam::Thread], "provider=cpu");
}

#[test]
fn openvino_may_fail() {
    let Some(library) = openvino_library() else { return };
    let provider = format!("provider=openvino openvino={}", library.display());
    run("openvino", &[Seam::OpenVinoOpen, Seam::OpenVinoRun], &provider);
}
