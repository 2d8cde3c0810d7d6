//! What gpunms makes of the queries of transformers: DETR, RT-DETR and their relatives, in the forms in which libraries export
//! them.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{buffers, model, run, scratch};
use gstcudainfer::meta::object::objects;

/// Frames twice as wide as the input tensor.
fn pipeline_of(model: &str, properties: &str) -> String {
    format!(
        "videotestsrc num-buffers=2 pattern=black ! video/x-raw,format=RGB,width=128,height=64 \
         ! fusedpreproc ! trtinfer model={model} ! gpunms {properties} ! fakesink name=out"
    )
}

/// Label, confidence in hundreds and box of each frame's objects.
fn found(model: &str, properties: &str) -> Vec<Vec<(String, i32, Rect)>> {
    let of = |frame: &gst::Buffer| {
        let object = |o: &gstcudainfer::meta::object::Object| {
            let detection = o.detection.as_ref().unwrap();
            (o.label.clone(), (detection.confidence * 1000.0).round() as i32, detection.rect)
        };
        objects(frame).iter().map(object).collect()
    };
    buffers(&pipeline_of(model, properties)).iter().map(of).collect()
}

const FIRST: Rect = Rect { x: 60.0, y: 8.0, w: 60.0, h: 32.0 };
const SECOND: Rect = Rect { x: 8.0, y: 6.0, w: 32.0, h: 24.0 };

fn expected() -> Vec<(String, i32, Rect)> {
    vec![("c".into(), 750, SECOND), ("a".into(), 500, FIRST)]
}

/// With the weaker class of the first object.
fn with_both_classes() -> Vec<(String, i32, Rect)> {
    let mut all = expected();
    all.push(("c".into(), 375, FIRST));
    all
}

#[test]
fn every_librarys_queries_become_the_objects_that_its_own_code_finds() {
    for (name, expected) in [
        ("queries-softmax", expected()),
        ("queries-sigmoid", with_both_classes()),
        ("queries-rfdetr", with_both_classes()),
        ("queries-ultralytics", expected()),
        ("queries-ranked", expected()),
    ] {
        assert_eq!(found(&model(name), ""), [expected.clone(), expected], "{name}");
    }
}

#[test]
fn properties_override_what_the_decoder_suggests() {
    let sigmoid = model("queries-sigmoid");
    assert_eq!(found(&sigmoid, "multi-label=false")[0], expected());
    assert_eq!(found(&sigmoid, "top-k-after=2")[0], expected());
    assert_eq!(found(&sigmoid, "nms=class-agnostic")[0], expected());
    // Four queries give no more than four objects, though more classes pass the threshold.
    assert_eq!(found(&sigmoid, "confidence=0.05")[0].len(), 4);
    assert_eq!(found(&sigmoid, "confidence=0.05 top-k-after=5")[0].len(), 5);
}

#[test]
fn scores_that_nothing_explains_are_an_error_which_a_file_beside_the_model_prevents() {
    let name = "queries-untold";
    let error = "do not tell what makes the scores probabilities. Set activation in [output]";
    run(&pipeline_of(&model(name), "")).fails_with(&["logits:float32:1x4x4", error]);
    let misplaced = run(&pipeline_of(&model(name), "").replace("gpunms", "peakfind"));
    misplaced.fails_with(&["look like a detector's boxes. Put gpunms in place of peakfind"]);
    let folder = scratch(name);
    let path = folder.join("model.onnx");
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(folder.join("model.toml"), "[input]\nresize = \"stretch\"\n").unwrap();
    let configuration = r#"{"model_type": "detr", "architectures": ["DetrForObjectDetection"],
        "id2label": {"0": "a", "1": "b", "2": "c"}}"#;
    std::fs::write(folder.join("config.json"), configuration).unwrap();
    assert_eq!(found(&path.display().to_string(), "")[0], expected());
}
