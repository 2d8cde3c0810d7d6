//! Every kind of source: each frame is counted, and one that freezes is named.
//!
//! V4L2 is not here: v4l2src needs a device of the kernel, and the machines that run these tests have no v4l2loopback, which needs a
//! module of the kernel. For the tracer v4l2src is a source of frames with times, as videotestsrc is.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cudainfer_tests::{TestPipeline, end, filled, free_port, push, root, run, scratch, until};
use gst::prelude::*;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::{page, samples, stalled};
use crate::server;

/// The encoded test picture of these tests: 25 frames a second, with a key frame in each fifth.
const ENCODED: &str = "pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=25/1 \
    ! x264enc speed-preset=ultrafast tune=zerolatency key-int-max=5 threads=1";

/// A process that is ended with its test.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        Self(command.env_remove("GST_TRACERS").stdout(Stdio::piped()).spawn().unwrap())
    }

    /// The camera of the service's tests, by RTSP.
    fn camera(port: u16) -> Self {
        let mut camera = Command::new("/usr/bin/python3");
        camera.arg(root().join("serve/tests/cameras/camera.py")).arg(port.to_string());
        let mut camera = Self::start(&mut camera);
        let mut line = String::new();
        BufReader::new(camera.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "run scripts/setup, which installs gir1.2-gst-rtsp-server-1.0");
        camera
    }

    /// Answers nothing any more, and keeps its connections.
    fn freeze(&self) {
        kill_process(Pid::from_child(&self.0), Signal::STOP).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The frames that the tracer has counted at the element `end` of a pipeline.
fn counted(name: &str) -> f64 {
    let labels = [format!("pipeline=\"{name}\""), "element=\"end\"".to_owned()];
    samples(&page(server()), "cudainfer_frames_total", &labels.each_ref().map(String::as_str)).iter().sum()
}

/// A pipeline with a source called `camera` and `fakesink name=end`.
fn pipeline(name: &str, source: &str) -> TestPipeline {
    server();
    let pipeline = TestPipeline::new(&format!("{source} ! fakesink name=end async=false"));
    pipeline.set_property("name", name);
    pipeline
}

/// Plays a source to its end: the tracer counts as many frames as come.
fn is_counted_to_its_end(name: &str, source: &str, frames: usize) {
    let pipeline = pipeline(name, source);
    let seen = pipeline.collect("end");
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(seen.lock().unwrap().len(), frames, "{name}");
    assert_eq!(counted(name), frames as f64, "{name}");
    assert!(stalled(server(), name).is_empty(), "{name}: a stream that has ended does not stand still");
    pipeline.stop();
}

/// Plays a live source, which `freeze` stops: it is named, and all frames that came are counted.
fn is_named_when_it_freezes(name: &str, source: &str, freeze: impl FnOnce(&TestPipeline)) {
    let pipeline = pipeline(name, source);
    let frames = pipeline.collect("end");
    pipeline.play();
    until(&format!("{name}: frames come"), || frames.lock().unwrap().len() > 5);
    freeze(&pipeline);
    until(&format!("{name}: it is named"), || {
        let names = stalled(server(), name);
        // Of SRT also the stream of its packets, which have times; of HLS also what parsebin makes of it, under its own name.
        names.iter().any(|name| name == "camera" || name.starts_with("camera/"))
    });
    until(&format!("{name}: all are counted"), || counted(name) == frames.lock().unwrap().len() as f64);
    pipeline.stop();
}

/// Waits until a stream is not named. Only those of many frames a second are not, for which the tracer waits a fifth of a second.
fn moves(pipeline: &TestPipeline) {
    until("it moves", || stalled(server(), &pipeline.name()).is_empty());
}

/// Has no more frames leave the element `gate`.
fn hold(pipeline: &TestPipeline) {
    moves(pipeline);
    pipeline.element("gate").set_property("drop", true);
}

#[test]
fn a_test_source() {
    is_counted_to_its_end("test-counted", "videotestsrc name=camera num-buffers=30", 30);
    is_named_when_it_freezes("test-frozen", "videotestsrc name=camera is-live=true ! valve name=gate", hold);
}

#[test]
fn an_application_as_source() {
    let pipeline = pipeline(
        "app",
        "appsrc name=camera format=time caps=video/x-raw,format=GRAY8,width=4,height=4,framerate=100/1",
    );
    pipeline.play();
    (0..9).for_each(|frame| push(&pipeline.element("camera"), filled(16, 0, frame)));
    until("all are counted", || counted("app") == 9.0);
    until("it is named", || stalled(server(), "app") == ["camera"]);
    end(&pipeline.element("camera"));
    pipeline.wait().succeeds();
    assert_eq!(counted("app"), 9.0);
}

#[test]
fn files() {
    let folder = scratch("files");
    for (ending, muxer, demuxer) in [("mp4", "mp4mux", "qtdemux"), ("mkv", "matroskamux", "matroskademux")] {
        let file = folder.join("a").with_extension(ending).display().to_string();
        run(&format!(
            "videotestsrc num-buffers=30 {ENCODED} ! h264parse ! {muxer} ! filesink location={file}"
        ))
        .succeeds();
        let source = format!("filesrc name=camera location={file}");
        is_counted_to_its_end(&format!("{ending}-counted"), &format!("{source} ! decodebin"), 30);
        // A file does not freeze by itself: its frames are held after the parser, paced as a service does it.
        is_named_when_it_freezes(
            &format!("{ending}-frozen"),
            &format!("{source} ! {demuxer} ! h264parse ! clocksync ! valve name=gate"),
            |pipeline| {
                hold(pipeline);
                // It must not end.
                let pad = pipeline.element("gate").static_pad("src").unwrap();
                pad.add_probe(gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::BLOCK, |_, _| {
                    gst::PadProbeReturn::Ok
                });
            },
        );
    }
}

#[test]
fn rtsp_over_tcp_and_udp() {
    for protocol in ["tcp", "udp"] {
        let port = free_port();
        let camera = Process::camera(port);
        is_named_when_it_freezes(
            &format!("rtsp-{protocol}"),
            &format!(
                "rtspsrc name=camera location=rtsp://127.0.0.1:{port}/video protocols={protocol} latency=0 \
                 ! rtph264depay ! h264parse"
            ),
            |_| camera.freeze(),
        );
    }
}

/// A server of a folder's files.
fn serve(folder: &Path) -> (Process, u16) {
    let port = free_port();
    let mut server = Command::new("/usr/bin/python3");
    server.args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"]);
    let server = Process::start(server.arg(folder).arg(port.to_string()).stderr(Stdio::null()));
    until("the server answers", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    (server, port)
}

#[test]
fn hls() {
    let folder = scratch("hls-source");
    run(&format!(
        "videotestsrc num-buffers=100 {ENCODED} ! h264parse ! hlssink2 target-duration=1 playlist-length=0 max-files=0 \
         location={0}/%05d.ts playlist-location={0}/whole.m3u8",
        folder.display()
    ))
    .succeeds();
    let text = std::fs::read_to_string(folder.join("whole.m3u8")).unwrap();
    assert!(text.contains("#EXT-X-ENDLIST"), "{text}");
    // A playlist that gets no more segments, as that of a camera that stands still.
    std::fs::write(folder.join("live.m3u8"), text.replace("#EXT-X-ENDLIST", "")).unwrap();
    let (_server, port) = serve(&folder);
    let source = |file: &str| {
        format!("urisourcebin name=camera uri=http://127.0.0.1:{port}/{file} ! parsebin ! h264parse")
    };
    is_counted_to_its_end("hls-counted", &source("whole.m3u8"), 100);
    is_named_when_it_freezes("hls-frozen", &source("live.m3u8"), |_| ());
}

#[test]
fn srt() {
    server();
    if gst::ElementFactory::find("srtsrc").is_none() {
        eprintln!("left out: GStreamer has no srtsrc here");
        return;
    }
    let port = free_port();
    let sender = TestPipeline::new(&format!(
        "videotestsrc is-live=true {ENCODED} ! h264parse config-interval=-1 ! mpegtsmux alignment=7 \
         ! srtsink uri=srt://127.0.0.1:{port}?mode=listener wait-for-connection=false latency=20 async=false"
    ));
    sender.play();
    is_named_when_it_freezes(
        "srt",
        &format!(
            "srtsrc name=camera uri=srt://127.0.0.1:{port}?mode=caller latency=20 ! tsdemux ! h264parse"
        ),
        |pipeline| {
            moves(pipeline);
            sender.reach(gst::State::Paused);
        },
    );
    sender.stop();
}
