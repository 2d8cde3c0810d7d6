//! Frames in which nothing moves: `motion` of fusedpreproc, its regions, and what tracker keeps on such frames.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 200;
const CAPS: &str = "video/x-raw,format=GRAY8,width=200,height=200,framerate=1/1";

/// A gray gradient with bright squares of 20 pixels, at a second of the video.
fn frame(second: u64, squares: &[[usize; 2]]) -> gst::Buffer {
    let pixel = |i: usize| {
        let (x, y) = (i % SIDE, i / SIDE);
        let is_in =
            |[left, top]: &[usize; 2]| (*left..left + 20).contains(&x) && (*top..top + 20).contains(&y);
        if squares.iter().any(is_in) { 240 } else { 60 + (x / 2) as u8 }
    };
    let mut buffer = gst::Buffer::from_mut_slice((0..SIDE * SIDE).map(pixel).collect::<Vec<u8>>());
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_seconds(second));
    buffer
}

/// What a detector finds of a square.
fn found([x, y]: [usize; 2]) -> Object {
    let rect = Rect { x: x as f32, y: y as f32, w: 20.0, h: 20.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.8, label_id: 7 });
    Object { label: "car".into(), detection, ..Object::default() }
}

/// The regions of a frame's tensors; the whole frame where there is one tensor of it.
fn seen(buffer: &gst::BufferRef) -> Vec<Rect> {
    let whole = Rect { x: 0.0, y: 0.0, w: SIDE as f32, h: SIDE as f32 };
    let sets = TensorSet::of(buffer).unwrap_or_default();
    sets.iter().map(|set| set.region.map_or(whole, |region| region.rect)).collect()
}

/// What comes out of frames with these squares, a second each, where a detector finds each square that the model sees whole; and the regions
/// that it saw.
fn watched(properties: &str, frames: &[Vec<[usize; 2]>]) -> (TestPipeline, Vec<gst::Buffer>, Vec<Vec<Rect>>) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps={CAPS} ! fusedpreproc name=pre width=64 height=64 channels=gray {properties} \
         ! tracker name=tracker min-hits=1 ! fakesink name=out async=false sync=false"
    ));
    let views = Arc::new(Mutex::new(Vec::new()));
    let (frames_there, views_there) = (frames.to_vec(), Arc::clone(&views));
    let src = pipeline.element("pre").static_pad("src").unwrap();
    src.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        let buffer = info.buffer_mut().unwrap().make_mut();
        let regions = seen(buffer);
        let second = usize::try_from(buffer.pts().unwrap().seconds()).unwrap();
        for (id, square) in (0..).zip(&frames_there[second]) {
            let object = Object { id, ..found(*square) };
            let rect = object.detection.as_ref().unwrap().rect;
            if regions.iter().any(|region| region.common(&rect).area() == rect.area()) {
                object.put(buffer, &rect);
            }
        }
        views_there.lock().unwrap().push(regions);
        gst::PadProbeReturn::Ok
    });
    let out = pipeline.collect("out");
    pipeline.play();
    for (second, squares) in (0..).zip(frames) {
        push(&pipeline.element("in"), frame(second, squares));
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let (out, views) = (out.lock().unwrap().clone(), views.lock().unwrap().clone());
    (pipeline, out, views)
}

fn count(pipeline: &TestPipeline, element: &str, field: &str) -> u64 {
    pipeline.element(element).property::<gst::Structure>("stats").get(field).unwrap()
}

/// The tracks of a frame: identity, state, left edge of the box, and confidence.
fn tracks(buffer: &gst::Buffer) -> Vec<(u64, String, f32, f32)> {
    let track = |object: Object| {
        let (track, detection) = (object.tracking.unwrap(), object.detection.unwrap());
        (track.id, track.state, detection.rect.x, detection.confidence)
    };
    objects(buffer).into_iter().map(track).collect()
}

#[test]
fn the_model_sees_frames_in_which_something_moves_and_what_stops_stays_tracked() {
    // Comes in the fourth second, moves, and stops for good in the eighth.
    let at = |second: usize| match second {
        0..4 => vec![],
        _ => vec![[20 + 10 * second.min(8), 100]],
    };
    let frames: Vec<_> = (0..80).map(at).collect();
    let (pipeline, out, views) = watched("motion=gate motion-hold=0 max-idle=3600000000000", &frames);
    let sees: Vec<bool> = views.iter().map(|view| !view.is_empty()).collect();
    assert!(sees[0] && !sees[1] && !sees[2] && !sees[3], "the first frame alone of an empty scene");
    assert!(sees[4..20].iter().all(|sees| *sees), "{sees:?}");
    let still = sees.iter().rposition(|sees| *sees).unwrap() + 1;
    assert!(still < 70, "it has stood for {still} s");
    // A track begins with the second frame.
    for (second, buffer) in out.iter().enumerate().skip(5) {
        let state = if sees[second] { "tracked" } else { "carried" };
        assert_eq!(tracks(buffer), [(1, state.to_owned(), frames[second][0][0] as f32, 0.8)], "{second}");
    }
    let unseen = sees.iter().filter(|sees| !**sees).count() as u64;
    assert_eq!([count(&pipeline, "pre", "still"), count(&pipeline, "pre", "between")], [unseen, 0]);
    assert_eq!(count(&pipeline, "tracker", "carried"), unseen - 3);
}

#[test]
fn a_frame_is_seen_each_max_idle_and_what_has_gone_is_gone() {
    // It has always been there, so it is background, and is taken away.
    let frames: Vec<_> = (0..40).map(|second| if second < 20 { vec![[60, 60]] } else { vec![] }).collect();
    let (_, out, views) = watched("motion=gate motion-hold=0 max-idle=5000000000", &frames);
    let sees: Vec<usize> = (0..20).filter(|second| !views[*second].is_empty()).collect();
    assert_eq!(sees, [0, 5, 10, 15]);
    assert!((0..20).all(|second| tracks(&out[second]).len() == 1));
    assert!((21..40).all(|second| tracks(&out[second]).is_empty()));
}

#[test]
fn motion_is_a_gate_for_each_interval() {
    let frames: Vec<_> =
        (0..20).map(|second: usize| if second < 5 { vec![] } else { vec![[5 * second, 100]] }).collect();
    let (pipeline, _, views) =
        watched("motion=gate motion-hold=0 max-idle=3600000000000 interval=2", &frames);
    let sees: Vec<usize> = (0..20).filter(|second| !views[*second].is_empty()).collect();
    assert_eq!(sees, [0, 5, 8, 11, 14, 17], "the first frame with motion begins");
    assert_eq!([count(&pipeline, "pre", "still"), count(&pipeline, "pre", "between")], [4, 10]);
}

#[test]
fn regions_show_what_moves_and_what_stands_elsewhere_stays_tracked() {
    let frames: Vec<_> = (0..12)
        .map(
            |second: usize| if second < 2 { vec![[20, 20]] } else { vec![[20, 20], [100 + 4 * second, 140]] },
        )
        .collect();
    let (pipeline, out, views) = watched("roi=motion motion-hold=0 max-idle=3600000000000", &frames);
    let whole = Rect { x: 0.0, y: 0.0, w: SIDE as f32, h: SIDE as f32 };
    assert_eq!((&views[0][..], &views[1][..]), (&[whole][..], &[][..]));
    for (second, buffer) in out.iter().enumerate().skip(3) {
        let [region] = views[second][..] else { panic!("{:?}", views[second]) };
        let moving = found(frames[second][1]).detection.unwrap().rect;
        assert_eq!(region.common(&moving).area(), moving.area());
        assert_eq!([region.w, region.h], [64.0, 64.0], "the tensor's own size");
        let mut tracks = tracks(buffer);
        tracks.sort_by_key(|(id, ..)| *id);
        let wanted = [(1, "carried".to_owned(), 20.0, 0.8), (2, "tracked".to_owned(), moving.x, 0.8)];
        assert_eq!(tracks, wanted, "{second}");
    }
    assert_eq!(count(&pipeline, "pre", "tensors"), 11);
}

#[test]
fn a_mask_hides_motion() {
    let frames: Vec<_> = (0..10).map(|second: usize| vec![[10 * second, 10]]).collect();
    for (mask, wanted) in [("0,0,1,0,1,0.2,0,0.2", 1), ("0,0.5,1,0.5,1,1,0,1", 10)] {
        let properties = format!("motion=gate motion-mask={mask} max-idle=3600000000000");
        let (_, _, views) = watched(&properties, &frames);
        assert_eq!(views.iter().filter(|view| !view.is_empty()).count(), wanted, "{mask}");
    }
}

#[test]
fn in_a_pipeline_the_network_rests_while_nothing_moves() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc motion=gate \
         ! trtinfer name=net model={} ! gpunms ! queue ! tracker ! fakesink name=out",
        model("detector")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(count(&pipeline, "net", "batches"), 1);
    let out = out.lock().unwrap();
    assert_eq!(out.len(), 10);
    for (n, buffer) in out.iter().enumerate() {
        let state = if n == 0 { "tracked" } else { "carried" };
        let found: Vec<_> = tracks(buffer).into_iter().map(|(id, state, ..)| (id, state)).collect();
        assert_eq!(found, [(1, state.to_owned())], "frame {n}");
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_set() {
    let line = |properties: &str| {
        format!(
            "videotestsrc num-buffers=2 ! fusedpreproc name=pre width=32 height=32 {properties} ! fakesink"
        )
    };
    for (properties, parts) in [
        (
            "motion=gate motion-mask=0,0,1,1",
            ["'0,0,1,1' has fewer than three corners", "Write each polygon as"],
        ),
        ("motion=gate motion-mask=0,0,1,1,a,0", ["'0,0,1,1,a,0' has a part that is not a number", "as in"]),
        (
            "motion=gate roi=objects",
            ["motion=gate leaves out frames, but roi=objects", "Set motion on the fusedpreproc of"],
        ),
        ("roi=motion roi-crop=warp", ["roi-crop=warp cuts regions by the points", "Set roi=objects"]),
    ] {
        let report = run(&line(properties));
        let error = report.fails_with(&parts);
        assert!(error.starts_with("pre: "), "{error}");
    }
    // Each frame is another picture than the one before.
    let mut warnings = Vec::new();
    let noise = "videotestsrc num-buffers=60 pattern=blink ! video/x-raw,width=64,height=64 \
                 ! fusedpreproc motion=gate width=32 height=32 ! fakesink";
    TestPipeline::start(noise).each_message(|message| {
        if let gst::MessageView::Warning(warning) = message.view() {
            warnings.push(warning.error().to_string());
        }
    });
    let about =
        warnings.iter().filter(|text| text.contains("frames in a row are nothing like those before")).count();
    assert_eq!(about, 1, "{warnings:?}");
}
