//! Batches that the model or the settings do not allow.

use cudainfer_tests::{model, run};

/// A pipeline around a trtinfer called `t` with this model and these properties.
fn pipeline_of(model_name: &str, properties: &str) -> String {
    format!(
        "videotestsrc num-buffers=5 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
         ! trtinfer name=t model={} {properties} ! fakesink",
        model(model_name)
    )
}

#[test]
fn a_batch_larger_than_the_models_is_a_warning_and_the_models() {
    for (model, size, takes, set) in
        [("detector", 2, "one frame", 1), ("detector-fixed-batch", 5, "4 frames", 4)]
    {
        let report = run(&pipeline_of(model, &format!("batch-size={size}"))).succeeds();
        let wanted = format!(
            "t: batch-size={size}, but the model takes {takes} a run, so its batches have {takes}. Export it with an open batch dimension, or set \
             batch-size={set}"
        );
        assert!(report.warnings.contains(&wanted), "{report:?}");
    }
    for size in [1, 3, 4] {
        let report = run(&pipeline_of("detector-fixed-batch", &format!("batch-size={size}"))).succeeds();
        assert!(report.warnings.iter().all(|warning| !warning.contains("batch-size")), "{report:?}");
    }
}

#[test]
fn a_batch_of_nothing_is_refused() {
    run(&pipeline_of("detector-batch", "batch-size=0")).fails_with(&[
        "t: batch-size=0",
        "at least one frame",
        "remove it to use the model's",
    ]);
}

#[test]
fn a_minimum_above_the_batch_is_refused() {
    run(&pipeline_of("detector-batch", "batch-size=4 min-batch-size=5")).fails_with(&[
        "t: min-batch-size=5 is more than batch-size=4",
        "no batch would ever be large enough",
    ]);
    // The same if the model has a fixed batch size.
    run(&pipeline_of("detector-fixed-batch", "min-batch-size=5"))
        .fails_with(&["detector-fixed-batch.onnx", "min-batch-size=5 is more than the batch size, 4"]);
    run(&pipeline_of("detector-batch", "min-batch-size=2"))
        .fails_with(&["min-batch-size=2 is more than the batch size, 1", "Set a larger batch-size"]);
    run(&pipeline_of("detector-batch", "batch-size=4 min-batch-size=4")).succeeds();
}

#[test]
fn outputs_that_do_not_tell_whose_is_what_are_refused_in_batches_only() {
    run(&pipeline_of("without-rows", "batch-size=2")).fails_with(&[
        "t: a batch of 2 frames gives 'mean:float32:3'",
        "first dimension should be 2",
        "batch in all its outputs",
        "batch-size=1",
    ]);
    run(&pipeline_of("without-rows", "batch-size=1")).succeeds();
    run(&pipeline_of("without-rows", "")).succeeds();
}

#[test]
fn elements_of_one_instance_must_agree() {
    let model = model("detector-batch");
    let report = run(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer name=a instance=both model={model} batch-size=2 ! fakesink \
         videotestsrc ! fusedpreproc ! trtinfer name=b instance=both model={model} batch-size=3 ! fakesink"
    ));
    let said = report.fails_with(&["instance=both is in use with batch-size=", "name another instance"]);
    assert!(said.starts_with("a: ") || said.starts_with("b: "), "{said}");
    let report = run(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer instance=two model={model} ! fakesink \
         videotestsrc ! fusedpreproc ! trtinfer instance=two model={} ! fakesink",
        cudainfer_tests::model("detector")
    ));
    report.fails_with(&[
        "instance=two is in use with model=",
        "but this element has model=",
        "need the same properties: set model=",
    ]);
}
