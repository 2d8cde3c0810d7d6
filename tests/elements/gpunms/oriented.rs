//! Rotated boxes from the model to the metadata, the records and the picture.

use std::f64::consts::FRAC_PI_6;

use cudainfer_tests::{buffers, model, run, scratch};
use gst_video::video_meta::VideoRegionOfInterestMeta;
use gstcudainfer::meta::object::{Object, objects};

use crate::{lines, rect, violations};

/// Frames of red and blue, in which the models find both of their objects.
fn pipeline_of(size: &str, elements: &str) -> String {
    format!(
        "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff00ff \
         ! video/x-raw,format=RGB,{size},framerate=25/1 ! {elements} ! fakesink name=out"
    )
}

fn head(name: &str) -> String {
    format!("fusedpreproc ! trtinfer model={} ! gpunms", model(name))
}

const SQUARE: &str = "width=64,height=64";
const WIDE: &str = "width=128,height=64";

/// x, y, w, h and angle of the red and the blue box, and left, top, right and bottom of the pixels around them.
type Wanted = [([f64; 5], [u32; 4]); 2];

/// As the model writes them; blue's angle is 2, which is a quarter turn and 0.4292 of the box with its sides swapped.
const AS_WRITTEN: Wanted = [
    ([20.0, 28.0, 24.0, 8.0, FRAC_PI_6], [20, 23, 44, 41]),
    ([56.0, -2.0, 8.0, 16.0, 0.429_203_673], [53, 0, 64, 15]),
];
/// In a frame of twice the width they are parallelograms. By a search over all angles, with the sides that are best for each,
/// for the rectangle whose corners are nearest to theirs.
const STRETCHED: Wanted = [
    ([42.374_377_5, 27.487_153_6, 43.251_245, 9.025_692_8, 0.307_690_763], [39, 23, 89, 41]),
    ([112.951_576, -3.699_38, 14.096_847_3, 19.398_759, 0.559_607_44], [106, 0, 128, 15]),
];

fn check(frame: &gst::BufferRef, wanted: &Wanted) -> Vec<Object> {
    let found = objects(frame);
    assert_eq!(found.iter().map(|object| object.label.as_str()).collect::<Vec<_>>(), ["red", "blue"]);
    let regions = frame.iter_meta::<VideoRegionOfInterestMeta>();
    for ((object, region), (own, around)) in found.iter().zip(regions).zip(wanted) {
        let detection = object.detection.as_ref().unwrap();
        let r = detection.rect;
        for (got, wanted) in [r.x, r.y, r.w, r.h, object.angle].map(f64::from).iter().zip(own) {
            assert!((got - wanted).abs() < 1e-4, "{object:?}, not {own:?}");
        }
        let (x, y, w, h) = region.rect();
        assert_eq!([x, y, x + w, y + h], *around, "{}", object.label);
    }
    found
}

#[test]
fn rotated_boxes_come_with_their_angle_and_the_region_around_them() {
    for name in ["rotated", "rotated-suppressed"] {
        for (size, wanted) in [(SQUARE, &AS_WRITTEN), (WIDE, &STRETCHED)] {
            for batch in ["batch-size=1", "batch-size=2"] {
                let elements = format!("fusedpreproc ! trtinfer model={} {batch} ! gpunms", model(name));
                let frames = buffers(&pipeline_of(size, &elements));
                assert_eq!(frames.len(), 3);
                for frame in frames {
                    check(&frame, wanted);
                }
            }
        }
    }
}

#[test]
fn trackers_follow_them_and_leave_the_angle() {
    let frames = buffers(&pipeline_of(SQUARE, &format!("{} ! tracker", head("rotated"))));
    for object in check(frames.last().unwrap(), &AS_WRITTEN) {
        let track = object.tracking.unwrap();
        // The boxes do not move, so the tracker's estimate is the detector's box.
        assert_eq!((track.age, track.state.as_str()), (2, "tracked"));
        let (own, estimate) = (object.detection.unwrap().rect, track.rect);
        assert!((own.w - estimate.w).abs() < 0.1 && (own.h - estimate.h).abs() < 0.1, "{estimate:?}");
    }
}

#[test]
fn records_have_the_angle_and_are_valid() {
    let path = scratch("oriented").join("out.jsonl");
    run(&pipeline_of(SQUARE, &format!("{} ! inferpublish location={}", head("rotated"), path.display())))
        .succeeds();
    let records = lines(&path);
    assert_eq!(records.len(), 3);
    for record in records {
        assert!(violations(&record).is_empty(), "{record}");
        let [red, blue] = [0, 1].map(|i| &record["objects"][i]["box"]);
        assert_eq!(
            (rect(red), red["angle"].as_f64()),
            ([20.0, 28.0, 24.0, 8.0], Some(30f64.to_radians().mul_add(1e4, 0.0).round() / 1e4))
        );
        assert_eq!((rect(blue), blue["angle"].as_f64()), ([56.0, -2.0, 8.0, 16.0], Some(0.4292)));
    }
}

#[test]
fn they_are_drawn_rotated() {
    const SIDE: usize = 256;
    let plain = "labels=false confidences=false ids=false thickness=2";
    let elements = format!("{} classes=red ! inferoverlay {plain}", head("rotated"));
    let frame = buffers(&pipeline_of("width=256,height=256", &elements)).remove(0);
    let bytes = frame.map_readable().unwrap();
    let drawn: Vec<_> = (0..SIDE * SIDE).filter(|i| bytes[3 * i..3 * i + 3] != [255, 0, 255]).collect();
    // The model's 64 pixels, four times: the sides are 96 and 32 long.
    let (sin, cos) = FRAC_PI_6.sin_cos();
    for i in &drawn {
        let (dx, dy) = ((i % SIDE) as f64 + 0.5 - 128.0, (i / SIDE) as f64 + 0.5 - 128.0);
        let (along, across) = ((dx * cos + dy * sin).abs(), (dy * cos - dx * sin).abs());
        // Half the line's width, and what a pixel's centre may be off.
        let outside = (along - 48.0).max(across - 16.0);
        assert!(outside.abs() < 1.75, "{along} {across} is not on the outline");
    }
    // The circumference, two pixels wide, with a soft edge on each side.
    assert!((500..900).contains(&drawn.len()), "{}", drawn.len());
}

#[test]
fn soft_suppression_is_refused() {
    let report = run(&pipeline_of(SQUARE, &format!("{} nms=soft-linear", head("rotated"))));
    report.fails_with(&["nms is soft-linear", "class-wise, class-agnostic or none", "yolo-obb"]);
}
