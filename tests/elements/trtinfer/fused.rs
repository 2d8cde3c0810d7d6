//! The engine fused, as far as it can be tried without a GPU: tests/gpu has the rest.

use std::path::Path;

use cudainfer_tests::{model, run};

/// A pipeline with these properties of trtinfer.
fn pipeline(properties: &str) -> String {
    let model = model("detector");
    format!(
        "videotestsrc num-buffers=1 ! fusedpreproc device=cpu ! trtinfer name=t {properties} model={model} ! fakesink"
    )
}

#[test]
fn without_a_gpu_it_is_refused_in_a_sentence_and_left_out_where_it_was_not_asked_for() {
    if Path::new("/dev/nvidiactl").exists() {
        return;
    }
    run(&pipeline("provider=fused")).fails_with(&[
        "t: provider=fused does not work here: ",
        "Set provider=auto to use the best one that works",
    ]);
    run(&pipeline("device=cpu provider=fused"))
        .fails_with(&["device=cpu and provider=fused contradict each other", "Remove one of them"]);
    run(&pipeline("")).succeeds();
}
