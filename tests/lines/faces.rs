//! What gpunms makes of the outputs of face detectors, which come once for each stride.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{buffers, model};
use gstcudainfer::meta::object::{Object, objects};

/// The faces in frames of twice the model's width of 64 pixels.
fn faces(name: &str, properties: &str) -> Vec<Vec<Object>> {
    let line = format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc \
         ! trtinfer model={} batch-size=2 ! gpunms {properties} ! fakesink name=out",
        model(name)
    );
    buffers(&line).iter().map(objects).collect()
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
