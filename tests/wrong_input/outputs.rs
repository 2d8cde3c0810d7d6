//! Outputs that are not numbers, too many, or none.

use std::path::Path;

use cudainfer_tests::{Report, TestPipeline, model};
use gst::prelude::*;
use gstcudainfer::meta::object::{Object, objects};

/// Runs a pipeline with elements called `find` and `out`. Returns the messages, `find`'s stats and the objects of each frame.
fn run(pipeline: &str) -> (Report, gst::Structure, Vec<Vec<Object>>) {
    let pipeline = TestPipeline::new(pipeline);
    let seen = pipeline.collect("out");
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let stats = pipeline.element("find").property::<gst::Structure>("stats");
    pipeline.stop();
    let found = seen.lock().unwrap().iter().map(|b| objects(b)).collect();
    (report, stats, found)
}

fn said_not_finite(report: &Report) -> usize {
    report
        .warnings
        .iter()
        .filter(|w| w.contains("NaN or infinity") && w.contains("stats counts them"))
        .count()
}

#[test]
fn nan_and_infinity_are_dropped_counted_and_said_once_and_the_rest_is_found() {
    let (report, stats, frames) = run(&format!(
        "videotestsrc num-buffers=5 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms name=find ! fakesink name=out",
        model("not-finite")
    ));
    assert_eq!(frames.len(), 5);
    for objects in &frames {
        assert_eq!(objects.len(), 1, "{objects:?}");
        assert_eq!(objects[0].label, "red");
    }
    // Three a frame: a score of NaN, one of infinity, and a box with an infinite corner.
    assert_eq!(stats.get::<u64>("non-finite").unwrap(), 15);
    assert_eq!(stats.get::<u64>("objects").unwrap(), 5);
    assert_eq!(said_not_finite(&report), 1, "{report:?}");
}

#[test]
fn nan_and_infinity_in_heat_maps_are_dropped_counted_and_said_once() {
    let (report, stats, frames) = run(&format!(
        "videotestsrc num-buffers=4 ! fusedpreproc ! trtinfer model={} ! peakfind name=find ! fakesink name=out",
        model("heat-maps-not-finite")
    ));
    for objects in &frames {
        let points = objects[0].keypoints.as_ref().unwrap();
        assert_eq!(points.names, ["nose", "tail"]);
        assert!(points.x.iter().chain(&points.y).chain(&points.score).all(|v| v.is_finite()));
    }
    assert_eq!(stats.get::<u64>("non-finite").unwrap(), 8);
    assert_eq!(said_not_finite(&report), 1, "{report:?}");
}

#[test]
fn nan_among_a_classifiers_scores_is_never_chosen_counted_and_said_once() {
    let (report, stats, frames) = run(&format!(
        "videotestsrc num-buffers=4 pattern=red ! fusedpreproc ! trtinfer model={} ! classify name=find top-k=3 \
         ! fakesink name=out",
        model("colours-not-finite")
    ));
    for objects in &frames {
        let classes = &objects[0].classifications[0];
        assert_eq!(classes.labels, ["green", "blue"]);
        assert!(classes.confidence.iter().all(|v| (v - 0.5).abs() < 1e-6), "{classes:?}");
    }
    assert_eq!((frames.len(), stats.get::<u64>("non-finite").unwrap()), (4, 4));
    assert_eq!(said_not_finite(&report), 1, "{report:?}");
}

#[test]
fn of_more_than_a_hundred_thousand_candidates_the_strongest_are_kept_and_what_was_cut_is_reported_once() {
    let (report, stats, frames) = run(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,width=640,height=640 ! fusedpreproc ! trtinfer model={} \
         ! gpunms name=find top-k-before=1000 top-k-after=50 ! fakesink name=out",
        model("many-candidates")
    ));
    assert_eq!(stats.get::<u64>("candidates").unwrap(), 300_000);
    assert!(stats.get::<u64>("truncated").unwrap() >= 2 * 140_000, "{stats}");
    assert_eq!(stats.get::<u64>("limited").unwrap(), 2, "{stats}");
    let cuts: Vec<_> =
        report.warnings.iter().filter(|warning| warning.contains("top-k-before is 1000")).collect();
    assert!(cuts.len() == 1 && cuts[0].contains("candidates of a frame were left out"), "{report:?}");
    assert!(!report.warnings.iter().any(|warning| warning.contains("top-k-after")), "it was set: {report:?}");
    for objects in &frames {
        assert_eq!(objects.len(), 50);
        let detection = objects[0].detection.as_ref().unwrap();
        assert!((detection.confidence - 0.9).abs() < 1e-5, "{detection:?}");
        let confidences: Vec<_> = objects.iter().map(|o| o.detection.as_ref().unwrap().confidence).collect();
        assert!(confidences.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn an_output_whose_length_the_picture_decides_may_be_empty() {
    let (_, stats, frames) = run(&format!(
        "concat name=c ! fusedpreproc ! trtinfer model={} ! gpunms name=find confidence=0.3 ! fakesink name=out \
         videotestsrc num-buffers=2 pattern=black ! video/x-raw,format=RGB,width=64,height=64 ! c. \
         videotestsrc num-buffers=2 pattern=white ! video/x-raw,format=RGB,width=64,height=64 ! c.",
        model("open-output")
    ));
    let found: Vec<_> = frames.iter().map(Vec::len).collect();
    assert_eq!(found, [0, 0, 2, 2]);
    let labels: Vec<_> = frames[3].iter().map(|o| o.label.as_str()).collect();
    assert_eq!(labels, ["b", "a"]);
    assert_eq!(stats.get::<u64>("frames").unwrap(), 4);
}

#[test]
fn stats_start_anew_with_every_start() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer name=infer model={} ! gpunms name=find ! fakesink",
        model("detector")
    ));
    for _ in 0..2 {
        pipeline.play();
        pipeline.wait().succeeds();
        for element in ["infer", "find"] {
            let stats = pipeline.element(element).property::<gst::Structure>("stats");
            assert_eq!(stats.get::<u64>("frames").unwrap(), 3, "{element}");
        }
        pipeline.reach(gst::State::Ready);
    }
    assert!(Path::new(&model("detector")).is_file());
}
