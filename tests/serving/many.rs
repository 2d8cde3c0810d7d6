//! Sixteen streams share a model, and one of them after the other is ended, flushed, stalled, stopped or replaced, in an order
//! drawn from a fixed seed. The other streams neither stop nor lose frames.

use gst::prelude::*;
use std::time::Instant;

use cudainfer_tests::dice::Dice;
use cudainfer_tests::stream::{Stream, alone};

const STREAMS: usize = 16;
const STEPS: usize = 10_000;
/// Frames in flight that each stream may have.
const IN_FLIGHT: u64 = 4;
const SEED: u64 = 20_261_121;

/// A stream, and the frames that it must have pushed.
struct One {
    stream: Stream,
    /// Numbers of the frames pushed since it began or was flushed.
    pushed: u64,
    stalled: Option<gst::PadProbeId>,
    plays: bool,
}

impl One {
    fn new() -> Self {
        let stream = Stream::new(
            "detector-batch",
            &format!("instance=many batch-size=8 batch-timeout=1000000 max-in-flight={IN_FLIGHT} workers=2"),
        );
        stream.begin();
        Self { stream, pushed: 0, stalled: None, plays: true }
    }

    fn pad(&self) -> gst::Pad {
        self.stream.pipeline.element("nms").static_pad("src").unwrap()
    }

    /// Pushes frames: only as many as there is room for, if the stream is stalled.
    fn push(&mut self, count: u64) {
        for _ in 0..count {
            let inside = self.pushed - self.stream.frames().len() as u64;
            if !self.plays || (self.stalled.is_some() && inside >= IN_FLIGHT) {
                return;
            }
            self.stream.push(self.pushed);
            self.pushed += 1;
        }
    }

    fn stall(&mut self) {
        let block = gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER;
        self.stalled = self.pad().add_probe(block, |_, _| gst::PadProbeReturn::Ok);
    }

    fn go_on(&mut self) {
        if let Some(probe) = self.stalled.take() {
            self.pad().remove_probe(probe);
        }
    }

    /// Asserts that the first frames have come, in order.
    fn is_in_order(&self) {
        let numbers = self.stream.numbers();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    }

    /// Asserts that all frames have come.
    fn is_complete(&self) {
        let count = usize::try_from(self.pushed).unwrap();
        self.stream.wait_for(count);
        self.is_in_order();
        assert_eq!(self.stream.frames().len(), count);
    }

    /// Begins at 0 again; frames in flight may be lost.
    fn forget(&mut self) {
        self.is_in_order();
        self.stream.out().clear();
        self.pushed = 0;
    }

    fn null(&mut self) {
        self.go_on();
        self.stream.pipeline.stop();
        self.forget();
        self.plays = false;
    }

    fn play(&mut self) {
        if !self.plays {
            self.stream.begin();
            self.plays = true;
        }
    }
}

#[test]
fn sixteen_streams_share_a_model_through_ten_thousand_random_operations() {
    let _alone = alone();
    println!("seed {SEED}");
    let mut dice = Dice::new(SEED);
    let mut streams: Vec<_> = (0..STREAMS).map(|_| One::new()).collect();
    let (mut frames, started) = (0, Instant::now());
    for step in 0..STEPS {
        let index = dice.roll(STREAMS);
        let one = &mut streams[index];
        match dice.roll(40) {
            // The stream is removed, and another one is added.
            0 => {
                one.null();
                *one = One::new();
            }
            // The stream is stopped until a later step starts it.
            1 => one.null(),
            2 => {
                one.null();
                one.play();
            }
            // The stream is paused and goes on, with all frames in flight.
            3 if one.plays => {
                one.stream.pipeline.set_state(gst::State::Paused).unwrap();
                one.stream.pipeline.play();
            }
            // The stream ends with all its frames, and is started again.
            4 | 5 if one.plays => {
                one.go_on();
                one.stream.end();
                one.is_complete();
                frames += one.pushed;
                one.null();
                one.play();
            }
            6..9 if one.plays => {
                one.go_on();
                one.stream.flush();
                one.forget();
            }
            // A stalled stream is not stalled once more.
            9 if one.plays && one.stalled.is_none() => one.stall(),
            10..13 => one.go_on(),
            13..15 => one.play(),
            _ => one.push(3),
        }
        streams[(index + step) % STREAMS].push(1);
        if step % 200 == 199 {
            // All streams that play and are not stalled go on.
            for one in streams.iter_mut().filter(|one| one.plays && one.stalled.is_none()) {
                one.push(1);
                one.is_complete();
            }
        }
    }
    for one in &mut streams {
        one.go_on();
        if one.plays {
            one.is_complete();
            frames += one.pushed;
            assert_eq!(one.stream.said(), [""; 0]);
        }
    }
    eprintln!("{STEPS} operations, {frames} frames that were seen to their end, in {:?}", started.elapsed());
    assert!(frames > 1000, "{frames}");
}
