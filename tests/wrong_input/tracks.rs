//! Frames and objects that a tracker cannot use.

use std::sync::atomic::{AtomicU64, Ordering};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, model, run};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, objects};

#[test]
fn timestamps_that_go_backwards_are_said_once_and_counted() {
    let pipeline = TestPipeline::new(
        "videotestsrc num-buffers=9 ! identity name=made ! tracker name=tracker ! fakesink",
    );
    let number = AtomicU64::new(0);
    pipeline.element("made").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                let n = number.fetch_add(1, Ordering::Relaxed);
                let pts =
                    (n != 7).then(|| gst::ClockTime::from_mseconds(if n % 3 == 2 { 0 } else { 100 * n }));
                buffer.make_mut().set_pts(pts);
            }
            gst::PadProbeReturn::Ok
        },
    );
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let said: Vec<_> =
        report.warnings.iter().filter(|text| text.contains("not after the one before")).collect();
    assert_eq!(said.len(), 1, "{report:?}");
    // Frames 2, 5 and 8 go back, and 7 has no time, so the time of the next one is compared with none.
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("untimed").unwrap(), 4);
}

#[test]
fn caps_whose_frame_rate_is_far_from_the_timestamps_are_said_once() {
    let pipeline = TestPipeline::new(
        "videotestsrc num-buffers=30 ! video/x-raw,framerate=1/1 ! capssetter join=true caps=video/x-raw,framerate=90/1 \
         ! tracker name=tracker ! fakesink",
    );
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let said: Vec<_> = report
        .warnings
        .iter()
        .filter(|text| text.contains("90 frame durations of the caps' frame rate apart"))
        .collect();
    assert_eq!(said.len(), 1, "{report:?}");
}

#[test]
fn more_detections_than_can_be_followed_are_said_once_and_counted() {
    let pipeline = TestPipeline::new(
        "videotestsrc num-buffers=2 ! identity name=made ! tracker name=tracker ! fakesink",
    );
    pipeline.element("made").static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
            let buffer = buffer.make_mut();
            for i in 0..10_200u16 {
                let rect =
                    Rect { x: 20.0 * f32::from(i % 100), y: 20.0 * f32::from(i / 100), w: 10.0, h: 10.0 };
                let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 0 });
                Object { detection, ..Object::default() }.put(buffer, &rect);
            }
        }
        gst::PadProbeReturn::Ok
    });
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let said: Vec<_> =
        report.warnings.iter().filter(|text| text.contains("200 detections more than the 10000")).collect();
    assert_eq!(said.len(), 1, "{report:?}");
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("surplus").unwrap(), 400);
}

#[test]
fn a_number_of_individuals_that_is_none_is_refused_before_anything_runs() {
    cudainfer_tests::init();
    for wrong in ["two", "2.5.1", "none"] {
        let pipeline = format!("videotestsrc ! tracker name=tracker max-tracks={wrong} ! fakesink");
        let error = gst::parse::launch(&pipeline).unwrap_err().to_string();
        assert!(error.contains("could not set property \"max-tracks\"") && error.contains(wrong), "{error}");
    }
}

#[test]
fn more_animals_than_max_tracks_says_are_counted_and_no_error() {
    let pipeline = TestPipeline::new(
        "videotestsrc num-buffers=30 ! identity name=made ! tracker name=tracker max-tracks=1 ! fakesink name=out",
    );
    pipeline.element("made").static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
            for (x, confidence) in [(10.0, 0.8), (100.0, 0.9), (f32::NAN, 0.9), (200.0, f32::NAN)] {
                let rect = Rect { x, y: 20.0, w: 30.0, h: 30.0 };
                let detection = Some(DetectionParam { rect, confidence, label_id: 0 });
                Object { detection, ..Object::default() }.put(buffer.make_mut(), &Rect::default());
            }
        }
        gst::PadProbeReturn::Ok
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    let report = pipeline.wait().succeeds();
    assert!(report.warnings.is_empty(), "{report:?}");
    for frame in seen.lock().unwrap().iter() {
        let ids: Vec<_> =
            objects(frame).iter().map(|object| object.tracking.as_ref().map(|track| track.id)).collect();
        assert_eq!(ids, [None, Some(1), None, None]);
    }
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(["above-max-tracks", "untracked"].map(|name| stats.get::<u64>(name)), [Ok(30), Ok(90)]);
}

/// Tracks a pose that begins at `x` and whose points have this score, in `frames` frames. Returns the warnings and the tracker's `stats`.
fn posed(frames: u32, tracker: &str, x: f64, score: f64) -> (Vec<String>, gst::Structure) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers={frames} ! identity name=made ! tracker name=tracker {tracker} ! fakesink"
    ));
    pipeline.element("made").static_pad("src").unwrap().add_probe(
        gst::PadProbeType::BUFFER,
        move |_, info| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                let points = KeypointsParam {
                    names: vec!["nose".into(), "tail".into()],
                    x: vec![x, x + 40.0],
                    y: vec![50.0; 2],
                    score: vec![score; 2],
                    ..KeypointsParam::default()
                };
                let pose = Object { keypoints: Some(points), ..Object::default() };
                pose.put(buffer.make_mut(), &Rect::default());
            }
            gst::PadProbeReturn::Ok
        },
    );
    pipeline.play();
    let warnings = pipeline.wait().succeeds().warnings;
    (warnings, pipeline.element("tracker").property("stats"))
}

#[test]
fn poses_without_boxes_are_warned_of_once_and_counted_where_boxes_are_compared() {
    let run = |similarity: &str, x: f64| {
        let (warnings, stats) = posed(5, &format!("max-tracks=2 {similarity}"), x, 0.9);
        (warnings, stats.get::<u64>("unboxed").unwrap())
    };
    let (warnings, unboxed) = run("", 50.0);
    assert_eq!((warnings.len(), unboxed), (1, 5), "{warnings:?}");
    for part in ["1 of a frame's poses have no box", "similarity=iou", "Set similarity=oks"] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
    for (similarity, x) in [("similarity=oks", 50.0), ("similarity=keypoint-boxes", 50.0), ("", f64::NAN)] {
        assert_eq!(run(similarity, x), (Vec::new(), 0), "{similarity}");
    }
}

#[test]
fn objects_that_are_too_weak_for_identities_are_warned_about_once_with_figures_and_what_to_set() {
    let run = |tracker: &str, score: f64| {
        let (warnings, stats) = posed(250, tracker, 50.0, score);
        (warnings, stats.get::<u64>("untracked").unwrap())
    };
    let (warnings, untracked) = run("similarity=oks new-confidence=0.7", 0.52);
    assert_eq!((warnings.len(), untracked), (1, 250), "{warnings:?}");
    for part in [
        "tracker: 100 frames had 100 objects, of which 0 got an identity",
        "100 have a confidence below new-confidence=0.7 (0.52 on average, 0.52 at most)",
        "Set new-confidence=0.5, which",
    ] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
    // A network that gives its points no scores.
    let (warnings, untracked) = run("similarity=oks", 0.0);
    assert_eq!((warnings.len(), untracked), (1, 250), "{warnings:?}");
    assert!(warnings[0].contains("Set min-confidence=0 high-confidence=0 new-confidence=0"), "{warnings:?}");
    for algorithm in ["auto", "bytetrack", "botsort", "cbiou"] {
        let (warnings, untracked) =
            run(&format!("similarity=oks camera-motion=false algorithm={algorithm}"), 0.52);
        assert_eq!((warnings, untracked), (Vec::new(), 0), "{algorithm}: poses of such scores are ordinary");
    }
}

#[test]
fn boxes_without_a_size_are_warned_about_once_and_counted() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=5 ! fusedpreproc device=cpu ! trtinfer device=cpu model={} ! peakfind device=cpu ! tracker name=tracker ! fakesink",
        model("crowd")
    ));
    pipeline.play();
    let warnings = pipeline.wait().succeeds().warnings;
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    for part in ["2 of a frame's detections are points", "no identity", "several keypoints"] {
        assert!(warning.contains(part), "{warning}");
    }
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!((stats.get("unboxed"), stats.get("untracked")), (Ok(10u64), Ok(10u64)));
}

#[test]
fn pixels_and_embeddings_that_cannot_be_had_are_named() {
    let regions =
        format!("fusedpreproc ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects", model("detector"));
    for (elements, parts) in [
        ("tracker embedding-output=reid".to_owned(), &["embedding-output names 'reid'", "no embeddings"][..]),
        (
            format!("{regions} ! trtinfer model={} ! tracker embedding-output=reid", model("colours")),
            &["embedding-output names 'reid'", "the model's outputs are 'scores'"],
        ),
        (format!("{regions} ! trtinfer model={} ! tracker", model("masks")), &["set embedding-output", "'"]),
        (
            "video/x-raw,format=GRAY16_LE ! tracker appearance=histogram".to_owned(),
            &["appearance=histogram", "GRAY16_LE", "videoconvert"],
        ),
        (
            "video/x-raw,format=GRAY16_LE ! tracker algorithm=botsort".to_owned(),
            &["camera-motion", "GRAY16_LE", "videoconvert"],
        ),
    ] {
        run(&format!("videotestsrc num-buffers=2 ! {elements} ! fakesink")).fails_with(parts);
    }
}
