//! Tensors on the GPU as torch and CuPy take them, through python/cudainfer.

use std::process::Command;

use cudainfer_tests::root;

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn torch_and_cupy_read_tensors_on_the_gpu_without_a_copy() {
    if std::env::var_os("CUDAINFER_NEWER").is_some() {
        eprintln!("skipped: this machine's Python cannot load the other GStreamer");
        return;
    }
    let test = std::env::current_exe().unwrap();
    // The plugin that was built with this test, or on a GPU machine the one that is set.
    let beside = test.parent().unwrap().to_owned();
    let mut program = Command::new("python3");
    if beside.join("libgstcudainfer.so").is_file() {
        program.env("GST_PLUGIN_PATH", &beside);
    }
    let output = program
        .arg(root().join("tests/gpu/pipelines/readers.py"))
        .arg(model("detector"))
        .env("PYTHONPATH", root().join("python"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "as it must be\n");
}
