//! The masks of what a detector has found, by promptable decoders on another model's tensors.

use std::cell::{Cell, RefCell};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, end, filled, model, openvino_library, push, run, until};
use gst::prelude::*;
use gstcudainfer::meta::mask::{Mask, MaskKind, masks};
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

use super::instances::assert_inside;

const RED: &str = "pattern=solid-color foreground-color=0xffff0000";

/// Frames of this pattern and size, boxes found in them, and what comes after these.
fn line(frames: usize, pattern: &str, size: &str, detector: &str, after: &str) -> String {
    format!(
        "videotestsrc num-buffers={frames} {pattern} ! video/x-raw,format=RGB,{size} ! fusedpreproc ! trtinfer model={} \
         ! gpunms ! {after} ! fakesink name=out",
        model(detector)
    )
}

/// An encoder, and a decoder with these properties.
fn pair(encoder: &str, decoder: &str) -> String {
    let (decoder, properties) = decoder.split_once(' ').unwrap_or((decoder, ""));
    format!(
        "fusedpreproc ! trtinfer model={} ! trtinfer name=decoder model={} {properties}",
        model(encoder),
        model(decoder)
    )
}

/// The masks of a and c.
fn of_both(frame: &gst::Buffer) -> [Mask; 2] {
    let (found, masks) = (objects(frame), masks(frame));
    assert_eq!((found.len(), masks.len()), (2, 2), "{found:?}");
    assert!(TensorSet::of(frame).is_none());
    ["a", "c"].map(|label| {
        let id = found.iter().find(|object| object.label == label).unwrap().id;
        masks.iter().find(|mask| mask.kind == MaskKind::Instance { object: id }).unwrap().clone()
    })
}

fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
    Rect { x, y, w, h }
}

/// By how much the centre of a cell of the encoder's input lies in a box of it.
fn depth(cell: (usize, usize), [left, top, right, bottom]: [f32; 4]) -> f32 {
    let [x, y] = [cell.0, cell.1].map(|cell| cell as f32 * 4.0 + 2.0);
    (x - left).min(right - x).min(y - top).min(bottom - y)
}

const A: [f32; 4] = [30.0, 8.0, 60.0, 40.0];
const C: [f32; 4] = [4.0, 6.0, 20.0, 30.0];

#[test]
fn each_object_has_the_mask_that_its_box_asks_for() {
    for decoder in ["prompt-decoder", "prompt-decoder-named", "prompt-decoder-2 channel=0"] {
        let encoder = if decoder.contains("-2") { "prompt-encoder-2" } else { "prompt-encoder" };
        let (decoder, properties) = decoder.split_once(' ').unwrap_or((decoder, ""));
        for (size, wide) in [("width=64,height=64", 1.0), ("width=128,height=64", 2.0)] {
            let after = format!("{} ! segmask {properties}", pair(encoder, decoder));
            let frames = buffers(&line(2, RED, size, "lists-torchvision", &after));
            assert_eq!(frames.len(), 2, "{decoder}");
            for frame in &frames {
                let [a, c] = of_both(frame);
                for (mask, outline) in [(&a, A), (&c, C)] {
                    let whole = rect(0.0, 0.0, 64.0 * wide, 64.0);
                    assert_eq!((mask.rect, mask.width, mask.height), (whole, 16, 16), "{decoder}");
                    assert_inside(mask, |x, y| depth((x, y), outline) > 0.0);
                }
            }
        }
    }
}

#[test]
fn prompts_are_in_pixels_of_what_the_encoder_has_seen() {
    // The frame covers the upper half of the encoder's input.
    let after = format!("{} ! segmask", pair("prompt-encoder-letterbox", "prompt-decoder"));
    for frame in buffers(&line(1, RED, "width=128,height=64", "lists-torchvision", &after)) {
        let [a, _] = of_both(&frame);
        assert_eq!(a.rect, rect(0.0, 0.0, 128.0, 128.0));
        assert_inside(&a, |x, y| depth((x, y), [30.0, 4.0, 60.0, 20.0]) > 0.0);
    }
}

#[test]
fn one_of_several_masks_is_chosen_by_its_score_or_by_its_number() {
    let pair_of = |decoder: &str| match decoder {
        "prompt-decoder-2" => pair("prompt-encoder-2", decoder),
        _ => pair("prompt-encoder", decoder),
    };
    type Inside = fn(f32) -> bool;
    let in_box: Inside = |depth| depth > 0.0;
    let outside: Inside = |depth| depth < 0.0;
    for (decoder, properties, wanted) in [
        // The second one of three has the highest score.
        ("prompt-decoder-2", "", outside),
        ("prompt-decoder-efficient", "", outside),
        // The first one of SAM's four is for boxes.
        ("prompt-decoder", "", in_box),
        ("prompt-decoder", "scores=iou_predictions", outside),
        ("prompt-decoder", "channel=1", outside),
        ("prompt-decoder", "channel=3", |_| true),
        // The logit of 0.9.
        ("prompt-decoder", "channel=1 threshold=0.9", |depth| -depth > 2.197_225),
    ] {
        let after = format!("{} ! segmask {properties}", pair_of(decoder));
        for frame in buffers(&line(1, RED, "width=64,height=64", "lists-torchvision", &after)) {
            let [a, _] = of_both(&frame);
            assert_inside(&a, |x, y| wanted(depth((x, y), A)));
        }
    }
}

#[test]
fn masks_may_be_of_the_frames_pixels() {
    let after = format!("{} ! segmask upsample=true", pair("prompt-encoder", "prompt-decoder"));
    for frame in buffers(&line(1, RED, "width=128,height=64", "lists-torchvision", &after)) {
        let [a, _] = of_both(&frame);
        assert_eq!((a.rect, a.width, a.height), (rect(0.0, 0.0, 128.0, 64.0), 128, 64));
        let data = a.data.map_readable().unwrap();
        let inside = |x: usize, y: usize| data[y * 128 + x] == 1;
        assert!(inside(90, 24) && !inside(50, 24) && !inside(124, 24) && !inside(90, 2) && !inside(90, 44));
    }
}

#[test]
fn keypoints_ask_where_the_sidecar_names_them() {
    let points = |mask: &Mask, points: [[f32; 2]; 2]| {
        assert_inside(mask, |x, y| {
            let [x, y] = [x, y].map(|cell| cell as f32 * 4.0 + 2.0);
            // SAM counts from a pixel's centre.
            points.iter().any(|[at, down]| (x - (at - 0.5)).abs().max((y - (down - 0.5)).abs()) < 8.0)
        });
    };
    let after = format!("{} ! segmask", pair("prompt-encoder", "prompt-decoder-points"));
    for frame in buffers(&line(1, RED, "width=64,height=64", "lists-posed-masks", &after)) {
        let [a, c] = of_both(&frame);
        points(&a, [[32.0, 10.0], [58.0, 38.0]]);
        points(&c, [[6.0, 8.0], [18.0, 28.0]]);
    }
    // These boxes have no points.
    let line = line(3, RED, "width=64,height=64", "lists-torchvision", &after);
    let pipeline = TestPipeline::new(&line);
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let frames = out.lock().unwrap();
    assert!(frames.len() == 3 && frames.iter().all(|frame| masks(frame).is_empty()));
    let stats = pipeline.element("decoder").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("unprompted"), Ok(6), "{stats}");
}

#[test]
fn every_prompt_is_asked_of_its_own_frame_whatever_batches_and_workers_are() {
    let openvino =
        openvino_library().map(|library| format!("provider=openvino openvino={}", library.display()));
    let of_openvino = ["prompt-decoder", "prompt-decoder-efficient batch-size=3"]
        .map(|decoder| openvino.as_ref().map(|openvino| format!("{decoder} {openvino}")));
    for decoder in [
        "prompt-decoder workers=3",
        "prompt-decoder-efficient batch-size=5",
        "prompt-decoder-efficient batch-size=4 workers=2",
        "prompt-decoder-other-size batch-size=3",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(of_openvino.into_iter().flatten())
    {
        // White and black in turns: the decoders look for red.
        let after = format!("{} max-in-flight=8 ! segmask channel=0", pair("prompt-encoder", &decoder));
        let frames = buffers(&line(24, "pattern=blink", "width=64,height=64", "lists-torchvision", &after));
        assert_eq!(frames.len(), 24);
        let white = |frame: &gst::Buffer| frame.map_readable().unwrap()[0] > 128;
        assert!(frames.iter().any(white) && !frames.iter().all(white));
        for frame in &frames {
            let [a, c] = of_both(frame);
            for (mask, outline) in [(&a, A), (&c, C)] {
                // In pixels of half the size where the sidecar states that.
                let outline = if decoder.contains("other") { outline.map(|at| at * 2.0) } else { outline };
                assert_inside(mask, |x, y| white(frame) && depth((x, y), outline) > 0.0);
            }
        }
    }
}

#[test]
fn objects_of_a_frame_share_runs_where_the_decoder_has_an_open_batch() {
    let after = format!("{} ! segmask", pair("prompt-encoder", "prompt-decoder-efficient batch-size=2"));
    let pipeline = TestPipeline::new(&line(8, RED, "width=64,height=64", "lists-torchvision", &after));
    pipeline.play();
    pipeline.wait().succeeds();
    let stats = pipeline.element("decoder").property::<gst::Structure>("stats");
    // Two objects in each of eight frames: none is left for a run of its own.
    let count = |name| stats.get::<u64>(name).unwrap();
    assert_eq!([count("batches"), count("batched-frames"), count("state-starts")], [8, 16, 0], "{stats}");
}

#[test]
fn frames_without_objects_pass() {
    let after = format!("{} ! segmask", pair("prompt-encoder", "prompt-decoder"));
    let line = line(3, RED, "width=64,height=64", "lists-torchvision", &after);
    let frames = buffers(&line.replace("! gpunms", "! gpunms confidence=0.99"));
    assert!(
        frames.len() == 3 && frames.iter().all(|frame| objects(frame).is_empty() && masks(frame).is_empty())
    );
}

#[test]
fn a_model_of_masks_may_see_each_objects_region() {
    let after = format!("fusedpreproc roi=objects ! trtinfer model={} ! segmask", model("mask-red"));
    run(&line(1, RED, "width=128,height=64", "lists-torchvision", &format!("{after} upsample=true")))
        .fails_with(&["has seen a part of the frame", "leave upsample out"]);
    for (pattern, sample) in [(RED, 1), ("pattern=blue", 0)] {
        for frame in buffers(&line(1, pattern, "width=128,height=64", "lists-torchvision", &after)) {
            let [a, c] = of_both(&frame);
            assert_eq!((a.rect, c.rect), (rect(60.0, 8.0, 60.0, 32.0), rect(8.0, 6.0, 32.0, 24.0)));
            for mask in [a, c] {
                assert_eq!((mask.width, mask.height), (24, 16));
                assert!(mask.data.map_readable().unwrap().iter().all(|got| *got == sample));
            }
        }
    }
}

fn is_full(mask: &Mask) -> bool {
    mask.data.map_readable().unwrap().contains(&1)
}

#[test]
fn encoder_and_decoder_change_while_frames_flow_and_those_that_do_not_fit_are_refused() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=8,height=8,framerate=100/1 ! fusedpreproc ! trtinfer model={} \
         ! gpunms ! fusedpreproc ! trtinfer name=encoder model={} ! trtinfer name=decoder model={} ! segmask \
         ! fakesink name=out async=false",
        model("lists-torchvision"),
        model("prompt-encoder"),
        model("prompt-decoder")
    ));
    let [source, encoder, decoder] = ["in", "encoder", "decoder"].map(|name| pipeline.element(name));
    let out = pipeline.collect("out");
    pipeline.play();
    let number = Cell::new(0);
    // Dark, so that nothing is red.
    let push = || {
        push(&source, filled(8 * 8 * 3, 100, number.get()));
        number.set(number.get() + 1);
        until("the frame", || out.lock().unwrap().len() as u64 == number.get());
    };
    push();
    let said = RefCell::new(Vec::new());
    let is_said = |parts: &[&str]| {
        push();
        let bus = pipeline.bus().unwrap();
        let warning = |message: gst::Message| match message.view() {
            gst::MessageView::Warning(warning) => Some(warning.error().to_string()),
            _ => None,
        };
        said.borrow_mut().extend(std::iter::from_fn(|| bus.pop()).filter_map(warning));
        said.borrow().iter().any(|text| parts.iter().all(|part| text.contains(part)))
    };
    encoder.set_property("model", model("prompt-encoder-2"));
    until("the refusal", || is_said(&["decoder: ", "takes the tensor 'image_embeddings'"]));
    assert_eq!(encoder.property::<String>("model"), model("prompt-encoder"));
    decoder.set_property("model", model("prompt-decoder-wrong"));
    until("the other refusal", || is_said(&["takes the tensor 'features'"]));
    // Dark frames have no red but for the other encoder.
    let last = |has: fn(&[Mask]) -> bool| {
        push();
        out.lock().unwrap().last().is_some_and(|frame| has(&masks(frame)))
    };
    assert!(!out.lock().unwrap().iter().any(|frame| masks(frame).iter().any(is_full)));
    encoder.set_property("model", model("prompt-encoder-bright"));
    until("the other encoder", || {
        last(|masks| masks.iter().any(|mask| mask.data.map_readable().unwrap().contains(&1)))
    });
    // It asks for keypoints, which these objects do not have.
    decoder.set_property("model", model("prompt-decoder-points"));
    until("the other decoder", || last(<[Mask]>::is_empty));
    end(&source);
    pipeline.wait().succeeds();
    let frames = out.lock().unwrap();
    assert_eq!(frames.len() as u64, number.get());
    let full = frames.iter().position(|frame| masks(frame).iter().any(is_full)).unwrap();
    let none = frames.iter().position(|frame| masks(frame).is_empty()).unwrap();
    assert!(full < none);
    for (number, frame) in frames.iter().enumerate() {
        let masks = masks(frame);
        assert_eq!(masks.len(), if number < none { 2 } else { 0 }, "{number}");
        assert!(masks.iter().all(|mask| is_full(mask) == (number >= full)), "{number}");
    }
}
