//! Pipelines that do not stop.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, TryRecvError, channel};

use cudainfer_serve::fleet::{Exit, Fleet};
use cudainfer_tests::{LIMIT, until};
use gst::prelude::*;

use crate::fleet::{fleet_and_exit, frames_come, of};

/// Blocks a stream's streaming thread, so that its pipeline does not stop, until the returned sender is dropped.
fn hold(fleet: &Fleet, name: &str) -> Sender<()> {
    let pad = fleet.built(name).unwrap().sink.static_pad("sink").unwrap();
    let (release, released) = channel::<()>();
    let (caught, catches) = channel();
    let released = Mutex::new(released);
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        caught.send(()).unwrap();
        // Nothing is sent: this returns when the sender is dropped.
        let _ = released.lock().unwrap().recv();
        gst::PadProbeReturn::Remove
    });
    catches.recv_timeout(LIMIT).unwrap();
    release
}

#[test]
fn too_many_pipelines_that_do_not_stop_end_the_process_and_those_that_stop_late_do_not_count() {
    let source = |name: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\nuri = \"test://ball?width=64&height=48&rate=20\"\npipeline = \"plain\"\n"
        )
    };
    let state = cudainfer_tests::scratch("stuck");
    let server = format!("[server]\nmost-left-behind = 2\nstate = \"{}\"\n", state.display());
    let (fleet, exit) = fleet_and_exit(&(server + &source("a") + &source("b")));
    let held = |name: &str| {
        frames_come(&fleet, name, 5);
        let release = hold(&fleet, name);
        fleet.restart(name).unwrap();
        until("it is abandoned", || of(&fleet, name).left_behind == 1);
        // The stream itself goes on.
        frames_come(&fleet, name, 5);
        release
    };
    let first = held("a");
    assert_eq!(fleet.left_behind(), 1);
    drop(first);
    until("it has stopped", || fleet.left_behind() == 0 && of(&fleet, "a").left_behind == 0);

    let second = held("a");
    assert_eq!(exit.try_recv(), Err(TryRecvError::Empty), "the first does not count any more");
    // The abandoned pipelines of a removed stream still count.
    fleet.remove("a").unwrap();
    assert_eq!(fleet.status().left_behind, 1);
    let third = held("b");
    assert_eq!(exit.recv_timeout(LIMIT), Ok(Exit::LeftBehind));
    let noted = std::fs::read_to_string(state.join("stuck.json")).unwrap();
    assert!(
        noted.contains("\"a\": {") && noted.contains("\"b\": {"),
        "the next process knows which: {noted}"
    );
    drop((second, third));
    assert_eq!(fleet.drain(), [""; 0]);
}

#[test]
fn a_stream_whose_frame_waits_downstream_stops_when_it_is_removed() {
    let (fleet, _exit) = fleet_and_exit(
        "[[source]]\nname = \"a\"\nuri = \"test://ball?width=64&height=48&rate=20\"\npipeline = \"plain\"\n",
    );
    frames_come(&fleet, "a", 5);
    let pad = fleet.built("a").unwrap().sink.static_pad("sink").unwrap();
    let (caught, catches) = channel();
    // A blocked frame is released when the pad is deactivated, and not before.
    pad.add_probe(gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER, move |_, _| {
        let _ = caught.send(());
        gst::PadProbeReturn::Ok
    });
    catches.recv_timeout(LIMIT).unwrap();
    fleet.remove("a").unwrap();
    assert_eq!(fleet.left_behind(), 0);
}
