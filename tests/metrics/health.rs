//! `/healthz`: which streams stand still.

use cudainfer_tests::{TestPipeline, end, filled, push, until};
use gst::prelude::*;

use crate::client::{health, stalled};
use crate::server;

/// Two sources that the tests feed.
fn pair(name: &str) -> TestPipeline {
    server();
    let caps = "video/x-raw,format=GRAY8,width=4,height=4,framerate=100/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=first format=time caps={caps} ! queue ! fakesink async=false \
         appsrc name=second format=time caps={caps} ! queue ! fakesink async=false"
    ));
    pipeline.set_property("name", name);
    pipeline
}

#[test]
fn a_stream_that_stops_is_named_until_it_moves_again_and_one_that_has_ended_is_not() {
    let pipeline = pair("stops");
    for source in ["first", "second"] {
        push(&pipeline.element(source), filled(16, 0, 0));
    }
    end(&pipeline.element("second"));
    let _ = pipeline.set_state(gst::State::Playing);
    // The second stream has had no frame for as long, but it has ended.
    until("the first is stalled", || stalled(server(), "stops") == ["first"]);
    let mut frame = 1;
    until("it moves again", || {
        push(&pipeline.element("first"), filled(16, 0, frame));
        frame += 1;
        stalled(server(), "stops").is_empty()
    });
    until("it stands still again", || stalled(server(), "stops") == ["first"]);
    end(&pipeline.element("first"));
    until("its end", || stalled(server(), "stops").is_empty());
    pipeline.wait().succeeds();
}

#[test]
fn a_stream_that_never_begins_is_stalled_and_one_that_is_paused_is_not() {
    let pipeline = pair("never");
    push(&pipeline.element("first"), filled(16, 0, 0));
    let _ = pipeline.set_state(gst::State::Playing);
    until("both are stalled", || {
        let mut both = stalled(server(), "never");
        both.sort();
        both == ["first", "second"]
    });
    pipeline.reach(gst::State::Paused);
    assert!(stalled(server(), "never").is_empty(), "{}", health(server()));
    pipeline.stop();
    assert!(stalled(server(), "never").is_empty());
}

#[test]
fn what_comes_before_a_demuxer_or_after_a_compositor_is_not_looked_at() {
    let folder = cudainfer_tests::scratch("demuxed");
    let file = folder.join("a.mkv").display().to_string();
    cudainfer_tests::run(&format!(
        "videotestsrc num-buffers=9 ! matroskamux streamable=true ! filesink location={file}"
    ))
    .succeeds();
    server();
    let caps = "video/x-raw,format=GRAY8,width=16,height=16,framerate=100/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=file ! matroskademux ! identity ! fakesink async=false \
         appsrc name=camera format=time caps={caps} ! compositor name=mix ! fakesink async=false"
    ));
    pipeline.set_property("name", "derived");
    // Neither stream ends.
    push(&pipeline.element("file"), gst::Buffer::from_mut_slice(std::fs::read(&file).unwrap()));
    push(&pipeline.element("camera"), filled(256, 0, 0));
    push(&pipeline.element("camera"), filled(256, 0, 1));
    let _ = pipeline.set_state(gst::State::Playing);
    // The streams of the demuxer and the camera, and neither the file's bytes nor the mixed frames.
    let both = |names: &[String]| {
        ["camera", "file/"].iter().all(|part| names.iter().any(|name| name.starts_with(part)))
    };
    until("both are stalled", || both(&stalled(server(), "derived")));
    let names = stalled(server(), "derived");
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn streams_of_rtp_are_looked_at_although_they_are_made_of_packets_with_times() {
    server();
    let caps = "video/x-raw,format=I420,width=64,height=48,framerate=100/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=camera format=time caps={caps} ! x264enc tune=zerolatency threads=1 ! rtph264pay ! session.recv_rtp_sink_0 \
         rtpbin name=session latency=0 ! rtph264depay ! fakesink async=false"
    ));
    pipeline.set_property("name", "packets");
    (0..5).for_each(|frame| push(&pipeline.element("camera"), filled(64 * 48 * 3 / 2, 0, frame)));
    let _ = pipeline.set_state(gst::State::Playing);
    let is_session = |name: &String| name.starts_with("session/");
    until("the packets' stream is stalled", || stalled(server(), "packets").iter().any(is_session));
}
