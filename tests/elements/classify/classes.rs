//! The element classify, of whole frames and of objects' regions.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push};
use gst::prelude::*;
use gstcudainfer::meta::object::{ClassificationParam, DetectionParam, Object, TrackingParam, objects};
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 32;

/// Red on the left, blue on the right.
fn frame(number: u64, objects: &[Object]) -> gst::Buffer {
    let row = (0..SIDE).flat_map(|x| if x < SIDE / 2 { [255, 0, 0] } else { [0, 0, 255] });
    let mut buffer = gst::Buffer::from_mut_slice(row.cycle().take(3 * SIDE * SIDE).collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(10 * number));
    objects.iter().for_each(|object| object.put(writable, &Rect::default()));
    buffer
}

fn object(id: i32, x: f32) -> Object {
    let rect = Rect { x, y: 4.0, w: 8.0, h: 8.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    Object { id, label: "tile".into(), detection, ..Object::default() }
}

/// The frames after `elements`, the last of which is called `classify`, and its stats.
fn run(elements: &str, frames: &[Vec<Object>]) -> (Vec<Vec<Object>>, gst::Structure) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=100/1 \
         ! {elements} name=classify ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for (number, objects) in (0..).zip(frames) {
        push(&pipeline.element("in"), frame(number, objects));
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let stats = pipeline.element("classify").property::<gst::Structure>("stats");
    pipeline.stop();
    let out = out.lock().unwrap();
    assert!(out.iter().all(|buffer| TensorSet::of(buffer).is_none()), "the scores stay on the frame");
    (out.iter().map(|buffer| objects(buffer)).collect(), stats)
}

/// The scores are ten times the mean colours.
fn softmax(scores: [f64; 3]) -> [f64; 3] {
    let powers = scores.map(f64::exp);
    powers.map(|power| power / powers.iter().sum::<f64>())
}

fn assert_classes(got: &ClassificationParam, wanted: &[(&str, u32, f64)]) {
    assert_eq!(got.labels, wanted.iter().map(|w| w.0).collect::<Vec<_>>());
    assert_eq!(got.label_ids, wanted.iter().map(|w| w.1).collect::<Vec<_>>());
    for (got, wanted) in got.confidence.iter().zip(wanted) {
        // Float32 means of some hundred values.
        assert!((got - wanted.2).abs() < 1e-4, "{got}, not {}", wanted.2);
    }
}

#[test]
fn objects_are_given_the_classes_of_their_regions_and_frames_without_objects_pass() {
    let frames = [
        vec![object(0, 20.0), object(1, 4.0)],
        vec![],
        (0..9).map(|i| object(i, if i % 2 == 0 { 4.0 } else { 20.0 })).collect(),
    ];
    for batch in ["batch-size=1", "batch-size=4"] {
        let (out, stats) = run(
            &format!(
                "fusedpreproc roi=objects ! trtinfer model={} {batch} ! classify top-k=3",
                model("colours")
            ),
            &frames,
        );
        assert_eq!(out.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 9]);
        assert_eq!(stats.get::<u64>("objects").unwrap(), 11);
        let [sure, rest, _] = softmax([10.0, 0.0, 0.0]);
        for (object, before) in out.iter().flatten().zip(frames.iter().flatten()) {
            assert_eq!((object.id, &object.detection), (before.id, &before.detection));
            let classes = &object.classifications[0];
            if before.detection.as_ref().unwrap().rect.x < 16.0 {
                assert_classes(classes, &[("red", 0, sure), ("green", 1, rest), ("blue", 2, rest)]);
            } else {
                assert_classes(classes, &[("blue", 2, sure), ("red", 0, rest), ("green", 1, rest)]);
            }
        }
    }
}

#[test]
fn a_whole_frame_is_an_object_with_the_sidecars_number_of_classes() {
    let pipeline_of = |properties: &str| {
        let model = model("colours");
        run(
            &format!("fusedpreproc ! trtinfer model={model} ! classify {properties}"),
            &[vec![object(0, 4.0)]],
        )
        .0
    };
    let out = pipeline_of("");
    // As many pixels are red as blue: the lower class is first. The sidecar asks for two classes.
    let [other, whole] = &out[0][..] else { panic!("{out:?}") };
    assert!(other.classifications.is_empty(), "an object that was there is not the frame");
    assert_eq!((whole.id, whole.label.as_str()), (1, "red"));
    let [half, _, _] = softmax([5.0, 0.0, 5.0]);
    assert_classes(&whole.classifications[0], &[("red", 0, half), ("blue", 2, half)]);

    let classes = |properties: &str| pipeline_of(properties)[0].get(1).map(|o| o.classifications[0].clone());
    let sigmoid = 1.0 / (1.0 + (-5f64).exp());
    assert_classes(&classes("activation=sigmoid top-k=1").unwrap(), &[("red", 0, sigmoid)]);
    let all = [("red", 0, 5.0), ("blue", 2, 5.0), ("green", 1, 0.0)];
    for top_k in ["top-k=16", "top-k=0", "top-k=4000000000"] {
        assert_classes(&classes(&format!("activation=none {top_k}")).unwrap(), &all);
    }
    assert_classes(&classes("activation=none top-k=0 threshold=1").unwrap(), &all[..2]);
    assert_eq!(classes("threshold=0.9"), None, "nothing is sure enough, so there is no object");
}

#[test]
fn the_regions_box_is_the_frames() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,width=48,height=36 ! fusedpreproc \
         ! trtinfer model={} ! classify ! fakesink name=out",
        model("colours")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let out = out.lock().unwrap();
    let metas: Vec<_> =
        out[0].iter_meta::<gst_video::VideoRegionOfInterestMeta>().map(|m| m.rect()).collect();
    assert_eq!(metas, [(0, 0, 48, 36)]);
}

/// Objects with an identity: the first one at the left, where it is red, the second one at the right.
fn tracked(id: i32, track: u64, x: f32) -> Object {
    let tracking = TrackingParam { id: track, state: "tracked".into(), ..TrackingParam::default() };
    Object { tracking: Some(tracking), ..object(id, x) }
}

#[test]
fn what_was_found_of_a_tracked_object_holds_until_the_model_looks_again() {
    let elements = format!(
        "fusedpreproc roi=objects interval=2 ! trtinfer model={} ! classify top-k=1",
        model("colours")
    );
    // Track 7 goes from red to blue after the model has looked at it, and is another object of the frame each time; track 8 comes in the
    // second frame; nobody knows who the last object is.
    let frames = [
        vec![tracked(0, 7, 2.0)],
        vec![tracked(0, 8, 22.0), tracked(1, 7, 22.0)],
        vec![tracked(0, 7, 22.0), tracked(1, 8, 22.0), object(2, 2.0)],
        vec![tracked(0, 7, 22.0), tracked(1, 8, 22.0)],
    ];
    let (found, stats) = run(&elements, &frames);
    let seen: Vec<Vec<(String, bool)>> = found
        .iter()
        .map(|frame| {
            let of = |object: &Object| {
                assert!(object.classifications.len() <= 1, "{object:?}");
                let classes = object.classifications.first();
                classes.map_or_else(|| (String::new(), false), |found| (found.labels[0].clone(), found.held))
            };
            frame.iter().map(of).collect()
        })
        .collect();
    let is = |label: &str, held| (label.to_owned(), held);
    assert_eq!(
        seen,
        [
            vec![is("red", false)],
            vec![is("blue", false), is("red", true)],
            vec![is("red", true), is("blue", true), is("", false)],
            vec![is("blue", false), is("blue", true)],
        ]
    );
    assert_eq!(stats.get::<u64>("held"), Ok(4));
    assert_eq!(stats.get::<u64>("objects"), Ok(3));
}

#[test]
fn nothing_holds_of_an_object_that_was_gone_or_of_which_nothing_was_found() {
    let elements = |threshold: f64| {
        format!(
            "fusedpreproc roi=objects interval=2 ! trtinfer model={} ! classify threshold={threshold}",
            model("colours")
        )
    };
    let one = || vec![tracked(0, 7, 2.0)];
    let (found, _) = run(&elements(0.0), &[one(), vec![], vec![], vec![], one()]);
    assert!(!found[4][0].classifications[0].held, "it is looked at as a new one");
    let (found, stats) = run(&elements(1.5), &[one(), one()]);
    assert!(found.iter().all(|frame| frame[0].classifications.is_empty()));
    assert_eq!(stats.get::<u64>("held"), Ok(0));
    let (found, stats) = run(&elements(0.0).replace(" interval=2", ""), &[one(), one()]);
    assert!(found.iter().all(|frame| !frame[0].classifications[0].held));
    assert_eq!(stats.get::<u64>("held"), Ok(0));
}
