//! Another model while frames flow: trtinfer asks the elements around it, and does not use a model that one of them cannot take.

use std::path::Path;

use cudainfer_tests::{model, scratch, until};
use gst::prelude::*;

use crate::change::{end_with, push_until};
use cudainfer_tests::stream::{Stream, alone, together, workers};

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
fn a_model_with_another_input_is_taken_over_downstream_of_a_queue_that_is_full_of_frames() {
    let _alone = alone();
    until("no other model", || workers() == 0);
    let stream = Stream::with(&format!(
        "queue max-size-buffers=200 max-size-time=0 ! trtinfer name=infer model={} workers=2 ! gpunms \
         ! fakesink name=out async=false",
        model("detector-batch")
    ));
    // Frames are held back until the queue has more of them than usual.
    let pad = stream.pipeline.element("infer").static_pad("src").unwrap();
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
        stream.pipeline.element("pre").set_property(size, 64u32);
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
fn a_model_of_another_task_is_refused_by_the_elements_downstream() {
    let _together = together();
    for (wanted, properties) in [
        // A model with the same input, one with another input, and one that takes only one batch size.
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
        // A model that fits is used, in spite of the refused ones.
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
fn a_model_without_masks_is_refused_by_segmask_downstream_of_other_elements() {
    let _together = together();
    for after in ["segmask name=seg", "tracker ! queue ! segmask name=seg ! tracker"] {
        let stream = Stream::with(&format!(
            "trtinfer name=infer model={} ! gpunms name=nms ! {after} ! fakesink name=out async=false",
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
        for part in [
            "is not taken over",
            "masks.onnx' goes on",
            "seg: the model's outputs",
            "gives its objects masks",
        ] {
            assert!(said[0].contains(part), "no '{part}': {}", said[0]);
        }
        // A model with masks is used.
        stream.pipeline.element("infer").set_property("model", relabelled("masks", ["rot", "blau"]));
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
fn a_second_model_downstream_is_not_asked_about_the_first() {
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
