//! What gpunms makes of lists of final boxes, in the forms in which libraries export them.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, model, run};
use gst::prelude::*;
use gstcudainfer::meta::object::objects;

fn pipeline_of(pattern: &str, name: &str) -> String {
    format!(
        "videotestsrc num-buffers=2 pattern={pattern} ! video/x-raw,format=RGB,width=128,height=64 \
         ! fusedpreproc ! trtinfer name=infer model={} ! gpunms name=find ! fakesink name=out",
        model(name)
    )
}

/// Label, confidence and box.
type Listed = (String, f64, Rect);

/// The objects of each frame, the outputs in the caps, and gpunms' stats.
fn found(pattern: &str, name: &str) -> (Vec<Vec<Listed>>, Vec<String>, gst::Structure) {
    let pipeline = TestPipeline::new(&pipeline_of(pattern, name));
    let seen = pipeline.collect("out");
    let caps = pipeline.element("find").static_pad("sink").unwrap();
    pipeline.play();
    pipeline.wait().succeeds();
    let caps = caps.current_caps().unwrap();
    let outputs = caps.structure(0).unwrap().get::<gst::ArrayRef>("tensor-outputs").unwrap();
    let outputs = outputs.iter().map(|v| v.get().unwrap()).collect();
    let stats = pipeline.element("find").property("stats");
    let of = |frame: &gst::Buffer| {
        let object = |o: &gstcudainfer::meta::object::Object| {
            let detection = o.detection.as_ref().unwrap();
            (o.label.clone(), f64::from(detection.confidence), detection.rect)
        };
        objects(frame).iter().map(object).collect()
    };
    let frames = seen.lock().unwrap().iter().map(of).collect();
    pipeline.stop();
    (frames, outputs, stats)
}

/// Both objects; the frame is twice as wide as the input tensor.
fn expected() -> Vec<Listed> {
    vec![
        ("c".into(), 0.75, Rect { x: 8.0, y: 6.0, w: 32.0, h: 24.0 }),
        ("a".into(), 0.5, Rect { x: 60.0, y: 8.0, w: 60.0, h: 32.0 }),
    ]
}

#[test]
fn every_librarys_lists_become_the_same_objects() {
    for name in [
        "lists-torchvision",
        "lists-unbatched",
        "lists-rtdetr",
        "lists-mmdeploy",
        "lists-tensorflow",
        "lists-efficient",
        "lists-paddle",
    ] {
        let (frames, _, stats) = found("black", name);
        assert_eq!(frames, [expected(), expected()], "{name}");
        assert_eq!(stats.get::<u64>("non-finite"), Ok(0), "{name}");
    }
}

#[test]
fn keypoints_beside_the_boxes_belong_to_the_objects_under_the_skeletons_names() {
    for (name, label, score) in [("lists-keypoint-rcnn", "person", 1.0), ("lists-rtmo", "0", 0.5)] {
        for frame in buffers(&pipeline_of("black", name)) {
            let found = objects(&frame);
            let rects: Vec<_> = found.iter().map(|o| o.detection.as_ref().unwrap().rect).collect();
            let [(_, _, left), (_, _, right)] = &expected()[..] else { unreachable!() };
            assert_eq!(rects, [*left, *right], "{name}");
            assert!(found.iter().all(|o| o.label == label), "{name}");
            for (object, [xs, ys]) in
                found.iter().zip([[[12.0, 36.0], [8.0, 28.0]], [[64.0, 116.0], [10.0, 38.0]]])
            {
                let points = object.keypoints.as_ref().unwrap();
                assert_eq!(points.names, ["head", "tail"]);
                assert_eq!((&points.x[..], &points.y[..]), (&xs[..], &ys[..]), "{name}");
                assert_eq!(points.score, [score, score], "{name}");
            }
        }
    }
}

#[test]
fn a_number_of_rows_that_the_picture_decides_is_open_in_the_caps_and_may_change() {
    for (pattern, count) in [("black", 1), ("white", 2)] {
        let (frames, outputs, _) = found(pattern, "lists-yolov7");
        assert_eq!(outputs, ["output:float32:?x7"]);
        assert_eq!(frames, [&expected()[..count], &expected()[..count]], "{pattern}");
    }
}

#[test]
fn every_class_of_an_anchor_becomes_an_object_if_the_sidecar_says_so_and_the_property_overrides_it() {
    for (property, expected) in
        [("", &["red", "blue"][..]), ("multi-label=true", &["red", "blue"]), ("multi-label=false", &["red"])]
    {
        let pipeline = pipeline_of("red", "two-labels").replace("gpunms", &format!("gpunms {property}"));
        for frame in buffers(&pipeline) {
            let found = objects(&frame);
            let labels: Vec<_> = found.iter().map(|o| o.label.as_str()).collect();
            assert_eq!(labels, expected, "{property}");
            let rects: Vec<_> = found.iter().map(|o| o.detection.as_ref().unwrap().rect).collect();
            assert!(rects.iter().all(|rect| *rect == rects[0]), "one box: {rects:?}");
        }
    }
    let refused = run(&pipeline_of("black", "lists-efficient").replace("gpunms", "gpunms multi-label=true"));
    refused.fails_with(&["'multi-label' does not apply to decoder detections"]);
}

#[test]
fn boxes_are_clipped_before_they_are_compared_if_the_sidecar_says_so_and_the_property_overrides_it() {
    let inside = Rect { x: 0.0, y: 16.0, w: 64.0, h: 32.0 };
    for (property, confidences) in
        [("", &[0.75][..]), ("clip-before-nms=true", &[0.75]), ("clip-before-nms=false", &[0.75, 0.5])]
    {
        let pipeline = pipeline_of("black", "beyond-frame")
            .replace("fusedpreproc", "fusedpreproc resize=stretch")
            .replace("gpunms", &format!("gpunms {property}"));
        let [frame, _] = &buffers(&pipeline)[..] else { panic!("two frames") };
        let found: Vec<_> = objects(frame).into_iter().filter_map(|o| o.detection).collect();
        assert!(found.iter().all(|d| d.rect == inside), "{property}: {found:?}");
        assert_eq!(found.iter().map(|d| d.confidence).collect::<Vec<_>>(), confidences, "{property}");
    }
    // Rows may be candidates, if that is said.
    let suppressed = "gpunms clip-before-nms=true nms=class-agnostic iou=0";
    let frames = buffers(&pipeline_of("white", "lists-yolov7").replace("gpunms", suppressed));
    assert_eq!(frames.iter().map(|frame| objects(frame).len()).collect::<Vec<_>>(), [2, 2]);
    let refused = run(&pipeline_of("black", "lists-yolov7").replace("gpunms", "gpunms clip-before-nms=true"));
    refused.fails_with(&[
        "'clip-before-nms' does not apply to decoder end-to-end, whose boxes are suppressed already: drop it",
    ]);
}

#[test]
fn a_number_of_boxes_that_cannot_be_is_counted_and_warned_about() {
    let (frames, _, stats) = found("black", "lists-efficient-negative");
    assert!(frames.iter().all(Vec::is_empty) && frames.len() == 2);
    assert_eq!(stats.get::<u64>("non-finite"), Ok(2));
    let report = run(&pipeline_of("black", "lists-efficient-negative"));
    assert!(report.warnings.iter().any(|w| w.contains("number of boxes that cannot be")), "{report:?}");
}

#[test]
fn rows_whose_order_nothing_tells_are_refused_with_the_orders_there_are() {
    run(&pipeline_of("black", "rows-of-six")).fails_with(&[
        "o:float32:3x6",
        "do not tell their order",
        "row-format",
        "\"class-score-box\" for PaddleDetection",
    ]);
}
