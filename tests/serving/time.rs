//! The latency that is announced, and elements that do not wait for others. benches/serving.rs measures times; how the announced
//! latency follows the measured one is tested beside its code, by a clock that the test drives.

use std::sync::atomic::Ordering;

use cudainfer_tests::until;
use gst::prelude::*;

use cudainfer_tests::stream::{NEVER, Stream, ms, together};

#[test]
fn the_latency_is_the_timeout_and_twice_a_run_and_is_announced_with_the_caps() {
    let _together = together();
    let mut runs = Vec::new();
    for timeout in [0, 60, 3000] {
        // The streams share the model, and so the measured run.
        let properties =
            format!("instance=latency-{timeout} batch-size=4 batch-timeout={timeout}000000 workers=1");
        let streams = [(); 2].map(|()| Stream::new("detector-batch", &properties));
        for stream in &streams {
            stream.live.store(true, Ordering::SeqCst);
            stream.pipeline.play();
            assert_eq!(stream.latency(), (true, ms(0)), "nothing is known before the caps");
            stream.begin();
            let bus = stream.pipeline.bus().unwrap();
            let posted = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Latency]));
            let infer = stream.pipeline.element("infer");
            assert_eq!(posted.filter(|message| message.src() == Some(infer.upcast_ref())).count(), 1);
        }
        let [announced, other] = [0, 1].map(|index| streams[index].latency().1);
        assert_eq!(announced, other);
        let two_runs = announced.checked_sub(ms(timeout)).unwrap();
        assert!(!two_runs.is_zero() && two_runs.as_nanos() % 2 == 0, "{announced:?}");
        runs.push(two_runs / 2);
    }
    println!("runs of {runs:?}");
}

#[test]
fn only_a_live_stream_is_live() {
    let _together = together();
    let stream = Stream::new("detector-batch", "batch-timeout=50000000 batch-size=2");
    stream.begin();
    assert!(!stream.latency().0);
    stream.live.store(true, Ordering::SeqCst);
    assert!(stream.latency().0 && stream.latency().1 >= ms(50));
}

#[test]
fn a_stream_that_ends_is_ended_while_frames_of_another_wait() {
    let _together = together();
    // An element that leaves does not wait for the frames that others have queued, which fill no batch.
    let properties =
        format!("instance=leaving workers=1 batch-size=8 batch-timeout={NEVER} max-in-flight=32");
    let [waits, leaves] = [(); 2].map(|()| {
        let stream = Stream::new("detector-batch", &properties);
        stream.begin();
        stream
    });
    (0..4).for_each(|number| waits.push(number));
    (0..3).for_each(|number| leaves.push(number));
    leaves.pipeline.stop();
    assert_eq!((waits.numbers(), leaves.numbers()), (vec![], vec![]));
    (4..8).for_each(|number| waits.push(number));
    until("the other goes on", || waits.frames().len() == 8);
}
