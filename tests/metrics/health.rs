//! `/healthz`: which streams stand still.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use cudainfer_tests::{TestPipeline, end, filled, free_port, push, root, until};
use gst::prelude::*;
use rustix::process::{Pid, Signal, kill_process};

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
fn a_camera_that_freezes_is_named() {
    server();
    let (program, port) = (root().join("serve/tests/cameras/camera.py"), free_port());
    let mut camera = Command::new("/usr/bin/python3");
    camera.arg(program).arg(port.to_string()).env_remove("GST_TRACERS").stdout(Stdio::piped());
    let mut camera = camera.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(camera.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "run scripts/setup, which installs gir1.2-gst-rtsp-server-1.0");
    let pipeline = TestPipeline::new(&format!(
        "rtspsrc name=camera location=rtsp://127.0.0.1:{port}/video protocols=tcp latency=0 ! rtph264depay ! fakesink name=end async=false"
    ));
    pipeline.set_property("name", "packets");
    let frames = pipeline.collect("end");
    let _ = pipeline.set_state(gst::State::Playing);
    until("frames come", || frames.lock().unwrap().len() > 5);
    let moves = || stalled(server(), "packets").is_empty();
    until("it is not stalled", moves);
    kill_process(Pid::from_child(&camera), Signal::STOP).unwrap();
    // Packets have times as frames do, and yet they are no muxer's.
    until("it is stalled", || stalled(server(), "packets").iter().any(|name| name.starts_with("camera/")));
    camera.kill().unwrap();
    camera.wait().unwrap();
}
