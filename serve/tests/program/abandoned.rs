//! A pipeline that does not stop, in a process that ends with the first such pipeline.

use cudainfer_tests::{scratch, until};
use rustix::process::Signal;

use crate::service::Service;

#[test]
fn a_pipeline_too_many_that_does_not_stop_ends_the_process_with_exit_code_71() {
    let folder = scratch("out");
    let passed = folder.join("passed.jsonl");
    // identity sleeps in the streaming thread for over an hour. Nothing wakes it, so its pad cannot be stopped.
    let text = |pattern: &str| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\nmost-left-behind = 1\nstop-timeout = 1\n\
             [pipeline.sleeps]\nline = \"inferpublish location={} ! identity sleep-time=4000000000\"\n\
             [[source]]\nname = \"a\"\nuri = \"test://{pattern}?width=64&height=48\"\npipeline = \"sleeps\"\n",
            passed.display()
        )
    };
    let mut service = Service::start(&text("ball"));
    until("a frame is on its way to identity", || {
        std::fs::metadata(&passed).is_ok_and(|file| file.len() > 0)
    });
    std::fs::write(&service.file, text("snow")).unwrap();
    service.signal(Signal::HUP);
    assert_eq!(service.ends().code(), Some(71));
    service.logs("pipelines that do not stop: 1. most-left-behind allows no more", 1);
}
