//! Which decoder a model's shapes lead to, and what is said where they lead to none or several.

use super::*;
use crate::words::Words as _;

fn outputs(text: &str) -> Vec<TensorDesc> {
    text.split_whitespace().map(|t| t.parse().unwrap()).collect()
}

fn hinted(classes: usize) -> Hints {
    Hints { classes: Some(classes), ..Hints::default() }
}

fn unasked(
    text: &str,
    input: [usize; 2],
    hints: &Hints,
) -> Result<(DecoderKind, Option<usize>), DetectError> {
    choose(&outputs(text), input, None, hints).map(|d| (d.kind(), d.classes()))
}

#[test]
fn shapes_lead_to_the_one_decoder_they_fit() {
    use DecoderKind::*;
    let nanodet = "a:float32:1x2704x80 b:float32:1x676x80 c:float32:1x169x80 \
                   d:float32:1x2704x44 e:float32:1x676x44 f:float32:1x169x44";
    let table = [
        // The documented 512x512 detector of two classes.
        ("output:float32:1x16128x7", [512, 512], None, Yolov5, Some(2)),
        ("output:float32:1x25200x85", [640, 640], None, Yolov5, Some(80)),
        ("output:float32:1x25200x6", [640, 640], None, Yolov5, Some(1)),
        ("output:float16:1x15120x85", [640, 384], None, Yolov5, Some(80)),
        // P6: strides up to 64, which the user did not tell.
        ("output:float32:1x102000x85", [1280, 1280], None, Yolov5, Some(80)),
        // Raw heads beside the decoded output are left aside.
        (
            "o:float32:1x25200x85 h:float32:1x3x80x80x85 i:float32:1x3x40x40x85",
            [640, 640],
            None,
            Yolov5,
            Some(80),
        ),
        ("output0:float32:1x84x8400", [640, 640], None, Yolov8, Some(80)),
        ("output0:float32:1x84x?", [640, 640], None, Yolov8, Some(80)),
        ("output0:float32:?x84x8400", [640, 640], None, Yolov8, Some(80)),
        ("output0:float32:84x8400", [640, 640], None, Yolov8, Some(80)),
        // Fewer anchors than channels, but the right number.
        ("output0:float32:1x84x84", [64, 64], Some(80), Yolov8, Some(80)),
        // Transposed: 4 + 80 as the labels count, where 5 + 79 has the same shape.
        ("output0:float32:1x8400x84", [640, 640], Some(80), Yolov8, Some(80)),
        ("output0:float32:1x?x84", [640, 640], Some(80), Yolov8, Some(80)),
        ("output0:float32:1x8400x6", [640, 640], Some(2), Yolov8, Some(2)),
        ("o:float32:1x8400x116 protos:float32:1x32x160x160", [640, 640], Some(80), YoloSeg, Some(80)),
        ("o:float32:1x8400x116 protos:float32:1x32x160x160", [640, 640], None, YoloSeg, Some(80)),
        ("o:float32:1x8400x56", [640, 640], Some(1), YoloPose, Some(1)),
        ("output0:float32:1x300x6", [640, 640], None, EndToEnd, None),
        ("output0:float32:1x300x6", [640, 640], Some(80), EndToEnd, Some(80)),
        ("output0:float32:1x?x6", [640, 640], Some(80), EndToEnd, Some(80)),
        // torchvision, RT-DETR, MMDeploy, EfficientNMS, TensorFlow; the outputs in any order.
        ("boxes:float32:?x4 labels:int64:? scores:float32:?", [640, 640], None, Detections, None),
        ("1597:float32:? 1596:float32:?x4 1599:int64:?", [640, 640], Some(91), Detections, Some(91)),
        (
            "labels:int64:1x300 boxes:float32:1x300x4 scores:float32:1x300",
            [640, 640],
            Some(80),
            Detections,
            Some(80),
        ),
        ("dets:float32:1x?x5 labels:int64:1x?", [640, 640], Some(80), Detections, Some(80)),
        (
            "num_dets:int32:1x1 det_boxes:float32:1x100x4 det_scores:float32:1x100 det_classes:int32:1x100",
            [640, 640],
            None,
            Detections,
            None,
        ),
        (
            "detection_anchor_indices:float32:1x100 detection_boxes:float32:1x100x4 detection_classes:float32:1x100 \
             detection_multiclass_scores:float32:1x100x91 detection_scores:float32:1x100 num_detections:float32:1 \
             raw_detection_boxes:float32:1x1917x4 raw_detection_scores:float32:1x1917x91",
            [640, 640],
            Some(90),
            Detections,
            Some(90),
        ),
        // Paddle's names tell the order of the columns.
        (
            "multiclass_nms3_0.tmp_0:float32:?x6 multiclass_nms3_0.tmp_2:int32:?",
            [640, 640],
            None,
            EndToEnd,
            None,
        ),
        ("fetch_name_0:float32:?x6 fetch_name_1:int32:1", [640, 640], Some(80), EndToEnd, Some(80)),
        ("multiclass_nms3_0.tmp_0:float32:?x6", [640, 640], None, EndToEnd, None),
        (nanodet, [416, 416], None, Nanodet, Some(80)),
        (nanodet, [416, 416], Some(80), Nanodet, Some(80)),
        ("o:float32:1x3549x112", [416, 416], Some(80), Nanodet, Some(80)),
        ("boxes:float32:1x8732x4 scores:float32:1x8732x21", [300, 300], None, BoxesScores, Some(21)),
        ("s:float32:1x?x21 b:float32:1x?x4", [300, 300], None, BoxesScores, Some(21)),
        ("b:float32:1x2535x1x4 s:float32:1x2535x80", [416, 416], None, BoxesScores, Some(80)),
        ("boxes:float32:100x4 scores:float32:100x4", [640, 640], None, BoxesScores, Some(4)),
        // 56 = 4 + 52, or 4 + 1 + 17 * 3: the labels tell.
        ("o:float32:1x56x8400", [640, 640], Some(52), Yolov8, Some(52)),
        ("o:float32:1x56x8400", [640, 640], Some(1), YoloPose, Some(1)),
        ("o:float32:1x300x57", [640, 640], None, YoloPose, None),
        ("o:float32:1x25200x57", [640, 640], Some(52), Yolov5, Some(52)),
        ("o:float32:1x8x8400", [640, 640], None, Yolov8, Some(4)),
        ("o:float32:1x116x8400 protos:float32:1x32x160x160", [640, 640], None, YoloSeg, Some(80)),
        ("p:float32:1x32x160x160 o:float32:1x300x38", [640, 640], Some(80), YoloSeg, Some(80)),
        // YOLOv5-seg: three anchors in each cell.
        ("output0:float32:1x25200x117 output1:float32:1x32x160x160", [640, 640], None, YoloSeg, Some(80)),
        ("output0:float32:1x25200x117 output1:float32:1x32x160x160", [640, 640], Some(80), YoloSeg, Some(80)),
        ("output0:float32:1x25200x38 output1:float32:1x32x160x160", [640, 640], None, YoloSeg, Some(1)),
        // 20 = 4 + 16: rotated boxes of 15 classes have to be asked for.
        ("o:float32:1x20x8400", [640, 640], Some(16), Yolov8, Some(16)),
        ("o:float32:1x20x8400", [640, 640], None, Yolov8, Some(16)),
        // So have suppressed ones.
        ("o:float32:1x25200x7", [640, 640], Some(2), Yolov5, Some(2)),
        ("wh:float32:1x128x128x4 kp:float32:1x128x128x80", [512, 512], None, Centernet, Some(80)),
        (
            "hm:float32:1x80x96x128 wh:float32:1x2x96x128 reg:float32:1x2x96x128",
            [512, 384],
            None,
            Centernet,
            Some(80),
        ),
        (
            "537:float32:?x1x8x16 538:float32:?x2x8x16 539:float32:?x2x8x16 540:float32:?x10x8x16",
            [64, 32],
            None,
            Centerface,
            Some(1),
        ),
    ];
    for (text, input, classes, kind, found) in table {
        let hints = Hints { classes, ..Hints::default() };
        assert_eq!(unasked(text, input, &hints).unwrap(), (kind, found), "{text} at {input:?}");
        assert_eq!(choose(&outputs(text), input, Some(kind), &hints).unwrap().kind(), kind, "{text}");
    }
}

#[test]
fn what_fits_several_decoders_is_ambiguous_until_classes_or_the_decoder_are_given() {
    let table = [
        ("o:float32:1x1000x85", None, [640, 640], "yolov5, yolov8, yolox"),
        ("o:float32:1x?x85", None, [640, 640], "yolov5, yolov8, yolox"),
        // One anchor a cell: YOLOv6 or YOLOX, decoded or not, or a transposed yolov8 of 81 classes.
        ("o:float32:1x8400x85", None, [640, 640], "yolov5, yolov8, yolox"),
        ("o:float32:1x8400x85", Some(80), [640, 640], "yolov5, yolox"),
        ("o:float32:1x3549x85", Some(80), [416, 416], "yolov5, yolox"),
        ("o:float32:1x8400x84", None, [640, 640], "yolov5, yolov8, yolox"),
        ("o:float32:1x8400x6", None, [640, 640], "yolov5, yolov8, yolox"),
        // Both readings have the right number of anchors.
        ("o:float32:1x84x84", None, [64, 64], "yolov8, yolox"),
        ("o:float32:1x?x6", None, [640, 640], "yolov5, yolov8, yolox, end-to-end"),
        // Sides that no stride divides: the number of anchors proves nothing.
        ("o:float32:1x300x6", None, [650, 650], "yolov5, yolov8, end-to-end"),
        ("o:float32:?x6", None, [640, 640], "yolov5, yolov8, yolox, end-to-end"),
        ("output:float32:?x7", None, [640, 640], "yolov5, yolov8, yolox, end-to-end"),
        ("o:float32:1x56x8400", None, [640, 640], "yolov8, yolo-pose"),
        ("o:float32:1x8400x56", None, [640, 640], "yolov5, yolov8, yolox, yolo-pose"),
    ];
    for (text, classes, input, names) in table {
        match unasked(text, input, &Hints { classes, ..Hints::default() }) {
            Err(DetectError::Ambiguous { candidates, .. }) => {
                let found: Vec<_> = candidates.iter().map(|(kind, _)| kind.word()).collect();
                assert_eq!(found.join(", "), names, "{text}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let message = |classes| {
        let hints = Hints { classes, ..Hints::default() };
        unasked("out:float32:1x8400x85", [640, 640], &hints).unwrap_err().to_string()
    };
    assert_eq!(
        message(None),
        "the model's outputs out:float32:1x8400x85 are ambiguous at an input of 640x640: they fit the decoders yolov5 \
         (80 classes), yolov8 (81 classes), yolox (80 classes). The shapes do not tell which of them the model was made for. \
         Name it in the model's sidecar, [output] decoder = \"yolov5\" for example, or by the property decoder; the model's \
         labels, which count its classes, narrow the choice"
    );
    assert!(message(Some(80)).ends_with("or by the property decoder"), "{}", message(Some(80)));
    let stated = choose(&outputs("o:float32:1x1000x85"), [640, 640], Some(DecoderKind::Yolov5), &hinted(80));
    assert_eq!(stated.unwrap().classes(), Some(80));
}

#[test]
fn the_error_of_what_fits_nothing_names_what_would() {
    for text in [
        "o:float32:1x3x80x80x85",
        "o:float32:2x25200x85",
        "o:uint8:1x84x8400",
        "o:float32:1x2:float32:",
        "",
        // Prototypes are missing; no class is left beside that many coefficients; a size map of another grid.
        "o:float32:1x116x8400 p:float32:1x32x160x160 q:float32:1x32x160x160",
        "o:float32:1x36x8400 protos:float32:1x32x160x160",
        "heat:float32:1x80x160x160 wh:float32:1x2x80x80",
        // Unpaired: a stride's boxes are missing.
        "a:float32:1x2704x80 b:float32:1x676x80 c:float32:1x169x80 d:float32:1x2704x44 e:float32:1x676x44",
    ] {
        let descs: Vec<TensorDesc> = text.split_whitespace().filter_map(|t| t.parse().ok()).collect();
        let error = choose(&descs, [640, 640], None, &Hints::default()).unwrap_err();
        assert!(matches!(error, DetectError::NoFit { .. }), "{text}: {error}");
    }
    let heat = "heat:float32:1x80x160x160";
    let message = unasked(heat, [640, 384], &Hints::default()).unwrap_err().to_string();
    for part in [heat, "640x384", "Set decoder=", "docs/model-sidecar.md"] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    // Whoever names a decoder is given what it needs.
    for (kind, part) in [
        (DecoderKind::Yolov5, "one float output [1, N, 5 + C]"),
        (DecoderKind::Yolov5, "N = 15120"),
        (DecoderKind::Yolov8, "one float output [1, 4 + C, N]"),
        (DecoderKind::Yolox, "one float output [1, 5040, 5 + C]"),
        (DecoderKind::EndToEnd, "one float output [1, M, 6]"),
        (DecoderKind::Nanodet, "Ns = 3840, 960, 240 with strides 8, 16, 32"),
        (DecoderKind::BoxesScores, "two float outputs"),
    ] {
        let error = choose(&outputs(heat), [640, 384], Some(kind), &Hints::default()).unwrap_err();
        assert!(error.to_string().contains(part), "'{part}' is not in: {error}");
    }
}

#[test]
fn labels_that_are_not_as_many_as_the_classes_are_reported_with_both_numbers() {
    for requested in [None, Some(DecoderKind::Yolov8)] {
        let error = choose(&outputs("o:float32:1x22x8400"), [640, 640], requested, &hinted(80)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "80 labels are given, but the model's outputs o:float32:1x22x8400 have 18 classes as yolov8 reads them. Give one \
             label for each class, in the sidecar's [output] or by trtinfer's property labels"
        );
        let error = choose(&outputs("o:float32:1x22x8400"), [640, 640], requested, &hinted(1)).unwrap_err();
        assert!(error.to_string().starts_with("1 label is given, but"), "{error}");
    }
    // Six anchors of 80 classes are no transposed output, though three coarse strides have six cells.
    let error = choose(&outputs("o:float32:1x6x84"), [64, 64], None, &hinted(80)).unwrap_err();
    assert!(error.to_string().contains("2 classes as yolov8 reads them"), "{error}");
    // Another decoder is not blamed on the labels.
    let error = choose(&outputs("o:float32:1x22x8400"), [640, 640], Some(DecoderKind::Nanodet), &hinted(80));
    assert!(matches!(error, Err(DetectError::Unfit { .. })), "{error:?}");
}

#[test]
fn masks_and_confidence_maps_are_known_for_what_they_are_whatever_the_labels() {
    for (text, input) in [
        ("red:float32:1x1x16x24", [24, 16]),
        ("mask:float32:?x2x128x96", [384, 512]),
        ("mask:float32:1x256x256x1", [256, 256]),
        ("heat:float32:1x17x64x48", [192, 256]),
    ] {
        for hints in [Hints::default(), hinted(1), hinted(17)] {
            let error = unasked(text, input, &hints).unwrap_err();
            assert!(matches!(error, DetectError::Maps { .. }), "{text}: {error}");
            assert!(error.to_string().contains("Put segmask in place of gpunms"), "{error}");
        }
    }
    // Rows of a detector in four dimensions.
    let rows = unasked("o:float32:1x1x25200x85", [640, 640], &Hints::default());
    assert_eq!(rows.unwrap(), (DecoderKind::Yolov5, Some(80)));
}

#[test]
fn a_classifiers_scores_are_known_for_what_they_are() {
    for text in ["s:float32:1x1000", "s:float32:?x1000x1x1", "s:float32:1x1000 age:float32:1x8"] {
        for hints in [Hints::default(), hinted(1000)] {
            let error = unasked(text, [224, 224], &hints).unwrap_err();
            assert!(matches!(error, DetectError::Classifier { .. }), "{text}: {error}");
            assert!(error.to_string().contains("Put classify in place of gpunms"), "{error}");
        }
    }
}

#[test]
fn a_requested_decoder_that_does_not_fit_says_what_it_needs() {
    let table = [
        ("o:float32:1x84x8400", DecoderKind::Yolov5, "[1, N, 5 + C]"),
        ("o:float32:1x84x8400x1", DecoderKind::Yolov8, "[1, N, 4 + C]"),
        ("o:float32:1x1000x85", DecoderKind::Yolox, "[1, 8400, 5 + C]"),
        ("o:float32:1x84x8400", DecoderKind::EndToEnd, "[1, M, 6]"),
        ("o:float32:1x8400x112", DecoderKind::Nanodet, "if the labels are known"),
        ("o:float32:1x8400x4", DecoderKind::BoxesScores, "boxes [1, N, 4]"),
        // 53 numbers are neither three nor two for each point.
        ("o:float32:1x58x8400", DecoderKind::YoloPose, "[1, 4 + 1 + 3 * K, N]"),
        // 6 are two points with visibility or three without.
        ("o:float32:1x11x8400", DecoderKind::YoloPose, "name the number of keypoints"),
        ("o:float32:1x116x8400", DecoderKind::YoloSeg, "the prototypes [1, M, h, w]"),
        (
            "heat:float32:1x80x160x160 wh:float32:1x2x80x80",
            DecoderKind::Centernet,
            "on the same grid of h = 640/s by w = 640/s",
        ),
        ("heat:float32:1x2x160x160 wh:float32:1x2x160x160", DecoderKind::Centerface, "[1, 1, h, w]"),
    ];
    for (text, kind, part) in table {
        let error = choose(&outputs(text), [640, 640], Some(kind), &Hints::default()).unwrap_err();
        assert!(matches!(error, DetectError::Unfit { .. }), "{error}");
        let message = error.to_string();
        let offered = text.replace(' ', ", ");
        assert!(message.contains(part) && message.contains(&offered), "{message}");
    }
    let wrong = choose(&outputs("o:float32:1x25200x85"), [640, 640], Some(DecoderKind::Yolov5), &hinted(20));
    assert!(matches!(wrong, Err(DetectError::Labels { labels: 20, .. })), "{wrong:?}");
    let twice = outputs("a:float32:1x84x8400 b:float32:1x84x8400");
    let error = choose(&twice, [640, 640], Some(DecoderKind::Yolov8), &Hints::default()).unwrap_err();
    assert!(matches!(error, DetectError::SeveralOutputs { .. }), "{error}");
}

#[test]
fn a_wrong_number_of_labels_is_named_whichever_decoder_is_asked_for_and_with_any_number_of_anchors() {
    for (text, kind, classes) in [
        ("o:float32:1x25200x85", DecoderKind::Yolov5, "80"),
        ("o:float32:1x25000x85", DecoderKind::Yolov5, "80"),
        ("o:float32:1x84x8400", DecoderKind::Yolov8, "80"),
        ("o:float32:1x84x8000", DecoderKind::Yolov8, "80"),
        ("o:float32:1x8400x85", DecoderKind::Yolox, "80"),
        ("boxes:float32:1x8732x4 scores:float32:1x8732x21", DecoderKind::BoxesScores, "21"),
        ("o:float32:1x116x8400 p:float32:1x32x160x160", DecoderKind::YoloSeg, "80"),
        ("o:float32:1x116x8000 p:float32:1x32x160x160", DecoderKind::YoloSeg, "80"),
        ("hm:float32:1x80x160x160 wh:float32:1x2x160x160", DecoderKind::Centernet, "80"),
        ("o:float32:1x20x8400", DecoderKind::YoloObb, "15"),
        ("o:float32:1x20x8000", DecoderKind::YoloObb, "15"),
    ] {
        let error = choose(&outputs(text), [640, 640], Some(kind), &hinted(7)).unwrap_err().to_string();
        let wanted = ["7 labels are given", &format!("have {classes} classes as {kind} reads them")]
            .map(str::to_owned);
        assert!(wanted.iter().all(|part| error.contains(part)), "{kind} {text}: {error}");
    }
    // In cells of other strides, it is no yolox whatever the labels.
    let error = choose(&outputs("o:float32:1x8000x85"), [640, 640], Some(DecoderKind::Yolox), &hinted(7));
    assert!(matches!(error, Err(DetectError::Unfit { .. })), "{error:?}");
}

#[test]
fn rows_of_final_boxes_that_are_as_many_as_the_anchors_are_suppressed_unless_that_is_set() {
    let named = |classes| Hints { classes: Some(classes), ..Hints::default() };
    let lists =
        |rows: usize| format!("boxes:float32:1x{rows}x4 scores:float32:1x{rows} labels:int64:1x{rows}");
    for (text, input, kind, hints, kept) in [
        ("o:float32:1x8400x6".to_owned(), [640, 640], None, named(80), true),
        ("o:float32:1x8400x6".to_owned(), [640, 640], Some(DecoderKind::EndToEnd), Hints::default(), true),
        ("o:float32:?x5040x6".to_owned(), [640, 384], Some(DecoderKind::EndToEnd), Hints::default(), true),
        ("o:float32:1x25200x6".to_owned(), [640, 640], Some(DecoderKind::EndToEnd), Hints::default(), true),
        ("o:float32:1x34000x6".to_owned(), [640, 640], Some(DecoderKind::EndToEnd), Hints::default(), true),
        ("o:float32:1x300x6".to_owned(), [640, 640], None, named(80), false),
        ("o:float32:1x?x6".to_owned(), [640, 640], Some(DecoderKind::EndToEnd), Hints::default(), false),
        ("o:float32:1x8400x6".to_owned(), [512, 512], Some(DecoderKind::EndToEnd), Hints::default(), false),
        (lists(8400), [640, 640], None, named(80), true),
        (lists(300), [640, 640], None, named(80), false),
        (
            "o:float32:1x8400x57".to_owned(),
            [640, 640],
            Some(DecoderKind::YoloPose),
            Hints { keypoints: Some(17), ..Hints::default() },
            true,
        ),
    ] {
        let decoder = choose(&outputs(&text), input, kind, &hints).unwrap();
        let nms = if kept { Nms::ClassWise } else { Nms::None };
        assert_eq!(
            (decoder.keeps_anchors(), decoder.usual_nms()),
            (kept, nms),
            "{text} {:?}",
            decoder.kind()
        );
    }
    let raw = choose(&outputs("o:float32:1x84x8400"), [640, 640], None, &Hints::default()).unwrap();
    assert!(!raw.keeps_anchors());
}

#[test]
fn the_number_of_keypoints_settles_what_a_poses_numbers_are() {
    let pose = |text: &str, classes, keypoints| {
        let hints = Hints { classes, keypoints, ..Hints::default() };
        let decoder = choose(&outputs(text), [640, 640], None, &hints).unwrap();
        assert_eq!(decoder.kind(), DecoderKind::YoloPose, "{text}");
        (decoder.keypoints(), decoder.classes())
    };
    assert_eq!(pose("o:float32:1x56x8400", None, Some(17)), (17, Some(1)));
    assert_eq!(pose("o:float32:1x39x8400", None, Some(17)), (17, Some(1)));
    assert_eq!(pose("o:float32:1x11x8400", None, Some(2)), (2, Some(1)));
    assert_eq!(pose("o:float32:1x11x8400", None, Some(3)), (3, Some(1)));
    assert_eq!(pose("o:float32:1x13x8400", Some(3), Some(2)), (2, Some(3)));
    assert_eq!(pose("o:float32:1x300x12", Some(3), Some(2)), (2, Some(3)));
    let error =
        unasked("o:float32:1x56x8400", [640, 640], &Hints { keypoints: Some(16), ..Hints::default() });
    let message = error.unwrap_err().to_string();
    assert!(message.contains("16 keypoints are expected"), "{message}");
    assert!(message.contains("have 17 as yolo-pose reads them"), "{message}");
}

#[test]
fn two_widths_that_could_both_be_bins_need_the_number_of_classes() {
    let text = "a:float32:1x64x32 b:float32:1x16x32 c:float32:1x4x32 d:float32:1x64x44 e:float32:1x16x44 \
                f:float32:1x4x44";
    assert!(matches!(unasked(text, [64, 64], &Hints::default()), Err(DetectError::NoFit { .. })));
    for classes in [32, 44] {
        let found = unasked(text, [64, 64], &hinted(classes)).unwrap();
        assert_eq!(found, (DecoderKind::Nanodet, Some(classes)));
    }
}

#[test]
fn hints_that_are_wrong_or_useless_are_refused() {
    let v8 = "o:float32:1x84x8400";
    let refuse = |text: &str, hints: Hints, part: &str| {
        let message = unasked(text, [640, 640], &hints).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    let hints = Hints::default;
    refuse(v8, hinted(0), "'classes' is 0");
    refuse(v8, Hints { strides: vec![], ..hints() }, "'strides'");
    refuse(v8, Hints { strides: vec![8, 0], ..hints() }, "'strides'");
    refuse(v8, Hints { background: Some(Background::Last), ..hints() }, "'background'");
    refuse(v8, Hints { activation: Some(Activation::Softmax), ..hints() }, "softmax");
    let e2e = "o:float32:1x300x6";
    for (hints, part) in [
        (Hints { box_format: Some(BoxFormat::Corners), ..hints() }, "'box format'"),
        (Hints { normalized: Some(true), ..hints() }, "'normalized'"),
    ] {
        let asked = choose(&outputs("o:float32:1x8400x85"), [640, 640], Some(DecoderKind::Yolox), &hints)
            .unwrap_err();
        assert!(asked.to_string().contains(part), "{asked}");
    }
    refuse(e2e, Hints { activation: Some(Activation::Sigmoid), ..hints() }, "'activation'");
    refuse(v8, Hints { keypoints: Some(0), ..hints() }, "'keypoints' is 0");
    refuse(v8, Hints { size_unit: Some(SizeUnit::Pixels), ..hints() }, "'size unit'");
    refuse(v8, Hints { axis_order: Some(AxisOrder::Yx), ..hints() }, "'axis order'");
    // Whoever states the number of keypoints does not mean a detector without any.
    refuse(v8, Hints { keypoints: Some(17), ..hints() }, "no decoder fits");
    let asked = choose(
        &outputs(v8),
        [640, 640],
        Some(DecoderKind::Yolov8),
        &Hints { keypoints: Some(17), ..hints() },
    );
    assert!(asked.unwrap_err().to_string().contains("'keypoints' does not apply to decoder yolov8"));
}

#[test]
fn names_survive_the_way_through_text() {
    for &kind in DecoderKind::ALL {
        assert_eq!(kind.word().parse::<DecoderKind>().unwrap(), kind);
    }
    let message = "yolov99".parse::<DecoderKind>().unwrap_err().to_string();
    assert!(DecoderKind::ALL.iter().all(|k| message.contains(k.word())), "{message}");
}

#[test]
fn a_decoder_that_was_asked_for_is_proven_only_by_the_number_of_anchors() {
    let proven = |text: &str, kind| {
        choose(&outputs(text), [640, 640], Some(kind), &Hints::default()).unwrap().is_proven()
    };
    assert!(proven("o:float32:1x84x8400", DecoderKind::Yolov8));
    // RT-DETR's queries, which could be 84 anchors of 296 classes.
    assert!(!proven("o:float32:1x300x84", DecoderKind::Yolov8));
    assert!(proven("o:float32:1x300x6", DecoderKind::EndToEnd));
}
