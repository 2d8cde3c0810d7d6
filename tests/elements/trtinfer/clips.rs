//! Models of clips: a run sees frames of a stream or of a track along a dimension of time, and the frames between carry its answer.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::stream::{CAPS, NEVER, brightness};
use cudainfer_tests::{Report, TestPipeline, end, filled, model, openvino_library, push, until};
use gstcudainfer::meta::object::{DetectionParam, Object, TrackingParam, objects};
use gstcudainfer::meta::tensor::TensorSet;

use super::recurrent::{Counted, values};

/// The models, and the stride and the hop of each; their clips have four frames.
const MODELS: [(&str, u64, u64); 4] = [
    ("clip-channels-first", 2, 3),
    ("clip-time-first", 1, 4),
    ("clip-channels-last", 1, 1),
    ("clip-time-last", 1, 2),
];

/// The clip whose answer a frame of this number carries, in a stream that begins with `first`; nothing before a clip is full.
fn clip(number: u64, first: u64, stride: u64, hop: u64) -> Option<Vec<f32>> {
    let since = (number - first).checked_sub(3 * stride)?;
    let last = number - since % hop;
    Some((0..4).rev().map(|ago| f32::from(brightness(last - ago * stride)) / 255.0).collect())
}

fn number(frame: &gst::Buffer) -> u64 {
    frame.pts().unwrap().mseconds() / 10
}

fn assert_seen(frame: &gst::Buffer, wanted: Option<Vec<f32>>) {
    let Some(wanted) = wanted else {
        assert_eq!(TensorSet::of(frame).unwrap().len(), 0, "frame {} has an answer", number(frame));
        return;
    };
    let seen = values(frame, "seen");
    let close = seen.iter().zip(&wanted).all(|(seen, wanted)| (seen - wanted).abs() < 1e-4);
    assert!(seen.len() == 4 && close, "frame {}: {seen:?}, not {wanted:?}", number(frame));
}

/// Pushes frames, and compares the clips whose answers they carry.
fn check(model_name: &str, stride: u64, hop: u64, properties: &str) {
    let counted = Counted::new(model_name, properties);
    counted.push(20..60);
    counted.stream.end();
    let out = counted.out.lock().unwrap();
    assert_eq!(out.len(), 40, "{model_name} {properties}");
    out.iter().for_each(|frame| assert_seen(frame, clip(number(frame), 20, stride, hop)));
    let (answered, runs) = (40 - 3 * stride, (40 - 3 * stride).div_ceil(hop));
    assert_eq!(counted.stream.count("batches"), runs, "{model_name} {properties}");
    assert_eq!(counted.stream.count("held"), answered - runs, "{model_name} {properties}");
    assert_eq!(counted.stream.said(), Vec::<String>::new());
}

#[test]
fn a_run_sees_each_clip_and_the_frames_between_carry_its_answer() {
    for (model_name, stride, hop) in MODELS {
        check(model_name, stride, hop, "workers=1");
    }
}

#[test]
fn clips_are_the_same_whatever_workers_and_batches_are() {
    for (model_name, stride, hop) in MODELS {
        let batch = if model_name == "clip-time-last" { "" } else { "batch-size=3" };
        for properties in
            ["workers=4 max-in-flight=16", "workers=2 max-in-flight=1", &format!("batch-timeout={NEVER}")]
        {
            check(model_name, stride, hop, &format!("{properties} {batch}"));
        }
    }
}

#[test]
fn openvino_sees_the_clips_that_onnx_runtime_does() {
    let Some(library) = openvino_library() else { return };
    for (model_name, stride, hop) in MODELS {
        check(model_name, stride, hop, &format!("provider=openvino openvino={}", library.display()));
    }
}

#[test]
fn streams_that_share_a_model_have_their_own_clips() {
    let properties = "instance=clips batch-size=3 workers=2";
    let streams = [(); 3].map(|()| Counted::new("clip-channels-first", properties));
    std::thread::scope(|scope| {
        for (index, counted) in (0..).zip(&streams) {
            scope.spawn(move || {
                counted.push(100 * index..100 * index + 30);
                counted.stream.end();
            });
        }
    });
    for (index, counted) in (0..).zip(&streams) {
        let out = counted.out.lock().unwrap();
        assert_eq!(out.len(), 30);
        out.iter().for_each(|frame| assert_seen(frame, clip(number(frame), 100 * index, 2, 3)));
    }
}

#[test]
fn a_clip_begins_anew_after_a_flush_other_caps_and_with_another_model() {
    let counted = Counted::new("clip-channels-first", "workers=2");
    let stream = &counted.stream;
    let last = |frames: usize, first: u64| {
        stream.wait_for(frames);
        let out = counted.out.lock().unwrap();
        let frame = out.last().unwrap();
        assert_seen(frame, clip(number(frame), first, 2, 3));
    };
    counted.push(0..8);
    last(8, 0);
    stream.flush();
    counted.push(0..6);
    last(14, 0);
    counted.push([6]);
    last(15, 0);
    stream.event(gst::event::Caps::new(
        &CAPS.replace("width=8", "width=16").replace("height=8", "height=4").parse().unwrap(),
    ));
    counted.push(7..13);
    last(21, 7);
    counted.push([13]);
    last(22, 7);
    stream.set_model("clip-channels-last");
    let mut next = 14;
    until("the new model's first clip", || {
        counted.push([next]);
        next += 1;
        let out = counted.out.lock().unwrap();
        // It answers at every frame; the one before at every third.
        out.iter().rev().take(2).all(|frame| {
            let wanted =
                number(frame).checked_sub(17).and_then(|first| clip(number(frame), first.max(14), 1, 1));
            TensorSet::of(frame).is_some_and(|sets| !sets.is_empty())
                && wanted.is_some_and(|wanted| {
                    values(frame, "seen").iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4)
                })
        })
    });
    counted.stream.end();
}

#[test]
fn a_clip_whose_frame_is_dropped_is_made_up_for() {
    let counted = Counted::new("clip-channels-last", "leaky=downstream max-in-flight=2");
    let mut held = counted.stream.hold("infer");
    counted.push(0..30);
    held.wait();
    held.release();
    counted.stream.end();
    assert!(counted.stream.count("dropped") > 0);
    // Each answer is that of its own frame: none was lost with a frame that was dropped.
    for frame in counted.out.lock().unwrap().iter() {
        assert_seen(frame, clip(number(frame), 0, 1, 1));
    }
}

#[test]
fn a_stream_that_is_shorter_than_a_clip_is_warned_about_once_with_numbers() {
    for (frames, warned) in [(6, true), (7, false), (0, false)] {
        let counted = Counted::new("clip-channels-first", "");
        counted.push(0..frames);
        counted.stream.event(gst::event::Eos::new());
        let report = counted.stream.pipeline.wait().succeeds();
        let of_clips: Vec<_> =
            report.warnings.iter().filter(|text| text.contains("no clip was full")).collect();
        assert_eq!(of_clips.len(), usize::from(warned), "{report:?}");
        if let [text] = of_clips[..] {
            assert!(
                text.contains("had 6 frames, but a clip of 4 frames with a stride of 2 takes 7"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_result_is_there_for_every_frame_once_a_clip_was_full() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps={CAPS} ! fusedpreproc ! trtinfer device=cpu model={} ! classify ! fakesink name=out",
        model("clip-actions")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    (0..20).for_each(|number| push(&pipeline.element("in"), filled(8 * 8 * 3, brightness(number), number)));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    assert_eq!(out.lock().unwrap().len(), 20);
    for frame in out.lock().unwrap().iter() {
        let found = objects(frame);
        let labels: Vec<_> =
            found.iter().flat_map(|object| &object.classifications).map(|c| c.labels[0].clone()).collect();
        let wanted =
            clip(number(frame), 0, 1, 2).map(|seen| if seen[3] > seen[0] { "brighter" } else { "darker" });
        assert_eq!(labels, wanted.into_iter().collect::<Vec<_>>(), "frame {}", number(frame));
    }
}

/// Frames with two tiles of 8x8 pixels, whose brightness changes as that of frames with these numbers added.
const TILES: [u64; 2] = [0, 50];

fn tiles(number: u64) -> gst::Buffer {
    let pixels = (0..8).flat_map(|_| TILES.iter().flat_map(move |more| [brightness(number + more); 8 * 3]));
    let mut buffer = gst::Buffer::from_mut_slice(pixels.collect::<Vec<u8>>());
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(10 * number));
    buffer
}

/// The object of this identity on a tile.
fn tracked(id: i32, identity: Option<u64>, tile: u8) -> Object {
    let rect = Rect { x: 8.0 * f32::from(tile), y: 0.0, w: 8.0, h: 8.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    let tracking =
        identity.map(|id| TrackingParam { id, rect, state: "tracked".into(), ..TrackingParam::default() });
    Object { id, label: "one".into(), detection, tracking, ..Object::default() }
}

/// Frames with these objects through the model of clips, and what was said.
fn through_regions(frames: &[Vec<Object>], model_name: &str, properties: &str) -> (Vec<gst::Buffer>, Report) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=16,height=8,framerate=100/1 \
         ! fusedpreproc roi=objects ! trtinfer device=cpu model={} {properties} ! fakesink name=out",
        model(model_name)
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for (number, objects) in (0..).zip(frames) {
        let mut buffer = tiles(number);
        objects.iter().for_each(|object| object.put(buffer.get_mut().unwrap(), &Rect::default()));
        push(&pipeline.element("in"), buffer);
    }
    end(&pipeline.element("in"));
    let report = pipeline.wait().succeeds();
    pipeline.stop();
    let out = std::mem::take(&mut *out.lock().unwrap());
    (out, report)
}

/// What a region has seen.
fn seen(set: &TensorSet) -> Vec<f32> {
    let tensor = set.tensors.iter().find(|tensor| tensor.desc.name == "seen").unwrap();
    tensor.map().unwrap().view().unwrap().to_f32().into_owned()
}

#[test]
fn each_track_has_its_own_clips() {
    // Each track, its tile, and the first and the last frame in which it is seen: one too short for a clip, and one that comes later.
    let tracks = [(5, 0, 0, 20), (7, 1, 0, 3), (9, 1, 4, 17)];
    let on = |number: u64| tracks.iter().filter(move |(.., first, end)| (*first..*end).contains(&number));
    let frame = |number: u64| {
        let mut objects: Vec<_> = (0..)
            .zip(on(number))
            .map(|(id, (identity, tile, ..))| tracked(id, Some(*identity), *tile))
            .collect();
        // The order of a frame's objects says nothing.
        if number.is_multiple_of(3) {
            objects.reverse();
        }
        objects
    };
    let frames: Vec<_> = (0..20).map(frame).collect();
    for properties in ["", "workers=3 batch-size=4 max-in-flight=8"] {
        let (out, report) = through_regions(&frames, "clip-channels-first", properties);
        assert_eq!(out.len(), 20);
        for frame in &out {
            let number = number(frame);
            let sets = TensorSet::of(frame).unwrap();
            let mut answers = 0;
            for (id, (_, tile, first, _)) in (0..).zip(on(number)) {
                let Some(since) = (number - first).checked_sub(6) else { continue };
                let (last, more) = (number - since % 3, TILES[usize::from(*tile)]);
                let set = sets
                    .iter()
                    .find(|set| set.object == Some(id))
                    .unwrap_or_else(|| panic!("{number}: {id}"));
                let wanted = (0..4).rev().map(|ago| f32::from(brightness(last - 2 * ago + more)) / 255.0);
                let close =
                    seen(set).into_iter().zip(wanted).all(|(seen, wanted)| (seen - wanted).abs() < 1e-4);
                assert!(close, "frame {number}, {id}: {:?}", seen(set));
                answers += 1;
            }
            assert_eq!(sets.len(), answers, "frame {number}");
        }
        assert!(!report.warnings.iter().any(|text| text.contains("has not run")), "{report:?}");
    }
}

#[test]
fn a_track_sees_its_own_frame_before() {
    let frames: Vec<_> = (0..6).map(|_| vec![tracked(0, Some(3), 0), tracked(1, Some(4), 1)]).collect();
    let (out, _) = through_regions(&frames, "earlier-input", "batch-size=2");
    for frame in &out {
        for (set, more) in TensorSet::of(frame).unwrap().iter().zip(TILES) {
            let of = |number: u64| f32::from(brightness(number + more)) / 255.0;
            let wanted = [of(number(frame)), of(number(frame).saturating_sub(1))];
            assert!(seen(set).iter().zip(wanted).all(|(seen, wanted)| (seen - wanted).abs() < 1e-4));
        }
    }
    assert_eq!(out.len(), 6);
}

#[test]
fn objects_without_an_identity_and_tracks_that_are_too_short_are_warned_about() {
    let untracked: Vec<_> = (0..6).map(|_| vec![tracked(0, None, 0)]).collect();
    let short: Vec<_> = (0..6).map(|number| vec![tracked(0, Some(number / 2 + 1), 0)]).collect();
    for (frames, part) in [
        (untracked, "6 objects came without an identity, and none with one. Put tracker"),
        (short, "what was tracked in it, had 2 frames, but a clip of 4"),
    ] {
        let (out, report) = through_regions(&frames, "clip-actions", "");
        assert!(out.iter().all(|frame| TensorSet::of(frame).unwrap().is_empty()));
        assert_eq!(report.warnings.iter().filter(|text| text.contains(part)).count(), 1, "{report:?}");
    }
}

#[test]
fn tiles_have_their_own_frames_before() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=16,height=8,framerate=100/1 \
         ! fusedpreproc roi=list regions=0,0,8,8;8,0,8,8 resize=stretch ! trtinfer device=cpu model={} ! fakesink name=out",
        model("earlier-input")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    (0..5).for_each(|number| push(&pipeline.element("in"), tiles(number)));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    for frame in out.lock().unwrap().iter() {
        let sets = TensorSet::of(frame).unwrap();
        assert_eq!(sets.len(), 2);
        for (set, more) in sets.iter().zip(TILES) {
            let wanted = f32::from(brightness(number(frame).saturating_sub(1) + more)) / 255.0;
            assert!((seen(set)[1] - wanted).abs() < 1e-4, "{}: {:?}", number(frame), seen(set));
        }
    }
}
