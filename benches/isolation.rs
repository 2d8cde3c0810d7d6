//! What one bad stream of sixteen takes from the others, and what happens to a stream that sends five times what the machine can do:
//!
//!     cargo bench -p cudainfer-benches --bench isolation -- [ROUNDS] [SECONDS]
//!
//! One line of JSON a figure; `scripts/bench --isolation` keeps them. That results stay the same, and that all drops are counted, is tested
//! (tests/serving/bad_stream.rs, leaky.rs); how fast it all is depends on what else the machine does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cudainfer_tests::sixteen::{Bad, STREAMS, Sixteen};
use cudainfer_tests::stream::Stream;
use serde_json::json;

/// Frames a second of each stream that behaves.
const RATE: u32 = 10;

/// Frames a second of the one that does not.
const RATE_OF_BAD: u32 = 25;

/// How many times what the machine can do.
const TIMES: f64 = 5.0;

fn main() {
    // Cargo's own argument.
    let mut numbers = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut number = |default: f64| numbers.next().map_or(default, |word| word.parse().unwrap());
    let (rounds, seconds) = (number(3.0) as usize, number(6.0));
    for round in 0..rounds {
        for bad in [&[Bad::Nothing], &Bad::ALL[..]].concat() {
            rate(round, bad, seconds);
        }
        overload(round, seconds);
    }
}

/// The frames that come out of the streams that behave, while all are sent at their rate.
fn rate(round: usize, bad: Bad, seconds: f64) {
    let sixteen = Sixteen::start(bad, Duration::from_secs(1) / RATE_OF_BAD);
    let mut next = 0;
    let mut send = |seconds: f64| {
        let (started, mut sent) = (Instant::now(), 0);
        while started.elapsed().as_secs_f64() < seconds {
            (0..STREAMS - 1).for_each(|stream| sixteen.push(stream, next));
            next += 1;
            sent += 1;
            std::thread::sleep((Duration::from_secs(1) / RATE * sent).saturating_sub(started.elapsed()));
        }
    };
    send(1.0);
    let (before, started) = (sixteen.counts(), Instant::now());
    send(seconds);
    let (after, took) = (sixteen.counts(), started.elapsed().as_secs_f64());
    let rates: Vec<f64> =
        after.iter().zip(&before).map(|(after, before)| (after - before) as f64 / took).collect();
    let (others, of_bad) = (&rates[..STREAMS - 1], rates[STREAMS - 1]);
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    let slowest = others.iter().copied().fold(f64::INFINITY, f64::min);
    let [sent, _] = sixteen.stop();
    println!(
        "{}",
        json!({"what": "rate", "round": round, "bad": format!("{bad:?}"), "wanted": RATE, "mean": mean, "slowest": slowest,
            "of_bad": of_bad, "sent_by_bad": sent})
    );
}

/// A live stream that loses the oldest frames, at several times the model's speed, and then at half of it.
fn overload(round: usize, seconds: f64) {
    let stream = Stream::new("detector-slow", "leaky=downstream workers=1");
    stream.live.store(true, Ordering::SeqCst);
    stream.begin();
    let mut next = 0;
    // What it can do: each frame when the one before it is done.
    let mut alone = Vec::new();
    for _ in 0..50 {
        let started = Instant::now();
        stream.push(next);
        next += 1;
        stream.wait_for(usize::try_from(next).unwrap());
        alone.push(started.elapsed());
    }
    alone.sort();
    let run = alone[alone.len() / 2];
    let (_, announced) = stream.latency();
    let mut pushed: Vec<(u64, Instant)> = Vec::new();
    let mut send = |distance: Duration, seconds: f64| {
        let (started, mut sent) = (Instant::now(), 0u32);
        while started.elapsed().as_secs_f64() < seconds {
            pushed.push((next, Instant::now()));
            stream.push(next);
            next += 1;
            sent += 1;
            std::thread::sleep((distance * sent).saturating_sub(started.elapsed()));
        }
        sent
    };
    let before = stream.count("dropped");
    let sent = send(run.div_f64(TIMES), seconds);
    let relieved = Instant::now();
    let dropped_at_relief = stream.count("dropped");
    send(run * 2, 4.0);
    stream.end();
    let dropped = stream.count("dropped") - before;
    let frames = stream.frames();
    let took = |(number, at): &(u64, Instant)| {
        frames.iter().find(|frame| frame.number == *number).map(|frame| frame.at - *at)
    };
    let during: Vec<_> = pushed.iter().filter(|(_, at)| *at < relieved).collect();
    let mut times: Vec<Duration> = during.iter().filter_map(|one| took(one)).collect();
    times.sort();
    let part = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e3;
    // Until the first second in which no frame is lost, or later than is announced.
    let after: Vec<_> = pushed.iter().filter(|(_, at)| *at >= relieved).collect();
    let in_time = |one: &(u64, Instant)| took(one).is_some_and(|took| took <= announced);
    let second = |begin: Instant| {
        after.iter().filter(move |(_, at)| (begin..begin + Duration::from_secs(1)).contains(at))
    };
    let is_whole = |begin: Instant| after.last().is_some_and(|(_, at)| *at >= begin + Duration::from_secs(1));
    let recovered = after.iter().find(|(_, at)| is_whole(*at) && second(*at).all(|one| in_time(one)));
    let recovery = recovered.map(|(_, at)| (*at - relieved).as_secs_f64());
    println!(
        "{}",
        json!({"what": "overload", "round": round, "run_ms": run.as_secs_f64() * 1e3, "sent": sent, "times": TIMES,
            "came_out": times.len(), "dropped": dropped, "dropped_after_relief": dropped + before - dropped_at_relief,
            "unaccounted": pushed.len() as i64 + 50 - frames.len() as i64 - dropped as i64,
            "announced_ms": announced.as_secs_f64() * 1e3, "p50_ms": part(50), "p99_ms": part(99), "longest_ms": part(100),
            "recovery_s": recovery})
    );
}
