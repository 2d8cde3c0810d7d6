//! Streams in this process, and one that must not be disturbed by what happens to the others.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use cudainfer_serve::config::Config;
use cudainfer_serve::fleet::{Exit, Fleet};
use cudainfer_serve::stream::StreamStatus;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::until;

/// A stream that the tests do not touch.
const BYSTANDER: &str = "[[source]]\nname = \"bystander\"\nuri = \"test://ball?width=64&height=48&rate=20\"\npipeline = \"plain\"\n\
    restart = { stall = 60 }\n";

/// A fleet of these sources and pipelines, of the pipeline `plain` and of [`BYSTANDER`].
pub(crate) fn fleet(text: &str) -> Fleet {
    fleet_and_exit(text).0
}

/// The same, and the receiver of the reason why the process must end.
pub(crate) fn fleet_and_exit(text: &str) -> (Fleet, Receiver<Exit>) {
    cudainfer_tests::init();
    let head =
        "[restart]\nstall = 3\nfirst = 0.2\nlongest = 1\nsteady = 3\n[pipeline.plain]\nline = \"identity\"\n";
    let config = Config::read(&format!("{head}{text}{BYSTANDER}"), Path::new("serve.toml"));
    let (sender, exit) = channel();
    let fleet = Fleet::start(config.unwrap_or_else(|wrong| panic!("{wrong}")), sender);
    (fleet.unwrap_or_else(|wrong| panic!("{wrong}")), exit)
}

pub(crate) fn of(fleet: &Fleet, name: &str) -> StreamStatus {
    fleet.stream(name).unwrap()
}

/// Waits until `count` more frames have come.
#[track_caller]
pub(crate) fn frames_come(fleet: &Fleet, name: &str, count: u64) {
    let before = of(fleet, name).frames;
    until(&format!("{count} frames of '{name}'"), || of(fleet, name).frames >= before + count);
}

/// Waits for the end of a file.
#[track_caller]
pub(crate) fn ends(fleet: &Fleet, name: &str) -> StreamStatus {
    until("the file ends", || {
        let status = of(fleet, name);
        assert_ne!(status.state, State::Failed, "{status:?}");
        status.state == State::Ended
    });
    of(fleet, name)
}

/// Asserts that [`BYSTANDER`] was not disturbed, and that all streams end in time.
#[track_caller]
pub(crate) fn ends_undisturbed(fleet: &Fleet) {
    frames_come(fleet, "bystander", 5);
    let status = of(fleet, "bystander");
    assert_eq!(status.state, State::Playing, "{status:?}");
    assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
    assert_eq!(fleet.drain(), [""; 0]);
}
