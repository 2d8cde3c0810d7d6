//! No frame is lost or overtakes another: frames and events leave in the order in which they came, whatever the batches are.

use std::time::Instant;

use cudainfer_tests::LIMIT;
use gst::ClockTime;
use gst::prelude::*;

use cudainfer_tests::stream::{CAPS, NEVER, Out, Stream, together};

/// Settings that differ in everything that could disturb the order: every batch size, with and without waiting, one worker and
/// four, from a frame to thirty-two in flight.
fn settings() -> impl Iterator<Item = String> {
    (1..=8).flat_map(|batch: usize| {
        [0, 20].map(|timeout| {
            let workers = 1 + (batch + timeout / 20) % 4;
            let in_flight = [1, 2, 3, 5, 8, 11, 16, 32][(3 * batch + timeout / 20) % 8];
            let min = if batch.is_multiple_of(3) { batch / 2 } else { 0 };
            format!(
                "batch-size={batch} batch-timeout={timeout}000000 workers={workers} max-in-flight={in_flight} \
                 min-batch-size={min}"
            )
        })
    })
}

fn custom(name: &str) -> gst::Event {
    gst::event::CustomDownstream::new(gst::Structure::new_empty(name))
}

#[test]
fn frames_and_events_leave_in_the_order_in_which_they_came() {
    let _together = together();
    const FRAMES: u64 = 53;
    for properties in settings() {
        let stream = Stream::new("detector-batch", &properties);
        stream.begin();
        let mut wanted: Vec<String> = ["stream-start", "caps", "segment"].map(String::from).into();
        for number in 0..FRAMES {
            let event = match number % 13 {
                2 => Some((gst::event::Gap::new(ClockTime::from_mseconds(10 * number), None), "gap")),
                5 => Some((custom("mine"), "mine")),
                7 => {
                    // Frames with other caps, which do not share a batch with earlier ones.
                    let rate = format!("{}/1", 100 + number);
                    Some((gst::event::Caps::new(&CAPS.replace("100/1", &rate).parse().unwrap()), "caps"))
                }
                11 => Some((gst::event::Segment::new(&gst::FormattedSegment::<ClockTime>::new()), "segment")),
                _ => None,
            };
            if let Some((event, name)) = event {
                assert!(stream.event(event));
                wanted.push(name.into());
            }
            stream.push(number);
            wanted.push(number.to_string());
        }
        stream.end();
        wanted.push("eos".into());
        let name = |one: &Out| match one {
            Out::Frame(frame) => frame.number.to_string(),
            Out::Event(name) => name.clone(),
        };
        // A sink also gets the latency and tags, which belong to no frame.
        let got: Vec<_> = stream.out().iter().map(name).filter(|name| name != "tag").collect();
        assert_eq!(got, wanted, "{properties}");
        assert_eq!(stream.count("frames"), FRAMES, "{properties}");
    }
}

#[test]
fn the_end_does_not_wait_for_a_batch_to_fill() {
    let _together = together();
    for (batch, frames) in [(8, 1), (8, 3), (4, 7), (3, 3)] {
        let properties = format!("batch-size={batch} batch-timeout={NEVER} max-in-flight=32");
        let stream = Stream::new("detector-batch", &properties);
        stream.begin();
        (0..frames).for_each(|number| stream.push(number));
        stream.end();
        assert_eq!(stream.numbers(), (0..frames).collect::<Vec<_>>());
    }
}

#[test]
fn what_must_see_all_frames_before_it_does_not_wait_for_a_batch_to_fill() {
    let _together = together();
    let properties = format!("batch-size=8 batch-timeout={NEVER} max-in-flight=32");
    let stream = Stream::new("detector-batch", &properties);
    stream.begin();
    (0..3).for_each(|number| stream.push(number));
    // A serialized query, and caps that change.
    let mut query = gst::query::Drain::new();
    stream.pad.peer_query(&mut query);
    assert_eq!(stream.numbers(), [0, 1, 2]);
    stream.push(3);
    assert!(stream.event(gst::event::Caps::new(&CAPS.replace("100/1", "50/1").parse().unwrap())));
    stream.wait_for(4);
}

#[test]
fn a_flush_in_the_middle_drops_what_is_inside_and_nothing_that_comes_after() {
    let _together = together();
    for properties in settings() {
        let stream = Stream::new("detector-batch", &properties);
        stream.begin();
        let mut next = 0;
        for round in 0..6 {
            // Frames of rounds before carry smaller numbers.
            let first = next;
            (0..9 + round).for_each(|_| {
                stream.push(next);
                next += 1;
            });
            if round == 5 {
                stream.end();
                let got = stream.numbers();
                assert_eq!(got, (first..next).collect::<Vec<_>>(), "{properties}");
                break;
            }
            stream.flush();
            let got = stream.numbers();
            assert_eq!(got, (first..first + got.len() as u64).collect::<Vec<_>>(), "{properties}");
            stream.out().clear();
        }
    }
}

#[test]
fn a_flush_while_the_lane_is_full_and_a_batch_waits_goes_through() {
    let _together = together();
    // Longer than any wait of a test, and not forever, so that a flush that waits for it fails the test.
    let timeout = 2 * LIMIT.as_nanos();
    let properties = format!("batch-size=4 batch-timeout={timeout} max-in-flight=6 workers=1");
    let stream = Stream::new("detector-batch", &properties);
    let mut held = stream.hold("nms");
    stream.begin();
    // Four frames come out of a batch, and are held; two wait for two more, which cannot come before the flush.
    (0..6).for_each(|number| stream.push(number));
    held.wait();
    std::thread::scope(|scope| {
        let pushing = scope.spawn(|| stream.try_push(6));
        let started = Instant::now();
        assert!(stream.event(gst::event::FlushStart::new()));
        assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
        assert_eq!(pushing.join().unwrap(), Err(gst::FlowError::Flushing));
    });
    held.release();
    assert!(stream.event(gst::event::FlushStop::new(true)));
    stream.segment();
    stream.out().clear();
    stream.push(3);
    stream.end();
    assert_eq!(stream.numbers(), [3]);
}
