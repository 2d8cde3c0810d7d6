//! One ONNX Runtime that GStreamer's onnxinference and trtinfer both use, as with a distribution's packages, in a process of its
//! own.

use cudainfer_tests::{TestPipeline, complaints, fetched, model, scratch};

/// Set in the process that must run as the child.
const CHILD: &str = "CUDAINFER_TEST_SHARED_RUNTIME";

#[test]
fn messages_of_onnx_runtime_do_not_go_to_an_onnxinference_that_is_gone() {
    cudainfer_tests::init();
    if gst::ElementFactory::find("onnxinference").is_none() {
        eprintln!("left out: this GStreamer has no onnxinference");
        return;
    }
    let mut child = cudainfer_tests::test_in_own_process(module_path!(), "child");
    child.env(CHILD, "1");
    // Memory that was freed is overwritten.
    child.env("MALLOC_PERTURB_", "165").envs([("GST_DEBUG", "cudainfer-ort:3"), ("GST_DEBUG_NO_COLOR", "1")]);
    let output = child.output().unwrap();
    let said = complaints(&output);
    // A signal leaves no code.
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("G_IS_OBJECT"), "{said}");
    let ours = |line: &str| line.contains("cudainfer-ort") && line.contains("Serializing optimized model");
    assert!(said.lines().any(ours), "{said}");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let theirs = TestPipeline::new(&format!(
        "videotestsrc ! video/x-raw,format=RGB,width=64,height=64 ! onnxinference model-file={} ! fakesink name=out",
        model("ssd-mobilenet")
    ));
    let out = theirs.collect("out");
    theirs.play();
    cudainfer_tests::until("a frame of onnxinference", || !out.lock().unwrap().is_empty());
    let ours = |cache: &str| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={} device=cpu engine-cache={cache} ! gpunms ! fakesink",
            fetched("models/nanodet.onnx")
        ));
        pipeline.play();
        pipeline.wait().succeeds();
    };
    ours("none");
    drop(theirs);
    // ONNX Runtime warns whenever it writes an optimised model.
    ours(&scratch("shared-runtime").display().to_string());
}
