//! What gpunms makes of DetectNet_v2's coverage and boxes, against TAO's post-processing as tools/cudainfer_tools/reference/coverage.py has it.

use cudainfer_tests::{buffers, model};
use gstcudainfer::meta::object::objects;

/// Label, confidence and left, top, right, bottom in pixels of the frame.
type Found = (String, f32, [f64; 4]);

/// Edges are given in float32, of a frame of 400 pixels; the reference is in float64.
const TOLERANCE: f64 = 1e-3;

fn reference() -> Vec<Found> {
    let object = |line: &str| {
        let (label, numbers) = line.split_once(' ').unwrap();
        let numbers: Vec<f64> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        (label.to_owned(), numbers[0] as f32, numbers[1..].try_into().unwrap())
    };
    include_str!("coverage.txt").lines().map(object).collect()
}

/// What is found in each of three frames, of which two are in a batch; in every frame the same.
fn found(properties: &str) -> Vec<Found> {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=400,height=200 ! fusedpreproc \
         ! trtinfer model={} batch-size=2 ! gpunms confidence=0.4 iou=0.5 {properties} ! fakesink name=out",
        model("coverage")
    ));
    let all = frames.iter().map(|frame| {
        let found = objects(frame).into_iter().map(|object| {
            let detection = object.detection.unwrap();
            let rect = detection.rect;
            let sides = [rect.x, rect.y, rect.right(), rect.bottom()].map(f64::from);
            (object.label, detection.confidence, sides)
        });
        found.collect::<Vec<_>>()
    });
    let mut all: Vec<_> = all.collect();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|frame| *frame == all[0]), "{all:?}");
    all.remove(0)
}

#[test]
fn coverage_becomes_the_boxes_of_taos_post_processing() {
    let expected = reference();
    assert_eq!(expected.len(), 4);
    for properties in ["", "decoder=detectnet-v2"] {
        let found = found(properties);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((label, confidence, sides), (wanted, sure, edges)) in found.iter().zip(&expected) {
            assert_eq!(label, wanted);
            assert!((confidence - sure).abs() < 1e-6, "{label}: {confidence}, not {sure}");
            let near = sides.iter().zip(edges).all(|(side, edge)| (side - edge).abs() < TOLERANCE);
            assert!(near, "{label}: {sides:?}, not {edges:?}");
        }
    }
}

#[test]
fn a_cell_has_an_object_of_each_class_unless_its_best_class_is_asked_for() {
    let labels = |properties: &str| -> Vec<String> {
        found(properties).into_iter().map(|(label, ..)| label).collect()
    };
    assert_eq!(labels(""), ["person", "face", "person", "bag"]);
    // The cells of the face are the person's, who is the surer one there.
    assert_eq!(labels("multi-label=false"), ["person", "person", "bag"]);
    assert_eq!(labels("nms=none classes=face").len(), 2, "one for each cell: suppression is what leaves one");
}
