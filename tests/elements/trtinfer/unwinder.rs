//! ONNX Runtime's exceptions in a process that has loaded other C++ libraries before GStreamer, as Python has with NumPy.

use cudainfer_tests::{model, root};

use crate::plugin::processes::{command, text};

#[test]
fn a_model_that_fails_in_a_process_with_numpy_is_an_error_and_no_abort() {
    let python = root().join(".venv/bin/python").display().to_string();
    let script = root().join("tests/elements/trtinfer/unwinder.py").display().to_string();
    for order in ["before", "after"] {
        let arguments = [script.clone(), model("fails-at-size"), "64".into(), order.into()];
        let output = command(&python, &[]).args(arguments).output().unwrap();
        // A signal leaves no code.
        assert_eq!(output.status.code(), Some(0), "{order}: {output:?}");
        assert!(text(&output.stdout).contains("cannot be reshaped"), "{order}: {output:?}");
    }
}
