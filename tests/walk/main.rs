//! Whatever users do to a running pipeline of eight streams, in whatever order: every frame that came in comes out with its own result,
//! was dropped and reported, or was flushed; nothing hangs, and memory, threads and open files stay.
//!
//! The order is drawn from a seed, which is printed and the same in every run. `CUDAINFER_WALK_SEED` is another one, and
//! `CUDAINFER_WALK_OPERATIONS` another number of operations: `scripts/soak --walk` does ten thousand. What threads do meanwhile is not
//! drawn, so a seed repeats the operations, and not always what they meet.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod complaints;
mod disposal;
mod ledger;
mod operations;
mod stream;
mod walk;

use std::sync::Mutex;
use std::time::Instant;

use cudainfer_tests::dice::Dice;
use cudainfer_tests::resources::{Resources, entries};
use cudainfer_tests::{init, until};

use ledger::Counts;
use walk::Walk;

const SEED: u64 = 20_261_129;
const OPERATIONS: usize = 400;

/// How often all streams are removed, so that what is left can be compared.
const STOPS: usize = 10;

/// KiB that an operation may leave in memory on average: far below a frame (37 KiB on average), a tensor (48 KiB) or a session.
const GROWTH: f64 = 2.0;

/// KiB by which what the allocator has given out varies with the moment.
const ONCE: f64 = 512.0;

/// KiB that GStreamer leaves of an element that was given up while it played: its pads, with their events and caps.
const DISPOSED: f64 = 64.0;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")),
        Err(_) => default,
    }
}

/// Both tests count the threads of this process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn elements_that_are_given_up_while_they_play_keep_no_threads() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    init();
    complaints::collect();
    let mut dice = Dice::new(SEED);
    // Libraries start threads of their own once.
    (0..40).for_each(|_| drop(disposal::dispose(&mut dice)));
    let before = entries("/proc/self/task");
    (0..80).for_each(|_| drop(disposal::dispose(&mut dice)));
    until("no more threads than before", || entries("/proc/self/task") <= before);
    assert_eq!(complaints::unexpected(), [""; 0]);
}

#[test]
fn every_frame_is_accounted_for_whatever_is_done_to_a_running_pipeline() {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let seed = setting("CUDAINFER_WALK_SEED", SEED);
    let operations = usize::try_from(setting("CUDAINFER_WALK_OPERATIONS", OPERATIONS as u64)).unwrap();
    println!("CUDAINFER_WALK_SEED={seed} CUDAINFER_WALK_OPERATIONS={operations}");
    complaints::collect();
    let started = Instant::now();
    let mut walk = Walk::new(seed);
    let mut left = Vec::new();
    for stop in 0..STOPS {
        walk.fill();
        for _ in operations * stop / STOPS..operations * (stop + 1) / STOPS {
            walk.step();
        }
        left.push((walk.empty(), walk.disposed));
        let Resources { memory, threads, files } = left[stop].0;
        let done = operations * (stop + 1) / STOPS;
        println!("after {done} operations: {memory} KiB, {threads} threads, {files} files");
    }
    let often: Vec<_> =
        walk.often.iter().map(|(operation, times)| format!("{operation:?} {times}")).collect();
    println!("operations: {}", often.join(", "));
    let Counts { entered, left: out, flushed, dropped, reported } = walk.counts;
    let seconds = started.elapsed().as_secs();
    println!(
        "frames: {entered} in, {out} out, {flushed} flushed, {dropped} dropped, {reported} reported as dropped; {seconds} s"
    );
    println!("errors of streams that were stopped while they started: {}", walk.pardoned);
    assert!(walk.counts.left > walk.counts.entered / 4, "{:?}", walk.counts);
    // The first half fills pools and caches.
    let ((early, given_up), (late, all_given_up)) = (left[STOPS / 2], left[STOPS - 1]);
    let grown = late.memory as f64 - early.memory as f64 - DISPOSED * (all_given_up - given_up) as f64;
    assert!(grown <= ONCE + GROWTH * (operations / 2) as f64, "{grown} KiB: {left:?}");
    // GStreamer keeps a few threads of its pool for reuse.
    assert!(late.threads <= early.threads + 2, "{left:?}");
    assert!(late.files <= early.files, "{left:?}");
}
