//! Tensors, labels and neighbours that segmask cannot make masks of or with.

use cudainfer_tests::{Report, TestPipeline, model, run};
use gst::prelude::*;

const SOURCE: &str = "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc";

fn with(name: &str, properties: &str) -> Report {
    run(&format!("{SOURCE} ! trtinfer model={} ! segmask {properties} ! fakesink", model(name)))
}

#[test]
fn elements_that_are_missing_before_it_are_named() {
    run("videotestsrc num-buffers=3 ! segmask ! fakesink")
        .fails_with(&["without tensors", "Put fusedpreproc and trtinfer before"]);
    run(&format!("{SOURCE} ! segmask ! fakesink"))
        .fails_with(&["a network's input but not its outputs", "Put trtinfer before"]);
    for output in ["alpha", "gray"] {
        run(&format!("videotestsrc num-buffers=3 ! videoconvert ! segmask output={output} ! fakesink"))
            .fails_with(&["without tensors"]);
    }
    with("masks-colours", "mode=instances").fails_with(&["mode=instances needs gpunms", "logits:float32"]);
}

#[test]
fn a_tensor_that_is_no_image_is_named() {
    with("two-inputs", "").fails_with(&["several outputs", "Set tensor to the one"]);
    with("two-inputs", "tensor=mean").fails_with(&["mean:float32:1x3"]);
    with("two-inputs", "tensor=size_again").fails_with(&["size_again", "must have the dimensions"]);
    with("masks-colours", "tensor=classes").fails_with(&["no output 'classes'", "logits:float32:1x3x16x24"]);
}

#[test]
fn a_detectors_boxes_are_not_taken_for_a_mask() {
    run(&format!(
        "videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer model={} ! segmask ! fakesink",
        model("detector")
    ))
    .fails_with(&[
        "detections:float32:1x6x84 look like a detector's boxes",
        "Put gpunms in place of segmask",
    ]);
}

#[test]
fn parameters_that_the_tensor_cannot_meet_are_named() {
    with("masks-colours", "mode=threshold").fails_with(&["3 channels", "set channel to the one"]);
    with("masks-colours", "mode=soft channel=3").fails_with(&["channel 3", "3 channels"]);
    with("mask-red", "mode=argmax").fails_with(&["1 channels", "threshold"]);
    with("mask-red", "activation=softmax").fails_with(&["softmax", "sigmoid"]);
}

#[test]
fn labels_of_another_number_than_the_classes_are_warned_of_and_none_are_fine() {
    let report = with("masks-few-labels", "").succeeds();
    let warned = report.warnings.iter().filter(|w| w.contains("2 labels") && w.contains("3 classes")).count();
    assert_eq!(warned, 1, "{report:?}");
    let report = with("identity-f32-nchw", "").succeeds();
    assert!(!report.warnings.iter().any(|w| w.contains("labels")), "{report:?}");
}

#[test]
fn nan_and_infinity_are_counted_and_said_once() {
    let pipeline = TestPipeline::new(&format!(
        "{SOURCE} ! trtinfer model={} ! segmask name=find ! fakesink name=out",
        model("masks-not-finite")
    ));
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let stats = pipeline.element("find").property::<gst::Structure>("stats");
    assert_eq!((stats.get::<u64>("non-finite"), stats.get::<u64>("masks")), (Ok(6), Ok(3)));
    let said = report.warnings.iter().filter(|w| w.contains("NaN or infinity")).count();
    assert_eq!(said, 1, "{report:?}");
}

#[test]
fn frames_that_become_the_mask_are_not_taken_for_pictures() {
    for (output, format) in [("gray", "RGB"), ("alpha", "RGB"), ("alpha", "I420")] {
        cudainfer_tests::init();
        let pipeline = format!(
            "{SOURCE} ! trtinfer model={} ! segmask output={output} ! video/x-raw,format={format} ! fakesink",
            model("masks-colours")
        );
        let error = gst::parse::launch(&pipeline).expect_err(&pipeline);
        assert!(error.message().contains("segmask"), "{output} {format}: {error}");
    }
}

#[test]
fn a_background_that_is_no_class_is_refused_with_the_sidecar() {
    let folder = cudainfer_tests::scratch("background");
    std::fs::copy(model("masks-colours"), folder.join("model.onnx")).unwrap();
    for (text, parts) in [
        ("background = 256", &["segment.background", "-1 for none"][..]),
        ("mode = \"largest\"", &["'largest' is none of", "argmax, threshold, soft, instances"]),
        ("background = \"none\"", &["model.toml", "background"]),
    ] {
        std::fs::write(folder.join("model.toml"), format!("[segment]\n{text}\n")).unwrap();
        run(&format!(
            "{SOURCE} ! trtinfer model={} ! segmask ! fakesink",
            folder.join("model.onnx").display()
        ))
        .fails_with(parts);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
