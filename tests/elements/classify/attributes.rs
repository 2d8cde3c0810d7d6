//! Models with several outputs: classifiers in a row, labels that apply together, embeddings; and what `activation=auto` makes
//! of probabilities.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run, scratch};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

use crate::{lines, violations};

const SIDE: usize = 32;

/// Red on the left, blue on the right, with two objects, one on either side.
fn frame() -> gst::Buffer {
    let row = (0..SIDE).flat_map(|x| if x < SIDE / 2 { [255, 0, 0] } else { [0, 0, 255] });
    let mut buffer = gst::Buffer::from_mut_slice(row.cycle().take(3 * SIDE * SIDE).collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::ZERO);
    for (id, x) in [(0, 4.0), (1, 20.0)] {
        let rect = Rect { x, y: 4.0, w: 8.0, h: 8.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        Object { id, label: "tile".into(), detection, ..Object::default() }.put(writable, &rect);
    }
    buffer
}

/// The objects of one frame after `elements`, and the messages that elements have posted.
fn found(elements: &str) -> (Vec<Object>, Vec<String>) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=25/1 \
         ! {elements} ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    push(&pipeline.element("in"), frame());
    end(&pipeline.element("in"));
    let mut posted = Vec::new();
    pipeline.each_message(|message| match message.view() {
        gst::MessageView::Warning(warning) => posted.push(format!("WARNING {}", warning.error())),
        // INFO messages with details are about how a model is read, and are posted for every model.
        gst::MessageView::Info(info) if info.details().is_none() => {
            posted.push(format!("INFO {}", info.error()));
        }
        _ => (),
    });
    pipeline.stop();
    let out = out.lock().unwrap();
    assert!(TensorSet::of(&out[0]).is_none(), "{elements}: the tensors stay on the frame");
    (objects(&out[0]), posted)
}

/// Labels and confidences of an object's classifications, by their outputs.
fn classes(object: &Object) -> Vec<(String, Vec<(String, f64)>)> {
    let of = |c: &gstcudainfer::meta::object::ClassificationParam| {
        (c.output.clone(), c.labels.iter().cloned().zip(c.confidence.iter().copied()).collect())
    };
    object.classifications.iter().map(of).collect()
}

#[track_caller]
fn assert_classes(object: &Object, wanted: &[(&str, &[(&str, f64)])]) {
    let got = classes(object);
    let names = |all: &[(String, Vec<(String, f64)>)]| -> Vec<_> {
        all.iter()
            .map(|(output, c)| (output.clone(), c.iter().map(|c| c.0.clone()).collect::<Vec<_>>()))
            .collect()
    };
    let wanted: Vec<(String, Vec<(String, f64)>)> = wanted
        .iter()
        .map(|(output, c)| ((*output).to_owned(), c.iter().map(|(l, p)| ((*l).to_owned(), *p)).collect()))
        .collect();
    assert_eq!(names(&got), names(&wanted), "{got:?}");
    let values = |all: &[(String, Vec<(String, f64)>)]| -> Vec<f64> {
        all.iter().flat_map(|(_, c)| c.iter().map(|c| c.1)).collect()
    };
    for (got, wanted) in values(&got).iter().zip(values(&wanted)) {
        // Float32 means of some hundred values.
        assert!((got - wanted).abs() < 1e-4, "{got}, not {wanted}");
    }
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// The softmax of (10, 0, 0): the first value, and each of the others.
fn sure() -> (f64, f64) {
    let sum = 10f64.exp() + 2.0;
    (10f64.exp() / sum, 1.0 / sum)
}

#[test]
fn each_classify_in_a_row_gives_the_objects_its_own_classes_by_its_own_table() {
    let (red, rest) = sure();
    for regions in ["fusedpreproc roi=objects", "fusedpreproc roi=objects ! queue"] {
        let (objects, posted) = found(&format!(
            "{regions} ! trtinfer model={} batch-size=2 ! classify output=colour ! queue ! classify output=traits ! embed",
            model("attributes")
        ));
        assert!(posted.iter().all(|posted| !posted.contains("classify")), "{posted:?}");
        let [left, right] = &objects[..] else { panic!("{objects:?}") };
        let traits: &[_] = &[("warm", sigmoid(2.0)), ("bright", sigmoid(1.0))];
        assert_classes(left, &[("colour", &[("red", red), ("green", rest)]), ("traits", traits)]);
        let traits: &[_] = &[("cold", sigmoid(3.0)), ("dark", sigmoid(0.5))];
        assert_classes(right, &[("colour", &[("blue", red), ("red", rest)]), ("traits", traits)]);
        assert!(left.classifications.iter().all(|c| c.model == "attributes"), "{left:?}");
        for (object, wanted) in [(left, [0.6, -0.8]), (right, [0.0, 1.0])] {
            let [embedding] = &object.embeddings[..] else { panic!("{object:?}") };
            assert_eq!(
                (embedding.output.as_str(), embedding.model.as_str(), embedding.normalized),
                ("vector", "attributes", true)
            );
            let mut values = Vec::new();
            embedding.read(&mut values).unwrap();
            assert_eq!(values.len(), 2);
            for (got, wanted) in values.iter().zip(wanted) {
                assert!((got - wanted).abs() < 1e-5, "{values:?}");
            }
        }
    }
}

#[test]
fn what_is_found_in_the_whole_frame_is_on_one_region() {
    let (objects, _) = found(&format!(
        "fusedpreproc ! trtinfer model={} ! embed normalize=false ! classify output=colour top-k=1 ! classify output=traits",
        model("attributes")
    ));
    let [_, _, frame] = &objects[..] else { panic!("{objects:?}") };
    // Half of the picture is red, half is blue.
    let half = 5f64.exp() / (2.0 * 5f64.exp() + 1.0);
    let traits: &[_] = &[("cold", sigmoid(0.5)), ("warm", sigmoid(0.0)), ("bright", sigmoid(0.0))];
    assert_classes(frame, &[("colour", &[("red", half)]), ("traits", traits)]);
    let mut values = Vec::new();
    frame.embeddings[0].read(&mut values).unwrap();
    assert!((values[0] - 1.5).abs() < 1e-4 && (values[1] + 1.0).abs() < 1e-4, "{values:?}");
    assert!(!frame.embeddings[0].normalized && frame.label == "frame");
}

#[test]
fn probabilities_get_no_second_softmax_and_what_was_assumed_is_reported() {
    // The softmax of (1, 0, 1): twice the means of a picture that is half red, half blue.
    let sum = 2.0 * 1f64.exp() + 1.0;
    let (most, least) = (1f64.exp() / sum, 1.0 / sum);
    let pipeline_of = |model_name: &str, properties: &str| {
        let (objects, posted) =
            found(&format!("fusedpreproc ! trtinfer model={} ! classify {properties}", model(model_name)));
        (
            objects[2].clone(),
            posted.into_iter().filter(|posted| posted.contains("classify")).collect::<Vec<_>>(),
        )
    };
    let wanted: &[_] = &[("red", most), ("blue", most), ("green", least)];
    let (frame, posted) = pipeline_of("colours-softmax", "");
    assert_classes(&frame, &[("scores", wanted)]);
    assert!(posted.is_empty(), "the graph is no guess: {posted:?}");
    let (frame, posted) = pipeline_of("colours-divided", "");
    assert_classes(&frame, &[("scores", wanted)]);
    assert!(
        posted.len() == 1 && posted[0].starts_with("INFO") && posted[0].contains("applies no softmax"),
        "{posted:?}"
    );
    for name in ["colours-softmax", "colours-divided"] {
        let (frame, posted) = pipeline_of(name, "activation=softmax");
        let (most, least) = (most.exp(), least.exp());
        let sum = 2.0 * most + least;
        let twice: &[_] = &[("red", most / sum), ("blue", most / sum), ("green", least / sum)];
        assert_classes(&frame, &[("scores", twice)]);
        assert!(posted.is_empty(), "{posted:?}");
    }
}

#[test]
fn labels_that_do_not_fit_a_head_are_warned_about_and_unknown_outputs_named() {
    let (_, posted) = found(&format!(
        "fusedpreproc roi=objects ! trtinfer model={} ! classify output=colour",
        model("attributes-few-labels")
    ));
    let parts = ["the sidecar has 2 labels in [classify.colour]", "'colour' has 3 classes"];
    assert!(posted.iter().any(|posted| parts.iter().all(|part| posted.contains(part))), "{posted:?}");
    let pipeline_of = |name: &str, elements: &str| {
        run(&format!(
            "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} ! {elements} ! fakesink",
            model(name)
        ))
    };
    pipeline_of("attributes-other-head", "classify output=colour")
        .fails_with(&["a table [classify.trait], but the model has no output 'trait'", "traits:float32"]);
    pipeline_of("attributes", "classify output=color")
        .fails_with(&["the model has no output 'color'", "colour:float32"]);
    pipeline_of("attributes", "classify").fails_with(&["several outputs", "use a classify for each"]);
    pipeline_of("attributes", "embed output=face").fails_with(&["the model has no output 'face'"]);
    pipeline_of("attributes", "embed output=rows").fails_with(&["holds no embeddings", "[1,D]"]);
    pipeline_of("masks", "embed").fails_with(&["the model has several outputs"]);
}

#[test]
fn records_have_each_classification_and_embeddings_only_if_asked_for() {
    let folder = scratch("attributes");
    for asked in [false, true] {
        let path = folder.join(format!("{asked}.jsonl"));
        found(&format!(
            "fusedpreproc roi=objects ! trtinfer model={} ! classify output=colour ! classify output=traits ! embed \
             ! inferpublish location={} embeddings={asked}",
            model("attributes"),
            path.display()
        ));
        let record = lines(&path).remove(0);
        let errors = violations(&record);
        assert!(errors.is_empty(), "{errors:?} in {record}");
        let object = &record["objects"][0];
        assert_eq!(object["classification"][0]["label"], "red");
        assert_eq!(object["classifications"][1]["output"], "traits");
        assert_eq!(object["classifications"][1]["classes"][0]["label"], "warm");
        assert_eq!(object["embeddings"][0]["values"].as_array().map(Vec::len), asked.then_some(2));
    }
}
