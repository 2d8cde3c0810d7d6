//! One model for several elements, pipelines and threads.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use cudainfer_tests::{model, until};
use gst::prelude::*;

use crate::change::{end_with, push_until};
use cudainfer_tests::stream::{Busy, NEVER, Stream, alone, together, workers};

#[test]
fn pipelines_in_several_threads_share_one_model_and_it_leaves_with_the_last() {
    let _alone = alone();
    until("no worker", || workers() == 0);
    let streams: Vec<_> = std::thread::scope(|scope| {
        let open = || {
            let stream = Stream::new("detector-batch", "instance=threads batch-size=2 workers=2");
            stream.begin();
            (0..20).for_each(|number| stream.push(number));
            stream.wait_for(20);
            stream
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // A worker thread has its name once it runs.
    until("two workers", || workers() == 2);
    for (left, stream) in streams.iter().enumerate() {
        assert_eq!(stream.numbers(), (0..20).collect::<Vec<_>>());
        assert_eq!(workers(), 2, "{left} have left");
        stream.pipeline.stop();
    }
    until("the workers are gone", || workers() == 0);
    // The instance's name is free for another model.
    let other = Stream::new("detector-retrained", "instance=threads batch-size=3 workers=1");
    other.begin();
    other.push(0);
    other.end();
    assert_eq!((other.frames()[0].label.as_str(), workers()), ("rot", 1));
}

#[test]
fn without_a_name_each_element_has_its_own_model() {
    let _alone = alone();
    let streams = [(); 2].map(|()| Stream::new("detector-batch", "workers=1"));
    // A thread takes its name when it has started.
    streams.iter().for_each(Stream::begin);
    until("two workers", || workers() == 2);
}

#[test]
fn a_model_that_was_replaced_leaves_when_its_last_frame_is_done() {
    let _alone = alone();
    let stream = Stream::new("detector-batch", "workers=2");
    stream.begin();
    stream.push(0);
    stream.set_model("detector-retrained");
    let mut next = 1;
    until("the new model", || {
        stream.push(next);
        next += 1;
        stream.frames().last().is_some_and(|frame| frame.label == "rot")
    });
    until("the old workers are gone", || workers() == 2);
    // A refused model does not stay in memory.
    stream.set_model("heat-maps-64");
    until("a warning", || !stream.said().is_empty());
    until("the refused model is gone", || workers() == 2);
    stream.pipeline.stop();
    until("the workers are gone", || workers() == 0);
}

#[test]
fn settings_that_differ_from_those_in_use_are_named() {
    let _together = together();
    let common = "instance=conflict batch-size=4";
    let first = Stream::new("detector-batch", common);
    first.begin();
    for (properties, what, theirs, ours) in [
        ("instance=conflict batch-size=8", "batch-size", "4", "8"),
        ("instance=conflict", "batch-size", "4", "(the model's)"),
        ("instance=conflict batch-size=4 batch-timeout=5000000", "batch-timeout", "0", "5000000"),
        ("instance=conflict batch-size=4 min-batch-size=2", "min-batch-size", "0", "2"),
        ("instance=conflict batch-size=4 provider=cpu", "provider", "auto", "cpu"),
        ("instance=conflict batch-size=4 device=cpu", "device", "auto", "cpu"),
        ("instance=conflict batch-size=4 intra-threads=7", "workers", "", ""),
        ("instance=conflict batch-size=4 inter-threads=3", "inter-threads", "1", "3"),
        ("instance=conflict batch-size=4 labels=/nowhere/labels", "labels", "", "/nowhere/labels"),
    ] {
        let second = Stream::new("detector-batch", properties);
        assert!(second.pipeline.set_state(gst::State::Playing).is_err(), "{properties}");
        let report = second.pipeline.wait();
        let said = report.fails_with(&["infer: instance=conflict is in use with", "name another instance"]);
        if !theirs.is_empty() || !ours.is_empty() {
            assert!(
                said.contains(&format!("{what}={theirs}, but this element has {what}={ours}. ")),
                "{said}"
            );
        }
    }
    let other = Stream::new("detector-retrained", common);
    assert!(other.pipeline.set_state(gst::State::Playing).is_err());
    other.pipeline.wait().fails_with(&[
        &format!("model={}", model("detector-batch")),
        &format!("this element has model={}", model("detector-retrained")),
    ]);
    // Properties that do not belong to the instance may differ.
    let third =
        Stream::new("detector-batch", &format!("{common} priority=3 max-in-flight=9 leaky=downstream"));
    third.begin();
    for stream in [&first, &third] {
        stream.push(0);
        stream.end();
        assert_eq!(stream.numbers(), [0]);
    }
    // When the other elements have left, the instance may have other properties.
    for stream in [&first, &third] {
        stream.pipeline.stop();
    }
    other.begin();
    other.push(0);
    other.end();
}

#[test]
fn a_stalled_stream_does_not_hold_the_others_up() {
    let _together = together();
    let streams = [(); 3].map(|()| {
        Stream::new("detector-batch", "instance=stalled batch-size=8 batch-timeout=20000000 max-in-flight=4")
    });
    streams.iter().for_each(Stream::begin);
    let pad = streams[0].pipeline.element("nms").static_pad("src").unwrap();
    let blocked =
        pad.add_probe(gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER, |_, _| gst::PadProbeReturn::Ok);
    // As many frames as there is room for.
    (0..4).for_each(|number| streams[0].push(number));
    for stream in &streams[1..] {
        (0..100).for_each(|number| stream.push(number));
        stream.end();
        assert_eq!(stream.numbers(), (0..100).collect::<Vec<_>>());
    }
    assert_eq!(streams[0].numbers(), [0; 0]);
    pad.remove_probe(blocked.unwrap());
    streams[0].end();
    assert_eq!(streams[0].numbers(), [0, 1, 2, 3]);
}

#[test]
fn a_full_batch_does_not_wait_for_frames_of_another_size() {
    let _together = together();
    let properties = format!("instance=sizes batch-size=4 batch-timeout={NEVER} max-in-flight=8 workers=1");
    let streams = [(); 2].map(|()| Stream::new("detector-any-size", &properties));
    // 64x64 and 32x32.
    streams[0].pipeline.element("pre").set_property("width", 64u32);
    streams[0].pipeline.element("pre").set_property("height", 64u32);
    streams.iter().for_each(Stream::begin);
    streams[0].push(0);
    (0..40).for_each(|number| streams[1].push(number));
    streams[1].wait_for(40);
    assert_eq!(streams[0].numbers(), [0; 0]);
    // An EOS of the higher priority makes no difference.
    (40..42).for_each(|number| streams[1].push(number));
    streams[1].end();
    assert_eq!(streams[0].numbers(), [0; 0]);
    streams[0].end();
}

#[test]
fn a_higher_priority_goes_first() {
    let _together = together();
    let properties = |priority: i32| {
        format!("instance=priority batch-size=1 workers=1 max-in-flight=8 priority={priority}")
    };
    let of = |priority| Stream::new("detector-batch", &properties(priority));
    let (low, high) = (of(-1), of(5));
    low.begin();
    high.begin();
    let [first, between] = [9, 0].map(|priority| Busy::new("detector-batch", &properties(priority)));
    first.send();
    first.wait();
    (0..8).for_each(|number| low.push(number));
    between.send();
    (0..8).for_each(|number| high.push(number));
    first.release();
    // The low-priority frame came before all frames of the higher priority, and runs after them.
    between.wait();
    high.wait_for(8);
    assert_eq!(low.numbers(), [0; 0]);
    between.release();
    low.end();
    high.end();
    assert_eq!(low.numbers(), (0..8).collect::<Vec<_>>());
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
    // An element that joins later has the model that is in use now, and so has one that comes back.
    streams[2].pipeline.reach(gst::State::Ready);
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
fn who_starts_with_a_model_that_was_replaced_gets_the_one_in_use() {
    let _together = together();
    let common = "instance=replaced batch-size=1";
    let first = Stream::new("detector-batch", common);
    first.begin();
    first.set_model("detector-retrained");
    let mut next = 0;
    until("rot", || {
        first.push(next);
        next += 1;
        first.frames().last().is_some_and(|frame| frame.label == "rot")
    });
    // An element with the original model, as a supervisor starts it that does not know of the change.
    let late = Stream::new("detector-batch", common);
    late.begin();
    late.push(0);
    late.end();
    assert_eq!((late.frames()[0].label.as_str(), late.model()), ("rot", model("detector-retrained")));
    assert_eq!(late.said(), [""; 0]);
    // A model that was never the instance's is a mistake, and so is any other difference.
    for (name, properties, what) in [
        ("detector-larger", common, "model="),
        ("detector-batch", "instance=replaced batch-size=2", "batch-size=1"),
    ] {
        let wrong = Stream::new(name, properties);
        assert!(wrong.pipeline.set_state(gst::State::Playing).is_err());
        let said = wrong.said();
        assert!(said[0].contains("is in use with") && said[0].contains(what), "{said:?}");
    }
    first.end();
}

#[test]
fn a_model_that_is_set_between_ready_and_paused_is_changed_for_all_who_share_it() {
    let _together = together();
    let common = "instance=early batch-size=1";
    let [first, second] = [(); 2].map(|()| Stream::new("detector-batch", common));
    first.begin();
    first.push(0);
    second.pipeline.reach(gst::State::Ready);
    second.set_model("detector-retrained");
    second.begin();
    let mut next = 1;
    until("rot", || {
        [&first, &second].iter().for_each(|stream| stream.push(next));
        next += 1;
        [&first, &second]
            .iter()
            .all(|stream| stream.frames().last().is_some_and(|frame| frame.label == "rot"))
    });
    for stream in [&first, &second] {
        assert_eq!(stream.said(), [""; 0]);
        stream.end();
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
fn tensors_for_a_model_that_another_element_has_replaced_meanwhile_are_taken() {
    let _together = together();
    let [first, second] = [(); 2].map(|()| Stream::new("detector-batch", "instance=hasty workers=1"));
    for stream in [&first, &second] {
        stream.begin();
        stream.push(0);
        stream.wait_for(1);
    }
    first.set_model("detector-larger");
    let next = push_until(&first, 1, "red96");
    // The second's fusedpreproc asks for caps, and gets the answer when the model is the earlier one again.
    let infer = second.pipeline.element("infer").static_pad("sink").unwrap();
    let (asked, is_asked) = channel();
    let (go_on, wait) = channel::<()>();
    let wait = Mutex::new(Some(wait));
    let mask = gst::PadProbeType::QUERY_DOWNSTREAM | gst::PadProbeType::PULL;
    infer.add_probe(mask, move |_, info| {
        let is_caps = matches!(&info.data, Some(gst::PadProbeData::Query(query)) if query.type_() == gst::QueryType::Caps);
        if is_caps && let Some(wait) = wait.lock().unwrap().take() {
            asked.send(()).unwrap();
            wait.recv().unwrap();
        }
        gst::PadProbeReturn::Ok
    });
    infer.push_event(gst::event::Reconfigure::new());
    std::thread::scope(|scope| {
        scope.spawn(|| second.push(1));
        is_asked.recv().unwrap();
        first.set_model("detector-batch");
        push_until(&first, next, "red");
        go_on.send(()).unwrap();
    });
    assert_eq!(second.said(), [""; 0]);
    push_until(&second, 2, "red");
    let labels: Vec<_> = second.frames().into_iter().map(|frame| frame.label).collect();
    assert_eq!((labels[0].as_str(), labels[1].as_str()), ("red", "red96"));
    assert_eq!(second.numbers(), (0..labels.len() as u64).collect::<Vec<_>>(), "no frame is lost");
}
