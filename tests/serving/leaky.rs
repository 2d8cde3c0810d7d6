//! What a live source loses when the model is too slow for it: counted, said, and marked where it is missing.

use std::collections::BTreeSet;

use gst::prelude::*;

use crate::stream::{Frame, Stream, together};

const FRAMES: u64 = 60;

/// Pushes frames faster than the model takes them, and returns what came out and the numbers that QOS messages say were lost.
fn overrun(properties: &str) -> (Stream, Vec<Frame>, Vec<u64>) {
    let stream = Stream::new("detector-slow", &format!("workers=1 {properties}"));
    stream.begin();
    for number in 0..FRAMES {
        stream.push(number);
        // A frame of the model's is several of the source's.
        std::thread::sleep(crate::stream::ms(2));
    }
    stream.event(gst::event::Eos::new());
    let bus = stream.line.pipeline.bus().unwrap();
    let mut lost = Vec::new();
    loop {
        let message = bus.timed_pop(gst::ClockTime::from_seconds(20)).expect("the stream ends");
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

/// Each frame is either there or said to be lost, in order, and the first behind each gap says that there is one; no other
/// does.
fn nothing_is_lost_silently(stream: &Stream, frames: &[Frame], lost: &[u64]) {
    let numbers: Vec<_> = frames.iter().map(|frame| frame.number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let all: BTreeSet<_> = numbers.iter().chain(lost).copied().collect();
    assert_eq!((all.len(), numbers.len() + lost.len()), (60, 60), "{numbers:?} {lost:?}");
    assert_eq!(stream.count("dropped"), lost.len() as u64);
    let marked: Vec<_> = frames.iter().filter(|frame| frame.discont).map(|frame| frame.number).collect();
    let behind_gaps: Vec<_> =
        numbers.iter().copied().filter(|n| *n > 0 && !numbers.contains(&(n - 1))).collect();
    assert_eq!(marked, behind_gaps, "{numbers:?}");
}

#[test]
fn leaky_upstream_loses_the_frames_that_come_while_it_is_full() {
    let _together = together();
    for properties in ["max-in-flight=3", "max-in-flight=4 batch-size=2", "max-in-flight=1"] {
        let (stream, frames, lost) = overrun(&format!("leaky=upstream {properties}"));
        nothing_is_lost_silently(&stream, &frames, &lost);
        assert!(lost.len() > 10, "{lost:?}");
        assert_eq!(frames[0].number, 0);
    }
}

#[test]
fn leaky_downstream_loses_the_oldest_that_wait_and_keeps_the_newest() {
    let _together = together();
    for properties in ["max-in-flight=4", "max-in-flight=6 batch-size=2"] {
        let (stream, frames, lost) = overrun(&format!("leaky=downstream {properties}"));
        nothing_is_lost_silently(&stream, &frames, &lost);
        assert!(lost.len() > 10, "{lost:?}");
        let numbers: Vec<_> = frames.iter().map(|frame| frame.number).collect();
        assert_eq!((numbers[0], *numbers.last().unwrap()), (0, FRAMES - 1));
    }
}

#[test]
fn leaky_downstream_loses_frames_that_are_done_where_what_is_behind_is_slow() {
    let _together = together();
    let stream = Stream::with(&format!(
        "trtinfer name=infer leaky=downstream max-in-flight=3 workers=1 model={} ! gpunms \
         ! identity sleep-time=20000 ! fakesink name=out async=false",
        cudainfer_tests::model("detector-batch")
    ));
    stream.begin();
    for number in 0..FRAMES {
        stream.push(number);
        std::thread::sleep(crate::stream::ms(2));
    }
    stream.end();
    let frames = stream.frames();
    let lost: Vec<_> = (0..FRAMES).filter(|n| !frames.iter().any(|frame| frame.number == *n)).collect();
    nothing_is_lost_silently(&stream, &frames, &lost);
    assert_eq!(frames.last().unwrap().number, FRAMES - 1);
}

#[test]
fn a_line_that_is_not_leaky_loses_nothing_however_slow_the_model_is() {
    let _together = together();
    let (stream, frames, lost) = overrun("leaky=no max-in-flight=3");
    assert_eq!((frames.len(), lost.len(), stream.count("dropped")), (60, 0, 0));
    nothing_is_lost_silently(&stream, &frames, &lost);
}

#[test]
fn which_frames_are_lost_can_be_changed_while_it_plays() {
    let _together = together();
    let stream = Stream::new("detector-slow", "workers=1 max-in-flight=2 leaky=upstream");
    stream.begin();
    (0..20).for_each(|number| stream.push(number));
    let lost = stream.count("dropped");
    assert!(lost > 5, "{lost}");
    stream.line.element("infer").set_property_from_str("leaky", "no");
    (20..30).for_each(|number| stream.push(number));
    stream.end();
    assert_eq!(stream.count("dropped"), lost);
    assert_eq!(stream.numbers().len() as u64, 30 - lost);
}
