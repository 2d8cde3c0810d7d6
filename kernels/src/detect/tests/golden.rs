//! TEMPORARY: dumps everything that decoders make of many outputs, for comparison before and after.

use std::fmt::Write as _;

use super::*;
use crate::device::{DeviceSlice, DeviceTensor};

const CASES: &[(&str, usize)] = &[
    ("o:float32:1x252x7", 0),
    ("o:float32:1x252x13", 0),
    ("o:float16:252x7", 0),
    ("o:float32:1x?x7", 252),
    ("o:float32:?x?x?", 84),
    ("o:float32:1x6x84", 0),
    ("o:float32:1x84x6", 0),
    ("o:float16:1x6x84", 0),
    ("o:float32:1x84x84", 0),
    ("o:float32:?x6x?", 84),
    ("o:float32:1x84x14", 0),
    ("o:float32:1x14x84", 0),
    ("o:float32:1x84x7", 0),
    ("o:float32:1x30x6", 0),
    ("o:float32:1x30x7", 0),
    ("multiclass_nms_0:float32:?x6 n:int32:?", 30),
    ("fetch_name_0:float32:30x6 fetch_name_1:int32:1", 0),
    ("o:float32:1x84x6 n:int64:1x1", 0),
    ("boxes:float32:?x4 labels:int64:? scores:float32:?", 20),
    ("labels:int64:1x20 boxes:float32:1x20x4 scores:float32:1x20", 0),
    ("labels:int32:20 boxes:float16:20x4 scores:float16:20", 0),
    ("dets:float32:1x?x5 labels:int64:1x?", 20),
    ("num_dets:int32:1x1 det_boxes:float32:1x20x4 det_scores:float32:1x20 det_classes:int32:1x20", 0),
    (
        "detection_boxes:float32:1x20x4 detection_classes:float32:1x20 detection_keypoints:float32:1x20x3x2 \
      detection_scores:float32:1x20 num_detections:float32:1 raw_detection_boxes:float32:1x50x4",
        0,
    ),
    (
        "detection_boxes:float32:1x20x4 detection_classes:float32:1x20 detection_masks:float32:1x20x5x5 \
      detection_scores:float32:1x20 num_detections:float32:1",
        0,
    ),
    ("dets:float32:1x20x5 keypoints:float32:1x20x3x3", 0),
    ("dets:float32:1x20x5 labels:int64:1x20 keypoints:float32:1x20x3x3 masks:float32:1x20x4x4", 0),
    ("boxes:float32:20x4 labels:int64:20 scores:float32:20 masks:float32:20x1x28x28", 0),
    (
        "boxes:float32:20x4 labels:int64:20 scores:float32:20 keypoints:float32:20x3x3 keypoints_scores:float32:20x3",
        0,
    ),
    (
        "a:float32:1x64x5 b:float32:1x16x5 c:float32:1x4x5 d:float32:1x64x32 e:float32:1x16x32 f:float32:1x4x32",
        0,
    ),
    (
        "d:float32:1x64x32 a:float32:1x64x5 e:float32:1x16x32 b:float16:1x16x5 c:float32:1x4x5 f:float32:1x4x32",
        0,
    ),
    ("a:float32:64x5 b:float32:16x5 c:float32:4x5 d:float32:64x32 e:float32:16x32 f:float32:4x32", 0),
    (
        "a:float32:1x64x5 b:float32:1x16x5 c:float32:1x4x5 g:float32:1x1x5 d:float32:1x64x32 e:float32:1x16x32 f:float32:1x4x32 h:float32:1x1x32",
        0,
    ),
    ("o:float32:1x84x37", 0),
    ("o:float32:1x84x34", 0),
    ("boxes:float32:1x50x4 scores:float32:1x50x5", 0),
    ("s:float32:1x?x5 b:float32:1x?x4", 50),
    ("b:float32:1x50x1x4 s:float16:1x50x3", 0),
    ("boxes:float32:50x4 scores:float32:50x4", 0),
    ("logits:float32:1x20x5 pred_boxes:float32:1x20x4", 0),
    ("logits:float32:1x20x5 pred_boxes:float32:1x20x4 pred_masks:float32:1x20x8x8", 0),
    ("logits:float16:1x?x2 pred_boxes:float16:1x?x4 hidden:float32:1x20x16", 20),
    ("dets:float32:1x20x4 labels:float32:1x20x3", 0),
    ("dets:float32:1x20x4 labels:float32:1x20x3 masks:float32:1x20x4x4", 0),
    ("o:float32:1x23x84", 0),
    ("o:float32:1x84x23", 0),
    ("o:float32:1x30x24", 0),
    ("o:float32:1x15x84", 0),
    ("o:float32:1x56x84", 0),
    ("o:float32:1x30x57", 0),
    ("o:float32:1x14x84 p:float32:1x8x16x16", 0),
    ("o:float32:1x84x14 p:float32:1x8x16x16", 0),
    ("o:float32:1x252x15 p:float32:1x8x16x16", 0),
    ("p:float32:1x8x16x16 o:float32:1x30x14", 0),
    ("o:float16:1x14x84 p:float16:1x8x16x16", 0),
    ("o:float32:1x7x84", 0),
    ("o:float32:1x7x?", 84),
    ("hm:float32:1x3x16x16 wh:float32:1x2x16x16 reg:float32:1x2x16x16", 0),
    ("hm:float32:1x16x16x3 wh:float32:1x16x16x2 reg:float32:1x16x16x2", 0),
    ("wh:float32:1x8x8x4 kp:float32:1x8x8x3", 0),
    ("kp:float16:1x3x8x8 wh:float16:1x4x8x8", 0),
    ("1:float32:?x1x16x16 2:float32:?x2x16x16 3:float32:?x2x16x16 4:float32:?x10x16x16", 1),
    ("1:float32:1x16x16x1 2:float32:1x16x16x2 3:float32:1x16x16x2 4:float32:1x16x16x6", 1),
    ("1:float32:1x1x16x16 2:float32:1x4x16x16 4:float32:1x10x16x16", 1),
    ("m:float32:1x1x64x64", 0),
    ("m:float32:1x1x32x32", 0),
    ("m:float16:1x1x17x19", 0),
    (
        "a:float32:1x128x1 b:float32:1x32x1 c:float32:1x8x1 d:float32:1x128x4 e:float32:1x32x4 f:float32:1x8x4",
        0,
    ),
    (
        "a:float32:128x1 b:float32:32x1 c:float32:8x1 d:float32:128x4 e:float32:32x4 f:float32:8x4 g:float32:128x10 h:float32:32x10 i:float32:8x10",
        0,
    ),
    (
        "a:float32:1x64x1 b:float32:1x16x1 c:float32:1x4x1 d:float32:1x64x4 e:float32:1x16x4 f:float32:1x4x4 g:float32:1x64x6 h:float32:1x16x6 i:float32:1x4x6",
        0,
    ),
    (
        "f:float16:1x8x4 a:float16:1x128x1 b:float16:1x32x1 c:float16:1x8x1 d:float16:1x128x4 e:float16:1x32x4",
        0,
    ),
    (
        "a:float32:1x64x1 b:float32:1x16x1 c:float32:1x4x1 j:float32:1x64x1 k:float32:1x16x1 l:float32:1x4x1 d:float32:1x64x4 e:float32:1x16x4 f:float32:1x4x4",
        0,
    ),
    (
        "a:float32:1x64x1 b:float32:1x16x1 c:float32:1x4x1 j:float32:1x64x1 k:float32:1x16x1 l:float32:1x4x1 d:float32:1x64x4 e:float32:1x16x4 f:float32:1x4x4 g:float32:1x64x10 h:float32:1x16x10 i:float32:1x4x10",
        0,
    ),
    ("loc:float32:1x168x4 conf:float32:1x168x5", 0),
    ("conf:float32:1x168x2 landms:float32:1x168x10 loc:float32:1x168x4", 0),
    ("loc:float16:1x168x4 conf:float16:1x168x2 landms:float16:1x168x6", 0),
    ("loc:float32:168x4 conf:float32:168x2", 0),
    ("h:float32:1x24x8x8 i:float32:1x24x4x4 j:float32:1x24x2x2", 0),
    ("h:float32:1x3x4x4x8 i:float32:1x3x8x8x8 j:float32:1x3x2x2x8", 0),
    ("h:float32:1x8x8x3x8 i:float32:1x4x4x3x8 j:float32:1x2x2x3x8", 0),
    ("h:float16:1x8x8x24 i:float16:1x4x4x24 j:float16:1x2x2x24", 0),
    ("h:float32:?x24x?x? i:float32:?x24x4x4 j:float32:?x24x2x2", 8),
    ("output_cov:float32:1x3x4x4 output_bbox:float32:1x12x4x4", 0),
    ("output_cov:float32:1x1x4x4 output_bbox:float32:1x4x4x4", 0),
    ("o:float32:1x6114x7", 0),
    (
        "a:float32:1x256x1 b:float32:1x64x1 c:float32:1x16x1 d:float32:1x4x1 e:float32:1x1x1 f:float32:1x256x4 g:float32:1x64x4 h:float32:1x16x4 i:float32:1x4x4 j:float32:1x1x4",
        0,
    ),
    (
        "a:float32:1x256x1 b:float32:1x64x1 c:float32:1x16x1 d:float32:1x4x1 e:float32:1x1x1 f:float32:1x256x4 g:float32:1x64x4 h:float32:1x16x4 i:float32:1x4x4 j:float32:1x1x4 k:float32:1x256x10 l:float32:1x64x10 m:float32:1x16x10 n:float32:1x4x10 o:float32:1x1x10",
        0,
    ),
    (
        "a:float32:1x64x1 b:float32:1x16x1 c:float32:1x4x1 d:float32:1x1x1 f:float32:1x64x4 g:float32:1x16x4 h:float32:1x4x4 i:float32:1x1x4 k:float32:1x64x10 l:float32:1x16x10 m:float32:1x4x10 n:float32:1x1x10",
        0,
    ),
    (
        "a:float32:1x64x1 b:float32:1x16x1 c:float32:1x4x1 d:float32:1x1x1 a2:float32:1x64x1 b2:float32:1x16x1 c2:float32:1x4x1 d2:float32:1x1x1 f:float32:1x64x4 g:float32:1x16x4 h:float32:1x4x4 i:float32:1x1x4 k:float32:1x64x10 l:float32:1x16x10 m:float32:1x4x10 n:float32:1x1x10",
        0,
    ),
    (
        "a:float32:1x256x1 b:float32:1x64x1 c:float32:1x16x1 d:float32:1x4x1 e:float32:1x1x1 f:float32:1x256x4 g:float32:1x64x4 h:float32:1x16x4 i:float32:1x4x4 j:float32:1x1x4 k:float32:1x256x1 l:float32:1x64x1 m:float32:1x16x1 n:float32:1x4x1 o:float32:1x1x1",
        0,
    ),
    ("scores:float32:1x1000", 0),
    ("x:uint8:1x6x84", 0),
];

struct Kind<'a>(&'a str, Hints);

fn hints() -> Vec<Kind<'static>> {
    let d = Hints::default;
    let lists = |lists: &[&[f32]]| lists.iter().map(|list| list.to_vec()).collect::<Vec<_>>();
    let priors = Priors {
        min_sizes: lists(&[&[10.0, 20.0], &[30.0, 40.0], &[50.0, 60.0]]),
        max_sizes: vec![],
        aspect_ratios: vec![],
        variances: [0.1, 0.2],
        clip: true,
    };
    let anchors = |formula| AnchorSizes {
        sizes: lists(&[
            &[10.0, 13.0, 16.0, 30.0, 33.0, 23.0],
            &[30.0, 61.0, 62.0, 45.0, 59.0, 119.0],
            &[116.0, 90.0, 156.0, 198.0, 373.0, 326.0],
        ]),
        formula,
        scale_xy: if formula == AnchorFormula::Yolov5 { vec![] } else { vec![1.2, 1.1, 1.05] },
    };
    let mut all = vec![
        Kind("plain", d()),
        Kind("sigmoid", Hints { activation: Some(Activation::Sigmoid), ..d() }),
        Kind("softmax", Hints { activation: Some(Activation::Softmax), ..d() }),
        Kind("none", Hints { activation: Some(Activation::None), ..d() }),
        Kind(
            "softmax first",
            Hints { activation: Some(Activation::Softmax), background: Some(Background::First), ..d() },
        ),
        Kind(
            "softmax last",
            Hints { activation: Some(Activation::Softmax), background: Some(Background::Last), ..d() },
        ),
        Kind(
            "sigmoid last",
            Hints { activation: Some(Activation::Sigmoid), background: Some(Background::Last), ..d() },
        ),
        Kind("first", Hints { background: Some(Background::First), ..d() }),
        Kind("no background", Hints { background: Some(Background::None), ..d() }),
        Kind("normalized", Hints { normalized: Some(true), ..d() }),
        Kind("pixels", Hints { normalized: Some(false), ..d() }),
        Kind("corners", Hints { box_format: Some(BoxFormat::Corners), ..d() }),
        Kind("yx", Hints { box_format: Some(BoxFormat::CornersYx), normalized: Some(true), ..d() }),
        Kind("top left", Hints { box_format: Some(BoxFormat::TopLeftSize), ..d() }),
        Kind("center", Hints { box_format: Some(BoxFormat::CenterSize), ..d() }),
        Kind("rows csb", Hints { row_format: Some(RowFormat::ClassScoreBox), ..d() }),
        Kind("rows 7", Hints { row_format: Some(RowFormat::BatchBoxClassScore), ..d() }),
        Kind("pixels size", Hints { size_unit: Some(SizeUnit::Pixels), ..d() }),
        Kind(
            "log size",
            Hints { size_unit: Some(SizeUnit::LogCells), axis_order: Some(AxisOrder::Yx), ..d() },
        ),
        Kind(
            "cells size",
            Hints { size_unit: Some(SizeUnit::Cells), axis_order: Some(AxisOrder::Xy), ..d() },
        ),
        Kind("text", Hints { map_threshold: Some(0.5), unclip_ratio: Some(2.0), ..d() }),
        Kind("priors", Hints { priors: Some(priors.clone()), ..d() }),
        Kind(
            "priors none softmax",
            Hints {
                priors: Some(priors.clone()),
                activation: Some(Activation::Softmax),
                background: Some(Background::None),
                ..d()
            },
        ),
        Kind(
            "priors softmax",
            Hints { priors: Some(priors.clone()), activation: Some(Activation::Softmax), ..d() },
        ),
        Kind(
            "priors last",
            Hints {
                priors: Some(priors),
                activation: Some(Activation::Sigmoid),
                background: Some(Background::Last),
                ..d()
            },
        ),
        Kind("strides 4", Hints { strides: vec![8, 16, 32, 64], ..d() }),
        Kind("strides 5", Hints { strides: vec![4, 8, 16, 32, 64], ..d() }),
        Kind("strides 9", Hints { strides: vec![1, 2, 3, 4, 5, 8, 16, 32, 64], ..d() }),
    ];
    for formula in AnchorFormula::ALL {
        all.push(Kind("anchors", Hints { anchors: Some(anchors(formula)), ..d() }));
        all.push(Kind(
            "anchors none",
            Hints { anchors: Some(anchors(formula)), activation: Some(Activation::None), ..d() },
        ));
    }
    for classes in [1, 2, 3, 4, 5, 79, 80] {
        all.push(Kind("classes", Hints { classes: Some(classes), ..d() }));
        all.push(Kind(
            "classes softmax",
            Hints { classes: Some(classes), activation: Some(Activation::Softmax), ..d() },
        ));
    }
    for keypoints in [3, 5, 6, 17] {
        all.push(Kind("keypoints", Hints { keypoints: Some(keypoints), ..d() }));
        all.push(Kind(
            "keypoints norm",
            Hints {
                keypoints: Some(keypoints),
                classes: Some(1),
                normalized: Some(true),
                activation: Some(Activation::Sigmoid),
                ..d()
            },
        ));
    }
    all
}

fn hash(words: impl IntoIterator<Item = u32>) -> (usize, u64) {
    let (mut n, mut h) = (0, 0xcbf29ce484222325u64);
    for w in words {
        n += 1;
        h = (h ^ u64::from(w)).wrapping_mul(0x100000001b3);
    }
    (n, h)
}

fn resolved(desc: &TensorDesc, open: usize) -> Vec<usize> {
    desc.dims
        .iter()
        .enumerate()
        .map(|(i, d)| d.unwrap_or(if i == 0 && desc.dims.len() > 2 { 1 } else { open.max(1) }))
        .collect()
}

fn bytes(ty: TensorType, n: usize, seed: u64, wide: bool) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(77) + 5);
    let mut all = vec![];
    for _ in 0..n {
        let u = random.unit();
        let special = (random.unit() * 400.0) as u32;
        let v = match special {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            _ if wide => u * 8.0 - 4.0,
            _ => u,
        };
        match ty {
            TensorType::Float32 => all.extend(v.to_le_bytes()),
            TensorType::Float16 => all.extend(f16::from_f32(v).to_le_bytes()),
            TensorType::Int32 => all.extend(((u * 9.0) as i32 - 1).to_le_bytes()),
            TensorType::Int64 => all.extend(((u * 9.0) as i64 - 1).to_le_bytes()),
            _ => all.push((u * 9.0) as u8),
        }
    }
    all
}

fn raw<T>(value: &T) -> Vec<u32> {
    assert_eq!(size_of::<T>() % 4, 0);
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u32>(), size_of::<T>() / 4) }
        .to_vec()
}

/// Steps of what is not there were 1 (or, of offsets, 2 in maps with the channels last).
fn norm(mut words: Vec<u32>) -> Vec<u32> {
    let (coding, scoring) = (words[6], words[9]);
    if coding == 6 && words[135] == 0 {
        words[130] = if words[4] == 1 { 2 } else { 1 };
    }
    if scoring == 2 && words[136] == 0 {
        words[136] = 1;
    }
    words
}

fn packed(decoder: &Decoder, descs: &[TensorDesc], dims: &[Vec<usize>], rows: usize) -> String {
    let tensors: Vec<_> = descs
        .iter()
        .zip(dims)
        .enumerate()
        .map(|(i, (desc, dims))| {
            let bytes = desc.ty.size() * dims.iter().product::<usize>();
            // SAFETY: nobody reads it.
            let data = unsafe { DeviceSlice::from_raw(0x10_0000 * (i as u64 + 1), bytes) };
            DeviceTensor::new(&desc.name, desc.ty, dims, data).unwrap()
        })
        .collect();
    match cuda::packed(decoder, &tensors, rows) {
        Ok((layout, gathered)) => {
            let with = layout.with_priors(0x7000);
            let more =
                (layout.anchors(), layout.candidates(), layout.has_objectness(), layout.grid(32, rows));
            format!(
                "{:x?} {:?} {:?} {more:?} {:?}",
                hash(norm(raw(&layout))),
                norm(raw(&layout)).iter().filter(|w| **w != 0).take(40).collect::<Vec<_>>(),
                (hash(norm(raw(&with))), hash(norm(raw(&layout.multi_label())))),
                gathered.as_ref().map(raw)
            )
        }
        Err(error) => format!("{error}"),
    }
}

/// What is collected of these tensors.
fn read(decoder: &Decoder, tensors: &[Tensor], wide: bool) -> String {
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let mut out = String::new();
    for (confidence, multi_label) in
        [(0.0, false), (0.4, false), (0.4, true), (f32::NEG_INFINITY, true), (f32::NEG_INFINITY, false)]
    {
        let params = Params {
            confidence,
            multi_label,
            classes: if confidence == 0.4 { vec![0, 1, 3] } else { vec![] },
            ..Params::default()
        };
        let gate = candidates::Gate::new(&params);
        let mut all = vec![];
        let mut collector =
            Collector::new(&gate, &Affine::IDENTITY, [64.0; 2], &params, &mut all).of_any_size();
        let done = decoder.read(&views, &mut collector).map(drop);
        let outcome = collector.outcome();
        let words = all.iter().flat_map(|c| {
            [c.anchor as u32, c.class, c.confidence.to_bits()].into_iter().chain(c.corners.map(f32::to_bits))
        });
        let words: Vec<u32> = words.collect();
        let _ = write!(out, " [{done:?} {outcome:?} {:x?} {:x?}]", hash(words.iter().copied()), all.first());
    }
    let map = Affine::upright([3.0, 2.0], [5.0, 7.0]);
    for nms in [Nms::None, Nms::ClassWise] {
        let params = Params { confidence: 0.3, nms, top_k_after: 40, ..Params::default() };
        match Detector::new(decoder.clone(), params.clone()) {
            Ok(mut detector) => {
                let mut found = vec![];
                let outcome = detector.run(&views, &map, [900, 900], &mut found);
                let words = found.iter().flat_map(|d| {
                    [d.rect.x, d.rect.y, d.rect.w, d.rect.h, d.confidence]
                        .map(f32::to_bits)
                        .into_iter()
                        .chain([d.class])
                });
                let a = detector.attached();
                let _ = write!(
                    out,
                    "\n    run {wide} {outcome:?} {:x?} {:x?} {:x?} {:x?} {:x?} {:?}",
                    hash(words.collect::<Vec<_>>()),
                    hash(a.keypoints.iter().flatten().map(|v| v.to_bits()).collect::<Vec<_>>()),
                    hash(a.coefficients.iter().map(|v| v.to_bits()).collect::<Vec<_>>()),
                    hash(a.rows.clone()),
                    hash(
                        a.rotated
                            .iter()
                            .flat_map(|o| [o.rect.x, o.rect.y, o.rect.w, o.rect.h, o.angle].map(f32::to_bits))
                            .collect::<Vec<_>>()
                    ),
                    a.keypoints.first(),
                );
            }
            Err(error) => {
                let _ = write!(out, "\n    run {error}");
            }
        }
        let _ = write!(
            out,
            "\n    survey {:?} {:?}",
            decoder.survey(&views, &params, [64, 64]),
            decoder.expected(&params, 3)
        );
    }
    out
}

fn facts(decoder: &Decoder) -> String {
    let boxes = decoder.prior_boxes().map(|p| hash(p.as_flattened().iter().map(|v| v.to_bits())));
    let is_raw = decoder.layout().is_some_and(|layout| layout.form().is_some());
    let (priors, sizes) = if is_raw { (None, boxes) } else { (boxes, None) };
    let soft = Params { nms: Nms::SoftLinear, ..Params::default() };
    let multi = Params { multi_label: true, ..Params::default() };
    let clip = Params { clip_before_nms: true, nms: decoder.usual_nms(), ..Params::default() };
    format!(
        "{} {:?} proven {} keeps {} kp {} masks {:?} rotated {} nms {:?} labels {} norm {:?} multi {} top {} cols {} {priors:x?} {sizes:x?} {:?} {:?} {:?}",
        decoder.kind(),
        decoder.classes(),
        decoder.is_proven(),
        decoder.keeps_anchors(),
        decoder.keypoints(),
        decoder.masks(),
        decoder.is_rotated(),
        decoder.usual_nms(),
        decoder.has_labels(),
        decoder.is_normalized(),
        decoder.usual_multi_label(),
        decoder.usual_top_k_after(),
        decoder.layout().is_some_and(layout::Layout::by_columns),
        decoder.check(&soft),
        decoder.check(&multi),
        decoder.check(&clip),
    )
}

fn dump(out: &mut String, decoder: &Decoder, descs: &[TensorDesc], open: usize, deep: bool) {
    let dims: Vec<Vec<usize>> = descs.iter().map(|d| resolved(d, open)).collect();
    let make = |dims: &[Vec<usize>], wide: bool| -> Vec<Tensor> {
        dims.iter()
            .zip(descs)
            .enumerate()
            .map(|(i, (dims, desc))| Tensor {
                name: Box::leak(desc.name.clone().into_boxed_str()),
                ty: desc.ty,
                dims: dims.clone(),
                bytes: bytes(desc.ty, dims.iter().product(), i as u64 * 3 + u64::from(wide), wide),
            })
            .collect()
    };
    for wide in [false, true] {
        let _ = writeln!(out, "   {}", read(decoder, &make(&dims, wide), wide));
    }
    let batch = |n: usize| -> Vec<Vec<usize>> {
        dims.iter()
            .map(|d| {
                let mut d = d.clone();
                if d.len() > 1 && d[0] == 1 {
                    d[0] = n;
                } else if d.len() == 1 && d[0] == 1 {
                    d[0] = n;
                }
                d
            })
            .collect()
    };
    for (n, rows) in [(1, 1), (4, 3), (4, 4), (2, 3), (4, 1), (1, 0)] {
        let _ = writeln!(out, "    gpu {n} {rows}: {}", packed(decoder, descs, &batch(n), rows));
    }
    if !deep {
        return;
    }
    let mut wrongs: Vec<(String, Vec<Vec<usize>>)> = vec![("batch 2".into(), batch(2))];
    for i in 0..dims.len() {
        for d in 0..dims[i].len() {
            for change in [1, 7] {
                let mut wrong = dims.clone();
                wrong[i][d] += change;
                wrongs.push((format!("{i} {d} +{change}"), wrong));
            }
        }
        let mut wrong = dims.clone();
        if wrong[i].first() == Some(&1) {
            wrong[i].remove(0);
        } else {
            wrong[i].insert(0, 1);
        }
        wrongs.push((format!("{i} batch"), wrong));
        let mut wrong = dims.clone();
        wrong[i].push(1);
        wrongs.push((format!("{i} rank"), wrong));
        let mut wrong = dims.clone();
        wrong[i] = vec![];
        wrongs.push((format!("{i} scalar"), wrong));
    }
    for (what, wrong) in wrongs {
        let tensors = make(&wrong, false);
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let params = Params { confidence: 0.4, ..Params::default() };
        let mut found = vec![];
        let text = match Detector::new(decoder.clone(), params).unwrap().run(
            &views,
            &Affine::IDENTITY,
            [64, 64],
            &mut found,
        ) {
            Ok(outcome) => format!("{outcome:?}"),
            Err(error) => error.to_string(),
        };
        let _ = writeln!(out, "    wrong {what}: {text}");
        let _ = writeln!(
            out,
            "      gpu: {} | {}",
            packed(decoder, descs, &wrong, 1),
            packed(decoder, descs, &wrong, 3)
        );
    }
    let _ = writeln!(out, "    none: {}", packed(decoder, &[], &[], 1));
}

#[test]
#[ignore = "writes a file"]
fn dump_all() {
    let file = std::env::var("GOLDEN").unwrap();
    let mut out = String::new();
    let all = hints();
    for (text, open) in CASES {
        let descs: Vec<TensorDesc> = text.split_whitespace().map(|t| t.parse().unwrap()).collect();
        let _ = writeln!(out, "== {text}");
        let mut seen: Vec<DecoderKind> = vec![];
        for Kind(name, hints) in &all {
            for input in [[64, 64], [60, 33]] {
                if input == [60, 33] && *name != "plain" {
                    continue;
                }
                let mut last = None;
                for requested in std::iter::once(None).chain(DecoderKind::ALL.map(Some)) {
                    let _ = write!(
                        out,
                        "{name} {:?} {:?} {input:?} {requested:?}: ",
                        hints.classes, hints.keypoints
                    );
                    match choose(&descs, input, requested, hints) {
                        Err(error) => {
                            let _ = writeln!(out, "{error}");
                        }
                        Ok(decoder) => {
                            let _ = writeln!(out, "{}", facts(&decoder));
                            if requested.is_none() {
                                last = Some(decoder.kind());
                            } else if last == requested {
                                continue;
                            }
                            let deep = !seen.contains(&decoder.kind());
                            seen.push(decoder.kind());
                            dump(&mut out, &decoder, &descs, *open, deep);
                        }
                    }
                }
            }
        }
    }
    std::fs::write(file, out).unwrap();
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let lists = |lists: &[&[f32]]| lists.iter().map(|list| list.to_vec()).collect::<Vec<_>>();
    let d = Hints::default;
    let sizes = lists(&[
        &[10.0, 13.0, 16.0, 30.0, 33.0, 23.0],
        &[30.0, 61.0, 62.0, 45.0, 59.0, 119.0],
        &[116.0, 90.0, 156.0, 198.0, 373.0, 326.0],
    ]);
    let raw = AnchorSizes { sizes, formula: AnchorFormula::Yolov5, scale_xy: vec![] };
    let softmax =
        || Hints { activation: Some(Activation::Softmax), background: Some(Background::First), ..d() };
    use DecoderKind::*;
    let cases: Vec<(&str, &str, DecoderKind, Hints, f32, f32)> = vec![
        ("yolov8", "o:float32:1x84x8400", Yolov8, d(), 0.25, 0.0005),
        ("yolov8 map", "o:float32:1x84x8400", Yolov8, d(), 0.001, 0.01),
        ("yolov8 f16", "o:float16:1x84x8400", Yolov8, d(), 0.25, 0.0005),
        ("yolov8 rows", "o:float32:1x8400x84", Yolov8, Hints { classes: Some(80), ..d() }, 0.25, 0.0005),
        ("yolov5", "o:float32:1x25200x85", Yolov5, d(), 0.25, 0.01),
        ("yolov5 f16", "o:float16:1x25200x85", Yolov5, d(), 0.25, 0.01),
        ("yolox", "o:float32:1x8400x85", Yolox, d(), 0.25, 0.01),
        ("end-to-end", "o:float32:1x300x6", EndToEnd, d(), 0.25, 0.1),
        (
            "detections",
            "b:float32:1x300x4 labels:int64:1x300 scores:float32:1x300",
            Detections,
            d(),
            0.25,
            0.1,
        ),
        (
            "nanodet",
            "a:float32:1x6400x80 b:float32:1x1600x80 c:float32:1x400x80 d:float32:1x6400x32 e:float32:1x1600x32 f:float32:1x400x32",
            Nanodet,
            d(),
            0.25,
            0.0005,
        ),
        ("boxes-scores", "b:float32:1x8732x4 s:float32:1x8732x21", BoxesScores, d(), 0.25, 0.001),
        ("softmax", "b:float32:1x8732x4 s:float32:1x8732x21", BoxesScores, softmax(), 0.4, 0.001),
        (
            "queries",
            "pred_boxes:float32:1x300x4 logits:float32:1x300x80",
            Queries,
            Hints { activation: Some(Activation::Sigmoid), ..d() },
            0.7,
            0.001,
        ),
        (
            "centernet",
            "hm:float32:1x80x160x160 wh:float32:1x2x160x160 reg:float32:1x2x160x160",
            Centernet,
            d(),
            0.25,
            0.0001,
        ),
        (
            "centernet last",
            "hm:float32:1x160x160x80 wh:float32:1x160x160x2 reg:float32:1x160x160x2",
            Centernet,
            d(),
            0.25,
            0.0001,
        ),
        (
            "detectnet",
            "output_cov:float32:1x3x40x40 output_bbox:float32:1x12x40x40",
            DetectnetV2,
            d(),
            0.4,
            0.01,
        ),
        (
            "scrfd",
            "a:float32:1x12800x1 b:float32:1x3200x1 c:float32:1x800x1 d:float32:1x12800x4 e:float32:1x3200x4 f:float32:1x800x4 g:float32:1x12800x10 h:float32:1x3200x10 i:float32:1x800x10",
            Scrfd,
            d(),
            0.5,
            0.003,
        ),
        (
            "yunet",
            "a:float32:1x6400x1 b:float32:1x1600x1 c:float32:1x400x1 a2:float32:1x6400x1 b2:float32:1x1600x1 c2:float32:1x400x1 d:float32:1x6400x4 e:float32:1x1600x4 f:float32:1x400x4 g:float32:1x6400x10 h:float32:1x1600x10 i:float32:1x400x10",
            Yunet,
            d(),
            0.6,
            0.01,
        ),
        (
            "retinaface",
            "l:float32:1x16800x4 c:float32:1x16800x2 m:float32:1x16800x10",
            Retinaface,
            d(),
            0.5,
            0.003,
        ),
        (
            "yolo-anchors",
            "h:float32:1x255x80x80 i:float32:1x255x40x40 j:float32:1x255x20x20",
            YoloAnchors,
            Hints { anchors: Some(raw.clone()), activation: Some(Activation::None), ..d() },
            0.25,
            0.01,
        ),
        (
            "yolo-anchors cell",
            "h:float32:1x80x80x3x85 i:float32:1x40x40x3x85 j:float32:1x20x20x3x85",
            YoloAnchors,
            Hints { anchors: Some(raw), activation: Some(Activation::None), ..d() },
            0.25,
            0.01,
        ),
        ("yolo-pose", "o:float32:1x56x8400", YoloPose, Hints { classes: Some(1), ..d() }, 0.25, 0.005),
    ];
    let only = std::env::var("ONLY").unwrap_or_default();
    let times: usize = std::env::var("TIMES").map_or(60, |t| t.parse().unwrap());
    for (name, text, kind, hints, confidence, share) in cases {
        if !name.starts_with(&only) {
            continue;
        }
        let descs: Vec<TensorDesc> = text.split_whitespace().map(|t| t.parse().unwrap()).collect();
        let mut random = Random(3);
        let tensors: Vec<Tensor> = descs
            .iter()
            .map(|desc| {
                let dims = resolved(desc, 1);
                let n: usize = dims.iter().product();
                let values: Vec<f32> =
                    (0..n)
                        .map(|_| {
                            if random.unit() < share {
                                0.3 + 0.65 * random.unit()
                            } else {
                                0.2 * random.unit()
                            }
                        })
                        .collect();
                match desc.ty {
                    TensorType::Float16 => Tensor::halved("o", &dims, &values),
                    TensorType::Int64 => {
                        Tensor { name: "labels", ty: desc.ty, dims: dims.clone(), bytes: vec![0; n * 8] }
                    }
                    _ => Tensor::new("o", &dims, &values),
                }
            })
            .collect();
        let decoder = choose(&descs, [640, 640], Some(kind), &hints).map_err(|e| e.to_string()).unwrap();
        let params = Params {
            confidence,
            nms: Nms::None,
            multi_label: decoder.usual_multi_label(),
            ..Params::default()
        };
        let mut detector = Detector::new(decoder, params).unwrap();
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let (mut found, mut best) = (vec![], f64::INFINITY);
        let map = Affine::upright([3.0, 3.0], [0.0, -420.0]);
        let mut outcome = Outcome::default();
        for time in 0..times {
            let start = std::time::Instant::now();
            deeper(time % 8, &mut || outcome = detector.run(&views, &map, [1920, 1080], &mut found).unwrap());
            best = best.min(start.elapsed().as_secs_f64() * 1e6);
        }
        println!("SPEED {name:20} {best:10.1} us {} {}", outcome.candidates, found.len());
    }
}

/// At another place of the stack: whether a temporary of `half` crosses a page there is luck.
#[inline(never)]
fn deeper(depth: usize, run: &mut dyn FnMut()) {
    let pad = std::hint::black_box([0u8; 208]);
    if depth == 0 { run() } else { deeper(depth - 1, run) }
    std::hint::black_box(pad);
}
