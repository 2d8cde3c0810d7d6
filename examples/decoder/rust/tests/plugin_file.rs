//! The decoder as a plugin file, which has cudainfer's elements too, for GStreamer's own tools. The test is here because cargo
//! builds the file together with this crate's tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

use std::path::PathBuf;
use std::process::{Command, Output};

use cudainfer_tests::{LIMIT, model, scratch};

/// A folder with nothing but this file of target/PROFILE/deps.
fn alone(file: &str) -> String {
    let built = std::env::current_exe().unwrap().parent().unwrap().join(file);
    assert!(built.is_file(), "{} is missing: cargo test -p yolov2-decoder builds it", built.display());
    let folder: PathBuf = scratch("plugin");
    std::os::unix::fs::symlink(&built, folder.join(built.file_name().unwrap())).unwrap();
    folder.display().to_string()
}

/// Runs one of GStreamer's tools with the plugins in these folders and a registry of its own.
fn tool(line: &str, plugins: &str) -> Output {
    Command::new("timeout")
        .arg(LIMIT.as_secs().to_string())
        .args(line.split_whitespace())
        .env("GST_PLUGIN_PATH", plugins)
        .env("GST_REGISTRY", scratch("registry").join("registry.bin"))
        // All plugins are loaded into one process.
        .envs([("GST_DEBUG", "2"), ("GST_DEBUG_NO_COLOR", "1")])
        .output()
        .unwrap()
}

#[test]
fn a_plugin_with_a_decoder_of_ones_own_has_all_that_gst_launch_needs() {
    let line = format!(
        "gst-launch-1.0 -q videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc \
         ! trtinfer model={} ! yolov2rs ! tracker ! inferpublish ! inferoverlay ! fakesink",
        model("yolov2")
    );
    let output = tool(&line, &alone("../examples/libgstyolov2.so"));
    assert!(output.status.success(), "{output:?}");
    // Calculated by hand: see PERSON of tests/elements/plugin/tutorials.
    let person = r#""label":"person","label_id":14,"confidence":0.9378,"box":{"x":82.88,"y":7.16,"w":41.92,"h":25.53}"#;
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches(person).count(), 2, "{output:?}");
}

#[test]
fn where_gstreamer_finds_cudainfers_own_file_too_the_second_reports_it_and_the_first_works() {
    let [with, without] = ["../examples/libgstyolov2.so", "libgstcudainfer.so"].map(alone);
    for (plugins, decoder) in [(format!("{with}:{without}"), true), (format!("{without}:{with}"), false)] {
        let output = tool("gst-inspect-1.0 trtinfer", &plugins);
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(printed.contains("has cudainfer's elements, but this process has them already"), "{printed}");
        assert!(!printed.contains("panicked"), "{printed}");
        assert_eq!(tool("gst-inspect-1.0 yolov2rs", &plugins).status.success(), decoder);
    }
}
