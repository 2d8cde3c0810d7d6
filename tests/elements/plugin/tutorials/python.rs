//! The decoder in Python, as gst-python's loader loads it.

use std::process::Output;

use cudainfer_tests::{model, root};

use super::{SCENES, assert_published, before};
use crate::plugin::processes::{text, tool};

/// Runs a program that finds the plugin and the decoder in Python.
fn run(arguments: &[&str]) -> Output {
    let built = std::env::current_exe().unwrap().parent().unwrap().display().to_string();
    let path = format!("{built}:{}", root().join("examples/decoder").display());
    // The loader takes the Python that comes first, which in a virtual environment has no gi.
    let programs = format!("/usr/bin:{}", std::env::var("PATH").unwrap());
    tool(arguments, &[("GST_PLUGIN_PATH", &path), ("PATH", &programs)])
}

/// The packages are Debian's and scripts/setup installs them.
#[track_caller]
fn assert_loader() {
    let output = run(&["gst-inspect-1.0", "yolov2py"]);
    assert!(
        output.status.success(),
        "GStreamer does not load elements in Python: run scripts/setup, which installs gst-python and its loader: {output:?}"
    );
}

#[test]
fn the_decoder_in_python_finds_what_the_paper_says_and_the_elements_downstream_use_it() {
    assert_loader();
    for (color, preproc, wanted) in SCENES {
        let description = format!(
            "{} ! yolov2py ! tracker ! inferoverlay ! inferpublish ! fakesink",
            before(2, color, preproc, "")
        );
        let arguments: Vec<_> =
            ["gst-launch-1.0", "-q"].into_iter().chain(description.split_whitespace()).collect();
        let output = run(&arguments);
        assert!(output.status.success(), "{output:?}");
        assert_published(&text(&output.stdout), wanted);
    }
}

#[test]
fn a_model_that_the_decoder_in_python_cannot_read_is_refused() {
    assert_loader();
    let description = format!(
        "gst-launch-1.0 videotestsrc ! fusedpreproc ! trtinfer model={} ! yolov2py name=mine ! fakesink",
        model("detector")
    );
    let output = run(&description.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = text(&output.stderr);
    assert!(
        said.contains("mine: the model has the outputs") && said.contains("detections:float32:1x6x84"),
        "{said}"
    );
    let description = super::of_regions(1, "yolov2py");
    let arguments: Vec<_> = ["gst-launch-1.0"].into_iter().chain(description.split_whitespace()).collect();
    let output = run(&arguments);
    assert!(text(&output.stderr).contains("mine: the tensors are those of regions"), "{output:?}");
}

/// What can only be seen from within the process is in python.py, one test a name.
#[track_caller]
fn within(name: &str) {
    let script = root().join("tests/elements/plugin/tutorials/python.py").display().to_string();
    let output = run(&["/usr/bin/python3", &script, name, &model("yolov2")]);
    assert!(output.status.success() && text(&output.stdout) == "as it must be\n", "{output:?}");
}

#[test]
fn numpy_sees_the_tensors_own_memory() {
    within("no_copy");
}

#[test]
fn tensors_are_gone_downstream_of_the_decoder_in_python() {
    within("tensors_are_gone");
}

#[test]
fn an_exception_in_python_ends_its_own_stream_only() {
    within("raises");
}

#[test]
fn a_decoder_in_python_that_does_not_return_delays_its_own_stream_only() {
    within("slow");
}
