//! `segmask` and what `inferoverlay` makes of its masks, on tensors made by hand.
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use cudainfer_kernels::draw::{Rgb, color_of};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use gst::prelude::*;
use gst_check::Harness;
use gst_video::{VideoFormat, VideoInfo};
use gstcudainfer::caps;
use gstcudainfer::meta::mask::{COEFFICIENTS, Mask, MaskKind, OBJECTS, masks};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};
use gstcudainfer::meta::tensor::{Tensor, TensorSet};

fn init() {
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

fn desc(name: &str, dims: &[usize]) -> TensorDesc {
    TensorDesc::fixed(name, TensorType::Float32, dims)
}

fn tensor(name: &str, dims: &[usize], values: &[f32]) -> Tensor {
    assert_eq!(dims.iter().product::<usize>(), values.len());
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    Tensor { desc: desc(name, dims), data: gst::Buffer::from_mut_slice(bytes) }
}

fn video(format: VideoFormat, width: u32, height: u32) -> VideoInfo {
    init();
    VideoInfo::builder(format, width, height).fps(gst::Fraction::new(25, 1)).build().unwrap()
}

/// A harness of `description` after a model with these outputs, whose input is as large as the frame.
fn after_model(description: &str, info: &VideoInfo, outputs: &[TensorDesc]) -> Harness {
    after_gpunms(description, info, outputs, None)
}

/// The same after gpunms, which has added what it needs for the objects' `masks`.
fn after_gpunms(
    description: &str,
    info: &VideoInfo,
    outputs: &[TensorDesc],
    masks: Option<&[TensorDesc]>,
) -> Harness {
    let fields = gst::Structure::builder("fields")
        .field_if_some("tensor-masks", masks.map(caps::outputs_value))
        .field("tensor-width", info.width().cast_signed())
        .field("tensor-height", info.height().cast_signed())
        .field("tensor-outputs", caps::outputs_value(outputs))
        .build();
    let mut harness = Harness::new_parse(description);
    harness.set_src_caps(caps::with_fields(&info.to_caps().unwrap(), &fields));
    harness
}

/// A frame whose bytes all are `value`, with tensors on it.
fn frame(info: &VideoInfo, value: u8, tensors: Vec<Tensor>) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(vec![value; info.size()]);
    let set = TensorSet {
        tensors,
        input: [info.width() as usize, info.height() as usize],
        to_frame: Affine::IDENTITY,
        batch: None,
        object: None,
        region: None,
        held: false,
    };
    TensorSet::put(&[set], buffer.get_mut().unwrap());
    buffer
}

fn bytes(buffer: &gst::Buffer) -> Vec<u8> {
    buffer.map_readable().unwrap().to_vec()
}

/// Logits of three classes, 4x2 cells, whose greatest are `classes`.
fn logits(classes: [usize; 8]) -> Tensor {
    let value = |class| (0..8).map(move |cell| if classes[cell] == class { 2.0 } else { class as f32 - 3.0 });
    let values: Vec<f32> = (0..3).flat_map(value).collect();
    tensor("logits", &[1, 3, 2, 4], &values)
}

const CLASSES: [usize; 8] = [0, 1, 2, 0, 2, 2, 1, 1];

fn only(buffer: &gst::Buffer) -> Mask {
    let mut found = masks(buffer);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn classes_are_the_greatest_values_at_the_models_size_or_the_frames() {
    let info = video(VideoFormat::Rgb, 8, 4);
    for (properties, size) in [("", (4, 2)), ("size=frame", (8, 4))] {
        let mut harness =
            after_model(&format!("segmask {properties}"), &info, &[desc("logits", &[1, 3, 2, 4])]);
        let out = harness.push_and_pull(frame(&info, 7, vec![logits(CLASSES)])).unwrap();
        let mask = only(&out);
        let labels = ["0", "1", "2"].map(str::to_owned).to_vec();
        assert_eq!(mask.kind, MaskKind::Classes { labels, background: Some(0) });
        assert_eq!((mask.width, mask.height), size);
        assert_eq!(mask.rect, Rect { x: 0.0, y: 0.0, w: 8.0, h: 4.0 });
        let cell = |x: usize, y: usize| CLASSES[y * 2 / size.1 * 4 + x * 4 / size.0] as u8;
        let wanted: Vec<u8> = (0..size.1).flat_map(|y| (0..size.0).map(move |x| cell(x, y))).collect();
        assert_eq!(bytes(&mask.data), wanted);
        assert!(TensorSet::of(&out).is_none() && bytes(&out) == vec![7; info.size()]);
        let caps = harness.sinkpad().unwrap().current_caps().unwrap();
        assert!(!caps::has_tensors(&caps) && caps.structure(0).unwrap().get::<&str>("format") == Ok("RGB"));
    }
}

#[test]
fn smoothing_keeps_a_share_of_the_frames_before_and_a_flush_forgets_them() {
    let info = video(VideoFormat::Rgb, 2, 2);
    let mut harness = after_model("segmask smoothing=0.5 mode=soft", &info, &[desc("p", &[1, 1, 1, 1])]);
    let push = |harness: &mut Harness, value| {
        let out = harness.push_and_pull(frame(&info, 0, vec![tensor("p", &[1, 1, 1, 1], &[value])])).unwrap();
        bytes(&only(&out).data)[0]
    };
    // 255 times 1, 1/2, 1/4 (63.75), 5/8 (159.375).
    let smoothed: Vec<u8> = [1.0, 0.0, 0.0, 1.0].map(|value| push(&mut harness, value)).to_vec();
    assert_eq!(smoothed, [255, 128, 64, 159]);
    for event in [gst::event::FlushStart::new(), gst::event::FlushStop::new(true)] {
        assert!(harness.push_event(event));
    }
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    assert!(harness.push_event(gst::event::Segment::new(&segment)));
    assert_eq!(push(&mut harness, 0.0), 0, "what was before the flush does not count");
}

#[test]
fn gray_frames_are_the_mask_and_keep_what_is_known_of_the_objects() {
    let info = video(VideoFormat::Nv12, 8, 4);
    let cells = [0.0, 0.2, 0.6, 1.0, 1.0, 0.0, 0.5, 0.25];
    for (properties, outputs, tensor, wanted) in [
        // 3 classes are 127 apart, and each cell is 2x2 pixels.
        ("", desc("logits", &[1, 3, 2, 4]), logits(CLASSES), CLASSES.map(|class| class as u8 * 127)),
        (
            "mode=threshold",
            desc("p", &[1, 1, 2, 4]),
            tensor("p", &[1, 1, 2, 4], &cells),
            cells.map(|p| if p >= 0.5 { 255 } else { 0 }),
        ),
    ] {
        let mut harness = after_model(&format!("segmask output=gray {properties}"), &info, &[outputs]);
        let mut buffer = frame(&info, 7, vec![tensor]);
        let rect = Rect { x: 1.0, y: 1.0, w: 2.0, h: 2.0 };
        let object = Object {
            detection: Some(DetectionParam { rect, confidence: 0.5, label_id: 3 }),
            ..Object::default()
        };
        object.put(buffer.get_mut().unwrap(), &rect);
        buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(40));
        let out = harness.push_and_pull(buffer).unwrap();
        let pixels: Vec<u8> = (0..32).map(|i| wanted[i / 16 * 4 + i % 8 / 2]).collect();
        assert_eq!(bytes(&out), pixels, "{properties}");
        assert_eq!((out.pts(), objects(&out).len()), (Some(gst::ClockTime::from_mseconds(40)), 1));
        assert!(masks(&out).is_empty() && TensorSet::of(&out).is_none());
        let caps = harness.sinkpad().unwrap().current_caps().unwrap();
        let s = caps.structure(0).unwrap();
        assert_eq!((s.get("format"), s.get("width"), s.get("height")), (Ok("GRAY8"), Ok(8), Ok(4)));
        assert_eq!(s.get("framerate"), Ok(gst::Fraction::new(25, 1)));
    }
}

#[test]
fn without_a_mode_gray_and_alpha_are_soft() {
    let info = video(VideoFormat::Rgba, 4, 2);
    let cells = [0.0, 0.2, 0.6, 1.0, 1.0, 0.0, 0.5, 0.25];
    let wanted = cells.map(|p: f32| (255.0 * p).round() as u8);
    let make = |output: &str| {
        let description = format!("segmask output={output}");
        let mut harness = after_model(&description, &info, &[desc("p", &[1, 1, 2, 4])]);
        let shared = frame(&info, 7, vec![tensor("p", &[1, 1, 2, 4], &cells)]);
        let out = bytes(&harness.push_and_pull(shared.clone()).unwrap());
        assert_eq!(bytes(&shared), vec![7; info.size()], "somebody else's frame has changed");
        out
    };
    assert_eq!(make("gray"), wanted);
    let alpha: Vec<u8> = wanted.iter().flat_map(|a| [7, 7, 7, *a]).collect();
    assert_eq!(make("alpha"), alpha);
}

#[test]
fn alpha_of_classes_is_all_but_the_background() {
    let info = video(VideoFormat::Bgra, 4, 2);
    let mut harness = after_model("segmask output=alpha", &info, &[desc("logits", &[1, 3, 2, 4])]);
    let out = harness.push_and_pull(frame(&info, 7, vec![logits(CLASSES)])).unwrap();
    let wanted: Vec<u8> =
        CLASSES.iter().flat_map(|class| [7, 7, 7, if *class == 0 { 0 } else { 255 }]).collect();
    assert_eq!(bytes(&out), wanted);
}

/// A channel of `old` under half of `ink`: 128 of 255.
fn half(old: u8, ink: u8) -> u8 {
    ((u32::from(old) * 127 + u32::from(ink) * 128) as f64 / 255.0).round() as u8
}

#[test]
fn the_overlay_paints_classes_but_the_background_half_transparent() {
    let info = video(VideoFormat::Rgba, 4, 2);
    let mut harness = after_model("segmask ! inferoverlay", &info, &[desc("logits", &[1, 3, 2, 4])]);
    let out = harness.push_and_pull(frame(&info, 40, vec![logits(CLASSES)])).unwrap();
    let pixel = |class: usize| {
        let Rgb(r, g, b) = color_of(class as u64);
        if class == 0 { [40; 4] } else { [r, g, b, 255].map(|ink| half(40, ink)) }
    };
    assert_eq!(bytes(&out), CLASSES.map(pixel).concat());
    let mut off = after_model("segmask ! inferoverlay masks=false", &info, &[desc("logits", &[1, 3, 2, 4])]);
    let out = off.push_and_pull(frame(&info, 40, vec![logits(CLASSES)])).unwrap();
    assert_eq!(bytes(&out), vec![40; info.size()]);
    assert_eq!(masks(&out).len(), 1, "the elements downstream still get it");
}

/// Two prototypes of 4x2 cells: the first is positive on the left half, the second on the right.
fn prototypes() -> Tensor {
    let half = |left: bool| (0..8).map(move |i| if (i % 4 < 2) == left { 1.0 } else { -1.0 });
    tensor("protos", &[1, 2, 2, 4], &half(true).chain(half(false)).collect::<Vec<f32>>())
}

/// The ids of the objects with masks.
fn ids(ids: std::ops::Range<usize>) -> Tensor {
    let desc = TensorDesc::fixed(OBJECTS, TensorType::Int32, &[ids.len()]);
    let bytes: Vec<u8> = ids.flat_map(|id| i32::try_from(id).unwrap().to_ne_bytes()).collect();
    Tensor { desc, data: gst::Buffer::from_mut_slice(bytes) }
}

/// The caps' fields for the prototypes: the model's outputs, and what gpunms adds.
fn outputs_with_masks() -> ([TensorDesc; 1], [TensorDesc; 3]) {
    let values = desc("protos", &[1, 2, 2, 4]);
    let objects = TensorDesc::fixed(OBJECTS, TensorType::Int32, &[0]);
    ([values.clone()], [values, desc(COEFFICIENTS, &[0, 2]), objects])
}

/// A frame of 8x4 with a stranger's region, and detections with these boxes and coefficients.
fn detections(info: &VideoInfo, found: &[(Rect, [f32; 2])]) -> gst::Buffer {
    let coefficients: Vec<f32> = found.iter().flat_map(|(_, c)| *c).collect();
    let rows = tensor(COEFFICIENTS, &[found.len(), 2], &coefficients);
    let mut buffer = frame(info, 40, vec![prototypes(), rows, ids(5..5 + found.len())]);
    for (id, (rect, _)) in (5..).zip(found) {
        let detection = Some(DetectionParam { rect: *rect, confidence: 0.5, label_id: 3 });
        Object { id, label: "thing".into(), detection, ..Object::default() }
            .put(buffer.get_mut().unwrap(), rect);
    }
    buffer
}

#[test]
fn each_detection_gets_its_own_mask_within_its_box_in_its_own_colour() {
    let info = video(VideoFormat::Rgb, 8, 4);
    let (outputs, added) = outputs_with_masks();
    let overlay = "segmask ! inferoverlay boxes=false labels=false confidences=false";
    let mut harness = after_gpunms(overlay, &info, &outputs, Some(&added));
    let whole = Rect { x: 0.0, y: 0.0, w: 8.0, h: 4.0 };
    let out = harness
        .push_and_pull(detections(
            &info,
            &[(whole, [1.0, 0.0]), (Rect { x: 2.0, y: 2.0, w: 4.0, h: 2.0 }, [0.0, 1.0])],
        ))
        .unwrap();
    let found = masks(&out);
    assert_eq!(
        found.iter().map(|m| m.kind.clone()).collect::<Vec<_>>(),
        [MaskKind::Instance { object: 5 }, MaskKind::Instance { object: 6 }]
    );
    // What the masks say of each pixel of the frame.
    let covered = |mask: &Mask, x: usize, y: usize| {
        let (u, v) =
            ((x as f32 + 0.5 - mask.rect.x) / mask.rect.w, (y as f32 + 0.5 - mask.rect.y) / mask.rect.h);
        let inside = (0.0..1.0).contains(&u) && (0.0..1.0).contains(&v);
        let cell = |v: f32, n: usize| (v * n as f32) as usize;
        inside && bytes(&mask.data)[cell(v, mask.height) * mask.width + cell(u, mask.width)] == 1
    };
    let Rgb(r, g, b) = color_of(3);
    let painted = bytes(&out);
    for (x, y) in (0..4).flat_map(|y| (0..8).map(move |x| (x, y))) {
        let (first, second) = (x < 4, (4..6).contains(&x) && y >= 2);
        assert_eq!((covered(&found[0], x, y), covered(&found[1], x, y)), (first, second), "{x},{y}");
        let wanted = if first || second { [r, g, b].map(|ink| half(40, ink)) } else { [40; 3] };
        assert_eq!(painted[3 * (8 * y + x)..][..3], wanted, "{x},{y}");
    }
    // A frame without objects passes without masks.
    let out = harness.push_and_pull(detections(&info, &[])).unwrap();
    assert!(masks(&out).is_empty() && bytes(&out) == vec![40; info.size()]);
}

#[test]
fn coefficients_of_objects_that_are_gone_say_what_to_do() {
    let info = video(VideoFormat::Rgb, 8, 4);
    let (outputs, added) = outputs_with_masks();
    let mut harness = after_gpunms("segmask", &info, &outputs, Some(&added));
    let bus = gst::Bus::new();
    harness.element().unwrap().set_bus(Some(&bus));
    let buffer = frame(&info, 0, vec![prototypes(), tensor(COEFFICIENTS, &[1, 2], &[1.0, 1.0]), ids(5..6)]);
    assert_eq!(harness.push(buffer), Err(gst::FlowError::Error));
    let message = bus.pop_filtered(&[gst::MessageType::Error]).unwrap();
    let gst::MessageView::Error(error) = message.view() else { panic!("{message:?}") };
    let text = error.error().to_string();
    assert!(text.contains("1 rows of 'mask-coefficients' arrived, but not all of their objects"), "{text}");
    assert!(text.contains("directly after gpunms"), "{text}");
}
