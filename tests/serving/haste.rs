//! Models that are changed twice at once, changed back, or stopped in between, while frames of the earlier model are in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cudainfer_tests::{model, until};
use gst::prelude::*;

use crate::change::end_with;
use cudainfer_tests::stream::{Stream, alone, ms, together, workers};

#[test]
fn the_last_of_several_quick_changes_counts() {
    let _alone = alone();
    for (quick, label) in [
        (vec!["detector-retrained", "detector-larger"], "red96"),
        (vec!["detector-larger", "detector-retrained"], "rot"),
        (vec!["not-onnx", "detector-retrained"], "rot"),
        (vec!["detector-retrained", "detector-larger", "detector-retrained"], "rot"),
        (vec!["detector-larger", "detector-batch", "detector-retrained"], "rot"),
    ] {
        let stream = Stream::new("detector-batch", "batch-size=2 workers=2");
        stream.begin();
        (0..5).for_each(|number| stream.push(number));
        quick.iter().for_each(|name| stream.set_model(name));
        // Until all changes are done, and only one model is left.
        let mut next = 5;
        until(label, || {
            (next..next + 10).for_each(|number| stream.push(number));
            next += 10;
            stream.wait_for(usize::try_from(next).unwrap());
            stream.frames().last().is_some_and(|frame| frame.label == label) && workers() == 2
        });
        stream.end();
        assert_eq!(stream.numbers(), (0..next).collect::<Vec<_>>());
        assert_eq!(stream.frames().last().unwrap().label, label, "{quick:?}");
        assert_eq!(stream.model(), model(quick.last().unwrap()));
    }
}

#[test]
fn a_change_that_is_taken_back_before_a_frame_comes_changes_nothing() {
    let _alone = alone();
    until("no other model", || workers() == 0);
    let stream = Stream::new("detector-batch", "workers=2");
    stream.begin();
    stream.push(0);
    stream.wait_for(1);
    stream.set_model("detector-retrained");
    // The model is loaded and not in use: it takes over at the next frame, and none has come yet.
    until("it has been loaded", || workers() == 4);
    stream.set_model("detector-batch");
    until("it has been released", || workers() == 2);
    end_with(&stream, 1, 20, &["red"]);
    assert_eq!(stream.model(), model("detector-batch"));
}

#[test]
fn tensors_that_were_asked_for_may_come_when_they_are_no_longer_wanted() {
    let _together = together();
    for (last, label) in [("detector-batch", "red"), ("detector-retrained", "rot")] {
        // The tensors for the larger model wait in the queue while it is given up.
        let stream = Stream::with(&format!(
            "queue name=q max-size-buffers=200 max-size-time=0 ! trtinfer name=infer model={} max-in-flight=1 ! gpunms \
             ! fakesink name=out async=false",
            model("detector-batch")
        ));
        stream.begin();
        (0..5).for_each(|number| stream.push(number));
        stream.wait_for(5);
        stream.set_model("detector-larger");
        let infer = stream.pipeline.element("infer");
        let asked = Arc::new(AtomicBool::new(false));
        let noted = asked.clone();
        infer.static_pad("sink").unwrap().add_probe(gst::PadProbeType::EVENT_UPSTREAM, move |_, info| {
            if let Some(gst::PadProbeData::Event(event)) = &info.data {
                let reconfigure = event.type_() == gst::EventType::Reconfigure;
                noted.fetch_or(reconfigure, Ordering::SeqCst);
            }
            gst::PadProbeReturn::Ok
        });
        let mut next = 5;
        until("tensors are asked for", || {
            stream.push(next);
            next += 1;
            asked.load(Ordering::SeqCst)
        });
        stream.wait_for(usize::try_from(next).unwrap());
        let pad = stream.pipeline.element("q").static_pad("src").unwrap();
        let held = pad.add_probe(gst::PadProbeType::BLOCK_DOWNSTREAM, |_, _| gst::PadProbeReturn::Ok);
        (next..next + 5).for_each(|number| stream.push(number));
        stream.set_model(last);
        // The results must be the same whether the model is loaded by then or not.
        std::thread::sleep(ms(200));
        pad.remove_probe(held.unwrap());
        // The queue is emptied, so that tensors can be requested again.
        next += 5;
        until(label, || {
            (next..next + 5).for_each(|number| stream.push(number));
            next += 5;
            stream.wait_for(usize::try_from(next).unwrap());
            stream.frames().iter().rev().take(5).all(|frame| frame.label == label)
        });
        stream.end();
        assert_eq!(stream.numbers(), (0..next).collect::<Vec<_>>());
        assert_eq!(stream.frames().last().unwrap().label, label);
        assert_eq!(stream.model(), model(last));
        assert_eq!(stream.said(), [""; 0]);
    }
}

#[test]
fn frames_that_are_still_inside_keep_the_labels_of_their_model() {
    let _together = together();
    // The frames of the first model, and the caps before them, are still inside when the second is taken over.
    let stream = Stream::with(&format!(
        "trtinfer name=infer model={} max-in-flight=1024 ! gpunms ! fakesink name=out async=false",
        model("detector-batch")
    ));
    let pad = stream.pipeline.element("infer").static_pad("src").unwrap();
    let blocked = pad.add_probe(gst::PadProbeType::BLOCK | gst::PadProbeType::EVENT_DOWNSTREAM, |_, _| {
        gst::PadProbeReturn::Ok
    });
    stream.begin();
    (0..5).for_each(|number| stream.push(number));
    let taken_over = Arc::new(AtomicBool::new(false));
    let noted = taken_over.clone();
    let infer = stream.pipeline.element("infer");
    infer.connect_notify(Some("active-provider"), move |_, _| noted.store(true, Ordering::SeqCst));
    stream.set_model("detector-retrained");
    let mut next = 5;
    until("the model", || {
        stream.push(next);
        next += 1;
        std::thread::sleep(ms(20));
        taken_over.load(Ordering::SeqCst)
    });
    pad.remove_probe(blocked.unwrap());
    let frames = end_with(&stream, next, 3, &["red", "rot"]);
    assert!(frames[4].label == "red");
}

#[test]
fn a_pipeline_can_be_stopped_while_another_model_loads() {
    let _together = together();
    for wait in [0, 1, 5, 20] {
        let stream = Stream::new("detector-batch", "");
        stream.begin();
        stream.push(0);
        stream.set_model("detector-slow");
        std::thread::sleep(Duration::from_millis(wait));
        stream.pipeline.stop();
        // The pipeline is started again with the new model.
        stream.out().clear();
        stream.begin();
        stream.push(1);
        stream.end();
        assert_eq!(stream.numbers(), [1]);
        assert_eq!(stream.model(), model("detector-slow"));
    }
}
