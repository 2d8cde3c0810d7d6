//! Poses in whole pipelines: from keypoints to tracks.

use std::sync::atomic::{AtomicU8, Ordering};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, model, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, objects};

/// A fly of nose and tail, 40 pixels apart, that begins at `x`, `y` and looks to the left or to the right.
fn fly(x: f64, y: f64, to_the_left: bool) -> Object {
    let ends = if to_the_left { [x, x + 40.0] } else { [x + 40.0, x] };
    let points = KeypointsParam {
        names: vec!["nose".into(), "tail".into()],
        x: ends.to_vec(),
        y: vec![y; 2],
        score: vec![0.9; 2],
        edges: vec![[0, 1]],
        ..KeypointsParam::default()
    };
    Object { label: "fly".into(), keypoints: Some(points), ..Object::default() }
}

/// Runs `source ! identity ! tracker`, where identity adds to frame 0, 1, 2 and so on the objects that are `made`. For each
/// frame the ids of its objects, 0 for none.
fn tracked(
    source: &str,
    tracker: &str,
    made: impl Fn(u8) -> Vec<Object> + Send + Sync + 'static,
) -> (TestPipeline, Vec<Vec<u64>>) {
    let pipeline = TestPipeline::new(&format!(
        "{source} ! identity name=made ! tracker name=tracker {tracker} ! fakesink name=out"
    ));
    let frame = AtomicU8::new(0);
    pipeline.element("made").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                let objects = made(frame.fetch_add(1, Ordering::Relaxed));
                objects.iter().for_each(|object| object.put(buffer.make_mut(), &Rect::default()));
            }
            gst::PadProbeReturn::Ok
        },
    );
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let id = |object: &Object| object.tracking.as_ref().map_or(0, |track| track.id);
    let ids = seen.lock().unwrap().iter().map(|frame| objects(frame).iter().map(id).collect()).collect();
    (pipeline, ids)
}

/// Two flies walk towards each other, meet and turn back, always looking in their own direction.
fn meeting(frame: u8) -> Vec<Object> {
    let away = 2.0 * f64::from(frame.abs_diff(20));
    vec![fly(100.0 - away, 50.0, true), fly(100.0 + away, 50.0, false)]
}

#[test]
fn oks_keeps_apart_whom_the_boxes_around_their_points_swap() {
    let last = |tracker: &str| tracked("videotestsrc num-buffers=41", tracker, meeting).1.pop().unwrap();
    for algorithm in ["sort", "bytetrack"] {
        assert_eq!(last(&format!("algorithm={algorithm} similarity=oks sigmas=0.1")), [1, 2], "{algorithm}");
        assert_eq!(last(&format!("algorithm={algorithm} similarity=keypoint-boxes")), [2, 1], "{algorithm}");
        assert_eq!(last(&format!("algorithm={algorithm}")), [0, 0], "there are no detections to compare");
    }
}

#[test]
fn points_may_be_missing_or_no_numbers_and_boxes_stand_in_for_them() {
    let made = |frame: u8| {
        let mut fly = fly(50.0, 50.0, true);
        let points = fly.keypoints.as_mut().unwrap();
        match frame % 3 {
            // The nose is not listed.
            0 => {
                points.names.remove(0);
                for values in [&mut points.x, &mut points.y, &mut points.score] {
                    values.remove(0);
                }
                points.edges.clear();
            }
            1 => points.x[0] = f64::NAN,
            _ => {}
        }
        let rect = Rect { x: 200.0, y: 10.0, w: 20.0, h: 30.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 0 });
        let mut nothing = Object { keypoints: fly.keypoints.clone(), ..Object::default() };
        nothing.keypoints.as_mut().unwrap().y.fill(f64::INFINITY);
        vec![fly, Object { detection, ..Object::default() }, nothing]
    };
    let (pipeline, ids) = tracked("videotestsrc num-buffers=9", "similarity=oks", made);
    assert_eq!(ids, vec![[1, 2, 0]; 9], "the fly, the detection without points, the points that are nowhere");
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(
        ["detections", "untracked", "without-points"].map(|f| stats.get::<u64>(f)),
        [Ok(18), Ok(0), Ok(9)]
    );
}

#[test]
fn the_sidecars_sigmas_reach_the_tracker() {
    let jumping = |frame: u8| vec![fly(if frame.is_multiple_of(2) { 100.0 } else { 130.0 }, 50.0, true)];
    let ids_after = |sigmas: &str, second: &str, tracker: &str| {
        let folder = scratch("sigmas");
        std::fs::copy(model("heat-maps"), folder.join("model.onnx")).unwrap();
        let text = format!("[skeleton]\npoints = [\"nose\", \"tail\"]\n{sigmas}");
        std::fs::write(folder.join("model.toml"), text).unwrap();
        let model = folder.join("model.onnx");
        let source = format!(
            "videotestsrc num-buffers=6 ! fusedpreproc ! trtinfer model={} ! peakfind threshold=0.99 {second} ! queue",
            model.display()
        );
        let found = tracked(&source, &format!("algorithm=sort similarity=oks {tracker}"), jumping).1;
        found.iter().map(|ids| ids[0]).collect::<Vec<_>>()
    };
    let ids = |sigmas: &str, tracker: &str| ids_after(sigmas, "", tracker);
    assert_eq!(ids("sigmas = [9.0, 9.0]", ""), [1; 6]);
    let second = format!("! fusedpreproc roi=objects ! trtinfer model={} ! classify", model("colours"));
    assert_eq!(ids_after("sigmas = [9.0, 9.0]", &second, ""), [1; 6], "a second model has no skeleton");
    assert_ne!(ids("", ""), [1; 6]);
    assert_eq!(ids("", "sigmas=nose=9,tail=9"), [1; 6]);
    assert_ne!(ids("sigmas = [9.0, 9.0]", "sigmas=0.01"), [1; 6], "the property wins");
}

#[test]
fn the_points_of_peakfind_are_tracked_and_have_the_skeletons_names() {
    let folder = scratch("pose");
    std::fs::copy(model("heat-maps"), folder.join("model.onnx")).unwrap();
    std::fs::write(folder.join("model.toml"), "[skeleton]\npoints = [\"front\", \"back\"]").unwrap();
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={} ! peakfind ! tracker similarity=oks \
         ! fakesink name=out",
        folder.join("model.onnx").display()
    ));
    for (age, frame) in (0..).zip(&frames) {
        let [pose] = &objects(frame)[..] else { panic!("there is one object") };
        assert_eq!(pose.keypoints.as_ref().unwrap().names, ["front", "back"]);
        let track = pose.tracking.as_ref().unwrap();
        assert_eq!((track.id, track.age), (1, age));
    }
}

#[test]
fn a_lone_point_has_a_size_where_whole_poses_came_before_it() {
    let made = |frame: u8| {
        let mut lone = fly(200.0 + 3.0 * f64::from(frame), 20.0, true);
        let points = lone.keypoints.as_mut().unwrap();
        points.names.truncate(1);
        for values in [&mut points.x, &mut points.y, &mut points.score] {
            values.truncate(1);
        }
        points.edges.clear();
        let whole = fly(50.0, 50.0, true);
        if frame < 3 { vec![whole] } else { vec![whole, lone] }
    };
    let ids = tracked("videotestsrc num-buffers=12", "similarity=oks", made).1;
    assert_eq!(ids[..4], [vec![1], vec![1], vec![1], vec![1, 0]]);
    assert_eq!(ids[4..], vec![[1, 2]; 8], "with a box of a pixel, it would be another one in each frame");
}
