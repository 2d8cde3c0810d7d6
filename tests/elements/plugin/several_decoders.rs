//! Several elements that decode the outputs of one inference, in any order.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run, scratch};
use gstcudainfer::meta::map::maps;
use gstcudainfer::meta::mask::{Mask, MaskKind, masks};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 64;
const BLUE: [u8; 3] = [0, 0, 255];
const RED: [u8; 3] = [255, 0, 0];

/// What elements put on a frame, and in which element's order masks came.
#[derive(Debug, Default, PartialEq)]
struct Found {
    boxes: Vec<[f32; 4]>,
    /// How many columns of each mask, from the left, are of class 1.
    columns: Vec<usize>,
    points: Vec<(f64, f64)>,
    scenes: Vec<String>,
    /// The greatest number of each map.
    greatest: Vec<f64>,
}

fn columns(mask: &Mask) -> usize {
    let rows = mask.data.map_readable().unwrap();
    let first = &rows[..mask.width];
    assert!(rows.chunks(mask.width).all(|row| row == first), "the colours are columns");
    first.iter().filter(|class| **class == 1).count()
}

fn found(frame: &gst::BufferRef) -> Found {
    let all = objects(frame);
    let boxes = all.iter().filter_map(|object| Some(object.detection.as_ref()?.rect));
    let points = all.iter().filter_map(|object| object.keypoints.as_ref());
    Found {
        boxes: boxes.map(|Rect { x, y, w, h }| [x, y, w, h]).collect(),
        columns: masks(frame).iter().map(columns).collect(),
        points: points.flat_map(|p| p.x.iter().copied().zip(p.y.iter().copied())).collect(),
        scenes: all
            .iter()
            .flat_map(|object| &object.classifications)
            .map(|classes| classes.labels[0].clone())
            .collect(),
        greatest: maps(frame).iter().map(|map| map.min_mean_max.unwrap()[2]).collect(),
    }
}

/// A frame whose first columns are red, and the others blue.
fn frame(red: usize, number: u64) -> gst::Buffer {
    let row = (0..SIDE).flat_map(|x| if x < red { RED } else { BLUE });
    cudainfer_tests::init();
    let mut buffer = gst::Buffer::from_mut_slice(row.cycle().take(3 * SIDE * SIDE).collect::<Vec<u8>>());
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(40 * number));
    buffer
}

/// The frames that come to `out` when these come in; `elements` are linked to the source and end in sinks.
fn through(
    elements: &str,
    frames: impl IntoIterator<Item = gst::Buffer>,
    outs: &[&str],
) -> Vec<Vec<gst::Buffer>> {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=25/1 ! {elements}"
    ));
    let collected: Vec<_> = outs.iter().map(|out| pipeline.collect(out)).collect();
    pipeline.play();
    frames.into_iter().for_each(|frame| push(&pipeline.element("in"), frame));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let seen = collected.iter().map(|frames| frames.lock().unwrap().clone()).collect();
    pipeline.stop();
    seen
}

/// The same after an inference of the whole frame, and one out.
fn after_inference(decoders: &str, frames: impl IntoIterator<Item = gst::Buffer>) -> Vec<gst::Buffer> {
    let infer = format!("fusedpreproc ! trtinfer model={} batch-size=2", model("tasks"));
    through(&format!("{infer} ! {decoders} ! fakesink name=out"), frames, &["out"]).remove(0)
}

const BOXES: [[f32; 4]; 2] = [[12.0, 24.0, 8.0, 16.0], [42.0, 20.0, 12.0, 8.0]];

#[test]
fn elements_in_any_order_read_one_inference_and_the_last_one_removes_the_tensors() {
    let (drive, lane) = ("segmask tensor=drive", "segmask tensor=lane");
    for decoders in [
        format!("{drive} ! {lane} ! gpunms"),
        format!("gpunms ! queue ! {drive} ! tracker ! {lane}"),
        format!("{drive} ! gpunms ! identity ! {lane}"),
        format!("{drive} ! videoconvert ! {lane} ! gpunms device=cpu"),
    ] {
        let frames = after_inference(&decoders, (0..4).map(|i| frame(16 * usize::try_from(i).unwrap(), i)));
        assert_eq!(frames.len(), 4);
        for (i, frame) in frames.iter().enumerate() {
            let wanted =
                Found { boxes: BOXES.to_vec(), columns: vec![16 * i, SIDE - 16 * i], ..Found::default() };
            assert_eq!(found(frame), wanted, "{decoders}");
            assert!(TensorSet::of(frame).is_none(), "{decoders}: the tensors stay on the frame");
        }
    }
}

/// A copy of the model with this sidecar.
fn tasks_with(sidecar: &str) -> String {
    let file = scratch("tasks").join("tasks.onnx");
    std::fs::copy(model("tasks"), &file).unwrap();
    std::fs::write(file.with_extension("toml"), sidecar).unwrap();
    file.display().to_string()
}

#[test]
fn each_mask_has_the_names_of_its_own_classes_and_is_read_by_its_own_table() {
    let sidecar = "[input]\nresize = \"stretch\"\n[output]\ndecoder = \"yolov5\"\nlabels = [\"car\"]\n\
        [segment]\nlabels = [\"elsewhere\", \"road\"]\n\
        [segment.lane]\nlabels = [\"none\", \"line\"]\nmode = \"soft\"\nchannel = 1\n";
    let file = tasks_with(sidecar);
    let pipeline = format!(
        "fusedpreproc ! trtinfer model={file} ! segmask tensor=drive ! segmask tensor=lane ! gpunms ! fakesink name=out"
    );
    let frames = through(&pipeline, [frame(16, 0)], &["out"]).remove(0);
    let kinds: Vec<_> = masks(&frames[0]).into_iter().map(|mask| mask.kind).collect();
    let road = MaskKind::Classes { labels: vec!["elsewhere".into(), "road".into()], background: Some(0) };
    assert_eq!(kinds, [road, MaskKind::Alpha { label: "line".into() }]);
    assert!(objects(&frames[0]).iter().all(|object| object.label == "car"));
}

#[test]
fn tables_of_masks_that_fit_nothing_are_refused_in_a_sentence() {
    for (tables, parts) in [
        ("[segment.road]\nmode = \"soft\"", &["[segment.road]", "no output 'road'", "drive"][..]),
        ("[segment.drive]\nmodes = \"soft\"", &["in segment.drive", "modes"]),
        ("[segment.drive]\noutput = \"lane\"", &["[segment.drive]", "belong to [segment]"]),
        (
            "[segment.drive]\nlabels = [\"a\"]\nlabels-file = \"b\"",
            &["segment.drive.labels-file", "keep one"],
        ),
    ] {
        let file = tasks_with(tables);
        run(&format!(
            "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer model={file} ! segmask tensor=drive ! fakesink"
        ))
        .fails_with(parts);
    }
}

#[test]
fn every_kind_of_decoder_hands_all_tensors_on() {
    let decoders = [
        "segmask tensor=lane",
        "peakfind output=heat",
        "tensormap tensor=depth",
        "classify output=scene",
        "embed output=scene",
        "gpunms",
    ];
    // Each of them comes first, and each of them last.
    for first in 0..decoders.len() {
        let mut order = decoders;
        order.rotate_left(first);
        for frame in after_inference(&order.join(" ! "), [frame(48, 0), frame(48, 1)]) {
            let got = found(&frame);
            assert_eq!((got.boxes, got.columns), (BOXES.to_vec(), vec![16]), "{order:?}");
            assert_eq!(got.scenes, ["red"], "{order:?}");
            assert_eq!((got.points.len(), got.greatest), (2, vec![10.0]), "{order:?}");
            assert!(TensorSet::of(&frame).is_none(), "{order:?}");
        }
    }
}

#[test]
fn frames_that_become_masks_or_maps_hand_tensors_on_if_they_keep_their_size() {
    for decoders in [
        "segmask tensor=drive output=gray ! gpunms",
        "tensormap tensor=depth output=gray16 range-min=0 range-max=10 ! gpunms",
    ] {
        let frames = after_inference(decoders, [frame(16, 0)]);
        assert_eq!(found(&frames[0]).boxes, BOXES, "{decoders}");
        assert!(TensorSet::of(&frames[0]).is_none(), "{decoders}");
    }
    let alpha = format!(
        "videoconvert ! fusedpreproc ! trtinfer model={} ! segmask tensor=drive output=alpha ! gpunms ! fakesink name=out",
        model("tasks")
    );
    let frames = through(&alpha, [frame(16, 0)], &["out"]).remove(0);
    assert_eq!(found(&frames[0]).boxes, BOXES);
    assert!(TensorSet::of(&frames[0]).is_none());
}

#[test]
fn branches_of_a_tee_decode_what_is_asked_for_in_each() {
    let elements = format!(
        "fusedpreproc ! trtinfer model={} ! segmask tensor=drive ! tee name=t ! queue ! gpunms ! fakesink name=boxes \
         t. ! queue ! segmask tensor=lane ! classify output=scene ! fakesink name=lane",
        model("tasks")
    );
    let seen = through(&elements, [frame(16, 0), frame(16, 1)], &["boxes", "lane"]);
    for (frames, wanted) in seen.iter().zip([
        Found { boxes: BOXES.to_vec(), columns: vec![16], ..Found::default() },
        Found { columns: vec![16, 48], scenes: vec!["blue".into()], ..Found::default() },
    ]) {
        assert_eq!(frames.len(), 2);
        for frame in frames {
            assert_eq!(found(frame), wanted);
            assert!(TensorSet::of(frame).is_none());
        }
    }
}

#[test]
fn who_does_not_ask_gets_plain_frames_from_every_decoder() {
    for decoder in ["segmask tensor=lane", "peakfind output=heat", "tensormap tensor=depth", "gpunms"] {
        for after in ["identity", "tracker", "videoconvert", "inferoverlay", "video/x-raw"] {
            let frames = after_inference(&format!("{decoder} ! {after}"), [frame(16, 0)]);
            assert!(TensorSet::of(&frames[0]).is_none(), "{decoder} ! {after}");
        }
    }
}

#[test]
fn what_is_written_twice_is_there_twice() {
    let frames =
        after_inference("gpunms ! gpunms ! segmask tensor=lane ! segmask tensor=lane", [frame(16, 0)]);
    let got = found(&frames[0]);
    assert_eq!((got.boxes, got.columns), ([BOXES, BOXES].concat(), vec![48, 48]));
}

#[test]
fn objects_regions_and_tiles_are_decoded_by_several_elements() {
    let mut one = frame(SIDE, 0);
    let rect = Rect { x: 32.0, y: 0.0, w: 32.0, h: 32.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    Object { id: 0, label: "car".into(), detection, ..Object::default() }.put(one.get_mut().unwrap(), &rect);
    let infer = format!("trtinfer model={} batch-size=2", model("tasks"));
    let decoders = "peakfind output=heat ! gpunms ! classify output=scene";
    let frames = through(
        &format!("fusedpreproc roi=objects ! {infer} ! {decoders} ! fakesink name=out"),
        [one],
        &["out"],
    );
    let all = objects(&frames[0][0]);
    assert!(TensorSet::of(&frames[0][0]).is_none());
    let [outer, inner @ ..] = &all[..] else { panic!("{all:?}") };
    assert!(outer.keypoints.is_some() && outer.classifications[0].labels[0] == "red", "{outer:?}");
    assert!(inner.len() == 2 && inner.iter().all(|object| object.parent == Some(0)), "{inner:?}");
    let tiles = "fusedpreproc roi=tiles tile-size=64";
    let decoders = "gpunms ! classify output=scene";
    let frames =
        through(&format!("{tiles} ! {infer} ! {decoders} ! fakesink name=out"), [frame(SIDE, 0)], &["out"]);
    let got = found(&frames[0][0]);
    assert_eq!((got.boxes.len(), got.scenes), (2, vec!["red".to_owned()]));
    assert!(TensorSet::of(&frames[0][0]).is_none());
}

#[test]
fn masks_of_objects_stay_with_their_objects_when_other_decoders_come_between() {
    // peakfind puts detections of its own on the frame after those of gpunms.
    let infer = format!("fusedpreproc ! trtinfer model={}", model("masks"));
    let of = |elements: &str| -> Vec<_> {
        let frames = through(&format!("{infer} ! {elements} ! fakesink name=out"), [frame(16, 0)], &["out"]);
        masks(&frames[0][0]).into_iter().map(|mask| (mask.kind, mask.rect)).collect()
    };
    let wanted = of("gpunms confidence=0.01 ! segmask");
    assert_eq!(wanted.len(), 2);
    assert_eq!(of("gpunms confidence=0.01 ! peakfind output=prototypes grouping=each ! segmask"), wanted);
}
