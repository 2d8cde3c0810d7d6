//! What sleap-nn exports, without a sidecar.

use cudainfer_tests::{model, run, scratch};
use gstcudainfer::meta::object::Object;

/// The objects of frames of this size.
fn found(model: &str, [width, height]: [u32; 2], downstream: &str) -> Vec<Vec<Object>> {
    super::found(model, &format!("video/x-raw,format=GRAY8,width={width},height={height}"), downstream)
}

/// Names and places of an object's points.
fn points(object: &Object) -> Vec<(String, f64, f64)> {
    let points = object.keypoints.clone().unwrap();
    points.names.into_iter().zip(points.x).zip(points.y).map(|((name, x), y)| (name, x, y)).collect()
}

fn at(name: &str, x: f64, y: f64) -> (String, f64, f64) {
    (name.to_owned(), x, y)
}

#[test]
fn frames_keep_their_size_and_are_padded_at_the_right_and_bottom() {
    // The model's second point is the last pixel that it sees: the backbone's max_stride is 16.
    for (size, last) in [([64, 48], [63.5, 47.5]), ([50, 33], [63.5, 47.5]), ([16, 16], [15.5, 15.5])] {
        for frame in found(&model("sleap-single"), size, "") {
            let [one] = &frame[..] else { panic!("{frame:?}") };
            // The first pixel's centre is 0 there, and 0.5 here; a point of NaN is absent.
            assert_eq!(points(one), [at("head", 10.5, 20.5), at("thorax", last[0], last[1])], "{size:?}");
            assert_eq!(one.keypoints.as_ref().unwrap().edges, [[0, 1]]);
        }
    }
}

#[test]
fn frames_that_are_larger_than_a_tensor_that_keeps_their_size_are_warned_about() {
    let pipeline = |size: &str| {
        run(&format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=64,height=48 ! fusedpreproc {size} ! trtinfer model={} \
             ! peakfind ! fakesink",
            model("sleap-single")
        ))
        .succeeds()
    };
    let report = pipeline("width=64 height=32");
    assert!(
        report.warnings.iter().any(|text| text.contains("of 64x48 pixels the tensor of 64x32 shows")),
        "{report:?}"
    );
    assert!(!pipeline("").warnings.iter().any(|text| text.contains("resize=pad")));
}

#[test]
fn points_above_the_peak_threshold_of_the_export_are_found() {
    // 0.2, not peakfind's own 0.3: the second point has 0.25.
    assert_eq!(points(&found(&model("sleap-single"), [64, 48], "")[0][0]).len(), 2);
    assert_eq!(points(&found(&model("sleap-single"), [64, 48], "threshold=0.5")[0][0]).len(), 1);
}

#[test]
fn a_centroid_is_an_object_whose_crop_the_second_model_sees() {
    let second = format!("! fusedpreproc roi=objects ! trtinfer model={} ! peakfind", model("sleap-crop"));
    for frame in found(&model("sleap-centroid"), [64, 48], &second) {
        let [first, second] = &frame[..] else { panic!("{frame:?}") };
        for (object, [x, y], confidence) in [(first, [16.5, 20.5], 0.75), (second, [40.5, 24.5], 0.5)] {
            assert_eq!(object.label, "centroid");
            assert_eq!(object.detection.as_ref().unwrap().confidence, confidence);
            // In the middle of a crop of 16 pixels, whose pixels' centres are counted, and 4.5 pixels to the left of it.
            assert_eq!(points(object), [at("head", x, y), at("thorax", x - 4.5, y)]);
        }
    }
}

#[test]
fn both_networks_in_one_file_are_poses_in_places_of_which_some_are_empty() {
    for frame in found(&model("sleap-topdown"), [64, 48], "") {
        let [first, second] = &frame[..] else { panic!("{frame:?}") };
        let best = [at("head", 40.5, 24.5), at("thorax", 42.5, 24.5), at("tail", 44.5, 24.5)];
        assert_eq!(points(first), best, "the one with the greater centroid_vals");
        assert_eq!(points(second), [at("head", 16.5, 20.5), at("thorax", 18.5, 20.5)]);
    }
}

#[test]
fn peaks_of_a_bottom_up_model_are_joined_and_are_pixels_of_the_scaled_picture() {
    for frame in found(&model("sleap-bottom-up"), [64, 64], "") {
        let [first, second] = &frame[..] else { panic!("{frame:?}") };
        assert_eq!(points(first), [at("head", 8.5, 8.5), at("thorax", 28.5, 28.5), at("tail", 48.5, 48.5)]);
        assert_eq!(points(second), [at("head", 8.5, 48.5), at("thorax", 28.5, 20.5)]);
        assert_eq!(first.label, "pose");
    }
    assert_eq!(found(&model("sleap-bottom-up"), [64, 64], "min-points=3")[0].len(), 1);
}

/// Names, numbers and probabilities in hundredths of the individuals.
fn individuals(objects: &[Object]) -> Vec<(String, u64, i32)> {
    let individual = |object: &Object| {
        let track = object.tracking.clone().unwrap();
        let class = &object.classifications[0];
        assert_eq!(
            (&class.labels[0], u64::from(class.label_ids[0]) + 1),
            (track.name.as_ref().unwrap(), track.id)
        );
        (track.name.unwrap(), track.id, (class.confidence[0] * 100.0).round() as i32)
    };
    objects.iter().map(individual).collect()
}

#[test]
fn individuals_that_a_model_tells_apart_are_identities_and_no_two_are_the_same() {
    let who = |name: &str, id, probability| (name.to_owned(), id, probability);
    for frame in found(&model("sleap-multi-topdown"), [64, 48], "") {
        // Both look like the male, the second more surely.
        assert_eq!(individuals(&frame), [who("female", 1, 27), who("male", 2, 95)]);
        assert_eq!(points(&frame[0]), [at("head", 16.5, 20.5), at("thorax", 18.5, 20.5)]);
    }
    for frame in found(&model("sleap-multi-bottom-up"), [64, 64], "") {
        assert_eq!(individuals(&frame), [who("female", 1, 80), who("male", 2, 75)]);
        // A thorax whose likeliest individual has another one is nobody's. These points are pixels of the frame.
        assert_eq!(points(&frame[0]), [at("head", 8.5, 8.5), at("tail", 48.5, 48.5)]);
        assert_eq!(points(&frame[1]), [at("head", 8.5, 48.5), at("thorax", 28.5, 20.5)]);
    }
    // Of crops, the whole frame decides. The bars of the test picture are bright on the left.
    let second =
        format!("! fusedpreproc roi=objects ! trtinfer model={} ! peakfind", model("sleap-multi-crop"));
    for frame in found(&model("sleap-centroid"), [64, 48], &second) {
        let names: Vec<_> = individuals(&frame).into_iter().map(|(name, id, _)| (name, id)).collect();
        assert_eq!(names, [("female".to_owned(), 1), ("male".to_owned(), 2)]);
        assert_eq!(points(&frame[0]).len(), 2);
    }
}

#[test]
fn the_folder_that_an_export_writes_is_a_model_and_another_folder_is_none() {
    let folder = scratch("export");
    let path = folder.display();
    run(&format!("videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={path} ! peakfind ! fakesink"))
        .fails_with(&["the model file", "cannot be read", "Set model to an ONNX file"]);
    std::fs::copy(model("sleap-single"), folder.join("model.onnx")).unwrap();
    let frames = found(&folder.display().to_string(), [64, 48], "");
    assert_eq!(points(&frames[0][0]).len(), 2);
}

#[test]
fn a_type_that_is_not_read_is_named_with_those_that_are() {
    let model = model("sleap-embedding");
    run(&format!("videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={model} ! peakfind ! fakesink"))
        .fails_with(&["'embedding'", "bottomup are read"]);
}
