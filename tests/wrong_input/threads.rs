//! A system that gives no more threads: what cannot go on says so, and stops. The threads are used up in children of the test.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cudainfer_tests::{LIMIT, Line, model};
use gst::prelude::*;

const CHILD: &str = "CUDAINFER_TEST_THREADS";

/// Uses up the address space, so that nobody gets another thread, until the process ends.
fn use_up_threads() {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: libc::rlim_t = status.split(' ').next().unwrap().parse().unwrap();
    let bytes = pages * 4096 + (256 << 20);
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    // For whatever is small, afterwards.
    let reserve = vec![1u8; 1 << 20];
    let park = || {
        loop {
            std::thread::park();
        }
    };
    // Down to the smallest stack, as stacks of threads that have ended are used again.
    for stack in [2 << 20, 1 << 20] {
        while std::thread::Builder::new().stack_size(stack).spawn(park).is_ok() {}
    }
    drop(std::hint::black_box(reserve));
}

fn print(line: &Line) {
    let bus = line.pipeline.bus().unwrap();
    while let Some(message) = bus.pop() {
        match message.view() {
            gst::MessageView::Error(error) => println!("ERROR {}", error.error()),
            gst::MessageView::Warning(warning) => println!("WARNING {}", warning.error()),
            _ => (),
        }
    }
}

/// What a child does. Nothing in the test run itself.
#[test]
fn child() {
    let Ok(when) = std::env::var(CHILD) else { return };
    // Without a source: those of GStreamer need threads of their own.
    let line = Line::new(&format!(
        "fusedpreproc ! trtinfer name=infer model={} ! fakesink async=false",
        model("detector")
    ));
    if when == "starting" {
        line.reach(gst::State::Ready);
        use_up_threads();
        assert!(line.pipeline.set_state(gst::State::Paused).is_err());
    } else {
        line.reach(gst::State::Playing);
        use_up_threads();
        line.element("infer").set_property("model", model("detector-retrained"));
        assert_eq!(line.element("infer").property::<String>("model"), model("detector"));
    }
    print(&line);
    line.pipeline.set_state(gst::State::Null).unwrap();
    println!("STOPPED");
    // The parked threads are not waited for.
    std::process::exit(0);
}

fn said(when: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "threads::child", "--nocapture"]).env(CHILD, when);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + 2 * LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the child died: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn without_a_thread_to_push_with_the_start_fails_with_a_sentence_and_the_pipeline_stops() {
    let said = said("starting");
    assert!(said.contains("ERROR infer: the system gives no thread to push frames with"), "{said}");
    assert!(said.contains("STOPPED"), "{said}");
}

#[test]
fn without_a_thread_to_load_it_in_a_model_is_not_taken_over_with_a_sentence() {
    let said = said("changing");
    for part in ["WARNING infer: the model", "the system gives no thread to load it in", "STOPPED"] {
        assert!(said.contains(part), "no '{part}': {said}");
    }
}
