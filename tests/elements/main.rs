//! The results of whole pipelines, compared with the expected ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod classify;
mod fusedpreproc;
mod gpunms;
mod identify;
mod inferoverlay;
mod inferpublish;
mod peakfind;
mod plugin;
mod segmask;
mod tensormap;
mod tracker;
mod trtinfer;
mod zonecount;

use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cudainfer_tests::TestPipeline;
use gst::prelude::*;
use serde_json::Value;

/// The first 30 frames of vtest.avi, decoded, so that a test need not decode what it does not look at.
fn video() -> String {
    static VIDEO: LazyLock<PathBuf> = LazyLock::new(|| first_frames(30));
    VIDEO.display().to_string()
}

/// The first six: for networks that take long.
fn short_video() -> String {
    static VIDEO: LazyLock<PathBuf> = LazyLock::new(|| first_frames(6));
    VIDEO.display().to_string()
}

/// The first frames of the video that scripts/setup fetches, in a file.
fn first_frames(count: u32) -> PathBuf {
    let path = cudainfer_tests::scratch("video").join(format!("first-{count}.mkv"));
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! decodebin ! identity name=cut eos-after={} ! matroskamux ! filesink location={}",
        cudainfer_tests::fetched("video/vtest.avi"),
        count + 1,
        path.display()
    ));
    // The decoder still lets out a late frame after identity has ended the stream.
    let passed = AtomicU32::new(0);
    pipeline.element("cut").static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        let late = passed.fetch_add(1, Ordering::Relaxed) >= count;
        if late { gst::PadProbeReturn::Drop } else { gst::PadProbeReturn::Ok }
    });
    pipeline.play();
    pipeline.wait().succeeds();
    path
}

/// The lines that inferpublish wrote.
fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
}

/// Lines of inferpublish without what is another one at each start: the messages' ids and the times.
fn steady(text: &str) -> String {
    let mut text = text.to_owned();
    for key in ["\"id\":\"", "\"time\":\""] {
        let mut parts = text.split(key);
        let first = parts.next().unwrap_or_default().to_owned();
        text = parts.fold(first, |all, part| all + key + &part[part.find('"').unwrap()..]);
    }
    text
}

/// Faults of a record by docs/schema.json; none if it is valid.
fn violations(record: &Value) -> Vec<String> {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        let text = std::fs::read_to_string(cudainfer_tests::root().join("docs/schema.json")).unwrap();
        jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
    });
    SCHEMA.iter_errors(record).map(|e| format!("{}: {e}", e.instance_path())).collect()
}

/// x, y, w, h of a box in a record.
fn rect(value: &Value) -> [f64; 4] {
    ["x", "y", "w", "h"].map(|field| value[field].as_f64().unwrap())
}

/// Intersection over union of two boxes.
fn iou(a: [f64; 4], b: [f64; 4]) -> f64 {
    let overlap = |i: usize| ((a[i] + a[i + 2]).min(b[i] + b[i + 2]) - a[i].max(b[i])).max(0.0);
    let both = overlap(0) * overlap(1);
    both / (a[2] * a[3] + b[2] * b[3] - both)
}
