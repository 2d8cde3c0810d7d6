//! How long things take, and what is said of it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cudainfer_tests::until;
use gst::prelude::*;

use crate::stream::{Stream, alone, ms, retried};

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

#[test]
fn the_latency_is_what_a_frame_takes_at_most() {
    let _alone = alone();
    for (properties, timeout, distance) in [
        ("batch-size=4 batch-timeout=60000000 max-in-flight=12", ms(60), ms(20)),
        ("batch-size=2 batch-timeout=30000000 max-in-flight=8", ms(30), ms(40)),
        ("", ms(0), ms(30)),
    ] {
        retried("latency", || {
            let stream = Stream::new("detector-slow", &format!("workers=1 {properties}"));
            stream.live.store(true, Ordering::SeqCst);
            stream.begin();
            let (live, said) = stream.latency();
            assert!(live);
            let took = times(&stream, 30, distance);
            let longest = *took.iter().max().unwrap();
            eprintln!("{properties}: announced {said:?}, the longest took {longest:?}");
            // The announced time has room for a run that is under way when the frame's batch is due.
            let plausible =
                longest.saturating_sub(ms(5))..timeout + 3 * (longest - timeout.min(longest)) + ms(10);
            match plausible.contains(&said) {
                true => Ok(()),
                false => Err(format!("{properties}: {said:?} was announced, the longest took {longest:?}")),
            }
        });
    }
}

#[test]
fn only_a_live_stream_is_live() {
    let _alone = alone();
    let stream = Stream::new("detector-batch", "batch-timeout=50000000 batch-size=2");
    stream.begin();
    assert!(!stream.latency().0);
    stream.live.store(true, Ordering::SeqCst);
    assert!(stream.latency().0 && stream.latency().1 >= ms(50));
}

#[test]
fn a_latency_that_turns_out_too_short_is_announced_anew() {
    let _alone = alone();
    // Somebody else keeps the model busy, and goes first.
    let of = |priority: u32| {
        let properties = format!("instance=busy workers=1 batch-size=1 max-in-flight=8 priority={priority}");
        let stream = Stream::new("detector-slow", &properties);
        stream.live.store(true, Ordering::SeqCst);
        stream.begin();
        stream
    };
    let (mine, other) = (of(0), of(5));
    let (_, before) = mine.latency();
    let bus = mine.line.pipeline.bus().unwrap();
    while bus.pop().is_some() {}
    // As many as are looked at together, and one more to say it.
    let mut next = 0;
    for number in 0..66 {
        if number % 8 == 0 {
            (0..6).for_each(|_| {
                other.push(next);
                next += 1;
            });
        }
        mine.push(number);
    }
    mine.wait_for(66);
    let mut messages = std::iter::from_fn(|| bus.pop());
    assert!(messages.any(|message| message.type_() == gst::MessageType::Latency));
    let (_, after) = mine.latency();
    assert!(after > before, "{before:?} {after:?}");
}

#[test]
fn the_first_frames_are_as_fast_as_those_that_follow() {
    let _alone = alone();
    for properties in ["workers=1", "batch-size=4 workers=1"] {
        retried("the first hundred frames", || {
            let stream = Stream::new("detector-slow", properties);
            stream.begin();
            let hundred = || {
                let mut took: Vec<_> = (0..100).flat_map(|_| times(&stream, 1, ms(0))).collect();
                let first = took[0];
                took.sort();
                (took[50], took[98], first)
            };
            let (median, p99, first) = hundred();
            // What a busy machine does to frames that come long after the first is not the start's fault, and it never does the
            // same twice.
            let (_, later, _) = hundred();
            let limit = (2 * later).max(median * 3 / 2);
            eprintln!("{properties}: median {median:?}, p99 {p99:?}, later {later:?}, the first {first:?}");
            match p99 <= limit && first <= limit {
                true => Ok(()),
                false => Err(format!("{properties}: p99 {p99:?}, later {later:?}, first {first:?}")),
            }
        });
    }
}

#[test]
fn four_streams_at_once_are_not_slower_than_one_after_the_other() {
    let _alone = alone();
    const FRAMES: u64 = 30;
    retried("four streams", || {
        let streams: Vec<_> = (0..4).map(|_| Stream::new("detector-slow", "")).collect();
        streams.iter().for_each(Stream::begin);
        let run = |stream: &Stream| {
            let first = stream.frames().len() as u64;
            (first..first + FRAMES).for_each(|number| stream.push(number));
            stream.wait_for(usize::try_from(first + FRAMES).unwrap());
        };
        // Whatever is new the first time.
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
        let together = started.elapsed();
        eprintln!("one by one {one_by_one:?}, together {together:?}");
        match together <= one_by_one * 5 / 4 {
            true => Ok(()),
            false => Err(format!("{together:?}, and {one_by_one:?} one by one")),
        }
    });
}

#[test]
fn a_line_that_ends_is_ended_while_another_works() {
    let _alone = alone();
    // What leaves does not wait for what others have queued.
    let [busy, leaves] = [(); 2].map(|()| {
        let stream = Stream::new("detector-slow", "instance=leaving workers=1 max-in-flight=32");
        stream.begin();
        stream
    });
    leaves.push(0);
    leaves.wait_for(1);
    (0..30).for_each(|number| busy.push(number));
    let started = Instant::now();
    leaves.line.stop();
    let took = started.elapsed();
    assert!(busy.frames().len() < 25, "they were waited for: {took:?}");
    until("the other goes on", || busy.frames().len() == 30);
}
