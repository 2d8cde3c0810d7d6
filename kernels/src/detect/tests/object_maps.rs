//! Masks in an output of their own: which output that is, what they cover, and whose they are.

use super::*;

const BOXES: [f32; 12] = [0.5, 0.5, 0.25, 0.25, 0.25, 0.25, 0.125, 0.125, 0.75, 0.75, 0.25, 0.25];

fn descs_of(outputs: &[&str]) -> Vec<TensorDesc> {
    outputs.iter().map(|output| output.parse().unwrap()).collect()
}

/// The masks of the decoder that is chosen for these outputs.
fn masks(outputs: &[&str], requested: Option<DecoderKind>) -> Option<Masks> {
    let hints = Hints { classes: Some(3), ..Hints::default() };
    choose(&descs_of(outputs), [640, 480], requested, &hints).unwrap().masks()
}

#[test]
fn the_maps_of_queries_and_of_final_boxes_are_found_by_shape_and_then_by_name() {
    let (logits, boxes) = ("logits:float32:1x100x3", "pred_boxes:float32:1x100x4");
    let input = |output| Some(Masks::Maps { output, extent: Extent::Input });
    assert_eq!(masks(&[logits, boxes, "m:float32:1x100x120x160"], None), input(2));
    assert_eq!(masks(&["pred_masks:float16:1x100x9x12", logits, boxes], None), input(0), "of any size");
    let maps = ["more:float32:1x100x8x8", "pred_masks:float32:1x100x9x12"];
    assert_eq!(masks(&[logits, boxes, maps[0], maps[1]], None), input(3));
    assert_eq!(masks(&[logits, boxes, maps[0], "most:float32:1x100x7x7"], None), None, "nothing tells which");
    for other in
        ["masks:float32:1x99x9x12", "masks:int64:1x100x9x12", "masks:float32:1x100x12", "m:float32:1x100x1x1"]
    {
        assert_eq!(masks(&[logits, boxes, other], None), None, "{other}");
    }

    let lists = ["boxes:float32:?x4", "labels:int64:?", "scores:float32:?"];
    let with = |masks_: &str| masks(&[lists[0], lists[1], masks_, lists[2]], None);
    let of_boxes = Some(Masks::Maps { output: 2, extent: Extent::Box });
    for output in ["6887:float32:?x1x28x28", "masks:float32:1x?x28x28"] {
        assert_eq!(with(output), of_boxes, "{output}");
    }
    for output in ["masks:float32:?x1x480x640", "masks:float32:1x?x120x160", "masks:float32:1x?x60x80"] {
        assert_eq!(with(output), input(2), "{output}");
    }
    assert_eq!(masks(&lists, None), None);
    let tensorflow = [
        "detection_boxes:float32:1x100x4",
        "detection_classes:float32:1x100",
        "detection_masks:float32:1x100x33x33",
        "detection_scores:float32:1x100",
        "num_detections:float32:1",
        "raw_detection_boxes:float32:1x1917x4",
    ];
    assert_eq!(masks(&tensorflow, None), of_boxes);
}

#[test]
fn each_detection_has_the_number_of_its_map() {
    let row = |p: [f32; 3]| p.map(|p: f32| (p / (1.0 - p)).ln());
    let logits = [row([0.125, 0.5, 0.25]), row([0.0625, 0.125, 0.0625]), row([0.875, 0.125, 0.75])].concat();
    let tensors = [
        Tensor::new("pred_boxes", &[1, 3, 4], &BOXES),
        Tensor::new("logits", &[1, 3, 3], &logits),
        Tensor::new("pred_masks", &[1, 3, 2, 2], &[0.0; 12]),
    ];
    let hints = Hints { classes: Some(3), ..Hints::default() };
    let decoder = choose(&descs(&tensors), [64, 64], None, &hints).unwrap();
    for (multi_label, wanted) in [(false, &[(2, 0), (0, 1)][..]), (true, &[(2, 0), (2, 2), (0, 1)])] {
        let params = DetectParams { confidence: 0.4, nms: Nms::None, multi_label, ..DetectParams::default() };
        let mut detector = Detector::new(decoder.clone(), params).unwrap();
        let (found, _) = run(&mut detector, &tensors, &Affine::IDENTITY, [64, 64]);
        let rows = &detector.attached().rows;
        let got: Vec<_> = rows.iter().copied().zip(found.iter().map(|found| found.class)).collect();
        assert_eq!(got, wanted);
        assert!(detector.attached().coefficients.is_empty());
    }
}
