//! Whole pipelines with a destination that has a URI. brokers/tests/publish has those with real brokers.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;

use cudainfer_tests::{TestPipeline, scratch, until};
use gst::prelude::*;

/// The numbers of the frames in the lines that come over a socket until its writer closes it.
fn frames(listener: &UnixListener) -> Vec<u64> {
    let (stream, _) = listener.accept().unwrap();
    let number =
        |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap()["frame"].as_u64().unwrap();
    BufReader::new(stream).lines().map_while(Result::ok).map(number).collect()
}

#[test]
fn all_records_reach_a_socket_with_a_spool_and_without() {
    for spool in [false, true] {
        let folder = scratch("socket");
        let listener = UnixListener::bind(folder.join("socket")).unwrap();
        let reading = std::thread::spawn(move || frames(&listener));
        let spool = if spool { format!("spool={}", folder.join("spool").display()) } else { String::new() };
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=300 ! video/x-raw,width=16,height=16 \
             ! inferpublish name=publish leaky=no location=unix:{} {spool} ! fakesink",
            folder.join("socket").display()
        ));
        pipeline.wait().succeeds();
        pipeline.stop();
        let stats = pipeline.element("publish").property::<gst::Structure>("stats");
        let count = |field: &str| stats.get::<u64>(field).unwrap();
        assert_eq!(["written", "acknowledged", "waiting", "dropped"].map(count), [300, 300, 0, 0]);
        assert_eq!(count("spooled"), if spool.is_empty() { 0 } else { 300 });
        assert_eq!(reading.join().unwrap(), (0..300).collect::<Vec<_>>());
    }
}

#[test]
fn what_a_pipeline_leaves_in_the_spool_the_next_one_sends_first() {
    let folder = scratch("next");
    let pipeline_of = |frames: u32| {
        format!(
            "videotestsrc num-buffers={frames} ! video/x-raw,width=16,height=16 \
             ! inferpublish name=publish location=unix:{} spool={} ! fakesink",
            folder.join("socket").display(),
            folder.join("spool").display()
        )
    };
    let first = TestPipeline::start(&pipeline_of(50));
    first.wait().succeeds();
    first.stop();
    let listener = UnixListener::bind(folder.join("socket")).unwrap();
    let reading = std::thread::spawn(move || frames(&listener));
    let second = TestPipeline::start(&pipeline_of(20));
    second.wait().succeeds();
    until("the socket has them all", || {
        second.element("publish").property::<gst::Structure>("stats").get("waiting") == Ok(0_u64)
    });
    second.stop();
    assert_eq!(reading.join().unwrap(), (0..50).chain(0..20).collect::<Vec<_>>());
}
