//! The plugin as GStreamer's own tools load it: from its shared library, in processes of their own.

use std::fs::File;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use cudainfer_tests::{LIMIT, model, scratch};
use serde_json::Value;

/// How long gst-launch-1.0 may take to end after an error. An error that comes before its main loop runs ends a loop that has not
/// begun (bus_sync_handler, at least up to 1.28), and it waits for good.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a program, one of GStreamer's tools or a script, with the plugin that was built with this test, for at most
/// [`LIMIT`].
pub fn tool(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let folder = scratch("output");
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let mut running = command("timeout", environment)
        .arg(LIMIT.as_secs().to_string())
        .args(arguments)
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    let mut failed = None;
    let status = loop {
        if let Some(status) = running.try_wait().unwrap() {
            break status;
        }
        if text(&std::fs::read(&stderr).unwrap()).contains("ERROR: from element")
            && failed.get_or_insert_with(Instant::now).elapsed() > PATIENCE
        {
            interrupt(running.id());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    Output { status, stdout: std::fs::read(stdout).unwrap(), stderr: std::fs::read(stderr).unwrap() }
}

/// Sends the signal that Ctrl-C sends.
pub fn interrupt(process: u32) {
    let sent = Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A program that finds the plugin.
pub fn command(program: &str, environment: &[(&str, &str)]) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let mut command = Command::new(program);
    command.env("GST_PLUGIN_PATH", folder);
    // A registry of its own: it is made anew, so that everything is registered once more. GStreamer looks for plugins in another
    // process then, as with users.
    command.env("GST_REGISTRY", scratch("registry").join("registry.bin")).envs(environment.iter().copied());
    command
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn gst_inspect_lists_every_element_and_the_tracer() {
    let output = tool(&["gst-inspect-1.0", "cudainfer"], &[]);
    let listed = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    for name in [
        "cudainferdownload",
        "cudainferupload",
        "fusedpreproc",
        "trtinfer",
        "gpunms",
        "peakfind",
        "classify",
        "embed",
        "identify",
        "segmask",
        "tensormap",
        "tracker",
        "zonecount",
        "inferoverlay",
        "inferpublish",
        "cudainfertracer (",
    ] {
        assert!(listed.contains(name), "{name} is not in {listed}");
    }
    // Each name finds one thing: the plugin's and the tracer's differ.
    let tracer = text(&tool(&["gst-inspect-1.0", "cudainfertracer"], &[]).stdout);
    assert!(tracer.contains("Tracer"), "{tracer}");
}

#[test]
fn gst_launch_writes_one_json_object_a_frame_to_its_output() {
    let description = format!(
        "videotestsrc num-buffers=4 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms ! inferpublish ! fakesink",
        model("detector")
    );
    let mut arguments = vec!["gst-launch-1.0", "-q"];
    arguments.extend(description.split_whitespace());
    let output = tool(&arguments, &[]);
    assert!(output.status.success(), "{output:?}");
    let records: Vec<Value> =
        text(&output.stdout).lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    assert_eq!(records.len(), 4, "{output:?}");
    assert!(records.iter().all(|r| r["objects"][0]["label"] == "red"));
}

#[test]
fn gst_launch_shows_what_to_do_and_fails() {
    let description = "videotestsrc ! fusedpreproc ! trtinfer model=/nowhere/a.onnx ! fakesink";
    let mut arguments = vec!["gst-launch-1.0"];
    arguments.extend(description.split_whitespace());
    let output = tool(&arguments, &[]);
    // timeout's own status for a pipeline that hangs is 124.
    assert!(!output.status.success() && output.status.code() != Some(124), "{output:?}");
    assert!(text(&output.stderr).contains("the model file '/nowhere/a.onnx' cannot be read"), "{output:?}");
}
