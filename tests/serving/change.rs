//! Another model while frames flow: it takes over between two frames, nothing is lost, and what does not fit is not taken.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use cudainfer_tests::{model, scratch, until};
use gst::prelude::*;

use crate::stream::{Frame, Stream, alone, together, workers};

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

/// Pushes `count` more frames and ends; all frames since the first must have come, with these labels one behind the other.
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
        "leaky=downstream max-in-flight=32",
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
    // Whoever loads asks what is behind, and is held there.
    let held = Arc::new((Mutex::new([false; 2]), Condvar::new()));
    let asked = Arc::clone(&held);
    let behind = stream.line.element("infer").static_pad("src").unwrap();
    behind.add_probe(gst::PadProbeType::QUERY_DOWNSTREAM, move |_, info| {
        let is_question =
            info.query().and_then(|query| query.structure()).is_some_and(|s| s.name() == "cudainfer-accepts");
        if is_question {
            let mut state = asked.0.lock().unwrap();
            state[0] = true;
            let let_go = asked.1.wait_timeout_while(state, cudainfer_tests::LIMIT, |[_, let_go]| !*let_go);
            assert!(!let_go.unwrap().1.timed_out(), "nobody lets it go");
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
        (model("bool-output"), ["bool-output.onnx", "no output"]),
        (String::new(), ["set model=", "goes on"]),
    ] {
        stream.line.element("infer").set_property("model", &wanted);
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
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(entry.ok()?.path().join("comm")).ok()
    };
    let names = std::fs::read_dir("/proc/self/task").unwrap().filter_map(name);
    names.filter(|name| name.trim() == "trtinfer:model").count()
}

#[test]
fn of_many_changes_the_last_is_what_is_taken_over_also_behind_some_that_fail() {
    let _alone = alone();
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    (0..3).for_each(|number| stream.push(number));
    let mut next = 3;
    for last in ["detector-retrained", "detector-batch", "detector-larger"] {
        for turn in 0..50 {
            let wanted =
                ["detector-larger", "detector-retrained", "not-onnx", "detector-batch", "bool-output"];
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
            stream.line.reach(through);
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
        stream.line.stop();
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
        (model("rank3"), "", "3 dimensions"),
        (model("enormous"), "", "16384x16384"),
        ("/tmp".to_owned(), "", "/tmp"),
    ] {
        let infer = stream.line.element("infer");
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
fn a_model_with_another_input_is_fed_by_what_is_before_it() {
    let _together = together();
    for properties in ["", "batch-size=4 batch-timeout=20000000 max-in-flight=9"] {
        let stream = Stream::new("detector-batch", properties);
        stream.begin();
        (0..10).for_each(|number| stream.push(number));
        stream.set_model("detector-larger");
        let next = push_until(&stream, 10, "red96");
        (next..next + 5).for_each(|number| stream.push(number));
        stream.set_model("detector-batch");
        let next = push_until(&stream, next + 5, "red");
        end_with(&stream, next, 5, &["red", "red96", "red"]);
        assert_eq!(stream.said(), [""; 0]);
    }
}

#[test]
fn a_model_with_another_input_is_taken_over_behind_a_queue_that_is_full_of_frames() {
    let _alone = alone();
    until("no other model", || workers() == 0);
    let stream = Stream::with(&format!(
        "queue max-size-buffers=200 max-size-time=0 ! trtinfer name=infer model={} workers=2 ! gpunms \
         ! fakesink name=out async=false",
        model("detector-batch")
    ));
    // Held back until the queue holds more frames than anybody expects.
    let pad = stream.line.element("infer").static_pad("src").unwrap();
    let blocked =
        pad.add_probe(gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER, |_, _| gst::PadProbeReturn::Ok);
    stream.begin();
    (0..150).for_each(|number| stream.push(number));
    stream.set_model("detector-larger");
    until("it has been loaded", || workers() == 4);
    pad.remove_probe(blocked.unwrap());
    let next = push_until(&stream, 150, "red96");
    end_with(&stream, next, 5, &["red", "red96"]);
    assert_eq!(stream.said(), [""; 0]);
}

#[test]
fn an_input_that_cannot_be_had_leaves_the_old_model_running() {
    let _together = together();
    let stream = Stream::new("detector-batch", "");
    for size in ["width", "height"] {
        stream.line.element("pre").set_property(size, 64u32);
    }
    stream.begin();
    stream.set_model("detector-larger");
    let (mut said, mut next) = (Vec::new(), 0);
    until("a warning", || {
        stream.push(next);
        next += 1;
        said.extend(stream.said());
        !said.is_empty()
    });
    assert_eq!(said.len(), 1, "{said:?}");
    for part in ["is not taken over", "wants 3x96x96", "come with 3x64x64"] {
        assert!(said[0].contains(part), "{said:?}");
    }
    assert_eq!(stream.model(), model("detector-batch"));
    end_with(&stream, next, 100, &["red"]);
}

#[test]
fn a_model_of_another_task_is_refused_by_what_is_behind() {
    let _together = together();
    for (wanted, properties) in [
        // The same input; another one; and one whose batch is the only one it takes.
        ("heat-maps-64", ""),
        ("heat-maps-batch", ""),
        ("heat-maps-batch", "batch-size=3 batch-timeout=20000000 max-in-flight=8"),
        ("without-rows", "batch-size=2 max-in-flight=8"),
    ] {
        let stream = Stream::new("detector-batch", properties);
        stream.begin();
        (0..10).for_each(|number| stream.push(number));
        stream.set_model(wanted);
        let (mut said, mut next) = (Vec::new(), 10);
        until("a warning", || {
            stream.push(next);
            next += 1;
            said.extend(stream.said());
            !said.is_empty()
        });
        (next..next + 20).for_each(|number| stream.push(number));
        said.extend(stream.said());
        assert_eq!(said.len(), 1, "{said:?}");
        let why = if wanted == "without-rows" {
            "cannot be divided among the frames"
        } else {
            "nms: no decoder fits"
        };
        for part in ["is not taken over", "detector-batch.onnx' goes on", why] {
            assert!(said[0].contains(part), "no '{part}': {}", said[0]);
        }
        assert_eq!(stream.model(), model("detector-batch"));
        // And one that does fit is taken over as if nothing had been.
        stream.set_model("detector-retrained");
        let next = push_until(&stream, next + 20, "rot");
        end_with(&stream, next, 5, &["red", "rot"]);
    }
}

/// The test model `name` with other labels, as a file of its own.
fn relabelled(name: &str, labels: [&str; 2]) -> String {
    let folder = scratch("relabelled");
    std::fs::copy(model(name), folder.join("model.onnx")).unwrap();
    let sidecar = std::fs::read_to_string(Path::new(&model(name)).with_extension("toml")).unwrap();
    let sidecar = sidecar.replace("red", labels[0]).replace("blue", labels[1]);
    std::fs::write(folder.join("model.toml"), sidecar).unwrap();
    folder.join("model.onnx").display().to_string()
}

#[test]
fn a_model_without_masks_is_refused_by_segmask_behind_other_elements() {
    let _together = together();
    for behind in ["segmask name=seg", "tracker ! queue ! segmask name=seg ! tracker"] {
        let stream = Stream::with(&format!(
            "trtinfer name=infer model={} ! gpunms name=nms ! {behind} ! fakesink name=out async=false",
            model("masks")
        ));
        stream.begin();
        (0..10).for_each(|number| stream.push(number));
        stream.set_model("detector-batch");
        let (mut said, mut next) = (Vec::new(), 10);
        until("a warning", || {
            stream.push(next);
            next += 1;
            said.extend(stream.said());
            !said.is_empty()
        });
        (next..next + 20).for_each(|number| stream.push(number));
        said.extend(stream.said());
        assert_eq!(said.len(), 1, "{said:?}");
        for part in ["is not taken over", "masks.onnx' goes on", "seg: frames arrive without tensors"] {
            assert!(said[0].contains(part), "no '{part}': {}", said[0]);
        }
        // And one with masks is taken over.
        stream.line.element("infer").set_property("model", relabelled("masks", ["rot", "blau"]));
        let next = push_until(&stream, next + 20, "rot");
        end_with(&stream, next, 5, &["red", "rot"]);
        assert_eq!(stream.said(), [""; 0]);
    }
}

#[test]
fn every_branch_of_a_tee_is_asked() {
    let _together = together();
    let branch =
        |name: &str| format!("t. ! queue ! gpunms name={name} ! fakesink name=out-{name} async=false");
    // One branch takes any number of classes; the other one wants a class that only the first model has.
    let stream = Stream::with(&format!(
        "trtinfer name=infer model={} ! tee name=t ! queue ! gpunms ! fakesink name=out async=false {} {} classes=red \
         ! fakesink async=false",
        model("detector-batch"),
        branch("first"),
        "t. ! queue ! gpunms name=last"
    ));
    stream.begin();
    stream.set_model("detector-retrained");
    let (mut said, mut next) = (Vec::new(), 0);
    until("a warning", || {
        stream.push(next);
        next += 1;
        said.extend(stream.said());
        !said.is_empty()
    });
    for part in ["is not taken over", "last: classes: the model has no class 'red'"] {
        assert!(said[0].contains(part), "no '{part}': {}", said[0]);
    }
    end_with(&stream, next, 10, &["red"]);
}

#[test]
fn a_second_model_behind_is_not_asked_about_the_first() {
    let _together = together();
    let stream = Stream::with(&format!(
        "trtinfer name=infer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} ! classify ! fakesink name=out \
         async=false",
        model("detector-batch"),
        model("colours")
    ));
    stream.begin();
    (0..5).for_each(|number| stream.push(number));
    stream.set_model("detector-retrained");
    let next = push_until(&stream, 5, "rot");
    end_with(&stream, next, 5, &["red", "rot"]);
    assert_eq!(stream.said(), [""; 0]);
}

#[test]
fn labels_set_before_the_model_belong_to_it() {
    let _together = together();
    let labels = scratch("labels").join("labels.txt");
    std::fs::write(&labels, "rouge\nbleu\n").unwrap();
    let stream = Stream::new("detector-batch", "");
    stream.begin();
    (0..5).for_each(|number| stream.push(number));
    stream.line.element("infer").set_property("labels", labels.display().to_string());
    (5..10).for_each(|number| stream.push(number));
    stream.set_model("detector-retrained");
    let next = push_until(&stream, 10, "rouge");
    end_with(&stream, next, 5, &["red", "rouge"]);
}

#[test]
fn a_shared_model_is_changed_for_all_who_share_it() {
    let _together = together();
    let streams = [(); 3]
        .map(|()| Stream::new("detector-batch", "instance=changing batch-size=3 batch-timeout=5000000"));
    streams.iter().for_each(Stream::begin);
    let mut next = 0;
    let mut round = || {
        streams.iter().for_each(|stream| stream.push(next));
        next += 1;
    };
    (0..10).for_each(|_| round());
    for (wanted, label) in
        [("detector-retrained", "rot"), ("detector-larger", "red96"), ("detector-batch", "red")]
    {
        streams[1].set_model(wanted);
        until(label, || {
            round();
            streams.iter().all(|stream| stream.frames().last().is_some_and(|frame| frame.label == label))
        });
        for stream in &streams {
            assert_eq!(stream.model(), model(wanted));
        }
    }
    streams[0].set_model("detector-retrained");
    until("rot", || {
        round();
        streams.iter().all(|stream| stream.frames().last().is_some_and(|frame| frame.label == "rot"))
    });
    for stream in &streams {
        stream.end();
        assert_eq!(stream.numbers(), (0..next).collect::<Vec<_>>());
        assert_eq!(stream.said(), [""; 0]);
    }
    // One that comes later says what is in use now; one that comes back, too.
    streams[2].line.reach(gst::State::Ready);
    streams[2].out().clear();
    streams[2].begin();
    streams[2].push(0);
    let late = Stream::new("detector-retrained", "instance=changing batch-size=3 batch-timeout=5000000");
    late.begin();
    late.push(0);
    for stream in [&late, &streams[2]] {
        stream.end();
        assert_eq!(stream.frames()[0].label, "rot");
    }
}

#[test]
fn a_shared_model_is_refused_by_those_whom_it_does_not_suit_and_all_go_on() {
    let _together = together();
    let streams = [(); 2]
        .map(|()| Stream::new("detector-batch", "instance=refusing batch-size=2 batch-timeout=5000000"));
    streams.iter().for_each(Stream::begin);
    streams[0].set_model("heat-maps-batch");
    let mut next = 0;
    let mut said = Vec::new();
    until("a warning", || {
        streams.iter().for_each(|stream| stream.push(next));
        next += 1;
        said.extend(streams[0].said());
        !said.is_empty()
    });
    assert!(said[0].contains("no decoder fits"), "{said:?}");
    streams[1].set_model("detector-retrained");
    until("rot", || {
        streams.iter().for_each(|stream| stream.push(next));
        next += 1;
        streams.iter().all(|stream| stream.frames().last().is_some_and(|frame| frame.label == "rot"))
    });
    for stream in &streams {
        end_with(stream, next, 0, &["red", "rot"]);
    }
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
        stream.line.reach(state);
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
