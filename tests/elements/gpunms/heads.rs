//! What gpunms makes of models that say more than boxes: keypoints, masks, peaks of heat-maps.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, model, run};
use gst::prelude::*;
use gstcudainfer::meta::mask::{MaskKind, masks};
use gstcudainfer::meta::object::{KeypointsParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

/// Frames of red and blue, in which each model finds both of its objects.
fn frames(size: &str, elements: &str) -> Vec<gst::Buffer> {
    buffers(&pipeline_of(size, elements))
}

fn pipeline_of(size: &str, elements: &str) -> String {
    format!(
        "videotestsrc num-buffers=3 pattern=solid-color foreground-color=0xffff00ff \
         ! video/x-raw,format=RGB,{size} ! {elements} ! fakesink name=out"
    )
}

fn head(name: &str) -> String {
    format!("fusedpreproc ! trtinfer model={} ! gpunms", model(name))
}

const SQUARE: &str = "width=64,height=64";
const WITH_TENSORS: &str = "video/x-raw(memory:SystemMemory, meta:CudaInferTensor)";

fn points(values: [[f64; 3]; 3]) -> KeypointsParam {
    let all = |k: usize| values.iter().map(|point| point[k]).collect();
    KeypointsParam {
        names: ["left", "right", "foot"].map(str::to_owned).into(),
        x: all(0),
        y: all(1),
        score: all(2),
        edges: vec![[0, 1], [1, 2]],
        ..KeypointsParam::default()
    }
}

fn find<'a>(found: &'a [Object], label: &str) -> &'a Object {
    found.iter().find(|object| object.label == label).unwrap()
}

#[test]
fn objects_of_a_pose_model_carry_their_keypoints_in_frame_pixels() {
    // The model takes 64x64: a frame of 128x64 is squeezed to half its width.
    for (size, factor) in [(SQUARE, 1.0), ("width=128,height=64", 2.0)] {
        for frame in frames(size, &head("pose")) {
            let found = objects(&frame);
            assert_eq!(found.len(), 2);
            let wanted = points(
                [[12.0, 8.0, 0.875], [20.0, 8.0, 0.75], [16.0, 70.0, 0.25]]
                    .map(|[x, y, s]| [x * factor, y, s]),
            );
            let red = find(&found, "red");
            assert_eq!(
                red.keypoints,
                Some(wanted),
                "the last lies outside of the frame, where the model saw it"
            );
            let rect = red.detection.as_ref().unwrap().rect;
            assert_eq!(rect, Rect { x: 8.0 * factor as f32, y: 4.0, w: 16.0 * factor as f32, h: 24.0 });
            let blue = find(&found, "blue").keypoints.as_ref().unwrap();
            assert_eq!((blue.x[2], blue.y[2], blue.score[2]), (48.0 * factor, 46.0, 1.0));
        }
    }
}

#[test]
fn a_second_detector_finds_its_objects_in_every_region() {
    let first = head("detector");
    for batch in ["batch-size=1", "batch-size=2", "batch-size=8"] {
        let second = format!(
            "fusedpreproc roi=objects resize=stretch ! trtinfer model={} {batch} ! gpunms",
            model("pose")
        );
        for frame in frames(SQUARE, &format!("{first} ! {second}")) {
            let found = objects(&frame);
            let ids: Vec<_> = found.iter().map(|object| object.id).collect();
            assert_eq!(ids, [0, 1, 2, 3, 4, 5], "{batch}: two objects, and two in the region of each");
            assert!(found[..2].iter().all(|object| object.keypoints.is_none()));
            for (outer, inner) in found[..2].iter().zip(found[2..].chunks(2)) {
                assert_eq!((outer.parent, [0, 1].map(|i| inner[i].parent)), (None, [Some(outer.id); 2]));
                let outer = outer.detection.as_ref().unwrap().rect;
                let inner = find(inner, "red");
                let (sx, sy) = (outer.w / 64.0, outer.h / 64.0);
                let rect = Rect { x: outer.x + 8.0 * sx, y: outer.y + 4.0 * sy, w: 16.0 * sx, h: 24.0 * sy };
                assert_eq!(inner.detection.as_ref().unwrap().rect, rect);
                let points = inner.keypoints.as_ref().unwrap();
                let nose = (f64::from(outer.x + 12.0 * sx), f64::from(outer.y + 8.0 * sy));
                assert_eq!((points.x[0], points.y[0]), nose);
            }
        }
    }
}

#[test]
fn what_is_found_in_a_region_keeps_its_parent_downstream_of_a_tracker_and_points_have_theirs() {
    let first = head("detector");
    let inside = |model_name: &str, decoder: &str| {
        format!(
            "{first} ! fusedpreproc roi=objects resize=stretch ! trtinfer model={} ! {decoder}",
            model(model_name)
        )
    };
    let parents = |elements: &str| -> Vec<_> {
        let frame = frames(SQUARE, elements).pop().unwrap();
        objects(&frame)
            .into_iter()
            .map(|object| (object.id, object.parent, object.tracking.is_some()))
            .collect()
    };
    let of = |outer: i32| (Some(outer), true);
    let tracked = parents(&format!("{} ! tracker", inside("pose", "gpunms")));
    let tracked: Vec<_> = tracked.into_iter().map(|(_, parent, is_tracked)| (parent, is_tracked)).collect();
    assert_eq!(tracked, [(None, true), (None, true), of(0), of(0), of(1), of(1)]);
    let points = parents(&inside("regressed", "peakfind grouping=each"));
    let inner: Vec<_> = points.iter().map(|(id, parent, _)| (*id, *parent)).collect();
    assert_eq!(inner, [(0, None), (1, None), (2, Some(0)), (3, Some(0)), (4, Some(1)), (5, Some(1))]);
}

#[test]
fn regions_without_objects_give_none() {
    let elements =
        format!("fusedpreproc roi=objects ! trtinfer model={} batch-size=4 ! gpunms", model("pose"));
    for frame in frames(SQUARE, &elements) {
        assert!(objects(&frame).is_empty() && TensorSet::of(&frame).is_none());
    }
}

#[test]
fn prototypes_and_coefficients_go_to_who_asks_for_tensors() {
    for between in ["", "! tracker", "! queue ! tracker ! queue"] {
        let pipeline =
            TestPipeline::new(&pipeline_of(SQUARE, &format!("{} {between} ! {WITH_TENSORS}", head("masks"))));
        let seen = pipeline.collect("out");
        let caps = pipeline.element("out").static_pad("sink").unwrap();
        pipeline.play();
        pipeline.wait().succeeds();
        let caps = caps.current_caps().unwrap();
        let s = caps.structure(0).unwrap();
        let listed = |field: &str| -> Vec<String> {
            s.get::<gst::ArrayRef>(field).unwrap().iter().map(|v| v.get().unwrap()).collect()
        };
        let prototypes = "prototypes:float32:1x4x16x16";
        assert_eq!(listed("tensor-outputs"), ["coloured:float32:1x10x84", prototypes]);
        let added = ["mask-coefficients:float32:?x4", "mask-objects:int32:?"];
        assert_eq!(listed("tensor-masks"), [prototypes, added[0], added[1]]);
        assert_eq!((s.get("tensor-width"), s.get("tensor-height")), (Ok(64), Ok(64)));
        assert!(s.get::<&str>("tensor-model").unwrap().starts_with("masks#"));
        for frame in seen.lock().unwrap().iter() {
            let found = objects(frame);
            let sets = TensorSet::of(frame).unwrap();
            let [_, values, coefficients, ids] = &sets[0].tensors[..] else { panic!("{sets:?}") };
            assert_eq!(values.desc.to_string(), prototypes);
            let ids = ids.data.map_readable().unwrap();
            assert_eq!(
                ids.as_chunks().0.iter().map(|id| i32::from_ne_bytes(*id)).collect::<Vec<_>>(),
                [0, 1]
            );
            assert_eq!(coefficients.desc.to_string(), "mask-coefficients:float32:2x4");
            assert_eq!(sets[0].input, [64, 64]);
            let rows = coefficients.map().unwrap();
            for (row, object) in rows.view().unwrap().to_f32().chunks(4).zip(&found) {
                let red = object.label == "red";
                assert_eq!(row, if red { [4.0, -4.0, 0.0, 0.0] } else { [0.0, 0.0, 4.0, -4.0] });
            }
        }
        pipeline.stop();
    }
}

#[test]
fn who_does_not_ask_for_tensors_gets_plain_frames() {
    for after in ["", "! tracker", "! tracker ! inferoverlay", "! videoconvert"] {
        for frame in frames(SQUARE, &format!("{} {after}", head("masks"))) {
            assert_eq!((objects(&frame).len(), TensorSet::of(&frame).is_none()), (2, true), "{after}");
        }
    }
}

#[test]
fn a_frame_without_objects_has_coefficients_of_none() {
    let elements =
        format!("{} confidence=1 iou=0.5 classes=1 class-confidence=1=1 ! {WITH_TENSORS}", head("masks"));
    let pipeline = pipeline_of("width=64,height=64", &elements).replace("0xffff00ff", "0xff000000");
    for frame in buffers(&pipeline) {
        let sets = TensorSet::of(&frame).unwrap();
        assert_eq!(sets[0].tensors[2].desc.dims, [Some(0), Some(4)]);
        assert!(objects(&frame).is_empty());
    }
}

#[test]
fn who_asks_for_tensors_of_a_model_without_masks_gets_its_outputs() {
    for frame in frames(SQUARE, &format!("{} ! {WITH_TENSORS}", head("detector"))) {
        let sets = TensorSet::of(&frame).unwrap();
        let [detections] = &sets[0].tensors[..] else { panic!("{sets:?}") };
        assert_eq!(detections.desc.to_string(), "detections:float32:1x6x84");
    }
}

#[test]
fn the_peaks_of_heat_maps_are_objects() {
    for frame in frames(SQUARE, &head("centers")) {
        let found = objects(&frame);
        let boxes: Vec<_> =
            found.iter().map(|o| (o.label.as_str(), o.detection.as_ref().unwrap().rect)).collect();
        // The cell 4, 4 and a quarter of a cell, times 4, and sizes of 4x6 cells around it.
        let red = Rect { x: 16.0 - 8.0, y: 17.0 - 12.0, w: 16.0, h: 24.0 };
        let blue = Rect { x: 48.0 - 8.0, y: 41.0 - 12.0, w: 16.0, h: 24.0 };
        assert_eq!(boxes, [("red", red), ("blue", blue)]);
    }
}

#[test]
fn masks_are_made_of_what_gpunms_hands_on() {
    for between in ["", "! tracker"] {
        for frame in frames(SQUARE, &format!("{} {between} ! segmask", head("masks"))) {
            let (found, masks) = (objects(&frame), masks(&frame));
            assert_eq!((found.len(), masks.len()), (2, 2), "{between}");
            assert!(TensorSet::of(&frame).is_none());
            for mask in masks {
                let MaskKind::Instance { object } = mask.kind else { panic!("{:?}", mask.kind) };
                let label = found.iter().find(|o| o.id == object).unwrap().label.clone();
                // Red is left of x = 16, in a box from 8 to 24; blue above y = 40, in a box from 32 to 48.
                let rows = mask.data.map_readable().unwrap();
                let inside = |x: usize, y: usize| rows[y * mask.width + x] != 0;
                let (last_x, last_y) = (mask.width - 1, mask.height - 1);
                assert!(inside(0, 0), "{label}");
                assert_eq!(
                    (inside(last_x, 0), inside(0, last_y)),
                    (label == "blue", label == "red"),
                    "{label}"
                );
            }
        }
    }
}

#[test]
fn a_number_of_keypoints_that_does_not_fit_is_refused_with_what_would() {
    let report = run(&pipeline_of(SQUARE, &head("pose-of-four")));
    report.fails_with(&[
        "coloured:float32:1x15x84",
        "4 keypoints are expected",
        "have 3 as yolo-pose reads them",
    ]);
    let report = run(&pipeline_of(SQUARE, &head("pose-of-two")));
    let text = report.fails_with(&[
        "2 keypoints are expected",
        "have 3 as yolo-pose",
        "the points of its [skeleton]",
    ]);
    assert_eq!(text.matches("skeleton").count(), 1, "{text}");
}
