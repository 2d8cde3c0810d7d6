//! How long frames take through trtinfer on the CPU, beside the announced latency, with the tests' small models:
//!
//!     cargo bench -p cudainfer-benches --bench serving
//!
//! One line a figure. Leave the machine alone while it runs: other work changes the figures, so no test checks them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cudainfer_tests::stream::{Stream, ms};

fn main() {
    latency();
    first_frames();
    several_streams();
    change_of_the_model();
}

/// Pushes frames at this distance and returns how long each took, in the order of their numbers.
fn times(stream: &Stream, count: usize, distance: Duration) -> Vec<Duration> {
    let first = stream.frames().len();
    let start = Instant::now();
    let pushed: Vec<_> = (0..count)
        .map(|index| {
            std::thread::sleep((distance * u32::try_from(index).unwrap()).saturating_sub(start.elapsed()));
            let now = Instant::now();
            stream.push((first + index) as u64);
            now
        })
        .collect();
    stream.wait_for(first + count);
    let frames = stream.frames();
    pushed.iter().zip(&frames[first..]).map(|(pushed, frame)| frame.at - *pushed).collect()
}

/// The median, the 99th percentile, and the longest.
fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    format!("median {:?}, 99 of 100 within {:?}, longest {:?}", at(50), at(99), at(100))
}

/// The announced latency, and how long frames take.
fn latency() {
    for (properties, distance) in [
        ("batch-size=4 batch-timeout=60000000 max-in-flight=12", ms(20)),
        ("batch-size=2 batch-timeout=30000000 max-in-flight=8", ms(40)),
        ("batch-size=8 batch-timeout=50000000 max-in-flight=16", ms(20)),
        ("", ms(30)),
    ] {
        let stream = Stream::new("detector-slow", &format!("workers=1 {properties}"));
        stream.live.store(true, Ordering::SeqCst);
        stream.begin();
        let (_, announced) = stream.latency();
        let times = times(&stream, 200, distance);
        println!("latency, {properties}: announced {announced:?}, {}", summary(times));
    }
}

/// The first hundred frames, and the next.
fn first_frames() {
    for properties in ["workers=1", "batch-size=4 workers=1"] {
        let stream = Stream::new("detector-slow", properties);
        stream.begin();
        for which in ["first", "next"] {
            let hundred: Vec<_> = (0..100).flat_map(|_| times(&stream, 1, ms(0))).collect();
            let earliest = hundred[0];
            println!("the {which} hundred frames, {properties}: frame 0 {earliest:?}, {}", summary(hundred));
        }
    }
}

/// Four streams at once, and one after the other.
fn several_streams() {
    const FRAMES: u64 = 100;
    let streams: Vec<_> = (0..4).map(|_| Stream::new("detector-slow", "")).collect();
    streams.iter().for_each(Stream::begin);
    let run = |stream: &Stream| {
        let first = stream.frames().len() as u64;
        (first..first + FRAMES).for_each(|number| stream.push(number));
        stream.wait_for(usize::try_from(first + FRAMES).unwrap());
    };
    // The first runs load and allocate.
    streams.iter().for_each(run);
    let started = Instant::now();
    streams.iter().for_each(run);
    let one_by_one = started.elapsed();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for stream in &streams {
            scope.spawn(move || run(stream));
        }
    });
    println!("four streams: one by one {one_by_one:?}, together {:?}", started.elapsed());
}

/// The longest gap between two frames while another model loads and takes over.
fn change_of_the_model() {
    let stream = Stream::new("detector-slow", "workers=1 max-in-flight=3");
    stream.begin();
    (0..40).for_each(|number| stream.push(number));
    let started = Instant::now();
    stream.set_model("detector-slow-retrained");
    let set = started.elapsed();
    let mut next = 40;
    cudainfer_tests::until("the other model", || {
        stream.push(next);
        next += 1;
        stream.frames().last().is_some_and(|frame| frame.label == "rot")
    });
    let frames = stream.frames();
    let gaps = frames.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    println!("another model: set within {set:?}, between two frames {}", summary(gaps));
}
