//! Frames that no model sees: `interval` of fusedpreproc, and what tracker carries on to them.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push};
use gst::prelude::*;
use gstcudainfer::meta::object::{ClassificationParam, DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 160;
const CAPS: &str = "video/x-raw,format=GRAY8,width=160,height=160,framerate=25/1";

/// A square of 60 pixels with texture at `x`, on a background with another one.
fn picture(n: u64, x: f32, object: Option<Object>) -> gst::Buffer {
    cudainfer_tests::init();
    let texture = |x: f32, y: f32| {
        let waves =
            (x * 0.35).sin() + (y * 0.28).cos() + (x * 0.11 + y * 0.17).sin() + (x * 0.61 - y * 0.4).cos();
        (128.0 + 30.0 * waves) as u8
    };
    let pixel = |i: usize| {
        let (column, row) = ((i % SIDE) as f32, (i / SIDE) as f32);
        let inside = (x..x + 60.0).contains(&column) && (50.0..110.0).contains(&row);
        if inside { texture(column - x + 500.0, row) } else { texture(column, row) }
    };
    let mut buffer = gst::Buffer::from_mut_slice((0..SIDE * SIDE).map(pixel).collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(40 * n));
    if let Some(object) = object {
        object.put(writable, &Rect::default());
    }
    buffer
}

fn car(x: f32) -> Object {
    let rect = Rect { x, y: 50.0, w: 60.0, h: 60.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.8, label_id: 7 });
    let classes = ClassificationParam {
        labels: vec!["red".into()],
        label_ids: vec![3],
        confidence: vec![0.9],
        ..Default::default()
    };
    Object { label: "car".into(), detection, classifications: vec![classes], ..Object::default() }
}

/// Where the square is in a frame: it stands, and begins to move in the middle of an interval.
fn x_of(n: u64) -> f32 {
    20.0 + 4.0 * n.saturating_sub(3) as f32
}

/// Frames of which a detector sees every third one.
fn followed(elements: &str, count: u64) -> (TestPipeline, Vec<gst::Buffer>) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps={CAPS} ! fusedpreproc name=pre interval=2 width=32 height=32 channels=gray \
         ! {elements} ! fakesink name=out async=false sync=false"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for n in 0..count {
        push(&pipeline.element("in"), picture(n, x_of(n), n.is_multiple_of(3).then(|| car(x_of(n)))));
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let out = out.lock().unwrap().clone();
    (pipeline, out)
}

fn count(pipeline: &TestPipeline, element: &str, field: &str) -> u64 {
    pipeline.element(element).property::<gst::Structure>("stats").get(field).unwrap()
}

fn states(out: &[gst::Buffer]) -> Vec<Vec<(u64, String)>> {
    let tracks = |buffer: &gst::Buffer| {
        let tracking = objects(buffer).into_iter().filter_map(|object| object.tracking);
        tracking.map(|track| (track.id, track.state)).collect()
    };
    out.iter().map(tracks).collect()
}

#[test]
fn the_model_sees_every_third_frame_and_objects_are_carried_on_to_the_others() {
    for between in ["flow", "motion"] {
        let (pipeline, out) = followed(&format!("tracker name=tracker between={between}"), 10);
        let sets: Vec<_> = out.iter().map(|buffer| TensorSet::of(buffer).map(|sets| sets.len())).collect();
        let wanted = |n: usize| Some(usize::from(n.is_multiple_of(3)));
        assert_eq!(sets, (0..10).map(wanted).collect::<Vec<_>>());
        assert_eq!([count(&pipeline, "pre", "frames"), count(&pipeline, "pre", "between")], [10, 6]);
        assert_eq!(count(&pipeline, "tracker", "carried"), 6);
        for (n, (buffer, states)) in (0u64..).zip(out.iter().zip(states(&out))) {
            let looked = n.is_multiple_of(3);
            let state = if looked { "tracked" } else { "carried" };
            assert_eq!(states, [(1, state.to_owned())], "{between}, frame {n}");
            let [object] = &objects(buffer)[..] else { panic!("there is one object") };
            assert_eq!((object.label.as_str(), object.classifications[0].held), ("car", !looked));
            let faded = 0.8 * 0.95f32.powi(i32::try_from(n % 3).unwrap());
            assert!((object.detection.as_ref().unwrap().confidence - faded).abs() < 1e-5);
        }
    }
}

#[test]
fn flow_sees_an_object_begin_to_move_and_the_filter_alone_does_not() {
    let apart = |between: &str| {
        let (_, out) = followed(&format!("tracker between={between}"), 6);
        // The square has moved by two steps of four pixels since the last frame that a model has seen.
        objects(&out[5])[0].detection.as_ref().unwrap().rect.x - x_of(5)
    };
    let [flow, motion] = ["flow", "motion"].map(apart);
    assert!((motion + 8.0).abs() < 0.5, "{motion}");
    // The filter believes what pixels show a little less than what a detector finds.
    assert!(flow < 0.0 && flow > 0.7 * motion, "{flow}");
}

#[test]
fn without_carrying_the_others_have_no_objects_and_the_track_goes_on() {
    let (_, out) = followed("tracker between=none", 7);
    let tracked = vec![(1, "tracked".to_owned())];
    let wanted: Vec<_> =
        (0..7).map(|n: usize| if n.is_multiple_of(3) { tracked.clone() } else { vec![] }).collect();
    assert_eq!(states(&out), wanted);
}

#[test]
fn the_message_says_whether_a_tracker_carries_objects_on() {
    for (elements, said) in [
        ("tracker", "tracker carries objects on"),
        ("queue ! tracker", "tracker carries objects on"),
        ("tracker between=none", "no tracker downstream carries objects on"),
        ("identity", "no tracker downstream carries objects on"),
    ] {
        let line = format!(
            "videotestsrc num-buffers=4 ! fusedpreproc interval=2 width=32 height=32 ! {elements} ! fakesink"
        );
        let mut infos = Vec::new();
        TestPipeline::start(&line).each_message(|message| {
            if let gst::MessageView::Info(info) = message.view() {
                infos.push(info.error().to_string());
            }
        });
        let about: Vec<_> = infos.iter().filter(|text| text.contains("one of 3 frames")).collect();
        assert!(matches!(&about[..], [text] if text.contains(said)), "{elements}: {infos:?}");
    }
}

#[test]
fn in_a_pipeline_the_network_runs_for_every_third_frame_and_each_has_its_objects() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc interval=2 \
         ! trtinfer model={} ! gpunms name=objects ! queue ! tracker ! fakesink name=out",
        model("detector")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let out = out.lock().unwrap();
    let stamps: Vec<_> = out.iter().map(|buffer| buffer.pts().unwrap()).collect();
    assert!(stamps.len() == 10 && stamps.is_sorted());
    assert!(out.iter().all(|buffer| TensorSet::of(buffer).is_none()), "gpunms puts the tensors away");
    for (n, buffer) in out.iter().enumerate() {
        let [object] = &objects(buffer)[..] else { panic!("there is one object") };
        let track = object.tracking.as_ref().unwrap();
        let wanted = if n.is_multiple_of(3) { "tracked" } else { "carried" };
        assert_eq!((track.id, track.state.as_str()), (1, wanted), "frame {n}");
        assert_eq!(object.detection.as_ref().unwrap().rect, Rect { x: 8.0, y: 4.0, w: 16.0, h: 24.0 });
    }
}

#[test]
fn an_interval_that_is_longer_than_tracks_are_remembered_is_warned_about_once() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps={CAPS} ! fusedpreproc interval=49 width=32 height=32 channels=gray \
         ! tracker between=motion ! fakesink name=out async=false sync=false"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for n in 0..101 {
        push(&pipeline.element("in"), picture(n, 20.0, n.is_multiple_of(50).then(|| car(20.0))));
    }
    end(&pipeline.element("in"));
    let report = pipeline.wait().succeeds();
    let warned = report.warnings.iter().filter(|text| text.contains("no model has seen 32 frames in a row"));
    assert_eq!(warned.count(), 1, "{:?}", report.warnings);
    let states = states(&out.lock().unwrap());
    assert_eq!([states[31].len(), states[32].len()], [1, 0]);
}
