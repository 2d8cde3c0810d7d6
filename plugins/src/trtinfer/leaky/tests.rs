//! Sixteen streams that share a model too slow for them, with a clock of the test's own.

use std::time::{Duration, Instant};

use gst::FlowSuccess;

use super::super::batcher::{Batchable, Rules};
use super::super::lane::Item;
use super::*;

const STREAMS: usize = 16;
/// How long the streams send.
const LENGTH: u64 = 12_000_000;
/// Microseconds of a run, of however many frames.
const RUN: u64 = 14_300;

/// A frame of a stream, in its place.
struct Frame {
    stream: usize,
    ticket: Ticket,
    number: u32,
}

impl Batchable for Frame {
    fn fits(&self, _: &Self) -> bool {
        true
    }
}

/// A live source: when its next frame comes, and the interval to the one after. In microseconds.
#[derive(Clone, Copy)]
struct Source {
    at: u64,
    every: u64,
    priority: i32,
}

/// A source that sends about `rate` frames a second. No two have the same interval, and no two begin together.
fn source(index: usize, rate: u64, priority: i32) -> Source {
    Source { at: 1_700 * (index as u64 * 7 % 16), every: 1_000_000 / rate + 13 * index as u64, priority }
}

/// How many frames of each stream come out, and how many were sent.
fn served(leaky: Leaky, rules: Rules, workers: usize, sources: Vec<Source>) -> Vec<(u32, u32)> {
    served_within(leaky, rules, workers, sources, |_| None)
}

/// As [`served`], with streams that hold at most `limit` frames.
fn served_within(
    leaky: Leaky,
    rules: Rules,
    workers: usize,
    mut sources: Vec<Source>,
    limit: impl Fn(usize) -> Option<usize>,
) -> Vec<(u32, u32)> {
    let start = Instant::now();
    let queue = Batcher::new(rules);
    let lanes: Vec<_> = (0..sources.len()).map(|index| (Lane::new(), queue.join(limit(index)))).collect();
    let mut counts = vec![(0, 0); sources.len()];
    // When each worker is done, and with what.
    let mut running: Vec<(u64, Vec<Frame>)> = (0..workers).map(|_| (0, Vec::new())).collect();
    let mut time = 0;
    while time < LENGTH {
        let now = start + Duration::from_micros(time);
        for (free, batch) in running.iter_mut().filter(|(free, _)| *free <= time) {
            for frame in std::mem::take(batch) {
                let (lane, _) = &lanes[frame.stream];
                lane.finish(frame.ticket, Ok(frame.number));
                while let Some(item) = lane.try_pop() {
                    assert!(matches!(item, Item::Frame(Ok(_))));
                    counts[frame.stream].0 += 1;
                    lane.pushed(Ok(FlowSuccess::Ok));
                }
            }
            if let Some(next) = queue.take_at(now) {
                (*free, *batch) = (time + RUN, next);
            }
        }
        for (stream, source) in sources.iter_mut().enumerate() {
            let (lane, client) = &lanes[stream];
            while source.at <= time {
                let ticket = match leaky {
                    // The batch waits, as do the later frames.
                    Leaky::No => lane.try_enter(queue.limit(*client)).unwrap().ok_or(()),
                    _ => leaky
                        .enter(lane, &queue, *client, |frame| (frame.ticket, frame.number), |_| ())
                        .map(|ticket| ticket.ok_or(()))
                        .unwrap(),
                };
                match (ticket, leaky) {
                    (Ok(ticket), _) => {
                        let frame = Frame { stream, ticket, number: counts[stream].1 };
                        queue.submit_at(now, *client, source.priority, frame);
                    }
                    (Err(()), Leaky::No) => break,
                    (Err(()), _) => (),
                }
                counts[stream].1 += 1;
                // A little earlier or later each time.
                let jitter = u64::from(counts[stream].1) * 7919 % (source.every / 8);
                source.at += source.every - source.every / 16 + jitter;
            }
        }
        let ends = running.iter().filter(|(_, batch)| !batch.is_empty()).map(|(free, _)| *free);
        let comes = sources.iter().map(|source| source.at);
        // A batch that waits is looked at every five milliseconds.
        time = ends.chain(comes).filter(|at| *at > time).min().unwrap_or(LENGTH).min(time + 5_000);
    }
    counts
}

/// The fewest and the most that came out of a stream.
fn spread(counts: &[(u32, u32)]) -> (u32, u32) {
    let out = counts.iter().map(|(out, _)| *out);
    (out.clone().min().unwrap(), out.max().unwrap())
}

/// Both differ by less than a fifth.
fn is_fair((fewest, most): (u32, u32)) -> bool {
    5 * most <= 6 * fewest
}

const ALL: [Leaky; 3] = [Leaky::No, Leaky::Upstream, Leaky::Downstream];

/// One frame a run, batches, and batches that wait for a timeout; with one worker and two.
fn settings() -> impl Iterator<Item = (Rules, usize)> {
    let rules = |size, timeout, workers| {
        let timeout = Duration::from_millis(timeout);
        (Rules { size, min: 0, timeout, in_flight: workers * size + size.max(2) }, workers)
    };
    [rules(1, 0, 1), rules(1, 0, 2), rules(4, 0, 1), rules(4, 25, 1), rules(4, 25, 2)].into_iter()
}

#[test]
fn streams_that_are_too_much_for_the_model_have_equal_shares_of_it() {
    for leaky in ALL {
        for (rules, workers) in settings() {
            // The frame rate of which the model takes half.
            let rate = 2 * rules.size as u64 * workers as u64 * 1_000_000 / RUN / STREAMS as u64;
            let sources = (0..STREAMS).map(|index| source(index, rate, 0)).collect();
            let counts = served(leaky, rules, workers, sources);
            assert!(counts.iter().all(|(out, sent)| out < sent), "{leaky:?} {rules:?}: {counts:?}");
            assert!(is_fair(spread(&counts)), "{leaky:?} {rules:?} {workers}: {counts:?}");
        }
    }
}

#[test]
fn who_sends_more_frames_has_no_larger_share() {
    for leaky in ALL {
        for (rules, workers) in settings() {
            let fair = rules.size as u64 * workers as u64 * 1_000_000 / RUN / STREAMS as u64;
            let sources = (0..STREAMS).map(|index| source(index, [2, 4, 12][index % 3] * fair, 0)).collect();
            let counts = served(leaky, rules, workers, sources);
            assert!(is_fair(spread(&counts)), "{leaky:?} {rules:?} {workers}: {counts:?}");
        }
    }
}

#[test]
fn who_holds_more_frames_has_no_larger_share() {
    for leaky in ALL {
        for (rules, workers) in settings() {
            let rate = 3 * rules.size as u64 * workers as u64 * 1_000_000 / RUN / STREAMS as u64;
            let sources = (0..STREAMS).map(|index| source(index, rate, 0)).collect();
            let limit = |index| Some([2, 3, 16][index % 3]);
            let counts = served_within(leaky, rules, workers, sources, limit);
            assert!(is_fair(spread(&counts)), "{leaky:?} {rules:?} {workers}: {counts:?}");
        }
    }
}

#[test]
fn who_has_priority_loses_nothing_and_the_others_share_what_is_left() {
    for leaky in [Leaky::Upstream, Leaky::Downstream] {
        for (rules, workers) in settings() {
            let all = rules.size as u64 * workers as u64 * 1_000_000 / RUN;
            // Four streams send a quarter of what the model takes, twelve twice of it.
            let of = |index| if index < 4 { source(index, all / 16, 1) } else { source(index, all / 6, 0) };
            let counts = served(leaky, rules, workers, (0..STREAMS).map(of).collect());
            let (first, others) = counts.split_at(4);
            // The frames that were sent last are still inside.
            assert!(
                first.iter().all(|(out, sent)| out + 2 >= *sent),
                "{leaky:?} {rules:?} {workers}: {counts:?}"
            );
            assert!(is_fair(spread(others)), "{leaky:?} {rules:?} {workers}: {counts:?}");
        }
    }
}
