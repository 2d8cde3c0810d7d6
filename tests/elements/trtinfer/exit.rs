//! Processes that end while models load and run.

use std::time::Duration;

use cudainfer_tests::{TestPipeline, fetched, model, test_in_own_process};
use gst::prelude::*;

/// How long the child goes on after it has set another model, in ms.
const WAIT: &str = "CUDAINFER_TEST_EXIT_AFTER";

#[test]
fn a_process_that_ends_while_a_model_loads_does_not_crash() {
    for wait in [0, 10, 20, 40, 80, 160].into_iter().cycle().take(12) {
        let mut child = test_in_own_process(module_path!(), "child");
        child.env(WAIT, wait.to_string());
        let output = child.output().unwrap();
        // A signal leaves no code.
        assert_eq!(output.status.code(), Some(0), "after {wait} ms: {output:?}");
    }
}

#[test]
#[ignore = "run in processes of its own by the test above"]
fn child() {
    let Some(wait) = std::env::var(WAIT).ok().and_then(|wait| wait.parse().ok()) else { return };
    let pipelines = [(); 3].map(|()| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc ! fusedpreproc ! trtinfer name=infer model={} provider=cpu engine-cache=none ! fakesink",
            model("detector")
        ));
        pipeline.play();
        pipeline
    });
    for pipeline in &pipelines {
        let _ = pipeline.state(cudainfer_tests::CLOCK_LIMIT);
        pipeline.element("infer").set_property("model", fetched("models/nanodet.onnx"));
    }
    std::thread::sleep(Duration::from_millis(wait));
    // As at the end of C's main, nothing is dropped, and all threads go on.
    std::process::exit(0);
}
