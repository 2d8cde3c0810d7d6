//! What gpunms makes of the outputs of detectors of faces and palms.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{buffers, model};
use gstcudainfer::meta::object::{Object, objects};

/// The faces in frames of twice the model's width of 64 pixels.
fn faces(name: &str, properties: &str) -> Vec<Vec<Object>> {
    let description = format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc \
         ! trtinfer model={} batch-size=2 ! gpunms {properties} ! fakesink name=out",
        model(name)
    );
    buffers(&description).iter().map(|frame| objects(frame)).collect()
}

/// Box, confidence and landmarks.
fn parts(face: &Object) -> (Rect, f32, Vec<[f64; 2]>) {
    let detection = face.detection.as_ref().unwrap();
    let points = face.keypoints.as_ref().unwrap();
    let points = points.x.iter().zip(&points.y).map(|(x, y)| [*x, *y]).collect();
    (detection.rect, detection.confidence, points)
}

#[test]
fn faces_of_scrfd_have_boxes_landmarks_and_a_name_without_a_sidecar() {
    for found in faces("scrfd", "") {
        assert_eq!(found.len(), 2, "the weaker one over the first is suppressed");
        assert!(found.iter().all(|face| face.label == "face"));
        // Cell 3, 2 of stride 8: sides of 1, 1.5, 1 and 2 cells around 24, 16, in a frame of twice the width.
        let (rect, confidence, points) = parts(&found[0]);
        assert_eq!((rect, confidence), (Rect { x: 32.0, y: 4.0, w: 32.0, h: 28.0 }, 0.875));
        assert_eq!(points, [[40.0, 12.0], [56.0, 12.0], [48.0, 16.0], [40.0, 24.0], [56.0, 24.0]]);
        // Cell 1, 1 of stride 32: half a cell to each side of 32, 32.
        let (rect, confidence, points) = parts(&found[1]);
        assert_eq!((rect, confidence), (Rect { x: 32.0, y: 16.0, w: 64.0, h: 32.0 }, 0.75));
        assert_eq!(points[2], [64.0, 32.0]);
    }
    assert!(faces("scrfd", "confidence=0.8 classes=face").iter().all(|found| found.len() == 1));
}

#[test]
fn faces_of_yunet_have_the_root_of_both_scores() {
    for found in faces("yunet", "") {
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].label, "Gesicht", "the sidecar's name comes first");
        // Cell 2, 1 of stride 16, its middle: 40, 24; a size of 16 x 16. Scores of 0.25 and 1.5, which counts as 1.
        let (rect, confidence, points) = parts(&found[0]);
        assert_eq!((rect, confidence), (Rect { x: 64.0, y: 16.0, w: 32.0, h: 16.0 }, 0.5));
        assert_eq!(points, [[64.0, 16.0], [96.0, 16.0], [80.0, 24.0], [64.0, 32.0], [96.0, 32.0]]);
    }
}

#[test]
fn faces_of_retinaface_are_counted_from_its_prior_boxes() {
    for found in faces("retinaface", "") {
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].label, "face");
        // The second prior box of the cell 2, 1 of stride 8: 32 x 32 around 20, 12. It moves by a quarter of its size, in a frame
        // of twice the width.
        let (rect, confidence, points) = parts(&found[0]);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-3;
        assert!(close(rect.x, 24.0) && close(rect.y, 4.0), "{rect:?}");
        assert!(close(rect.w, 64.0) && close(rect.h, 32.0), "{rect:?}");
        assert_eq!(confidence, 0.75);
        let wanted = [[40.0, 6.0], [72.0, 6.0], [40.0, 22.0], [72.0, 22.0], [56.0, 14.0]];
        for ([x, y], [wx, wy]) in points.into_iter().zip(wanted) {
            assert!((x - wx).abs() < 1e-3 && (y - wy).abs() < 1e-3, "{x} {y}, not {wx} {wy}");
        }
    }
}

#[test]
fn palms_of_mediapipe_have_boxes_and_points_around_their_anchors_without_a_sidecar() {
    for found in faces("palms", "") {
        assert_eq!(found.len(), 1, "the weaker one over it is suppressed");
        assert_eq!(found[0].label, "palm");
        // The cell 2, 1 of stride 16, whose centre is 40, 24; a size of 20 x 10, in a frame of twice the width.
        let (rect, confidence, points) = parts(&found[0]);
        assert_eq!(rect, Rect { x: 64.0, y: 16.0, w: 40.0, h: 10.0 });
        assert!((confidence - 0.880_797).abs() < 1e-6, "the sigmoid of 2: {confidence}");
        assert_eq!((points.len(), points[0], points[6]), (7, [80.0, 32.0], [80.0, 16.0]));
        assert_eq!(points[3], [82.0, 26.0]);
    }
}

#[test]
fn prior_boxes_are_given_by_the_sidecar() {
    let description = format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc ! trtinfer model={} \
         ! gpunms ! fakesink name=out",
        model("ssd")
    );
    for frame in buffers(&description) {
        let found = objects(&frame);
        let boxes: Vec<_> =
            found.iter().map(|o| (o.label.as_str(), o.detection.as_ref().unwrap().rect)).collect();
        // The wide prior box of the cell 1, 1 of stride 32: an aspect ratio of 4 makes 16 x 16 to 32 x 8, around 48, 48.
        assert_eq!(boxes, [("cat", Rect { x: 32.0, y: 44.0, w: 32.0, h: 8.0 })]);
    }
}
