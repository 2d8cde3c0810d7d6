//! Frames of a live source that are lost when the model is too slow: they are counted, reported, and marked by a discontinuity.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use cudainfer_tests::until;
use gst::prelude::*;

use cudainfer_tests::stream::{Frame, NEVER, Stream, together};

const FRAMES: u64 = 60;

/// Pushes frames that wait until the end, because another stream shares the model, and a batch is full only with its frames.
/// Returns the frames that were pushed and the numbers of those that QOS messages report as lost.
fn overrun(properties: &str) -> (Stream, Vec<Frame>, Vec<u64>) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let instance = COUNT.fetch_add(1, Ordering::Relaxed);
    let shared = format!("instance=overrun{instance} batch-size=16 batch-timeout={NEVER} workers=1");
    let idle = Stream::new("detector-batch", &format!("{shared} max-in-flight=16"));
    idle.begin();
    // From now on, batches wait for further frames of this stream.
    idle.push(0);
    let stream = Stream::new("detector-batch", &format!("{shared} {properties}"));
    stream.begin();
    (0..FRAMES).for_each(|number| stream.push(number));
    finished(stream)
}

/// Ends the stream, and returns the frames that were pushed and the numbers of those that QOS messages report as lost.
fn finished(stream: Stream) -> (Stream, Vec<Frame>, Vec<u64>) {
    stream.event(gst::event::Eos::new());
    let bus = stream.pipeline.bus().unwrap();
    let mut lost = Vec::new();
    loop {
        let message = bus.timed_pop(cudainfer_tests::CLOCK_LIMIT).expect("the stream ends");
        match message.view() {
            gst::MessageView::Eos(_) => break,
            gst::MessageView::Error(e) => panic!("{e:?}"),
            gst::MessageView::Qos(qos) => {
                let (_, running_time, stream_time, timestamp, duration) = qos.get();
                assert_eq!((running_time, stream_time), (timestamp, timestamp));
                assert_eq!(duration, Some(gst::ClockTime::from_mseconds(10)));
                lost.push(timestamp.unwrap().mseconds() / 10);
                let (_, dropped) = qos.stats();
                assert_eq!(dropped.value(), lost.len() as i64);
                assert_eq!(message.src().unwrap().name(), "infer");
            }
            _ => (),
        }
    }
    let frames = stream.frames();
    (stream, frames, lost)
}

/// Asserts that each frame has come, in order, or was reported as lost, and that the first frame after each gap is marked as
/// discontinuous, and no other.
fn nothing_is_lost_silently(stream: &Stream, frames: &[Frame], lost: &[u64]) {
    let numbers: Vec<_> = frames.iter().map(|frame| frame.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let all: BTreeSet<_> = numbers.iter().chain(lost).copied().collect();
    assert_eq!((all.len(), numbers.len() + lost.len()), (60, 60), "{numbers:?} {lost:?}");
    assert_eq!(stream.count("dropped"), lost.len() as u64);
    let marked: Vec<_> = frames.iter().filter(|frame| frame.discont).map(|frame| frame.number).collect();
    let after_gaps: Vec<_> =
        numbers.iter().copied().filter(|n| *n > 0 && !numbers.contains(&(n - 1))).collect();
    assert_eq!(marked, after_gaps, "{numbers:?}");
}

#[test]
fn leaky_upstream_loses_the_frames_that_come_while_it_is_full() {
    let _together = together();
    for limit in [1, 3, 4] {
        let (stream, frames, lost) = overrun(&format!("leaky=upstream max-in-flight={limit}"));
        nothing_is_lost_silently(&stream, &frames, &lost);
        assert_eq!(stream.numbers(), (0..limit).collect::<Vec<_>>());
    }
}

#[test]
fn leaky_downstream_loses_the_oldest_that_wait_and_keeps_the_newest() {
    let _together = together();
    for limit in [1, 4, 6] {
        let (stream, frames, lost) = overrun(&format!("leaky=downstream max-in-flight={limit}"));
        nothing_is_lost_silently(&stream, &frames, &lost);
        assert_eq!(stream.numbers(), (FRAMES - limit..FRAMES).collect::<Vec<_>>());
    }
}

#[test]
fn leaky_downstream_loses_frames_that_are_done_where_the_elements_downstream_are_slow() {
    let _together = together();
    let stream = Stream::new("detector-batch", "leaky=downstream max-in-flight=3 workers=1");
    let mut held = stream.hold("nms");
    stream.begin();
    for number in 0..FRAMES {
        stream.push(number);
        if number == 0 {
            held.wait();
        }
        until("its run", || stream.count("frames") == number + 1);
    }
    held.release();
    let (stream, frames, lost) = finished(stream);
    nothing_is_lost_silently(&stream, &frames, &lost);
    // The frame that was being pushed, and the newest ones.
    assert_eq!(stream.numbers(), [0, FRAMES - 2, FRAMES - 1]);
}

#[test]
fn a_stream_that_is_not_leaky_loses_nothing_however_slow_the_model_is() {
    let _together = together();
    let stream = Stream::new("detector-slow", "workers=1 leaky=no max-in-flight=3");
    stream.begin();
    (0..FRAMES).for_each(|number| stream.push(number));
    let (stream, frames, lost) = finished(stream);
    assert_eq!((frames.len(), lost.len(), stream.count("dropped")), (60, 0, 0));
    nothing_is_lost_silently(&stream, &frames, &lost);
}

#[test]
fn which_frames_are_lost_can_be_changed_while_it_plays() {
    let _together = together();
    let stream = Stream::new("detector-batch", "workers=1 max-in-flight=2 leaky=upstream");
    let mut held = stream.hold("nms");
    stream.begin();
    (0..20).for_each(|number| stream.push(number));
    assert_eq!(stream.count("dropped"), 18);
    stream.pipeline.element("infer").set_property_from_str("leaky", "no");
    held.release();
    (20..30).for_each(|number| stream.push(number));
    stream.end();
    assert_eq!(stream.count("dropped"), 18);
    assert_eq!(stream.numbers(), [0, 1].into_iter().chain(20..30).collect::<Vec<_>>());
}
