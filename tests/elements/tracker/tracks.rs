//! Tracks in whole pipelines: time, streams that share the tracker, lost objects, and appearance.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 32;
const CAPS: &str = "video/x-raw,format=RGB,width=32,height=32,framerate=100/1";

/// Red on the left, blue on the right, or the other way round.
fn picture(pts: Option<u64>, blue_first: bool, objects: &[Object]) -> gst::Buffer {
    cudainfer_tests::init();
    let colour = |x| if (x < SIDE / 2) == blue_first { [0, 0, 255] } else { [255, 0, 0] };
    let row = (0..SIDE).flat_map(colour);
    let mut buffer = gst::Buffer::from_mut_slice(row.cycle().take(3 * SIDE * SIDE).collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(pts.map(gst::ClockTime::from_mseconds));
    objects.iter().for_each(|object| object.put(writable, &Rect::default()));
    buffer
}

fn object(id: i32, x: f32) -> Object {
    let rect = Rect { x, y: 4.0, w: 12.0, h: 16.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 7 });
    Object { id, label: "car".into(), detection, ..Object::default() }
}

fn frame(pts: impl Into<Option<u64>>, x: f32) -> gst::Buffer {
    picture(pts.into(), false, &[object(0, x)])
}

fn pipeline_of(elements: &str) -> TestPipeline {
    TestPipeline::new(&format!(
        "appsrc name=in format=time caps={CAPS} ! {elements} ! fakesink name=out async=false sync=false"
    ))
}

/// These frames after the tracker, and the pipeline, which has ended.
fn followed(elements: &str, frames: Vec<gst::Buffer>) -> (TestPipeline, Vec<gst::Buffer>) {
    let pipeline = pipeline_of(elements);
    let out = pipeline.collect("out");
    pipeline.play();
    frames.into_iter().for_each(|frame| push(&pipeline.element("in"), frame));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let out = out.lock().unwrap().clone();
    (pipeline, out)
}

fn ids(buffer: &gst::Buffer) -> Vec<u64> {
    objects(buffer).iter().map(|object| object.tracking.as_ref().map_or(0, |track| track.id)).collect()
}

#[test]
fn after_a_gap_an_object_is_expected_where_it_has_moved_by_then() {
    // Two pixels a frame, and ten frames are missing.
    let walk = |timed: bool| {
        let numbers = (0..20).chain(30..40u16);
        let one = |n: u16| frame(timed.then_some(10 * u64::from(n)), 2.0 * f32::from(n));
        followed("tracker name=tracker", numbers.map(one).collect())
    };
    let (pipeline, out) = walk(true);
    assert!(out.iter().all(|buffer| ids(buffer) == [1]));
    let track = objects(&out[29])[0].tracking.clone().unwrap();
    assert_eq!((track.age, track.hits), (29, 30));
    // Two pixels a hundredth of a second.
    assert!((track.velocity[0] - 200.0).abs() < 4.0 && track.velocity[1].abs() < 1.0, "{track:?}");
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("untimed").unwrap(), 0);
    let (pipeline, out) = walk(false);
    assert_ne!(ids(&out[20]), [1], "without timestamps nothing says that frames are missing");
    let stats = pipeline.element("tracker").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("untimed").unwrap(), 30);
}

#[test]
fn who_is_lost_is_written_where_asked_with_label_and_place() {
    let frames = || {
        let seen = (0..10u16).map(|n| frame(10 * u64::from(n), 2.0 * f32::from(n)));
        seen.chain((10..14).map(|n| picture(Some(10 * n), false, &[]))).collect()
    };
    let (_, out) = followed("tracker publish-lost=true", frames());
    for (buffer, n) in out.iter().zip(0u8..).skip(10) {
        let [lost] = &objects(buffer)[..] else { panic!("there is one object") };
        let track = lost.tracking.as_ref().unwrap();
        assert_eq!((track.id, track.state.as_str(), lost.label.as_str()), (1, "lost", "car"));
        assert!(lost.detection.is_none());
        assert!((track.rect.x - 2.0 * f32::from(n)).abs() < 2.0, "{n}: {:?}", track.rect);
    }
    let (_, out) = followed("tracker", frames());
    assert!(out[10..].iter().all(|buffer| objects(buffer).is_empty()));
}

#[test]
fn objects_survive_new_caps_and_neither_a_flush_nor_a_new_start_gives_an_identity_twice() {
    let pipeline = pipeline_of("tracker name=tracker");
    let out = pipeline.collect("out");
    pipeline.play();
    let source = pipeline.element("in");
    let mut pushed = 0;
    let mut show = |count: u64| {
        (0..count).for_each(|n| push(&source, frame(10 * n, 5.0)));
        pushed += count as usize;
        until("frames", || out.lock().unwrap().len() == pushed);
        ids(out.lock().unwrap().last().unwrap())
    };
    assert_eq!(show(3), [1]);
    let other = CAPS.replace("100/1", "50/1").parse::<gst::Caps>().unwrap();
    source.set_property("caps", &other);
    assert_eq!(show(3), [1]);
    for id in 2..4 {
        assert!(source.send_event(gst::event::FlushStart::new()));
        assert!(source.send_event(gst::event::FlushStop::new(true)));
        assert_eq!(show(3), [id]);
    }
    let tracker = pipeline.element("tracker");
    let stream = tracker.static_pad("sink").unwrap().stream_id().unwrap();
    assert!(tracker.static_pad("sink").unwrap().send_event(gst::event::StreamStart::new(&stream)));
    assert_eq!(show(3), [4]);
}

#[test]
fn streams_that_share_the_tracker_are_followed_apart() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps={CAPS} ! funnel name=f ! tracker ! fakesink name=out async=false sync=false \
         appsrc name=b format=time caps={CAPS} ! f."
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for n in 0..12u16 {
        // Stream b has one more object, and none where stream a has its object.
        let (time, x) = (10 * u64::from(n / 2), 2.0 * f32::from(n / 2));
        if n % 2 == 0 {
            push(&pipeline.element("a"), frame(time, x));
        } else {
            push(
                &pipeline.element("b"),
                picture(Some(time), false, &[object(0, 300.0 - x), object(1, 500.0)]),
            );
        }
        until("the frame", || out.lock().unwrap().len() == usize::from(n) + 1);
    }
    for (n, buffer) in out.lock().unwrap().iter().enumerate() {
        assert_eq!(ids(buffer), if n % 2 == 0 { vec![1] } else { vec![1, 2] }, "frame {n}");
    }
    pipeline.stop();
}

#[test]
fn streams_that_were_forgotten_while_they_waited_are_counted_and_warned_about_and_those_that_are_gone_are_not()
 {
    for (element, what) in
        [("tracker", "tracks"), ("zonecount zones=yard=polygon:20,0,44,0,44,64,20,64", "counts")]
    {
        let pipeline =
            TestPipeline::new(&format!("{element} name=it ! fakesink name=out async=false sync=false"));
        pipeline.reach(gst::State::Playing);
        let it = pipeline.element("it");
        let pad = it.static_pad("sink").unwrap();
        let start = |n: usize| gst::event::StreamStart::new(&format!("stream-{n}"));
        let forgotten = || it.property::<gst::Structure>("stats").get::<u64>("forgotten-streams").unwrap();
        let starts: Vec<_> = (0..300).map(start).collect();
        for event in &starts {
            assert!(pad.send_event(event.clone()));
        }
        assert_eq!(forgotten(), 0, "{element}: all are new");
        // Of these streams, 299 is remembered and 3 is not.
        assert!(pad.send_event(starts[299].clone()));
        assert_eq!(forgotten(), 0, "{element}");
        for n in [3, 4] {
            assert!(pad.send_event(starts[n].clone()));
        }
        assert_eq!(forgotten(), 2, "{element}");
        let bus = pipeline.bus().unwrap();
        let said: Vec<_> = bus
            .iter()
            .filter_map(|message| match message.view() {
                gst::MessageView::Warning(warning) => Some(warning.error().to_string()),
                _ => None,
            })
            .collect();
        let [one] = &said[..] else { panic!("{element}: {said:?}") };
        assert!(one.starts_with("it: more than 256 streams") && one.contains(what), "{one}");
        pipeline.stop();
    }
}

/// Two objects that overlap stand still, and then their colours swap places.
fn swap(elements: &str) -> Vec<u64> {
    let two = [object(0, 6.0), object(1, 14.0)];
    let frames = (0..6).map(|n| picture(Some(10 * n), n == 5, &two)).collect();
    let (_, out) = followed(elements, frames);
    assert!(out[..5].iter().all(|buffer| ids(buffer) == [1, 2]));
    assert!(out.iter().all(|buffer| TensorSet::of(buffer).is_none()), "the embeddings stay on the frame");
    ids(&out[5])
}

#[test]
fn looks_decide_between_neighbours() {
    let model = format!("fusedpreproc roi=objects ! trtinfer model={}", model("colours"));
    let near = "proximity=0.1 appearance-distance=0.2";
    for algorithm in ["auto", "bytetrack", "botsort"] {
        let by = |elements: &str| swap(&format!("{elements} algorithm={algorithm}"));
        assert_eq!(by(&format!("tracker appearance=histogram {near}")), [2, 1], "{algorithm}");
        assert_eq!(by(&format!("{model} ! tracker {near}")), [2, 1], "{algorithm}");
        assert_eq!(by(&format!("{model} ! tracker {near} embedding-output=scores")), [2, 1], "{algorithm}");
        assert_eq!(
            by(&format!("{model} ! embed ! tracker {near}")),
            [2, 1],
            "{algorithm}: by what objects have"
        );
        let named = format!("{model} ! embed ! queue ! tracker {near} embedding-output=scores");
        assert_eq!(by(&named), [2, 1], "{algorithm}");
        let squeezed =
            format!("fusedpreproc roi=objects ! trtinfer model={}", self::model("colours-squeezed"));
        assert_eq!(
            by(&format!("{squeezed} ! tracker {near}")),
            [2, 1],
            "{algorithm}: no dimension for the batch"
        );
        assert_eq!(by("tracker"), [1, 2], "{algorithm}");
        assert_eq!(by("tracker appearance=histogram proximity=0.9"), [1, 2], "{algorithm}");
    }
}

#[test]
fn a_second_model_without_one_embedding_is_not_taken_over() {
    let pipeline = pipeline_of(&format!(
        "fusedpreproc roi=objects ! trtinfer name=infer model={} ! tracker name=tracker",
        model("colours")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let (bus, mut frames, mut said) = (pipeline.bus().unwrap(), 0, String::new());
    let mut show = || {
        frames += 1;
        push(&pipeline.element("in"), frame(10 * frames, 5.0));
        until("the frame", || out.lock().unwrap().len() as u64 == frames);
    };
    show();
    pipeline.element("infer").set_property("model", model("masks"));
    until("the warning", || {
        show();
        let warning = bus.pop_filtered(&[gst::MessageType::Warning]);
        if let Some(gst::MessageView::Warning(warning)) = warning.as_ref().map(|message| message.view()) {
            said = warning.error().to_string();
        }
        said.contains("masks.onnx")
    });
    for part in ["is not taken over", "tracker: set embedding-output", "'coloured', 'prototypes'", "goes on"]
    {
        assert!(said.contains(part), "no '{part}': {said}");
    }
    (0..5).for_each(|_| show());
    assert!(out.lock().unwrap().iter().all(|buffer| ids(buffer) == [1]));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
}

#[test]
fn streams_that_share_the_tracker_are_looked_at_alike() {
    // Their caps are the same, so the tracker gets them only once.
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps={CAPS} ! funnel name=f \
         ! tracker appearance=histogram proximity=0.1 appearance-distance=0.2 ! fakesink name=out async=false sync=false \
         appsrc name=b format=time caps={CAPS} ! f."
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let two = [object(0, 6.0), object(1, 14.0)];
    for n in 0..12u64 {
        let frame = picture(Some(10 * (n / 2)), n / 2 == 5, &two);
        push(&pipeline.element(if n % 2 == 0 { "a" } else { "b" }), frame);
        until("the frame", || out.lock().unwrap().len() as u64 == n + 1);
    }
    for (n, buffer) in out.lock().unwrap().iter().enumerate() {
        assert_eq!(ids(buffer), if n < 10 { [1, 2] } else { [2, 1] }, "frame {n}");
    }
    pipeline.stop();
}

/// A picture of 256 x 192 of noise of two sizes, with an object of 16 x 24 that stands still; the camera looks `x`, `y` pixels
/// further to the right and down.
fn shaken(number: u64, x: usize, y: usize) -> gst::Buffer {
    let noise = |x: usize, y: usize| {
        let mixed = (x * 73_856_093) ^ (y * 19_349_663);
        ((mixed ^ (mixed >> 13)).wrapping_mul(0x5bd1_e995) >> 7) % 256
    };
    // Blocks of `side` pixels, bilinear between their corners.
    let blocks = |side: usize, x: usize, y: usize| {
        let ([bx, by], [fx, fy]) = ([x / side, y / side], [x % side, y % side]);
        let row = |by| noise(bx, by) * (side - fx) + noise(bx + 1, by) * fx;
        (row(by) * (side - fy) + row(by + 1) * fy) / (side * side)
    };
    let value = |x, y| u8::try_from((3 * blocks(32, x, y) + blocks(8, x, y)) / 4).unwrap();
    let pixels =
        (0..192).flat_map(|row| (0..256).map(move |col| (col, row))).map(|(c, r)| value(c + x, r + y));
    let mut buffer = gst::Buffer::from_mut_slice(pixels.collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(10 * number));
    let rect = Rect { x: 150.0 - x as f32, y: 100.0 - y as f32, w: 16.0, h: 24.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 0 });
    Object { detection, ..Object::default() }.put(writable, &rect);
    buffer
}

#[test]
fn objects_move_with_the_camera_where_asked() {
    let last = |tracker: &str| {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=GRAY8,width=256,height=192,framerate=100/1 \
             ! tracker {tracker} ! fakesink name=out"
        ));
        let out = pipeline.collect("out");
        pipeline.play();
        // The camera stands still, and then turns by more than the object's width in each frame.
        for (number, (x, y)) in (0..).zip([(0, 0), (0, 0), (0, 0), (19, 3), (37, 15), (56, 17), (74, 29)]) {
            push(&pipeline.element("in"), shaken(number, x, y));
        }
        end(&pipeline.element("in"));
        pipeline.wait().succeeds();
        pipeline.stop();
        let out = out.lock().unwrap();
        ids(out.last().unwrap())
    };
    for algorithm in ["auto", "sort", "bytetrack", "ocsort", "botsort", "cbiou"] {
        assert_eq!(last(&format!("algorithm={algorithm} camera-motion=true")), [1], "{algorithm}");
    }
    assert_eq!(last("algorithm=botsort"), [1]);
    for without in ["algorithm=botsort camera-motion=false", "algorithm=auto"] {
        assert_ne!(last(without), [1], "{without}: the test shows nothing");
    }
}
