//! Another model while frames flow: it takes over between two frames, no frame is lost, and a model that does not fit is
//! not used.

use std::sync::{Arc, Condvar, Mutex};

use cudainfer_tests::{model, scratch, until};
use gst::prelude::*;

use cudainfer_tests::stream::{Frame, Stream, alone, threads, together};

/// Pushes frames from `next` on until a frame with this label comes out; returns the number of the next frame.
#[track_caller]
pub fn push_until(stream: &Stream, mut next: u64, label: &str) -> u64 {
    until(label, || {
        stream.push(next);
        next += 1;
        stream.frames().last().is_some_and(|frame| frame.label == label)
    });
    next
}

/// Pushes `count` more frames and ends; all frames since the first must have come, with these labels one after the other.
#[track_caller]
pub fn end_with(stream: &Stream, next: u64, count: u64, labels: &[&str]) -> Vec<Frame> {
    (next..next + count).for_each(|number| stream.push(number));
    stream.end();
    assert_eq!(stream.numbers(), (0..next + count).collect::<Vec<_>>());
    let frames = stream.frames();
    let mut seen: Vec<_> = frames.iter().map(|frame| frame.label.as_str()).collect();
    seen.dedup();
    assert_eq!(seen, labels);
    frames
}

#[test]
fn other_labels_take_over_between_two_frames() {
    let _together = together();
    for properties in [
        "",
        "batch-size=4 batch-timeout=20000000 max-in-flight=8",
        "batch-size=3 workers=3 max-in-flight=16",
        "leaky=downstream max-in-flight=1000",
    ] {
        let stream = Stream::new("detector-batch", properties);
        stream.begin();
        (0..10).for_each(|number| stream.push(number));
        stream.set_model("detector-retrained");
        let next = push_until(&stream, 10, "rot");
        assert_eq!(stream.model(), model("detector-retrained"));
        end_with(&stream, next, 10, &["red", "rot"]);
        assert_eq!(stream.said(), [""; 0]);
    }
}

#[test]
fn a_model_that_takes_one_frame_a_run_gives_way_to_one_that_takes_several() {
    let _together = together();
    let stream = Stream::new("detector", "");
    stream.begin();
    for (wanted, label, count) in [("detector-retrained", "rot", 5), ("detector-fixed-batch", "red", 9)] {
        let next = stream.frames().len() as u64;
        stream.set_model(wanted);
        let next = push_until(&stream, next, label);
        (next..next + count).for_each(|number| stream.push(number));
        stream.wait_for(usize::try_from(next + count).unwrap());
    }
    let next = stream.frames().len() as u64;
    end_with(&stream, next, 3, &["red", "rot", "red"]);
}

#[test]
fn loading_a_model_holds_no_frame_up() {
    let _together = together();
    let stream = Stream::new("detector-batch", "max-in-flight=3");
    stream.begin();
    stream.push(0);
    stream.wait_for(1);
    // The thread that loads asks the elements downstream, and is held in that query.
    let held = Arc::new((Mutex::new([false; 2]), Condvar::new()));
    let asked = Arc::clone(&held);
    let downstream = stream.pipeline.element("infer").static_pad("src").unwrap();
    downstream.add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, move |_, info| {
        let is_question =
            info.query().and_then(|query| query.structure()).is_some_and(|s| s.name() == "cudainfer-accepts");
        if is_question {
            let mut state = asked.0.lock().unwrap();
            state[0] = true;
            let released =
                asked.1.wait_timeout_while(state, cudainfer_tests::LIMIT, |[_, released]| !*released);
            assert!(!released.unwrap().1.timed_out(), "the query was not released");
        }
        gst::PadProbeReturn::Ok
    });
    stream.set_model("detector-retrained");
    until("the question", || held.0.lock().unwrap()[0]);
    (1..40).for_each(|number| stream.push(number));
    stream.wait_for(40);
    assert!(stream.frames().iter().all(|frame| frame.label == "red"), "the old model goes on");
    held.0.lock().unwrap()[1] = true;
    held.1.notify_all();
    let next = push_until(&stream, 40, "rot");
    end_with(&stream, next, 5, &["red", "rot"]);
}

#[test]
fn a_file_that_is_no_model_leaves_the_old_one_running_with_a_sentence() {
    let _together = together();
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    let mut next = 0;
    for (wanted, parts) in [
        ("/nowhere/x.onnx".to_owned(), ["/nowhere/x.onnx", "No such file"]),
        (model("not-onnx"), ["not-onnx.onnx", "not an ONNX model"]),
        (model("text-output"), ["text-output.onnx", "no output"]),
        (String::new(), ["set model=", "goes on"]),
    ] {
        stream.pipeline.element("infer").set_property("model", &wanted);
        let mut said = Vec::new();
        until("a warning", || {
            stream.push(next);
            next += 1;
            said.extend(stream.said());
            !said.is_empty()
        });
        assert_eq!(said.len(), 1, "{said:?}");
        for part in
            parts.iter().chain(&["infer: the model", "is not taken over", "detector-batch.onnx' goes on"])
        {
            assert!(said[0].contains(part), "no '{part}': {}", said[0]);
        }
        assert_eq!(stream.model(), model("detector-batch"));
    }
    end_with(&stream, next, 10, &["red"]);
}

/// Threads that load a model in this process.
fn loaders() -> usize {
    threads().iter().filter(|name| *name == "trtinfer:model").count()
}

#[test]
fn of_many_changes_the_last_is_what_is_taken_over_also_after_some_that_fail() {
    let _alone = alone();
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    (0..3).for_each(|number| stream.push(number));
    let mut next = 3;
    for last in ["detector-retrained", "detector-batch", "detector-larger"] {
        for turn in 0..50 {
            let wanted =
                ["detector-larger", "detector-retrained", "not-onnx", "detector-batch", "text-output"];
            stream.set_model(wanted[turn % wanted.len()]);
            if turn % 7 == 0 {
                stream.push(next);
                next += 1;
            }
        }
        stream.set_model(last);
        until("the loads are over", || loaders() == 0);
        let label = ["red", "rot", "red96"][["detector-batch", "detector-retrained", "detector-larger"]
            .iter()
            .position(|name| *name == last)
            .unwrap()];
        next = push_until(&stream, next, label);
        (next..next + 20).for_each(|number| stream.push(number));
        next += 20;
        stream.wait_for(usize::try_from(next).unwrap());
        assert_eq!((stream.frames().last().unwrap().label.as_str(), stream.model()), (label, model(last)));
        for said in stream.said() {
            assert!(
                said.contains("is not taken over")
                    && said.contains("not an ONNX") | said.contains("no output"),
                "{said}"
            );
        }
    }
    stream.end();
    assert_eq!(stream.numbers(), (0..next).collect::<Vec<_>>());
}

#[test]
fn a_model_that_still_loads_is_waited_for_before_null_and_not_taken_over_by_the_next_start() {
    let _alone = alone();
    for through in [gst::State::Ready, gst::State::Null] {
        let stream = Stream::new("detector-batch", "");
        for _ in 0..10 {
            stream.out().clear();
            stream.begin();
            stream.push(0);
            stream.set_model("detector-slow-retrained");
            stream.pipeline.reach(through);
            stream.set_model("detector-batch");
            if through == gst::State::Null {
                assert_eq!(loaders(), 0);
            }
        }
        stream.out().clear();
        stream.begin();
        until("the loads are over", || loaders() == 0);
        (0..5).for_each(|number| stream.push(number));
        stream.end();
        assert!(stream.frames().iter().all(|frame| frame.label == "red"));
        assert_eq!((stream.model(), stream.said()), (model("detector-batch"), Vec::<String>::new()));
        stream.pipeline.stop();
        assert_eq!(loaders(), 0);
    }
}

#[test]
fn labels_and_sidecars_that_cannot_be_read_leave_the_old_model_running() {
    let _together = together();
    let folder = scratch("sidecars");
    let of = |name: &str, sidecar: &str| {
        let path = folder.join(format!("{name}.onnx"));
        std::fs::copy(model("detector-retrained"), &path).unwrap();
        std::fs::write(path.with_extension("toml"), sidecar).unwrap();
        path.display().to_string()
    };
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    let mut next = 0;
    for (wanted, labels, part) in [
        (of("no-toml", "[input"), "", "no-toml.toml"),
        (of("no-such-field", "[inputs]\nscale = 1.0\n"), "", "no-such-field.toml"),
        (of("two-kinds", "[input]\nscale = \"one\"\n"), "", "two-kinds.toml"),
        (model("detector-retrained"), "/nowhere/labels.txt", "/nowhere/labels.txt"),
        (model("truncated"), "", "cut off"),
        (model("empty"), "", "cut off"),
        (model("rank5"), "", "5 dimensions"),
        (model("enormous"), "", "16384x16384"),
        ("/tmp".to_owned(), "", "/tmp"),
    ] {
        let infer = stream.pipeline.element("infer");
        infer.set_property("labels", labels);
        infer.set_property("model", &wanted);
        let mut said = Vec::new();
        until("a warning", || {
            stream.push(next);
            next += 1;
            said.extend(stream.said());
            !said.is_empty()
        });
        assert_eq!(said.len(), 1, "{said:?}");
        for part in [part, "is not taken over", "detector-batch.onnx' goes on"] {
            assert!(said[0].contains(part), "no '{part}': {}", said[0]);
        }
        assert_eq!(stream.model(), model("detector-batch"));
        assert_eq!(infer.property::<Option<String>>("labels").unwrap_or_default(), "");
    }
    end_with(&stream, next, 10, &["red"]);
}

#[test]
fn labels_set_before_the_model_belong_to_it() {
    let _together = together();
    let labels = scratch("labels").join("labels.txt");
    std::fs::write(&labels, "rouge\nbleu\n").unwrap();
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    (0..5).for_each(|number| stream.push(number));
    stream.pipeline.element("infer").set_property("labels", labels.display().to_string());
    (5..10).for_each(|number| stream.push(number));
    stream.set_model("detector-retrained");
    let next = push_until(&stream, 10, "rouge");
    end_with(&stream, next, 5, &["red", "rouge"]);
}

#[test]
fn in_ready_and_null_the_model_is_simply_another() {
    let _together = together();
    let stream = Stream::new("detector-batch", "");
    for (state, wanted, label) in [
        (gst::State::Null, "detector-retrained", "rot"),
        (gst::State::Ready, "detector-larger", "red96"),
        (gst::State::Ready, "detector", "red"),
    ] {
        stream.pipeline.reach(state);
        stream.set_model(wanted);
        stream.out().clear();
        stream.begin();
        (0..5).for_each(|number| stream.push(number));
        stream.end();
        assert_eq!(stream.numbers(), [0, 1, 2, 3, 4]);
        assert!(stream.frames().iter().all(|frame| frame.label == label));
    }
    assert_eq!(stream.said(), [""; 0]);
}
