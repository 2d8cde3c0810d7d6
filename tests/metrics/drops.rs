//! Frames that are dropped.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use cudainfer_tests::{TestPipeline, end, model, push, until};
use gst::prelude::*;

use crate::client::{page, sample, samples};
use crate::server;

#[test]
fn a_frame_that_comes_too_late_counts_in_the_sink_that_drops_it() {
    server();
    let pipeline = TestPipeline::new(
        "appsrc name=camera is-live=true format=time caps=video/x-raw,format=GRAY8,width=4,height=4,framerate=100/1 \
         ! fakesink name=sink sync=true qos=true max-lateness=0",
    );
    pipeline.set_property("name", "late");
    let _ = pipeline.set_state(gst::State::Playing);
    let labels = ["pipeline=\"late\"", "element=\"sink\"", "stream=\"camera\"", "reason=\"late\""];
    // Each frame has the time 0, so it is as late as the pipeline is old.
    until("a frame is late", || {
        push(&pipeline.element("camera"), cudainfer_tests::filled(16, 0, 0));
        !samples(&page(server()), "cudainfer_frames_dropped_total", &labels).is_empty()
    });
    end(&pipeline.element("camera"));
    pipeline.wait().succeeds();
    let dropped = pipeline.element("sink").property::<gst::Structure>("stats").get::<u64>("dropped").unwrap();
    assert_eq!(sample(&page(server()), "cudainfer_frames_dropped_total", &labels), dropped as f64);
}

#[test]
fn a_frame_that_a_leaky_trtinfer_drops_counts_there_and_in_its_stream() {
    server();
    let caps = "video/x-raw,format=RGB,width=64,height=64,framerate=100/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=camera format=time caps={caps} ! fusedpreproc device=cpu ! trtinfer name=infer model={} device=cpu \
         max-in-flight=2 leaky=upstream ! identity name=held ! gpunms ! fakesink async=false",
        model("detector-batch")
    ));
    pipeline.set_property("name", "leaky");
    // Two frames are in flight as long as neither passes.
    let (release, released) = channel::<()>();
    let released = Mutex::new(released);
    pipeline.element("held").static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        let _ = released.lock().unwrap().recv();
        gst::PadProbeReturn::Ok
    });
    let _ = pipeline.set_state(gst::State::Playing);
    (0..10)
        .for_each(|frame| push(&pipeline.element("camera"), cudainfer_tests::filled(64 * 64 * 3, 0, frame)));
    end(&pipeline.element("camera"));
    let dropped =
        || pipeline.element("infer").property::<gst::Structure>("stats").get::<u64>("dropped").unwrap();
    until("eight frames are dropped", || dropped() == 8);
    drop(release);
    pipeline.wait().succeeds();
    let labels = ["pipeline=\"leaky\"", "element=\"infer\"", "stream=\"camera\"", "reason=\"leaky\""];
    assert_eq!(sample(&page(server()), "cudainfer_frames_dropped_total", &labels), 8.0);
}
