//! Recurrent models: what a run has made of a stream is there for its next frame, and for no other stream's.

use std::sync::{Arc, Mutex};

use cudainfer_tests::stream::{CAPS, NEVER, Stream, brightness};
use cudainfer_tests::{TestPipeline, buffers, model, openvino_library, run, until};
use gst::ClockTime;
use gst::prelude::*;
use gstcudainfer::meta::tensor::TensorSet;

/// A stream into a model, and the frames that have come out.
pub(super) struct Counted {
    pub stream: Stream,
    pub out: Arc<Mutex<Vec<gst::Buffer>>>,
}

impl Counted {
    pub fn new(model_name: &str, properties: &str) -> Self {
        Self::of(&model(model_name), properties)
    }

    /// Of a model that is in this file.
    pub fn of(file: &str, properties: &str) -> Self {
        let stream = Stream::with(&format!(
            "trtinfer name=infer device=cpu model={file} {properties} ! fakesink name=out async=false"
        ));
        let out = stream.pipeline.collect("out");
        stream.begin();
        Self { stream, out }
    }

    pub fn push(&self, frames: impl IntoIterator<Item = u64>) {
        frames.into_iter().for_each(|number| self.stream.push(number));
    }

    /// Of each frame that has come out.
    fn values(&self, output: &str) -> Vec<f32> {
        self.out.lock().unwrap().iter().map(|frame| values(frame, output)[0]).collect()
    }

    /// Waits until this many have come out, and returns the counts of the last `count`.
    fn last(&self, frames: usize, count: usize) -> Vec<f32> {
        self.stream.wait_for(frames);
        self.values("count").split_off(frames - count)
    }
}

pub(super) fn values(frame: &gst::Buffer, output: &str) -> Vec<f32> {
    let set = &TensorSet::of(frame).unwrap()[0];
    let tensor = set.tensors.iter().find(|tensor| tensor.desc.name == output).unwrap();
    tensor.map().unwrap().view().unwrap().to_f32().into_owned()
}

/// 1, 2, 3 and so on.
fn counts(frames: usize) -> Vec<f32> {
    (1..=frames).map(|n| n as f32).collect()
}

/// What has been added up after each of these frames, from `first` on.
fn totals(first: f64, frames: impl IntoIterator<Item = u64>) -> Vec<f64> {
    let add = |total: &mut f64, number: u64| {
        *total += f64::from(brightness(number)) / 255.0;
        Some(*total)
    };
    frames.into_iter().scan(first, add).collect()
}

/// Sums in float32 of up to 200 numbers below 1, beginning at 200 or less.
fn assert_close(got: &[f32], wanted: &[f64]) {
    let close = |(got, wanted): (&f32, &f64)| (f64::from(*got) - wanted).abs() < 5e-3;
    assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(close), "{got:?}, not {wanted:?}");
}

#[test]
fn each_frame_finds_what_the_one_before_has_left_whatever_workers_and_batches_are() {
    const FRAMES: usize = 120;
    for (model_name, properties) in [
        ("recurrent", "workers=1"),
        ("recurrent", "workers=4 max-in-flight=16"),
        ("recurrent", "workers=3 batch-size=4 max-in-flight=16"),
        ("recurrent", "workers=2 batch-size=4 batch-timeout=3600000000000 max-in-flight=16"),
        ("recurrent-fixed-batch", "workers=2 max-in-flight=16"),
        ("recurrent-for-all", "workers=4 batch-size=4 max-in-flight=16"),
    ] {
        let counted = Counted::new(model_name, properties);
        counted.push(0..FRAMES as u64);
        counted.stream.end();
        assert_eq!(counted.values("count"), counts(FRAMES), "{model_name} {properties}");
        assert_eq!(counted.stream.count("state-starts"), 1, "{model_name} {properties}");
        if model_name != "recurrent-for-all" {
            assert_close(&counted.values("total"), &totals(100.0, 0..FRAMES as u64));
        }
        assert_eq!(counted.stream.said(), Vec::<String>::new());
    }
}

#[test]
fn states_are_not_on_the_frames_and_not_in_the_caps_unless_they_are_the_result() {
    let counted = Counted::new("recurrent", "batch-size=2");
    counted.push(0..3);
    counted.stream.end();
    for frame in counted.out.lock().unwrap().iter() {
        let set = &TensorSet::of(frame).unwrap()[0];
        let names: Vec<_> = set.tensors.iter().map(|tensor| tensor.desc.name.as_str()).collect();
        assert_eq!(names, ["count", "total"]);
    }
    let caps = counted.stream.pipeline.element("infer").static_pad("src").unwrap().current_caps().unwrap();
    assert!(caps.to_string().contains("count:float32") && !caps.to_string().contains("count_out"), "{caps}");
}

#[test]
fn a_picture_that_is_fed_back_is_the_mean_of_all_before_it_the_later_ones_weighing_more() {
    let counted = Counted::new("recurrent-picture", "workers=2");
    counted.push(0..20);
    counted.stream.end();
    let mix = |before: &mut f64, number: u64| {
        *before = (*before + f64::from(brightness(number)) / 255.0) / 2.0;
        Some(*before)
    };
    assert_close(&counted.values("mixed"), &(0..20).scan(0.0, mix).collect::<Vec<_>>());
}

#[test]
fn a_state_of_open_dimensions_begins_with_one_element_or_as_stated() {
    for (model_name, properties) in [
        ("recurrent-open", "workers=2"),
        ("recurrent-open", "batch-size=4"),
        ("recurrent-open-stated", "batch-size=4"),
    ] {
        let counted = Counted::new(model_name, properties);
        counted.push(0..30);
        counted.stream.end();
        assert_close(&counted.values("total"), &totals(0.0, 0..30));
        assert_eq!(counted.stream.said(), Vec::<String>::new());
    }
    run(&format!(
        "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer batch-size=2 model={} ! fakesink",
        model("recurrent-open-wrong")
    ))
    .fails_with(&["r1o:float32:1x3x8x8", "r1i:float32:1x1x8x8", "Correct shape", "batch-size=1"]);
}

#[test]
fn streams_that_share_a_model_do_not_share_its_memory_and_fill_batches_together() {
    const FRAMES: u64 = 30;
    for properties in [
        format!("instance=recurrent-3 batch-size=3 batch-timeout={NEVER} workers=1"),
        "instance=recurrent-4 batch-size=4 workers=3".to_owned(),
        "instance=recurrent-1 workers=4".to_owned(),
    ] {
        let streams: Vec<_> = (0..3).map(|_| Counted::new("recurrent", &properties)).collect();
        std::thread::scope(|scope| {
            for (index, counted) in (0..).zip(&streams) {
                // A batch waits for a stream until that ends.
                scope.spawn(move || {
                    counted.push(100 * index..100 * index + FRAMES);
                    counted.stream.end();
                });
            }
        });
        for (index, counted) in (0..).zip(&streams) {
            assert_eq!(counted.values("count"), counts(FRAMES as usize), "{properties}");
            let frames = 100 * index..100 * index + FRAMES;
            assert_close(&counted.values("total"), &totals(100.0, frames));
        }
        if properties.contains(NEVER) {
            // Each of the three waits for the others, and none for a second frame of its own.
            let sum = |field: &str| streams.iter().map(|counted| counted.stream.count(field)).sum::<u64>();
            let mean = sum("batched-frames") as f64 / sum("batches") as f64;
            assert!(mean > 2.5, "{mean} frames a batch");
        }
    }
}

#[test]
fn streams_that_take_turns_in_one_element_are_remembered_each() {
    for properties in ["workers=1", "workers=4 batch-size=2 max-in-flight=8"] {
        let source = |pattern: &str| {
            format!(
                "videotestsrc num-buffers=40 pattern={pattern} ! video/x-raw,format=RGB,width=8,height=8 ! f. "
            )
        };
        let frames = buffers(&format!(
            "funnel name=f ! fusedpreproc ! trtinfer device=cpu model={} {properties} ! fakesink name=out {}{}",
            model("recurrent"),
            source("white"),
            source("red")
        ));
        assert_eq!(frames.len(), 80);
        let mut seen = [(0.0, 100.0); 2];
        for frame in &frames {
            let (count, total) = (values(frame, "count")[0], values(frame, "total")[0]);
            // White adds 1, red a third.
            let of = seen
                .iter_mut()
                .zip([1.0, 1.0 / 3.0])
                .find(|((known, sum), add)| *known + 1.0 == count && (*sum + *add - total).abs() < 1e-2);
            let ((known, sum), _) = of.unwrap_or_else(|| panic!("{count} and {total} after {properties}"));
            (*known, *sum) = (count, total);
        }
        assert_eq!(seen.map(|(count, _)| count), [40.0, 40.0]);
    }
}

#[test]
fn a_stream_begins_anew_after_a_flush_a_start_other_caps_and_a_segment_that_does_not_continue() {
    let counted = Counted::new("recurrent", "workers=2 max-in-flight=8");
    let stream = &counted.stream;
    counted.push(0..5);
    assert_eq!(counted.last(5, 5), [1.0, 2.0, 3.0, 4.0, 5.0]);
    // None of these ends a stream.
    stream.segment();
    stream.event(gst::event::Gap::new(ClockTime::from_mseconds(50), None));
    stream.event(gst::event::Caps::new(&CAPS.parse().unwrap()));
    counted.push([5]);
    assert_eq!(counted.last(6, 1), [6.0]);
    let jump = |seconds: u64| {
        let mut segment = gst::FormattedSegment::<ClockTime>::new();
        segment.set_start(ClockTime::from_seconds(seconds));
        segment.set_time(ClockTime::from_seconds(seconds));
        stream.event(gst::event::Segment::new(&segment));
    };
    jump(3);
    counted.push(300..303);
    assert_eq!(counted.last(9, 3), [1.0, 2.0, 3.0]);
    stream.event(gst::event::Caps::new(
        &CAPS.replace("width=8", "width=16").replace("height=8", "height=4").parse().unwrap(),
    ));
    counted.push(303..305);
    assert_eq!(counted.last(11, 2), [1.0, 2.0]);
    stream.announce(CAPS);
    counted.push(0..2);
    assert_eq!(counted.last(13, 2), [1.0, 2.0]);
    stream.flush();
    counted.push(0..2);
    assert_eq!(counted.last(15, 2), [1.0, 2.0]);
    assert_eq!(stream.count("state-starts"), 5);
    // Frames that a flush drops in flight are not remembered.
    for _ in 0..20 {
        counted.push(0..3);
        stream.flush();
        let before = counted.out.lock().unwrap().len();
        counted.push([7]);
        until("the frame after the flush", || counted.out.lock().unwrap().len() > before);
        assert_eq!(counted.values("count").last(), Some(&1.0));
    }
}

#[test]
fn another_model_begins_anew_and_its_predecessor_keeps_its_own_frames() {
    let counted = Counted::new("recurrent", "workers=2");
    counted.push(0..10);
    counted.stream.set_model("recurrent-other");
    let mut number = 10;
    until("the new model", || {
        counted.push([number]);
        number += 1;
        counted.values("total").last().is_some_and(|total| *total > 200.0)
    });
    counted.push(number..number + 5);
    counted.stream.end();
    let (all, totals_of) = (counted.values("count"), counted.values("total"));
    let first_of_next = totals_of.iter().position(|total| *total > 200.0).unwrap();
    assert_eq!(all[..first_of_next], counts(first_of_next));
    assert_eq!(all[first_of_next..], counts(all.len() - first_of_next));
}

#[test]
fn frames_that_are_dropped_do_not_count_and_the_others_go_on() {
    let counted = Counted::new("recurrent", "workers=2 leaky=downstream max-in-flight=2");
    let mut held = counted.stream.hold("infer");
    counted.push(0..60);
    held.wait();
    held.release();
    counted.stream.end();
    let got = counted.values("count");
    let (starts, dropped) = (counted.stream.count("state-starts"), counted.stream.count("dropped"));
    assert!(starts == 1 && dropped > 0, "{starts} {dropped}");
    // A frame that was inferred and then dropped, because nobody took it, has counted.
    assert!(got.is_sorted() && got.windows(2).all(|pair| pair[0] < pair[1]), "{got:?}");
    assert!(got.len() as u64 + dropped == 60 && got.last() <= Some(&60.0), "{got:?}");
}

#[test]
fn it_is_said_that_a_model_is_recurrent_and_that_one_looks_so() {
    let pipeline = |model_name: &str| {
        format!(
            "videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer device=cpu batch-size=2 workers=3 model={} ! fakesink",
            model(model_name)
        )
    };
    for (model_name, batches) in [
        ("recurrent", "batches are of frames of several streams"),
        ("recurrent-for-all", "each in a run of its own, because not every state has a row"),
    ] {
        let mut all = Vec::new();
        TestPipeline::start(&pipeline(model_name)).each_message(|message| {
            if let gst::MessageView::Info(info) = message.view() {
                all.push(info.error().to_string());
            }
        });
        let said: Vec<_> =
            all.iter().filter(|text| text.contains("the model is recurrent: count_out")).collect();
        let [said] = said[..] else { panic!("{all:?}") };
        assert!(said.contains(batches) && said.contains("one of the 3 workers"), "{said}");
    }
    let report = run(&pipeline("recurrent-forgetful")).succeeds();
    let looks: Vec<_> = report.warnings.iter().filter(|text| text.contains("looks like")).collect();
    let [warning] = looks[..] else { panic!("{report:?}") };
    let lines = "[state], and below it count_out = \"count_in\", total_out = \"total_in\"";
    assert!(warning.contains("looks like a recurrent one") && warning.contains(lines), "{warning}");
    let report = run(&pipeline("recurrent-bare"));
    report.fails_with(&[
        "second input",
        "count_in:float32:?x1",
        "[constants] count_in =",
        "[state], as OUTPUT = \"count_in\"",
    ]);
    assert!(report.warnings.iter().any(|warning| warning.contains(lines)), "{report:?}");
}

#[test]
fn regions_are_refused_because_any_number_of_them_has_no_memory() {
    for roi in ["objects", "tiles tile-size=64"] {
        run(&format!(
            "videotestsrc num-buffers=2 ! fusedpreproc roi={roi} ! trtinfer device=cpu model={} ! fakesink",
            model("recurrent")
        ))
        .fails_with(&["the model is recurrent", "Remove the property roi of fusedpreproc"]);
    }
}

#[test]
fn openvino_remembers_as_onnx_runtime_does() {
    let Some(library) = openvino_library() else { return };
    for model_name in ["recurrent", "recurrent-fixed-batch", "recurrent-picture", "recurrent-open"] {
        let properties = format!("provider=openvino openvino={} workers=2", library.display());
        let counted = Counted::new(model_name, &properties);
        counted.push(0..30);
        counted.stream.end();
        match model_name {
            "recurrent-open" => assert_close(&counted.values("total"), &totals(0.0, 0..30)),
            "recurrent-picture" => assert_eq!(counted.values("mixed").len(), 30),
            _ => {
                assert_eq!(counted.values("count"), counts(30), "{model_name}");
                assert_close(&counted.values("total"), &totals(100.0, 0..30));
            }
        }
    }
}
