//! How inferpublish hands its records over: to files that are slow, full or not there, and at the end of the stream.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cudainfer_tests::{TestPipeline, end, filled, push, scratch, until, within};
use gst::prelude::*;

use crate::lines;

/// A FIFO that nobody reads.
fn fifo(name: &str) -> PathBuf {
    let path = scratch(name).join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Reads a FIFO, in a thread, until its writer closes it.
fn read_all(path: &Path) -> std::thread::JoinHandle<String> {
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::open(path).unwrap().read_to_string(&mut text).unwrap();
        text
    })
}

/// The numbers of the frames in lines of JSON.
fn frames(text: &str) -> Vec<u64> {
    let frame = |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["frame"].as_u64().unwrap();
    text.lines().map(frame).collect()
}

fn count(pipeline: &TestPipeline, field: &str) -> u64 {
    pipeline.element("publish").property::<gst::Structure>("stats").get(field).unwrap()
}

#[test]
fn everything_is_in_the_file_when_eos_comes_out() {
    let path = scratch("eos").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=300 ! video/x-raw,width=16,height=16 ! inferpublish name=publish location={} \
         ! fakesink name=out",
        path.display()
    ));
    let seen = Arc::new(Mutex::new(None));
    let found = Arc::clone(&seen);
    pipeline.element("out").static_pad("sink").unwrap().add_probe(
        gst::PadProbeType::EVENT_DOWNSTREAM,
        move |_, info| {
            if info.event().is_some_and(|event| event.type_() == gst::EventType::Eos) {
                *found.lock().unwrap() = Some(lines(&path).len());
            }
            gst::PadProbeReturn::Ok
        },
    );
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(*seen.lock().unwrap(), Some(300));
    assert_eq!((count(&pipeline, "frames"), count(&pipeline, "written")), (300, 300));
}

#[test]
fn stopping_in_the_middle_loses_no_record_of_a_frame_that_passed() {
    let path = scratch("middle").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! video/x-raw,width=16,height=16 ! inferpublish name=publish location={} ! fakesink name=out",
        path.display()
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    until("frames", || seen.lock().unwrap().len() > 50);
    pipeline.reach(gst::State::Ready);
    let numbers = frames(&std::fs::read_to_string(&path).unwrap());
    assert!(numbers.len() >= seen.lock().unwrap().len());
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    assert_eq!((count(&pipeline, "written"), count(&pipeline, "failed")), (numbers.len() as u64, 0));
}

#[test]
fn a_fifo_is_written_when_its_reader_comes_and_frames_wait_until_then() {
    let path = fifo("late-reader");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=100 ! video/x-raw,width=16,height=16 ! inferpublish name=publish queue-size=7 location={} \
         ! fakesink async=false name=out",
        path.display()
    ));
    // It would wait forever if the state change opened it as one opens a file.
    let started = (*pipeline).clone();
    within(move || started.set_state(gst::State::Playing).unwrap());
    until("frames wait", || count(&pipeline, "frames") == 8);
    let reader = read_all(&path);
    let report = pipeline.wait().succeeds();
    assert!(report.warnings.is_empty(), "{report:?}");
    pipeline.stop();
    assert_eq!(frames(&reader.join().unwrap()), (0..100).collect::<Vec<_>>());
}

#[test]
fn a_fifo_without_a_reader_does_not_keep_the_stream_from_its_end() {
    let path = fifo("no-reader");
    let pipeline = TestPipeline::start(&format!(
        "videotestsrc num-buffers=3 ! inferpublish name=publish location={} ! fakesink",
        path.display()
    ));
    let report = pipeline.wait().succeeds();
    let [warning] = &report.warnings[..] else { panic!("{report:?}") };
    assert!(warning.contains("3 records are not written") && warning.contains("no-reader"), "{warning}");
    pipeline.reach(gst::State::Ready);
    let message = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Warning]);
    let message = message.expect("a warning of what is lost");
    let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
    assert!(warning.error().to_string().contains("3 records are lost"), "{warning:?}");
    assert_eq!((count(&pipeline, "written"), count(&pipeline, "failed")), (0, 3));
}

#[test]
fn a_pipeline_whose_frames_wait_for_a_reader_can_be_stopped() {
    let path = fifo("stop");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! inferpublish name=publish queue-size=2 location={} ! fakesink async=false",
        path.display()
    ));
    pipeline.play();
    until("a frame waits", || count(&pipeline, "frames") == 3);
    pipeline.stop();
    // The frame that waited has not passed.
    assert_eq!(
        (count(&pipeline, "written"), count(&pipeline, "failed"), count(&pipeline, "dropped")),
        (0, 2, 0)
    );
}

#[test]
fn a_flush_frees_a_frame_that_waits_and_drops_no_record() {
    let path = fifo("flush");
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=8,height=8,framerate=100/1 \
         ! inferpublish name=publish queue-size=1 location={} ! fakesink async=false",
        path.display()
    ));
    pipeline.play();
    let source = pipeline.element("in");
    for frame in 0..2 {
        push(&source, filled(8 * 8 * 3, 0, frame));
    }
    until("a frame waits", || count(&pipeline, "frames") == 2);
    let flushed = source.clone();
    within(move || {
        assert!(flushed.send_event(gst::event::FlushStart::new()));
        assert!(flushed.send_event(gst::event::FlushStop::new(true)));
    });
    push(&source, filled(8 * 8 * 3, 0, 7));
    end(&source);
    until("the next frame waits", || count(&pipeline, "frames") == 3);
    let reader = read_all(&path);
    pipeline.wait().succeeds();
    pipeline.stop();
    let text = reader.join().unwrap();
    assert_eq!(frames(&text), [0, 1]);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["pts"].as_u64(), Some(70_000_000), "it is the frame after the flush");
}

#[test]
fn a_leaky_queue_drops_counts_and_warns_with_numbers() {
    for (leaky, kept) in [("upstream", [0, 1]), ("downstream", [8, 9])] {
        let path = fifo(leaky);
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=10 ! inferpublish name=publish queue-size=2 leaky={leaky} location={} ! fakesink",
            path.display()
        ));
        until("all frames", || count(&pipeline, "frames") == 10 && count(&pipeline, "dropped") == 8);
        let reader = read_all(&path);
        let report = pipeline.wait().succeeds();
        pipeline.stop();
        assert_eq!(frames(&reader.join().unwrap()), kept, "{leaky}");
        let [first, last] = &report.warnings[..] else { panic!("{report:?}") };
        assert!(first.contains("a record was dropped") && first.contains(leaky), "{first}");
        assert!(last.contains("8 records of 10 frames"), "{last}");
        assert_eq!((count(&pipeline, "written"), count(&pipeline, "failed")), (2, 0));
    }
}

#[test]
fn stdout_by_its_path_is_the_standard_output() {
    let output = cudainfer_tests::test_in_own_process(module_path!(), "writes_to_stdout").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let records: Vec<_> = text.lines().filter(|line| line.contains("cudainfer.frame/")).collect();
    assert_eq!(records.len(), 2 * 5, "{text}");
    assert!(text.contains("before"), "what was written before is still there: {text}");
}

#[test]
#[ignore = "run by stdout_by_its_path_is_the_standard_output"]
fn writes_to_stdout() {
    println!("before");
    for location in ["-", "/dev/stdout"] {
        cudainfer_tests::run(&format!(
            "videotestsrc num-buffers=5 ! inferpublish location={location} ! fakesink"
        ))
        .succeeds();
    }
}
