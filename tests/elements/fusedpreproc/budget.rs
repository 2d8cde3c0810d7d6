//! `max-load`: the interval follows from how busy the model is.

use std::time::{Duration, Instant};

use cudainfer_tests::{TestPipeline, model, run};
use gst::prelude::*;

fn count(pipeline: &TestPipeline, element: &str, field: &str) -> u64 {
    pipeline.element(element).property::<gst::Structure>("stats").get(field).unwrap()
}

/// The counts `between` and `interval` of ten frames, where the model says that it works for this share of the time.
fn left_out(properties: &str, load: f64) -> [u64; 2] {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! video/x-raw,framerate=30/1 ! fusedpreproc name=pre {properties} width=32 height=32 ! fakesink"
    ));
    let src = pipeline.element("pre").static_pad("src").unwrap();
    src.add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, move |_, info| {
        let gst::QueryViewMut::Custom(query) = info.query_mut().unwrap().view_mut() else {
            return gst::PadProbeReturn::Ok;
        };
        if query.structure().is_none_or(|structure| structure.name() != "cudainfer-load") {
            return gst::PadProbeReturn::Ok;
        }
        query.structure_mut().set("load", load);
        gst::PadProbeReturn::Handled
    });
    pipeline.play();
    pipeline.wait().succeeds();
    ["between", "interval"].map(|field| count(&pipeline, "pre", field))
}

#[test]
fn a_model_that_is_too_busy_sees_fewer_frames() {
    let [between, interval] = left_out("max-load=0.8", 1.0);
    assert!(between >= 5 && interval >= 1, "{between} frames were left out, the interval is {interval}");
    assert_eq!(left_out("max-load=0.8", 0.5), [0, 0]);
    assert_eq!(left_out("", 1.0), [0, 0]);
    assert_eq!(left_out("max-load=0.8 interval=4", 0.1), [8, 4], "the interval that is set is the least");
}

#[test]
fn trtinfer_says_how_busy_it_is() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc max-load=1 ! queue \
         ! trtinfer name=net model={} ! fakesink",
        model("detector")
    ));
    pipeline.play();
    let sink = pipeline.element("net").static_pad("sink").unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    let load = loop {
        let mut query = gst::query::Custom::new(gst::Structure::new_empty("cudainfer-load"));
        if sink.query(&mut query) {
            break query.structure().unwrap().get::<f64>("load").unwrap();
        }
        assert!(Instant::now() < patience, "it never says it");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!((0.0..=1.0).contains(&load), "{load}");
}

#[test]
fn regions_of_objects_have_an_interval_of_their_own() {
    run("videotestsrc num-buffers=2 ! fusedpreproc name=pre roi=objects max-load=0.5 width=32 height=32 ! fakesink")
        .fails_with(&["max-load is 0.5, which leaves out whole frames", "Set max-load on the fusedpreproc of the model"]);
}
