//! Live sources that are too fast for what follows them.

use cudainfer_tests::{model, run};

/// Frames of a source, of which ten a second can pass.
fn passed(live: &str) -> Vec<String> {
    let detector = model("detector");
    let report = run(&format!(
        "videotestsrc num-buffers=90 {live} ! video/x-raw,width=64,height=48,framerate=30/1 ! identity sleep-time=100000 \
         ! fusedpreproc ! trtinfer name=infer model={detector} ! gpunms ! fakesink sync=false"
    ))
    .succeeds();
    report.warnings.into_iter().filter(|warning| warning.contains("live source")).collect()
}

#[test]
fn frames_that_stay_late_are_a_warning_with_what_to_set() {
    let warnings = passed("is-live=true");
    let [warning] = &warnings[..] else { panic!("one warning in a minute: {warnings:?}") };
    assert!(warning.starts_with("infer: frames of the live source come "), "{warning}");
    assert!(warning.contains("leaky=downstream") && warning.contains("interval"), "{warning}");
    assert_eq!(passed(""), [""; 0], "a file waits");
}
