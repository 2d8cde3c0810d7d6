//! Cameras that are killed, stopped, cut off, also by a firewall, and made to send noise: each comes back, and no other stream is
//! disturbed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

mod camera;
mod firewall;

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use camera::{Camera, Network};
use cudainfer_serve::config::Config;
use cudainfer_serve::fleet::Fleet;
use cudainfer_serve::stream::StreamStatus;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::{model, run, scratch};
use rustix::process::Signal;

/// Frames of each file, at 10 a second: files play for as long as the disturbances take.
const FRAMES: u32 = 400;
const FILES: usize = 2;

/// How long a condition may take: sixteen streams and their cameras share two cores.
const LIMIT: Duration = Duration::from_secs(150);

/// Locks a mutex, so that no other test of this process has cameras at the same time: a busy machine would delay their frames,
/// and streams restart after seconds without a frame.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[track_caller]
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A file to be played, made once for all runs.
fn video(folder: &Path) -> PathBuf {
    let path = folder.join("ball.mp4");
    run(&format!(
        "videotestsrc num-buffers={FRAMES} pattern=ball ! video/x-raw,width=160,height=120,framerate=10/1 \
         ! x264enc speed-preset=ultrafast threads=1 ! mp4mux ! filesink location={}",
        path.display()
    ))
    .succeeds();
    path
}

/// A fleet of the files and of the sources in the text `others`.
fn fleet(folder: &Path, video: &Path, live: bool, others: &str) -> Fleet {
    let mut text = format!(
        "[server]\nstop-timeout = 20\n[restart]\nstall = 3\nfirst = 0.5\nlongest = 2\nsteady = 3\n\
         [pipeline.detect]\n\
         line = \"fusedpreproc ! trtinfer model={{model}} batch-size=8 ! gpunms ! tracker ! inferpublish name=json source={{name}} \
         location={}/{{name}}.jsonl\"\nset = {{ model = \"{}\" }}\n",
        folder.display(),
        model("detector-batch")
    );
    for number in 0..FILES {
        text += &format!(
            "[[source]]\nname = \"file{number}\"\nuri = \"file://{}\"\nlive = {live}\nmax-latency = 0\nrestart = {{ stall = 60 }}\n",
            video.display()
        );
    }
    let config =
        Config::read(&(text + others), &folder.join("serve.toml")).unwrap_or_else(|wrong| panic!("{wrong}"));
    Fleet::start(config, channel().0).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn of(fleet: &Fleet, name: &str) -> StreamStatus {
    fleet.stream(name).unwrap()
}

/// The records of a file, without the ids and the times of day, which differ between runs.
fn written(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    let steady = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = record.as_object_mut().unwrap();
        assert!(["id", "time"].iter().all(|key| fields.remove(*key).is_some()), "{line}");
        // Only where the file is paced.
        fields.remove("lag");
        record.to_string() + "\n"
    };
    text.lines().map(steady).collect()
}

fn frames_come_again(fleet: &Fleet, name: &str) {
    let before = of(fleet, name).frames;
    until(&format!("{name} plays again: {:?}", of(fleet, name)), || {
        let now = of(fleet, name);
        now.state == State::Playing && now.frames > before + 5
    });
}

#[test]
fn cameras_come_back_from_all_that_happens_to_them_and_no_other_stream_notices() {
    let _alone = alone();
    cudainfer_tests::init();
    let (alone, disturbed) = (scratch("alone"), scratch("disturbed"));
    let video = video(&alone);
    // The expected records of the files: they are read as fast as possible, without other streams.
    let reference = fleet(&alone, &video, false, "");
    until("the files end", || (0..FILES).all(|n| of(&reference, &format!("file{n}")).state == State::Ended));
    assert_eq!(reference.drain(), [""; 0]);

    let mut cameras: Vec<_> = (0..16).map(|_| Camera::start()).collect();
    let source = |(number, camera): (usize, &Camera)| {
        // Cameras that are not disturbed may be slow on a busy machine.
        let stall = if number < 14 { 3 } else { 60 };
        format!(
            "[[source]]\nname = \"cam{number}\"\nuri = \"{}\"\nsource = {{ protocols = \"tcp\", latency = 50 }}\n\
             restart = {{ stall = {stall} }}\n",
            camera.uri()
        )
    };
    let others: String = cameras.iter().enumerate().map(source).collect();
    let fleet = fleet(&disturbed, &video, true, &others);
    let name = |number: usize| format!("cam{number}");
    until("all cameras play", || (0..16).all(|number| of(&fleet, &name(number)).frames > 5));

    for camera in &mut cameras[..4] {
        camera.kill();
    }
    for camera in &cameras[4..8] {
        camera.signal(Signal::STOP);
    }
    for camera in &cameras[8..12] {
        camera.set_network(Network::Cut);
    }
    for camera in &cameras[12..14] {
        camera.set_network(Network::Garbage);
    }
    let lost = |number: usize| !of(&fleet, &name(number)).restarts.is_empty();
    until("each disturbed stream is started again", || (0..14).all(lost));

    for camera in &mut cameras[..4] {
        camera.start_again();
    }
    for camera in &cameras[4..8] {
        camera.signal(Signal::CONT);
    }
    for camera in &cameras[8..14] {
        camera.set_network(Network::Works);
    }
    (0..16).for_each(|number| frames_come_again(&fleet, &name(number)));

    for number in 14..16 {
        let status = of(&fleet, &name(number));
        assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
    }
    until("the files end", || (0..FILES).all(|n| of(&fleet, &format!("file{n}")).state == State::Ended));
    for number in 0..FILES {
        let file = format!("file{number}");
        let status = of(&fleet, &file);
        assert_eq!((status.frames, status.restarts.len()), (u64::from(FRAMES), 0), "{status:?}");
        let (wanted, found) = (written(&alone, &file), written(&disturbed, &file));
        assert_eq!(wanted.lines().count(), FRAMES as usize);
        assert!(wanted == found, "the records of {file} are not those of the run without cameras");
    }
    assert_eq!(fleet.drain(), [""; 0], "all end in time");
}
