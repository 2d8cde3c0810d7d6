//! The decoders of examples/decoder, which docs/your-own-decoder.md explains.

mod faults;
mod python;

use std::sync::Once;

use cudainfer_tests::{TestPipeline, init, model, scratch};
use gst_video::VideoRegionOfInterestMeta;
use gstcudainfer::meta::object::{Object, objects};
use gstcudainfer::meta::tensor::TensorSet;
use serde_json::Value;

/// What must be found in frames of 128x64, by the formulas of section 2 of "YOLO9000: Better, Faster, Stronger" in float64:
/// label, number of the label, and left, top, width and height. The sidecar stretches the frame to the tensor; center-crop
/// takes its middle. The anchors and the network's numbers are in `region_head` of tools/cudainfer_tools/test_models.
const PERSON: (&str, u32, [f64; 4]) = ("person", 14, [82.875_697_6, 7.155_804_9, 41.923_399_2, 25.525_787_4]);
const PERSON_OF_CROP: (&str, u32, [f64; 4]) =
    ("person", 14, [73.437_848_8, 7.155_804_9, 20.961_699_6, 25.525_787_4]);
/// The car begins outside of the frame, and ends below it.
const CAR: (&str, u32, [f64; 4]) = ("car", 6, [0.0, 40.447_838, 64.551_545_7, 23.552_162]);
const CAR_OF_CROP: (&str, u32, [f64; 4]) = ("car", 6, [16.936_478_1, 40.447_838, 47.339_294_8, 23.552_162]);

/// The confidence of all of them: `sigmoid(4) * exp(6) / (exp(6) + 19)`.
const CONFIDENCE: f64 = 0.937_844_779;

type Wanted = [(&'static str, u32, [f64; 4])];

/// Frames of one colour, the preprocessing, and what must be found, in any order.
const SCENES: [(&str, &str, &Wanted); 5] = [
    ("0xffff0000", "", &[PERSON]),
    ("0xffff0000", "resize=center-crop", &[PERSON_OF_CROP]),
    ("0xffff00ff", "", &[CAR, PERSON]),
    ("0xffff00ff", "resize=center-crop", &[CAR_OF_CROP, PERSON_OF_CROP]),
    ("0xff00ff00", "", &[]),
];

/// A pipeline of `frames` frames of 128x64 and a colour, up to the decoder's place.
fn before(frames: u32, color: &str, preproc: &str, infer: &str) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=solid-color foreground-color={color} \
         ! video/x-raw,format=RGB,width=128,height=64 ! fusedpreproc {preproc} ! trtinfer {infer} model={}",
        model("yolov2")
    )
}

/// Registers the decoders in Rust and in C in this process.
fn register() {
    static ONCE: Once = Once::new();
    init();
    ONCE.call_once(|| {
        yolov2::register(None).unwrap();
        cudainfer_tests::load_c_decoder();
    });
}

/// The object must be one of those wanted.
#[track_caller]
fn assert_found(object: &Object, wanted: &Wanted) {
    let found = object.detection.as_ref().unwrap();
    let (_, number, rect) = wanted.iter().find(|(label, ..)| *label == object.label).unwrap();
    assert_eq!(found.label_id, *number);
    let edges = [found.rect.x, found.rect.y, found.rect.w, found.rect.h].map(f64::from);
    // Exponentials and sums of float32, in pixels of some tens.
    for (edge, wanted) in edges.into_iter().zip(rect) {
        assert!((edge - wanted).abs() < 1e-4, "{edges:?} is not {rect:?}");
    }
    assert!((f64::from(found.confidence) - CONFIDENCE).abs() < 1e-6, "{found:?}");
}

#[test]
fn decoders_in_rust_and_in_c_find_what_the_paper_says_and_the_elements_downstream_use_it() {
    register();
    for decoder in ["yolov2rs", "yolov2c"] {
        for (color, preproc, wanted) in SCENES {
            let file = scratch("published").join("found.jsonl");
            let pipeline = TestPipeline::new(&format!(
                "{} ! {decoder} ! tracker ! inferoverlay ! inferpublish location={} ! fakesink name=out",
                before(2, color, preproc, ""),
                file.display()
            ));
            let frames = pipeline.collect("out");
            pipeline.play();
            pipeline.wait().succeeds();
            let frames = std::mem::take(&mut *frames.lock().unwrap());
            assert_eq!(frames.len(), 2);
            for frame in &frames {
                assert!(TensorSet::of(frame).is_none(), "{decoder}: the tensors are still there");
                let found = objects(frame);
                assert_eq!(found.len(), wanted.len(), "{decoder}, {color}: {found:?}");
                for (number, object) in (0..).zip(&found) {
                    assert_eq!(object.id, number);
                    assert!(object.tracking.as_ref().is_some_and(|track| track.id > 0), "{decoder}");
                    assert_found(object, wanted);
                }
                for meta in frame.iter_meta::<VideoRegionOfInterestMeta>() {
                    let (_, _, [x, y, w, h]) = wanted.iter().find(|w| w.0 == meta.roi_type()).unwrap();
                    let edges = [*x, *y, x + w, y + h].map(|edge| edge.round() as u32);
                    let (left, top, width, height) = meta.rect();
                    assert_eq!([left, top, left + width, top + height], edges, "{decoder}");
                }
            }
            // inferoverlay has drawn boxes on a frame that was of one colour.
            let pixels = frames[1].map_readable().unwrap();
            let (first, _) = pixels.as_chunks::<3>();
            assert_eq!(
                first.iter().any(|pixel| *pixel != first[64]),
                !wanted.is_empty(),
                "{decoder}, {color}"
            );
            assert_published(&std::fs::read_to_string(file).unwrap(), wanted);
        }
    }
}

/// What inferpublish has written must be those objects in both frames, tracked, to the digits that it writes.
#[track_caller]
fn assert_published(lines: &str, wanted: &Wanted) {
    let records: Vec<Value> = lines
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(records.len(), 2, "{lines}");
    for record in &records {
        let objects = record["objects"].as_array().unwrap();
        assert_eq!(objects.len(), wanted.len(), "{lines}");
        for object in objects {
            let (_, number, rect) = wanted.iter().find(|(label, ..)| object["label"] == *label).unwrap();
            assert_eq!(object["label_id"], *number);
            assert!((object["confidence"].as_f64().unwrap() - CONFIDENCE).abs() <= 5e-5, "{object}");
            for (edge, wanted) in ["x", "y", "w", "h"].into_iter().zip(rect) {
                // 0.005 of rounding, and float32's.
                assert!((object["box"][edge].as_f64().unwrap() - wanted).abs() < 0.0051, "{edge}: {object}");
            }
            assert!(object["track"]["id"].as_u64().is_some_and(|id| id > 0), "{object}");
        }
    }
}

/// A pipeline in which the model gets a region of each frame: the detector's red object.
fn of_regions(frames: u32, decoder: &str) -> String {
    format!(
        "videotestsrc num-buffers={frames} pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
         ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} ! {decoder} name=mine ! fakesink name=out",
        model("detector"),
        model("yolov2")
    )
}

#[test]
fn tensors_of_regions_are_decoded_in_rust_and_refused_in_c() {
    register();
    cudainfer_tests::run(&of_regions(1, "yolov2c")).fails_with(&["mine: the tensors are those of regions"]);
    for frame in cudainfer_tests::buffers(&of_regions(2, "yolov2rs")) {
        let [region, person] = &objects(&frame)[..] else { panic!("{:?}", objects(&frame)) };
        assert_eq!((region.label.as_str(), person.label.as_str(), person.id), ("red", "person", 1));
        // The region is 16x24 at 8, 4, and the tensor 64x64: see PERSON, whose frame was 2 pixels wide a tensor pixel.
        let (_, _, [x, y, w, h]) = PERSON;
        let wanted = [8.0 + x / 8.0, 4.0 + y * 0.375, w / 8.0, h * 0.375];
        let found = person.detection.as_ref().unwrap().rect;
        for (edge, wanted) in [found.x, found.y, found.w, found.h].into_iter().zip(wanted) {
            assert!((f64::from(edge) - wanted).abs() < 1e-4, "{found:?} is not {wanted:?}");
        }
    }
}

#[test]
fn a_model_that_the_decoders_cannot_read_is_refused_before_its_first_frame() {
    register();
    for decoder in ["yolov2rs", "yolov2c"] {
        let pipeline = format!(
            "videotestsrc ! fusedpreproc ! trtinfer model={} ! {decoder} name=mine ! fakesink",
            model("detector")
        );
        cudainfer_tests::run(&pipeline).fails_with(&[
            "mine: the model has",
            "detections:float32:1x6x84",
            "1x125xHxW",
        ]);
    }
}
