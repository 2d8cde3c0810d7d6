//! Models that give keypoints without confidence maps, and the refinements of pose libraries, in whole pipelines.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, objects};

/// What the first frame, of 320x240 pixels, has.
fn found(pattern: &str, model: &str, properties: &str) -> Vec<Object> {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 pattern={pattern} ! video/x-raw,width=320,height=240 ! videoconvert ! video/x-raw,format=RGB \
         ! fusedpreproc ! trtinfer model={model} ! peakfind {properties} ! fakesink name=out"
    ));
    assert_eq!(frames.len(), 2);
    objects(&frames[0])
}

fn points(objects: &[Object]) -> KeypointsParam {
    let [object] = objects else { panic!("{objects:?}") };
    object.keypoints.clone().unwrap()
}

/// Positions and scores, to float32's precision.
fn assert_points(points: &KeypointsParam, wanted: &[(f64, f64, f64)]) {
    assert_eq!(points.x.len(), wanted.len(), "{points:?}");
    for (i, (x, y, score)) in wanted.iter().enumerate() {
        let off = [points.x[i] - x, points.y[i] - y, points.score[i] - score].map(f64::abs);
        assert!(off[0] < 1e-3 && off[1] < 1e-3 && off[2] < 1e-5, "point {i}: {points:?}, not {wanted:?}");
    }
}

/// Cells 40 and 100 of two a pixel are the pixels 20 and 50, whose centres are at 20.5 and 50.5, and a pixel of the input is
/// 5 of the frame wide and 2.5 high. The lesser of both maxima is the score.
const SIMCC: [(f64, f64, f64); 2] = [(102.5, 126.25, 0.7), (255.0, 40.0, 0.6)];

#[test]
fn simcc_outputs_are_recognised_by_their_names_or_shapes_in_any_order() {
    for name in ["simcc", "simcc-unnamed"] {
        let points = points(&found("white", &model(name), ""));
        assert_points(&points, &SIMCC);
        assert_eq!(
            (&points.names[..], &points.edges[..]),
            (&["nose".into(), "tail".into()][..], &[[0, 1]][..])
        );
    }
    let each = found("white", &model("simcc"), "grouping=each threshold=0.65");
    assert_eq!(each.len(), 1);
    assert_eq!(each[0].label, "nose");
}

#[test]
fn simcc_outputs_of_a_square_input_are_taken_in_order_or_as_the_sidecar_names_them() {
    let at = |pixel: f64, of_frame: f64| (pixel + 0.5) * of_frame / 64.0;
    let taken = points(&found("white", &model("simcc-square"), ""));
    assert_points(
        &taken,
        &[(at(20.0, 320.0), at(10.0, 240.0), 0.9), (at(50.5, 320.0), at(15.5, 240.0), 0.6)],
    );
    let folder = scratch("square");
    std::fs::copy(model("simcc-square"), folder.join("model.onnx")).unwrap();
    let sidecar = "[input]\nresize = \"stretch\"\n[peaks]\nsimcc-x = \"second\"";
    std::fs::write(folder.join("model.toml"), sidecar).unwrap();
    let named = points(&found("white", folder.join("model.onnx").to_str().unwrap(), ""));
    assert_points(
        &named,
        &[(at(10.0, 320.0), at(20.0, 240.0), 0.9), (at(15.5, 320.0), at(50.5, 240.0), 0.6)],
    );
}

#[test]
fn simcc_points_of_regions_belong_to_their_objects() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 ! video/x-raw,width=320,height=240 ! identity name=made \
         ! fusedpreproc roi=objects ! trtinfer model={} batch-size=4 ! peakfind ! fakesink name=out",
        model("simcc")
    ));
    let rects = [10.0, 200.0].map(|x| Rect { x, y: 20.0, w: 64.0, h: 96.0 });
    pipeline.element("made").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                for (id, rect) in (0..).zip(&rects) {
                    let detection = Some(DetectionParam { rect: *rect, confidence: 0.9, label_id: 0 });
                    Object { id, detection, ..Object::default() }.put(buffer.make_mut(), rect);
                }
            }
            gst::PadProbeReturn::Ok
        },
    );
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = seen.lock().unwrap();
    assert_eq!(frames.len(), 3);
    for frame in frames.iter() {
        let objects = objects(frame);
        assert_eq!(objects.len(), 2);
        for (object, rect) in objects.iter().zip(&rects) {
            // The region is as large as the input.
            let (x, y) = (f64::from(rect.x), f64::from(rect.y));
            let wanted = [(x + 20.5, y + 50.5, 0.7), (x + 51.0, y + 16.0, 0.6)];
            assert_points(object.keypoints.as_ref().unwrap(), &wanted);
        }
    }
}

#[test]
fn movenets_integer_inputs_hold_pixel_values_and_its_points_are_y_first() {
    for name in ["movenet", "movenet-uint8"] {
        let all = points(&found("white", &model(name), ""));
        // x is 0.5 of 320, y is 0.25 of 240; the scores are the mean red, green and blue over 255.
        assert_points(&all, &[(160.0, 60.0, 1.0), (240.0, 30.0, 1.0), (0.0, 240.0, 1.0)]);
        let red = points(&found("red", &model(name), ""));
        assert_points(&red, &[(160.0, 60.0, 1.0)]);
    }
}

#[test]
fn movenets_people_are_objects_with_boxes_and_points() {
    let people = found("white", &model("movenet-people"), "");
    let [first, second] = &people[..] else { panic!("{people:?}") };
    for (person, half, score) in [(first, 0.5, 0.9), (second, 1.0, 0.8)] {
        assert_eq!((person.label.as_str(), person.id), ("person", if half == 1.0 { 1 } else { 0 }));
        let detection = person.detection.as_ref().unwrap();
        assert!((detection.confidence - score).abs() < 1e-6);
        // ymin 0.25, xmin 0.125, ymax 1, xmax 0.625 of 320x240; the other person has half of each number.
        let rect = [detection.rect.x, detection.rect.y, detection.rect.w, detection.rect.h];
        for (got, wanted) in rect.into_iter().zip([40.0, 60.0, 160.0, 180.0]) {
            assert!((got - half * wanted).abs() < 1e-3, "{rect:?}");
        }
        // The tail's score, 0.1 or half of it, is below the threshold.
        let half = f64::from(half);
        assert_points(person.keypoints.as_ref().unwrap(), &[(half * 80.0, half * 120.0, half * 0.9)]);
    }
    assert_eq!(found("white", &model("movenet-people"), "min-score=0.05").len(), 3);
    assert_eq!(found("white", &model("movenet-people-17"), ""), [], "all scores are 0");
}

#[test]
fn regressed_points_may_be_in_pixels() {
    let points = points(&found("white", &model("regressed"), ""));
    assert_points(&points, &[(80.0, 60.0, 1.0), (240.0, 30.0, 1.0)]);
}

/// A copy of a model with another sidecar, whose frames fill the input.
fn with_sidecar(name: &str, sidecar: &str) -> String {
    let path = scratch(&format!("{name}-otherwise")).join("model.onnx");
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(path.with_extension("toml"), format!("[input]\nresize = \"stretch\"\n{sidecar}")).unwrap();
    path.display().to_string()
}

#[test]
fn mediapipes_hand_has_depths_and_is_there_if_its_presence_says_so() {
    let hand = points(&found("white", &model("hand"), ""));
    assert_eq!((hand.names.len(), hand.pose_score), (21, Some(0.875)));
    // The point i is pixel i, 2i of 64x96, which is a fifth and two fifths of the frame's width and height; z is -i pixels across.
    let place = |i: usize| (hand.x[i], hand.y[i], hand.z[i], hand.score[i]);
    assert_eq!((place(0), place(20)), ((0.0, 0.0, 0.0, 1.0), (100.0, 100.0, -100.0, 1.0)));
    assert_eq!(found("white", &model("hand"), "min-score=0.9"), [], "0.875 is too little");
    let reading = "hand-rows";
    assert_eq!(found("white", &model(reading), ""), [], "the third numbers are taken for scores");
    let sidecar = "[peaks]\nnormalized = false\npoint-format = \"xyz\"";
    assert_eq!(points(&found("white", &with_sidecar(reading, sidecar), "")).z[20], -100.0);
}

#[test]
fn landmarks_from_minus_1_to_1_in_one_dimension_are_points() {
    let face = points(&found("white", &model("landmarks"), ""));
    assert_eq!(face.x.len(), 16);
    // (1 - 0.5) / 2 of 320 and (1 - 0.75) / 2 of 240; three quarters of both.
    assert_eq!((face.x[0], face.y[0], face.x[15], face.y[15]), (80.0, 30.0, 240.0, 180.0));
    assert!(face.z.is_empty(), "{face:?}");
    let names: Vec<String> = (0..16).map(|i| format!("\"p{i}\"")).collect();
    let sidecar = format!("[peaks]\ncoordinate-range = [-1, 1]\n[skeleton]\npoints = [{}]", names.join(", "));
    let named = points(&found("white", &with_sidecar("landmarks", &sidecar), ""));
    assert_eq!((named.names[15].as_str(), named.x), ("p15", face.x));
}

#[test]
fn several_objects_points_with_scores_are_recognised_by_the_skeleton() {
    let people = found("white", &model("people-scored"), "");
    let [first, second] = &people[..] else { panic!("{people:?}") };
    assert_points(first.keypoints.as_ref().unwrap(), &[(240.0, 60.0, 1.0)]);
    assert_points(second.keypoints.as_ref().unwrap(), &[(80.0, 120.0, 0.5), (160.0, 120.0, 0.75)]);
}

#[test]
fn points_of_a_crowd_are_detections_of_no_size_whose_scores_exclude_nothing() {
    let heads = found("white", &model("crowd"), "");
    let of = |object: &Object| object.detection.clone().map(|d| (d.rect, d.confidence)).unwrap();
    let [first, second] = &heads[..] else { panic!("{heads:?}") };
    // Pixels of 64x96 are 5 and 2.5 of the frame's; the softmax over two is the sigmoid of their difference: 2, and a half.
    for (head, x, y, score) in [(first, 40.0, 10.0, 0.880_797), (second, 160.0, 180.0, 0.622_459)] {
        let (rect, confidence) = of(head);
        assert_eq!(rect, Rect { x, y, w: 0.0, h: 0.0 });
        assert!((confidence - score).abs() < 1e-6, "{confidence}");
    }
    run(&format!(
        "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={} ! peakfind ! fakesink",
        with_sidecar(
            "hand",
            "[peaks]\nencoding = \"points\"\noutput = \"landmarks\"\npoint-format = \"xyz\"\nnormalized = false\n\
             pose-scores = \"presence\"\npose-activation = \"softmax\""
        )
    ))
    .fails_with(&["pose-activation = \"softmax\"", "'presence", "has one", "sigmoid or none"]);
}

/// The values of tools/cudainfer_tools/reference/refinement.py, "on the input" of 192x256 pixels, half a pixel further.
#[test]
fn maps_of_unbiased_data_processing_are_decoded_as_by_the_numpy_reference() {
    let points = points(&found("white", &model("heat-maps-udp"), ""));
    for (i, (x, y)) in [(83.9359, 127.2510), (46.7510, 159.8944)].into_iter().enumerate() {
        let off = [points.x[i] * 192.0 / 320.0 - 0.5 - x, points.y[i] * 256.0 / 240.0 - 0.5 - y];
        assert!(off[0].abs() < 0.01 && off[1].abs() < 0.01, "{off:?}");
    }
}

#[test]
fn points_of_interest_are_one_object_or_each_is_one() {
    let points = |properties: &str| {
        let square = "video/x-raw,format=RGB,width=128,height=128";
        super::found(&model("superpoint"), square, properties).remove(0)
    };
    let [one] = &points("")[..] else { panic!("{:?}", points("")) };
    let one = one.keypoints.clone().unwrap();
    // The first cell has a second, weaker point; 62 or 63 other pixels have logits of 0.
    let [all, both] = [10f64, 8.0].map(|logit| logit.exp() + 8f64.exp());
    let scores = [10f64.exp() / (all + 9f64.exp() + 62.0), 8f64.exp() / (both + 63.0)];
    // A pixel's centre, of a frame that is twice as large as the input.
    assert_points(&one, &[(41.0, 25.0, scores[0]), (101.0, 81.0, scores[1])]);
    let each = points("grouping=each threshold=0.5");
    let [first] = &each[..] else { panic!("{each:?}") };
    let DetectionParam { rect, confidence, .. } = first.detection.as_ref().unwrap();
    assert_eq!(*rect, Rect { x: 41.0, y: 25.0, w: 0.0, h: 0.0 });
    assert!((f64::from(*confidence) - scores[0]).abs() < 1e-5);
    assert_eq!(points("max-peaks=1")[0].keypoints.as_ref().unwrap().x, [41.0]);
    run(&format!(
        "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} ! peakfind encoding=cells output=desc ! fakesink",
        model("superpoint")
    ))
    .fails_with(&["'desc:float32:1x256x8x8' must have the dimensions 1x65xH/8xW/8", "64x64 input"]);
}

#[test]
fn what_does_not_fit_together_is_said() {
    let pipeline_of = |model: &str, properties: &str| {
        run(&format!(
            "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={model} ! peakfind {properties} ! fakesink"
        ))
    };
    let refused = |name: &str, properties: &str, parts: &[&str]| {
        pipeline_of(&model(name), properties).fails_with(parts);
    };
    refused("simcc-differ", "", &["peakfind", "2 and 3 points", "simcc-x and simcc-y"]);
    refused("simcc-uneven", "", &["split the pixels of the 64x96 input into 2.0000 and 2.0833 cells"]);
    refused("simcc-three", "", &["skeleton in the model's sidecar has 2 points", "'simcc_x' gives 3"]);
    refused("movenet-people-17", "encoding=points", &["output_0", "1xKx3"]);
    refused("movenet-people", "grouping=each", &["grouping=each does not go with encoding=instances"]);
    refused("simcc", "encoding=points", &["several outputs", "the one with the coordinates"]);
    refused("heat-maps", "encoding=simcc", &["simcc-x and simcc-y", "heat:float32"]);
    refused("landmarks", "encoding=poses", &["1xNxKxV or 1xNxV"]);
    let refused_with = |name: &str, sidecar: &str, parts: &[&str]| {
        pipeline_of(&with_sidecar(name, sidecar), "").fails_with(parts);
    };
    refused_with("landmarks", "", &["32 numbers", "nothing says how many points", "point-format in [peaks]"]);
    let seven = "[skeleton]\npoints = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]";
    refused_with("landmarks", seven, &["32 numbers of output", "7 points that are named"]);
    let both = "[peaks]\ncoordinate-range = [-1, 1]\nnormalized = true";
    refused_with("landmarks", both, &["coordinate-range", "leave out normalized"]);
    for range in ["[1, 1]", "[1, -1]"] {
        let sidecar = format!("[peaks]\ncoordinate-range = {range}");
        refused_with("landmarks", &sidecar, &[&format!("is {range}"), "the lesser of two numbers"]);
    }
    refused_with("landmarks", "[peaks]\npoint-format = \"xyz\"", &["3 numbers for each point"]);
    let folder = scratch("blur");
    std::fs::copy(model("heat-maps"), folder.join("model.onnx")).unwrap();
    std::fs::write(folder.join("model.toml"), "[peaks]\nblur-kernel = 10").unwrap();
    let path = folder.join("model.onnx");
    pipeline_of(path.to_str().unwrap(), "").fails_with(&["model.toml", "blur-kernel", "odd number"]);
    std::fs::write(folder.join("model.toml"), "[peaks]\nblur-sigma = 0").unwrap();
    pipeline_of(path.to_str().unwrap(), "").fails_with(&["model.toml", "blur-sigma", "from 0.1 to 16"]);
    std::fs::write(folder.join("model.toml"), "[peaks]\nblur-border = \"wrap\"").unwrap();
    pipeline_of(path.to_str().unwrap(), "").fails_with(&["model.toml", "blur-border", "zero", "reflect"]);
}
