//! `/metrics` and `/status` of a pipeline with every kind of element.

use std::io::Write;
use std::process::Stdio;

use cudainfer_tests::{TestPipeline, model};
use gst::prelude::*;
use gst_video::VideoRegionOfInterestMeta;
use gstcudainfer::meta::analytics::{Contents, Metadata};
use serde_json::Value;

use crate::client::{ask, page, sample, samples};
use crate::scraped::program;
use crate::server;

const FRAMES: u32 = 7;

/// A pipeline that has come to its end, and is still there.
fn ended(name: &str) -> TestPipeline {
    server();
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc name=camera num-buffers={FRAMES} pattern=red ! fusedpreproc device=cpu ! trtinfer name=infer model={} \
         device=cpu ! gpunms name=nms ! queue ! tracker name=track ! inferpublish name=publish location=/dev/null \
         ! fakesink name=sink",
        model("detector")
    ));
    pipeline.set_property("name", name);
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
    pipeline
}

#[test]
fn objects_and_tracks_that_only_analytics_metadata_describe_are_counted() {
    server();
    if let Err(why) = Metadata::Analytics.forms(Contents::Objects) {
        eprintln!("left out: {why}");
        return;
    }
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc name=camera num-buffers={FRAMES} pattern=red ! fusedpreproc device=cpu ! trtinfer model={} device=cpu \
         ! gpunms name=nms metadata=analytics ! tracker name=track metadata=analytics ! fakesink name=out",
        model("detector")
    ));
    pipeline.set_property("name", "analytics");
    let frames = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    assert!(frames.lock().unwrap().iter().all(|frame| frame.meta::<VideoRegionOfInterestMeta>().is_none()));
    let page = page(server());
    let own = "pipeline=\"analytics\"";
    let counted = sample(&page, "cudainfer_objects_total", &[own, "element=\"nms\"", "class=\"red\""]);
    assert_eq!(counted, f64::from(FRAMES));
    assert_eq!(sample(&page, "cudainfer_tracks", &[own, "element=\"track\""]), 1.0);
    pipeline.stop();
}

#[test]
fn an_application_reads_the_same_page_from_the_tracer() {
    let pipeline = ended("read");
    let tracers = gst::active_tracers();
    let tracer = tracers.iter().find(|tracer| tracer.type_().name() == "GstCudaInferTracer").unwrap();
    let own = tracer.property::<Option<String>>("page").unwrap();
    let labels = ["pipeline=\"read\"", "element=\"sink\""];
    assert_eq!(sample(&own, "cudainfer_frames_total", &labels), f64::from(FRAMES));
    assert_eq!(sample(&page(server()), "cudainfer_frames_total", &labels), f64::from(FRAMES));
    pipeline.stop();
}

#[test]
fn every_frame_object_batch_and_record_is_counted_by_element_and_stream() {
    let pipeline = ended("counted");
    let page = page(server());
    let own = "pipeline=\"counted\"";
    let stream = "stream=\"camera\"";
    for element in ["infer", "nms", "track", "publish", "sink"] {
        let element = format!("element=\"{element}\"");
        let labels = [own, stream, element.as_str()];
        assert_eq!(sample(&page, "cudainfer_frames_total", &labels), f64::from(FRAMES));
        assert_eq!(sample(&page, "cudainfer_processing_seconds_count", &labels), f64::from(FRAMES));
        assert!(sample(&page, "cudainfer_processing_seconds_sum", &labels) > 0.0);
    }
    let frames = f64::from(FRAMES);
    for (name, labels, wanted) in [
        ("cudainfer_objects_total", ["element=\"nms\"", "class=\"red\""], frames),
        ("cudainfer_tracks", ["element=\"track\"", stream], 1.0),
        ("cudainfer_latency_seconds_count", ["element=\"sink\"", stream], frames),
        ("cudainfer_queue_seconds_count", ["element=\"infer\"", ""], frames),
        ("cudainfer_run_seconds_count", ["element=\"infer\"", ""], frames),
        ("cudainfer_batch_size_sum", ["element=\"infer\"", ""], frames),
        ("cudainfer_batch_limit", ["element=\"infer\"", ""], 1.0),
        ("cudainfer_records_total", ["element=\"publish\"", ""], frames),
        ("cudainfer_records_dropped_total", ["element=\"publish\"", "reason=\"queue-full\""], 0.0),
        ("cudainfer_fallbacks_total", ["element=\"nms\"", ""], 0.0),
        ("cudainfer_stats", ["element=\"track\"", "field=\"detections\""], frames),
        ("cudainfer_streams", ["state=\"ended\"", ""], 1.0),
    ] {
        assert_eq!(sample(&page, name, &[own, labels[0], labels[1]]), wanted, "{name}");
    }
    // Only sinks know how long a frame took; only the element that finds objects counts them.
    assert_eq!(samples(&page, "cudainfer_latency_seconds_count", &[own]).len(), 1);
    assert_eq!(samples(&page, "cudainfer_objects_total", &[own]).len(), 1);
    let latency = sample(&page, "cudainfer_latency_seconds_sum", &[own]);
    assert!(latency > sample(&page, "cudainfer_run_seconds_sum", &[own]), "the model is on the way: {page}");
    for name in ["process_cpu_seconds_total", "process_resident_memory_bytes"] {
        assert!(sample(&page, name, &[]) > 0.0, "{name}");
    }
    pipeline.stop();
    assert!(!crate::client::page(server()).contains(own), "a pipeline that was stopped is not on the page");
}

#[test]
fn a_pipeline_that_plays_again_counts_on_under_the_same_name() {
    let pipeline = ended("again");
    pipeline.reach(gst::State::Ready);
    pipeline.reach(gst::State::Playing);
    pipeline.wait().succeeds();
    let page = page(server());
    let labels = ["pipeline=\"again\"", "stream=\"camera\"", "element=\"sink\""];
    assert_eq!(sample(&page, "cudainfer_frames_total", &labels), f64::from(2 * FRAMES));
    assert_eq!(sample(&page, "cudainfer_latency_seconds_count", &labels), f64::from(2 * FRAMES));
}

#[test]
fn the_status_has_the_statistics_of_every_element_of_ours() {
    let pipeline = ended("described");
    let status = ask(server(), "GET", "/status");
    let status: Value = serde_json::from_str(&status.body).unwrap();
    let elements = status["elements"].as_array().unwrap();
    let mine: Vec<_> = elements.iter().filter(|element| element["pipeline"] == "described").collect();
    assert_eq!(mine.len(), 5, "{status}");
    let infer = mine.iter().find(|element| element["name"] == "infer").unwrap();
    assert_eq!((&infer["factory"], &infer["state"]), (&"trtinfer".into(), &"PLAYING".into()));
    assert_eq!(infer["stats"]["frames"], FRAMES);
    let stats = pipeline.element("infer").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("batches").unwrap(), u64::from(FRAMES));
    for (field, samples) in [("batch-size", FRAMES), ("run-time", FRAMES), ("queue-time", FRAMES)] {
        let shown = &infer["stats"][field];
        let counts: Vec<_> =
            shown["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(counts.iter().sum::<u64>(), u64::from(samples), "{shown}");
        assert_eq!(counts.len(), shown["bounds"].as_array().unwrap().len() + 1);
        assert!(shown["sum"].as_f64().unwrap() > 0.0);
        assert!(stats.get::<gst::Structure>(field).is_ok(), "programs can read it, too: {stats}");
    }
}

#[test]
fn promtool_has_nothing_against_the_page() {
    let Some(promtool) = program("promtool") else { return };
    let _line = ended("checked");
    let page = page(server());
    let mut check = std::process::Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let checked = check.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.is_empty(), "{said}");
}
