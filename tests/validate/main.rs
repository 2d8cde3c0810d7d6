//! GStreamer's own checker, gst-validate, watches every element's pads while scenarios change states, seek, flush, pause and
//! change the rate. Most scenarios are GStreamer's, those beside this file are ours. An issue of one of our elements fails the
//! test.
//!
//! gst-validate-1.0 must be of GStreamer 1.24 or newer: the one of 1.22 forgets the data of pads' functions, and crashes with
//! every element in Rust. CONTRIBUTING.md says where it comes from. `GST_VALIDATE_PROGRAM` names another one than that of PATH;
//! where it is set, the tests of pipelines/ run their pipelines by it, too.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is tests

use std::path::PathBuf;
use std::sync::LazyLock;

use cudainfer_tests::{model, run, scratch, validator};

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

/// Scenarios, and details of what is no issue in them. Backwards, the end of the stream comes while frames with later timestamps are
/// still in flight, which is said of every element with a thread of its own, also of GStreamer's queue. Frames of another size
/// have pixels that are not square, which ours warn about.
const NO_ISSUES: [(&str, &str); 2] = [
    ("reverse_playback", "Serialized event eos wasn't pushed before expected timestamp"),
    ("change_size", "the pixels of the frames are not square"),
];

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
    let program = validator::program().unwrap_or_else(|| "gst-validate-1.0".into());
    let film = format!("filesrc location={} ! matroskademux ! jpegdec", film());
    let pipeline_of = |scenario: &str| {
        let source = if scenario == STATES { "videotestsrc pattern=ball num-buffers=250" } else { &film };
        format!(
            "{source} ! videoconvertscale ! capsfilter name=size caps=video/x-raw,width=96,height=64 ! {elements} \
             ! fakevideosink sync=true"
        )
    };
    let failed: Vec<String> = UPSTREAM
        .into_iter()
        .chain(OWN)
        .filter_map(|scenario| {
            let is_known =
                |details: &str| NO_ISSUES.iter().any(|(of, part)| scenario == *of && details.contains(part));
            validator::run(&program, &pipeline_of(scenario), Some(scenario), is_known).err()
        })
        .collect();
    assert!(failed.is_empty(), "{elements}\n{}", failed.join("\n"));
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
        "fusedpreproc device=cpu ! trtinfer device=cpu model={} ! classify output=colour ! embed ! identify",
        model("attributes")
    ));
}

#[test]
fn only_what_is_said_of_our_elements_is_an_issue() {
    let said = "warning : one\n Detected on <source:src>\n Details : a\n issue : two\n Detected on <trtinfer0:src>\n Details : b\n \
                warning : three\n Detected on <pipeline0>\n Details : Got warning: trtinfer1: c\n \
                warning : four\n Detected on <pipeline0>\n Details : Got warning: A lot of buffers\n \
                issue : five\n Detected on <gpunms0:src>\n Details : a";
    assert_eq!(validator::issues(said), ["b", "Got warning: trtinfer1: c"]);
}
