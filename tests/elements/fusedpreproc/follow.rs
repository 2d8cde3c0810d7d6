//! Regions that follow the points of the stream's last frame: fusedpreproc roi-from=track and peakfind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::stream::NEVER;
use cudainfer_tests::{TestPipeline, model, scratch, until};
use gst::ClockTime;
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, TrackingParam, objects};
use gstcudainfer::meta::tensor::TensorSet;

const WIDTH: usize = 192;
const HEIGHT: usize = 128;

/// A model whose confidence maps are the picture itself, so that each colour is a point: the wrist is red, the finger green.
fn dots(track: &str) -> String {
    let path = scratch("dots").join("model.onnx");
    std::fs::copy(model("dots"), &path).unwrap();
    let sidecar = format!(
        "[input]\nresize = \"letterbox\"\npadding = 0\nroi-from = \"track\"\nroi-padding = 1.5\n[peaks]\nmode = \"global\"\nthreshold = \
         0.2\n[skeleton]\npoints = [\"wrist\", \"finger\", \"thumb\"]\n{track}"
    );
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    path.display().to_string()
}

/// As MediaPipe has it for hands.
const HAND: &str = "[track]\noutline = \"turned\"\naxis-from = [\"wrist\"]\naxis-to = [\"finger\"]\naxis-angle = 90\nshift = [0, \
                    -0.1]\npadding = 2";

/// A hand: where its middle is, by how much it is turned clockwise, and how bright it is.
#[derive(Clone, Copy)]
struct Hand {
    middle: [f64; 2],
    angle: f64,
    brightness: u8,
}

/// A hand that moves to the right and turns.
fn moving(frame: usize) -> Hand {
    let n = frame as f64;
    Hand { middle: [40.0 + 6.0 * n, 60.0 - 2.0 * n], angle: 0.15 * n, brightness: 255 }
}

const FAR: Hand = Hand { middle: [160.0, 100.0], angle: 0.0, brightness: 255 };

impl Hand {
    /// The places of wrist, finger and thumb.
    fn places(&self) -> [[f64; 2]; 3] {
        let (sin, cos) = self.angle.sin_cos();
        [[0.0, 10.0], [0.0, -10.0], [7.0, 2.0]]
            .map(|[x, y]| [self.middle[0] + x * cos - y * sin, self.middle[1] + x * sin + y * cos])
    }

    /// What a detector finds of it.
    fn detected(&self, id: i32) -> Object {
        let rect =
            Rect { x: self.middle[0] as f32 - 14.0, y: self.middle[1] as f32 - 14.0, w: 28.0, h: 28.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.75, label_id: 4 });
        let tracking = TrackingParam { id: 70, state: "tracked".into(), ..TrackingParam::default() };
        Object { id, label: "hand".into(), detection, tracking: Some(tracking), ..Object::default() }
    }
}

fn frame(number: usize, hands: &[Hand], found: &[Object]) -> gst::Buffer {
    let mut pixels = vec![0u8; WIDTH * HEIGHT * 3];
    for hand in hands {
        for (channel, [x, y]) in hand.places().into_iter().enumerate() {
            for (dx, dy) in (-1..=1).flat_map(|dx| (-1..=1).map(move |dy| (dx, dy))) {
                let [x, y] =
                    [x.floor() as i32 + dx, y.floor() as i32 + dy].map(|v| usize::try_from(v).unwrap());
                pixels[(y * WIDTH + x) * 3 + channel] = hand.brightness;
            }
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(pixels);
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(ClockTime::from_mseconds(10 * number as u64));
    writable.set_duration(ClockTime::from_mseconds(10));
    found.iter().for_each(|object| object.put(writable, &Rect::default()));
    buffer
}

/// What became of a frame: the regions that the model saw, and the objects at the end.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    /// The object's id, the middle of what the tensor shows, and the vector from there to the middle of its right edge.
    regions: Vec<(i32, [f32; 2], [f32; 2])>,
    objects: Vec<Object>,
}

/// The frames that were seen, by the stream's number and their own.
type Log = Arc<Mutex<BTreeMap<(usize, u64), Seen>>>;

/// A pipeline `pre ! between ! peakfind`, of which a pad of the test is the source.
struct Run {
    pipeline: TestPipeline,
    sources: Vec<gst::Pad>,
    log: Log,
}

fn regions(frame: &gst::Buffer) -> Vec<(i32, [f32; 2], [f32; 2])> {
    let of = |set: &TensorSet| {
        let [middle, right] = [32.0, 64.0].map(|x| set.to_frame.point(x, 32.0));
        (set.object.unwrap(), [middle.0, middle.1], [right.0 - middle.0, right.1 - middle.1])
    };
    TensorSet::of(frame).unwrap().iter().map(of).collect()
}

impl Run {
    /// `chains` each have elements called `pre0` and `find0`, `pre1` and `find1`, and so on, with a fakesink at the end.
    fn of(chains: &str, count: usize) -> Self {
        let pipeline = TestPipeline::new(chains);
        let log = Log::default();
        let mut sources = Vec::new();
        for stream in 0..count {
            let sink = pipeline.element(&format!("pre{stream}")).static_pad("sink").unwrap();
            let source = gst::Pad::builder(gst::PadDirection::Src).build();
            source.set_active(true).unwrap();
            source.link(&sink).unwrap();
            let find = pipeline.element(&format!("find{stream}"));
            for name in ["sink", "src"] {
                let log = Arc::clone(&log);
                find.static_pad(name).unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                    if let Some(gst::PadProbeData::Buffer(buffer)) = &info.data {
                        let number = buffer.pts().unwrap().mseconds() / 10;
                        let mut log = log.lock().unwrap();
                        let seen = log.entry((stream, number)).or_default();
                        if name == "sink" {
                            seen.regions = regions(buffer);
                        } else {
                            seen.objects = objects(buffer);
                        }
                    }
                    gst::PadProbeReturn::Ok
                });
            }
            sources.push(source);
        }
        pipeline.play();
        let run = Self { pipeline, sources, log };
        (0..count).for_each(|stream| run.begin(stream));
        run
    }

    /// One stream; `between` is what the frames go through before trtinfer, `after` before peakfind.
    fn new(track: &str, between: &str, after: &str) -> Self {
        Self::of(&Self::elements(track, between, after), 1)
    }

    fn elements(track: &str, between: &str, after: &str) -> String {
        let model = dots(track);
        format!(
            "fusedpreproc name=pre0 roi=objects device=cpu ! {between} trtinfer name=infer device=cpu model={model} ! {after} \
             peakfind name=find0 ! fakesink name=out async=false sync=false"
        )
    }

    fn begin(&self, stream: usize) {
        let source = &self.sources[stream];
        source.push_event(gst::event::StreamStart::new(&format!("stream {stream}")));
        let caps = format!("video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1");
        source.push_event(gst::event::Caps::new(&caps.parse().unwrap()));
        self.segment(stream, 0);
    }

    fn segment(&self, stream: usize, start: u64) {
        let mut segment = gst::FormattedSegment::<ClockTime>::new();
        segment.set_start(ClockTime::from_mseconds(10 * start));
        segment.set_time(ClockTime::from_mseconds(10 * start));
        self.sources[stream].push_event(gst::event::Segment::new(&segment));
    }

    fn push(&self, number: usize, hands: &[Hand], found: &[Object]) {
        self.sources[0].push(frame(number, hands, found)).unwrap();
    }

    /// Ends the streams and waits for that.
    fn end(&self) -> (BTreeMap<(usize, u64), Seen>, Vec<String>) {
        self.sources.iter().for_each(|source| assert!(source.push_event(gst::event::Eos::new())));
        let warnings = self.pipeline.wait().succeeds().warnings;
        (self.log.lock().unwrap().clone(), warnings)
    }

    fn count(&self, name: &str) -> u64 {
        self.pipeline.element("pre0").property::<gst::Structure>("stats").get(name).unwrap()
    }
}

/// The hand's region of [`HAND`] by the points of the frame before: middle, and half of the right axis.
fn expected(points: &Object) -> ([f64; 2], [f64; 2]) {
    let points = points.keypoints.as_ref().unwrap();
    let place = |i: usize| [points.x[i], points.y[i]];
    let ([wx, wy], [fx, fy]) = (place(0), place(1));
    let long = (fx - wx).hypot(fy - wy);
    // From the wrist to the finger is up: right is a quarter turn clockwise from there.
    let (up, right) = ([(fx - wx) / long, (fy - wy) / long], [-(fy - wy) / long, (fx - wx) / long]);
    let along = |axis: [f64; 2]| {
        let at: Vec<f64> = (0..3).map(|i| place(i)[0] * axis[0] + place(i)[1] * axis[1]).collect();
        at.iter().fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(*at), high.max(*at)))
    };
    let ((left, far), (low, high)) = (along(right), along(up));
    let (w, h) = (far - left, high - low);
    // A tenth of its height further up.
    let (x, y) = ((left + far) / 2.0, (low + high) / 2.0 + 0.1 * h);
    let middle = [right[0] * x + up[0] * y, right[1] * x + up[1] * y];
    (middle, right.map(|v| v * w.max(h)))
}

#[track_caller]
fn assert_follows(regions: &[(i32, [f32; 2], [f32; 2])], before: &Object) {
    let [(_, middle, right)] = regions else { panic!("{regions:?}") };
    let wanted = expected(before);
    let off = |got: [f32; 2], wanted: [f64; 2]| {
        (f64::from(got[0]) - wanted[0]).hypot(f64::from(got[1]) - wanted[1])
    };
    // Float32 of numbers below 256.
    assert!(
        off(*middle, wanted.0) < 1e-3 && off(*right, wanted.1) < 1e-3,
        "{middle:?} {right:?}, not {wanted:?}"
    );
}

#[test]
fn a_region_follows_the_points_of_the_last_frame_without_the_detector() {
    let run = Run::new(HAND, "", "");
    for n in 0..8 {
        let found = if n == 0 { vec![moving(0).detected(0)] } else { vec![] };
        run.push(n, &[moving(n)], &found);
    }
    let (log, warnings) = run.end();
    assert_eq!(warnings, Vec::<String>::new());
    let frames: Vec<_> = log.values().collect();
    assert_eq!(frames.len(), 8);
    // The detector's box, half as large again.
    assert_eq!(frames[0].regions, [(0, [40.0, 60.0], [21.0, 0.0])]);
    for (n, pair) in frames.windows(2).enumerate() {
        let ([before], [after]) = (&pair[0].objects[..], &pair[1].objects[..]) else { panic!("{pair:?}") };
        assert_follows(&pair[1].regions, before);
        let identity = after.tracking.as_ref().map(|tracking| tracking.id);
        let class = after.detection.as_ref().map(|detection| detection.label_id);
        assert_eq!((after.label.as_str(), identity, class), ("hand", Some(70), Some(4)));
        let points = after.keypoints.as_ref().unwrap();
        for (i, [x, y]) in moving(n + 1).places().into_iter().enumerate() {
            assert!((points.x[i] - x).hypot(points.y[i] - y) < 3.0, "frame {}: {points:?}", n + 1);
        }
    }
    assert_eq!(["tensors", "followed", "unanswered"].map(|name| run.count(name)), [8, 7, 0]);
}

#[test]
fn a_lost_object_is_the_detectors_again_and_nothing_is_left_of_where_it_was_looked_for() {
    let run = Run::new(HAND, "", "");
    let dim = |n| Hand { brightness: 100, ..moving(n) };
    let gone = |n| Hand { brightness: 20, ..moving(n) };
    run.push(0, &[moving(0)], &[moving(0).detected(0)]);
    // Its points are found with a score of 0.4, which does not go on; then nobody looks for it.
    run.push(1, &[dim(1)], &[]);
    run.push(2, &[moving(2)], &[]);
    run.push(3, &[moving(3)], &[moving(3).detected(0)]);
    // It is looked for, and no point of it is found.
    run.push(4, &[gone(4)], &[]);
    run.push(5, &[moving(5)], &[moving(5).detected(0)]);
    let (log, _) = run.end();
    let counts: Vec<_> = log.values().map(|seen| (seen.regions.len(), seen.objects.len())).collect();
    assert_eq!(counts, [(1, 1), (1, 1), (0, 0), (1, 1), (1, 0), (1, 1)]);
    assert_eq!(log[&(0, 5)].regions[0].2, [21.0, 0.0], "the detector's box, and not the points'");
    assert_eq!((run.count("followed"), run.count("unanswered")), (2, 0));
}

#[test]
fn objects_of_upstream_join_and_those_that_are_followed_are_not_there_twice() {
    let run = Run::new(HAND, "", "");
    let far = |id| Object { tracking: None, label: "other".into(), ..FAR.detected(id) };
    run.push(0, &[moving(0)], &[moving(0).detected(0)]);
    // The first one is found again, as another number, and by its region alone; then by its identity alone.
    let unnamed = Object { tracking: None, ..moving(1).detected(1) };
    run.push(1, &[moving(1), FAR], &[far(0), unnamed]);
    let elsewhere = Object {
        detection: Hand { middle: [150.0, 30.0], ..FAR }.detected(0).detection,
        ..moving(2).detected(0)
    };
    run.push(2, &[moving(2), FAR], &[elsewhere]);
    run.push(3, &[moving(3), FAR], &[]);
    let (log, warnings) = run.end();
    assert_eq!(warnings, Vec::<String>::new());
    let ids: Vec<Vec<i32>> =
        log.values().map(|seen| seen.regions.iter().map(|(id, ..)| *id).collect()).collect();
    assert_eq!(ids, [vec![0], vec![1, 0], vec![0, 1], vec![0, 1]]);
    let labels: Vec<_> =
        log.values().map(|seen| seen.objects.iter().map(|o| o.label.clone()).collect::<Vec<_>>()).collect();
    assert_eq!(labels, [vec!["hand"], vec!["other", "hand"], vec!["hand", "other"], vec!["hand", "other"]]);
    for n in 1..4 {
        let (before, after) = (&log[&(0, n - 1)], &log[&(0, n)]);
        let hand = before.objects.iter().find(|object| object.label == "hand").unwrap();
        assert_follows(&after.regions[..1], hand);
    }
    assert_eq!(["followed", "tensors", "skipped"].map(|name| run.count(name)), [5, 7, 0]);
}

/// What the frames of a hand that is found in the first of them come to.
fn of_stream(run: &Run, stream: usize, frames: usize) {
    for n in 0..frames {
        let found = if n == 0 { vec![moving(0).detected(0)] } else { vec![] };
        run.sources[stream].push(frame(n, &[moving(n)], &found)).unwrap();
    }
}

#[test]
fn results_are_the_same_with_queues_and_in_batches_of_two_streams() {
    const FRAMES: usize = 10;
    let alone = Run::new(HAND, "", "");
    of_stream(&alone, 0, FRAMES);
    let (wanted, _) = alone.end();
    let wanted: Vec<Seen> = wanted.into_values().collect();
    let queued = Run::new(HAND, "queue !", "queue ! identity ! queue !");
    of_stream(&queued, 0, FRAMES);
    assert_eq!(queued.end().0.into_values().collect::<Vec<_>>(), wanted);
    // No batch is ever full, and none waits for frames that cannot come.
    let model = dots(HAND);
    let chain = |stream: usize| {
        format!(
            "fusedpreproc name=pre{stream} roi=objects device=cpu ! trtinfer device=cpu model={model} instance=follow batch-size=4 \
             batch-timeout={NEVER} ! queue ! peakfind name=find{stream} ! fakesink async=false sync=false "
        )
    };
    let two = Run::of(&(chain(0) + &chain(1)), 2);
    std::thread::scope(|scope| {
        for stream in 0..2 {
            let two = &two;
            scope.spawn(move || of_stream(two, stream, FRAMES));
        }
    });
    let (log, warnings) = two.end();
    assert_eq!(warnings, Vec::<String>::new());
    for stream in 0..2 {
        let seen: Vec<_> =
            log.iter().filter(|((of, _), _)| *of == stream).map(|(_, seen)| seen.clone()).collect();
        assert_eq!(seen, wanted, "stream {stream}");
    }
}

#[test]
fn streams_that_take_turns_in_one_element_are_followed_each() {
    let model = dots(HAND);
    let run = TestPipeline::new(&format!(
        "funnel name=f ! fusedpreproc name=pre roi=objects device=cpu ! trtinfer device=cpu model={model} ! queue ! peakfind name=find \
         ! fakesink name=out async=false sync=false"
    ));
    let out = run.collect("out");
    let caps = format!("video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1");
    let funnel = run.element("f");
    run.play();
    let sources: Vec<_> = (0..2)
        .map(|stream| {
            let source = gst::Pad::builder(gst::PadDirection::Src).build();
            source.set_active(true).unwrap();
            source.link(&funnel.request_pad_simple("sink_%u").unwrap()).unwrap();
            source.push_event(gst::event::StreamStart::new(&format!("stream {stream}")));
            source.push_event(gst::event::Caps::new(&caps.parse().unwrap()));
            source.push_event(gst::event::Segment::new(&gst::FormattedSegment::<ClockTime>::new()));
            source
        })
        .collect();
    for n in 0..6 {
        for (source, middle) in sources.iter().zip([40.0, 100.0]) {
            let hand = Hand { middle: [middle + 6.0 * n as f64, 60.0], angle: 0.0, brightness: 255 };
            let found = if n == 0 { vec![hand.detected(0)] } else { vec![] };
            source.push(frame(n, &[hand], &found)).unwrap();
        }
    }
    for source in &sources {
        source.push_event(gst::event::Eos::new());
    }
    run.wait().succeeds();
    let middles: Vec<_> = out
        .lock()
        .unwrap()
        .iter()
        .map(|frame| {
            let [object] = &objects(frame)[..] else { panic!("one object") };
            object.keypoints.as_ref().unwrap().x[0]
        })
        .collect();
    assert_eq!(middles.len(), 12);
    for (i, x) in middles.iter().enumerate() {
        let wanted = [40.0, 100.0][i % 2] + 6.0 * (i / 2) as f64;
        assert!((x - wanted).abs() < 3.0, "{middles:?}");
    }
}

#[test]
fn a_flush_other_caps_and_a_segment_that_does_not_continue_end_what_is_followed() {
    let run = Run::new(HAND, "queue !", "");
    let mut number = 0;
    let mut follow = |found: bool| {
        let found = if found { vec![moving(0).detected(0)] } else { vec![] };
        run.push(number, &[moving(0)], &found);
        number += 1;
    };
    follow(true);
    follow(false);
    run.segment(0, 2);
    follow(false);
    run.segment(0, 500);
    follow(false);
    follow(true);
    follow(false);
    run.sources[0].push_event(gst::event::FlushStart::new());
    run.sources[0].push_event(gst::event::FlushStop::new(true));
    run.segment(0, 0);
    follow(false);
    follow(true);
    let caps = format!("video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=50/1");
    run.sources[0].push_event(gst::event::Caps::new(&caps.parse().unwrap()));
    follow(false);
    follow(true);
    follow(false);
    let (log, _) = run.end();
    let followed = run.count("followed");
    // The flush may drop frames before peakfind sees them, and never one after it.
    let after: Vec<_> =
        log.iter().filter(|((_, n), _)| *n >= 6).map(|(_, seen)| seen.regions.len()).collect();
    assert_eq!(after, [0, 1, 0, 1, 1], "{log:?}");
    let before: Vec<_> =
        log.iter().filter(|((_, n), _)| *n < 4).map(|(_, seen)| seen.regions.len()).collect();
    assert_eq!(before, [1, 1, 1, 0], "{log:?}");
    assert_eq!((followed, run.count("unanswered")), (4, 0));
}

#[test]
fn a_frame_that_is_dropped_on_the_way_is_counted_and_the_next_one_has_the_detectors_objects() {
    for what in [gst::PadProbeType::BUFFER, gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM] {
        let run = Run::new(HAND, "queue !", "queue !");
        let pad = run.pipeline.element("infer").static_pad("sink").unwrap();
        for n in 0..4 {
            if n == 1 {
                until("the first frame is through", || run.log.lock().unwrap().len() == 1);
                pad.add_probe(what, move |_, info| {
                    let passes = match &info.data {
                        Some(gst::PadProbeData::Buffer(frame)) => {
                            frame.pts() != Some(ClockTime::from_mseconds(10))
                        }
                        Some(gst::PadProbeData::Event(event)) => event.type_() == gst::EventType::Eos,
                        _ => true,
                    };
                    if passes {
                        return gst::PadProbeReturn::Ok;
                    }
                    drop(info.data.take());
                    gst::PadProbeReturn::Handled
                });
            }
            run.push(n, &[moving(n)], &[moving(n).detected(0)]);
        }
        let (log, warnings) = run.end();
        assert_eq!(log.len(), 3);
        assert_eq!(log[&(0, 2)].regions[0].2, [21.0, 0.0], "the detector's");
        assert!(matches!(&warnings[..], [one] if one.contains("not known what was found")), "{warnings:?}");
        assert!(run.count("unanswered") >= 1);
    }
}

#[test]
fn a_leaky_queue_does_not_make_anybody_wait_forever() {
    for leaky in ["downstream", "upstream"] {
        let run = Run::new(HAND, &format!("queue leaky={leaky} max-size-buffers=1 !"), "");
        for n in 0..30 {
            run.push(n, &[moving(0)], &[moving(0).detected(0)]);
        }
        let (log, _) = run.end();
        assert!(!log.is_empty());
        assert_eq!(run.count("frames"), 30);
    }
}

#[test]
fn a_followed_object_that_min_size_leaves_out_is_not_there_twice() {
    let elements = Run::elements(HAND, "", "").replace("name=pre0", "name=pre0 min-size=27");
    let run = Run::of(&elements, 1);
    let small = |hand: Hand| {
        let [x, y] = hand.middle.map(|v| v as f32 - 13.0);
        let detection =
            Some(DetectionParam { rect: Rect { x, y, w: 26.0, h: 26.0 }, confidence: 0.75, label_id: 4 });
        Object { detection, tracking: None, ..hand.detected(0) }
    };
    run.push(0, &[moving(0)], &[moving(0).detected(0)]);
    run.push(1, &[moving(1)], &[small(moving(1))]);
    run.push(2, &[moving(2)], &[small(moving(2))]);
    let (log, _) = run.end();
    let counts: Vec<_> = log.values().map(|seen| (seen.regions.len(), seen.objects.len())).collect();
    assert_eq!(counts, [(1, 1); 3]);
    assert_eq!(log[&(0, 2)].objects[0].tracking.as_ref().map(|tracking| tracking.id), Some(70));
}

#[test]
fn objects_of_single_points_are_not_followed_which_is_said() {
    let run = Run::of(&Run::elements(HAND, "", "").replace("name=find0", "name=find0 grouping=each"), 1);
    (0..3).for_each(|n| run.push(n, &[moving(n)], &[moving(0).detected(0)]));
    let (log, warnings) = run.end();
    assert!(log.values().all(|seen| seen.regions[0].2 == [21.0, 0.0]), "the detector's box");
    assert!(
        matches!(&warnings[..], [one] if one.contains("no object is followed") && one.contains("Set another grouping")),
        "{warnings:?}"
    );
}

#[test]
fn a_track_by_points_that_the_model_does_not_have_is_doubted() {
    let path = scratch("unknown-points").join("model.onnx");
    std::fs::copy(model("sleap-single"), &path).unwrap();
    std::fs::write(path.with_extension("toml"), "[track]\npoints = [\"head\", \"fin\"]\n").unwrap();
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 ! video/x-raw,format=GRAY8,width=64,height=48 ! fusedpreproc device=cpu \
         ! trtinfer device=cpu model={} ! peakfind ! fakesink",
        path.display()
    ));
    pipeline.play();
    let warnings = pipeline.wait().succeeds().warnings;
    assert!(warnings.iter().any(|text| text.contains("names a point 'fin'")), "{warnings:?}");
}

#[test]
fn an_object_of_upstream_has_the_region_that_its_points_ask_for() {
    let elements = Run::elements(&HAND.replace("[track]", "[region]"), "", "");
    let run = Run::of(&elements.replace("name=pre0", "name=pre0 roi-from=objects"), 1);
    let with_points = |hand: Hand, id: i32, count: usize| {
        let places = &hand.places()[..count];
        let points = KeypointsParam {
            names: ["wrist", "finger", "thumb"][..count].iter().map(|name| (*name).into()).collect(),
            x: places.iter().map(|place| place[0]).collect(),
            y: places.iter().map(|place| place[1]).collect(),
            score: vec![1.0; count],
            ..KeypointsParam::default()
        };
        // Its box would be another region.
        Object { keypoints: Some(points), ..FAR.detected(id) }
    };
    for n in [0, 3, 6] {
        run.push(n, &[moving(n)], &[with_points(moving(n), 0, 3), with_points(moving(n), 1, 1)]);
    }
    let (log, warnings) = run.end();
    for n in [0, 3, 6] {
        assert_follows(&log[&(0, n as u64)].regions, &with_points(moving(n), 0, 3));
    }
    assert!(
        matches!(&warnings[..], [one] if one.contains("an object has points called wrist")
            && one.contains("[region] in the model's sidecar needs points called finger, wrist")),
        "{warnings:?}"
    );
    assert_eq!((run.count("tensors"), run.count("skipped")), (3, 3));
}
