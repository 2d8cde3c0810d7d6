//! GStreamer's own checker, gst-validate, watches every element's pads while scenarios change states, seek, flush, pause and
//! change the rate. Most scenarios are GStreamer's, those beside this file are ours. An issue of one of our elements fails the
//! test.
//!
//! gst-validate-1.0 must be of GStreamer 1.24 or newer: the one of 1.22 forgets the data of pads' functions, and crashes with
//! every element in Rust. CONTRIBUTING.md says where it comes from. `GST_VALIDATE_PROGRAM` names another one than that of PATH.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is tests

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use cudainfer_tests::{LIMIT, model, root, run, scratch};

/// GStreamer's scenarios for videos of ten seconds; the flushes are those of the seeks.
const UPSTREAM: [&str; 10] = [
    STATES,
    "fast_forward",
    "pause_resume",
    "reverse_playback",
    "scrub_backward_seeking",
    "scrub_forward_seeking",
    "seek_backward",
    "seek_forward",
    "seek_with_stop",
    "simple_seeks",
];

/// This scenario fails even with only a queue after matroskademux, so it has a source of its own.
const STATES: &str = "change_state_intensive";

/// The scenarios beside this file.
const OWN: [&str; 1] = ["change_size"];

/// An issue that gst-validate reports of every element with a thread of its own, also of GStreamer's queue: backwards, the end of
/// the stream comes while frames with later timestamps are still in flight.
const BACKWARDS: (&str, &str) =
    ("reverse_playback", "Serialized event eos wasn't pushed before expected timestamp");

/// Ten seconds of a red ball that moves, which the test models find.
fn film() -> String {
    static FILM: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = scratch("film").join("film.mkv");
        run(&format!(
            "videotestsrc num-buffers=250 pattern=ball foreground-color=0xffff0000 ! video/x-raw,format=I420,width=96,height=64,framerate=25/1 ! jpegenc \
             ! matroskamux ! filesink location={}",
            path.display()
        ))
        .succeeds();
        path
    });
    FILM.display().to_string()
}

/// Runs `elements`, which are all ours, on ten seconds of video in each scenario.
#[track_caller]
fn passes_every_scenario(elements: &str) {
    let program = std::env::var("GST_VALIDATE_PROGRAM").unwrap_or_else(|_| "gst-validate-1.0".into());
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let film = format!("filesrc location={} ! matroskademux ! jpegdec", film());
    let pipeline_of = |scenario: &str| {
        let source = if scenario == STATES { "videotestsrc pattern=ball num-buffers=250" } else { &film };
        format!(
            "{source} ! videoconvertscale ! capsfilter name=size caps=video/x-raw,width=96,height=64 ! {elements} \
             ! fakevideosink sync=true"
        )
    };
    let names: Vec<_> =
        elements.split(" ! ").filter_map(|element| element.split_whitespace().next()).collect();
    let registry = scratch("validate").join("registry.bin");
    let failed: Vec<String> = UPSTREAM
        .into_iter()
        .chain(OWN)
        .filter_map(|scenario| {
            let output = Command::new("timeout")
                .arg(LIMIT.as_secs().to_string())
                .arg(&program)
                .args(["--set-scenario", scenario])
                .args(pipeline_of(scenario).split_whitespace())
                .env("GST_PLUGIN_PATH", folder)
                .env("GST_REGISTRY", &registry)
                .env("GST_VALIDATE_REPORTING_DETAILS", "all")
                .env("GST_VALIDATE_SCENARIOS_PATH", root().join("tests/validate"))
                .output()
                .unwrap_or_else(|e| {
                    panic!("{program}: {e}. CONTRIBUTING.md says where gst-validate comes from")
                });
            let said = String::from_utf8_lossy(&output.stdout);
            let started = said.contains(&format!("Running scenario {scenario} "));
            let passed = output.status.success() && started && said.contains("Test PASSED");
            let found = issues(&said, &names, scenario);
            (!passed || !found.is_empty()).then(|| {
                let rest = if passed {
                    String::new()
                } else {
                    format!("{said}\n{}", String::from_utf8_lossy(&output.stderr))
                };
                format!("{scenario}: {}\n{}\n{rest}", output.status, found.join("\n"))
            })
        })
        .collect();
    assert!(failed.is_empty(), "{elements}\n{}", failed.join("\n"));
}

/// The issues that gst-validate reports of elements with one of these names and a number, or that they have warned of. Issues of
/// other elements are not ours.
fn issues<'a>(said: &'a str, names: &[&str], scenario: &str) -> Vec<&'a str> {
    let ours =
        |name: &str| names.iter().any(|own| name.strip_prefix(own).is_some_and(|rest| rest.starts_with('0')));
    let mut of_us = false;
    let mut found = Vec::new();
    for line in said.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Detected on <") {
            of_us |= ours(name);
        } else if let Some(details) = line.strip_prefix("Details :").map(str::trim) {
            let warned = details.strip_prefix("Got warning: ").is_some_and(ours);
            if (of_us || warned) && !(scenario == BACKWARDS.0 && details.starts_with(BACKWARDS.1)) {
                found.push(details);
            }
            of_us = false;
        }
    }
    found
}

#[test]
fn only_what_is_said_of_our_elements_is_an_issue() {
    let said = "warning : one\n Detected on <source:src>\n Details : a\n issue : two\n Detected on <trtinfer0:src>\n Details : b\n \
                warning : three\n Detected on <pipeline0>\n Details : Got warning: trtinfer0: c\n \
                warning : four\n Detected on <pipeline0>\n Details : Got warning: A lot of buffers";
    assert_eq!(issues(said, &["trtinfer"], "seek_forward"), ["b", "Got warning: trtinfer0: c"]);
    let said = format!("Detected on <trtinfer0:src>\n Details : {} 0:00:01", BACKWARDS.1);
    assert!(issues(&said, &["trtinfer"], BACKWARDS.0).is_empty());
    assert_eq!(issues(&said, &["trtinfer"], "seek_forward").len(), 1);
}

#[test]
#[ignore = "needs gst-validate-1.0"]
fn detections_with_everything_downstream() {
    let folder = scratch("validate-detections");
    passes_every_scenario(&format!(
        "cudainferupload device=cpu ! fusedpreproc device=cpu ! trtinfer device=cpu model={} ! gpunms ! tracker ! zonecount zones=door=line:48,0,48,64 ! inferpublish location={} \
         ! inferoverlay ! cudainferdownload device=cpu",
        model("detector"),
        folder.join("out.jsonl").display()
    ));
}

#[test]
#[ignore = "needs gst-validate-1.0"]
fn poses() {
    passes_every_scenario(&format!(
        "fusedpreproc device=cpu ! trtinfer device=cpu model={} ! peakfind",
        model("bottom-up")
    ));
}

#[test]
#[ignore = "needs gst-validate-1.0"]
fn masks() {
    passes_every_scenario(&format!(
        "fusedpreproc device=cpu ! trtinfer device=cpu model={} ! segmask",
        model("mask-red")
    ));
}

#[test]
#[ignore = "needs gst-validate-1.0"]
fn maps_that_replace_the_frames() {
    passes_every_scenario(&format!(
        "fusedpreproc device=cpu ! trtinfer device=cpu model={} ! tensormap output=gray16",
        model("map-depth")
    ));
}

#[test]
#[ignore = "needs gst-validate-1.0"]
fn classes_and_embeddings() {
    passes_every_scenario(&format!(
        "fusedpreproc device=cpu ! trtinfer device=cpu model={} ! embed ! classify output=colour",
        model("attributes")
    ));
}
