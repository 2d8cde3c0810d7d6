//! `precision=float16`: its objects compared with those of float32, and the models that it refuses.

use cudainfer_tests::{buffers, fetched, model, run};
use gstcudainfer::meta::object::{Object, objects};

use crate::video;

fn found(precision: &str) -> Vec<Vec<Object>> {
    let frames = buffers(&format!(
        "filesrc location={} ! decodebin ! videoconvert ! fusedpreproc device=cpu ! trtinfer provider=cpu engine-cache=none \
         precision={precision} model={} ! gpunms device=cpu ! fakesink name=out",
        video(),
        fetched("models/nanodet.onnx")
    ));
    frames.iter().map(|frame| objects(frame)).collect()
}

#[test]
fn a_detector_in_float16_finds_what_it_finds_in_float32() {
    let (float32, float16) = (found("model"), found("float16"));
    assert_eq!(float32.len(), float16.len());
    let rect = |object: &Object| object.detection.as_ref().unwrap().rect;
    let (mut pairs, mut objects, mut identical) = (0, 0, 0);
    for (wanted, mut free) in float32.iter().zip(float16) {
        objects += wanted.len() + free.len();
        for wanted in wanted {
            let same = |other: &Object| other.label == wanted.label && rect(other).iou(&rect(wanted)) >= 0.5;
            if let Some(at) = free.iter().position(same) {
                identical += usize::from(rect(&free[at]) == rect(wanted));
                free.remove(at);
                pairs += 1;
            }
        }
    }
    // An object at the threshold is found with one precision only.
    let f1 = 2.0 * f64::from(pairs) / objects as f64;
    assert!(objects > 100 && f1 >= 0.99, "F1 {f1} of {objects} objects");
    assert!(identical < objects / 4, "{identical} boxes are the same to the bit: it was not float16");
}

#[test]
fn a_model_that_has_no_float16_form_is_refused_with_the_reason() {
    let pipeline_of = |name: &str| {
        format!(
            "videotestsrc num-buffers=1 ! fusedpreproc device=cpu ! trtinfer name=t provider=cpu precision=float16 model={} ! fakesink",
            model(name)
        )
    };
    run(&pipeline_of("not-onnx")).fails_with(&["precision=float16 cannot convert it", "Remove precision"]);
    // Without float32 weights there is nothing to convert.
    run(&pipeline_of("identity-f16-nchw")).succeeds();
}
