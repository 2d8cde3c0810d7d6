//! libreyolo's exporter writes `model_family`, `task`, `names` (JSON, with numbers as keys), `model_size`, `imgsz_h` and `imgsz_w`.
//! How a family prepares its input and what its outputs are is a matter of its code (libreyolo/models/FAMILY/utils.py).

use cudainfer_kernels::detect::{Activation, Background, BoxFormat, DecoderKind};
use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Padding, Resize};

use super::statements::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, brief, height_and_width, names, normalize};
use crate::NmsMode;
use crate::onnx::Metadata;
use crate::origin::OriginKind;
use crate::sidecar::Output;

/// ImageNet's mean and standard deviation in 0..255, blue first, as mmdetection writes them.
const RTMDET_MEAN: [f32; 3] = [103.53, 116.28, 123.675];
const RTMDET_STD: [f32; 3] = [57.375, 57.12, 58.395];

/// CenterNet's own, in 0..1, blue first.
const CENTERNET_MEAN: [f32; 3] = [0.408, 0.447, 0.470];
const CENTERNET_STD: [f32; 3] = [0.289, 0.274, 0.278];

pub(super) fn read(metadata: &Metadata) -> Option<Declared> {
    let family = metadata.get("model_family")?;
    metadata.get("libreyolo_version")?;
    let json = |key| metadata.get(key).and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let mut declared = Declared::new(OriginKind::Metadata, "libreyolo");
    let words = &mut declared.words;
    words.output.labels = json("names").as_ref().and_then(names).unwrap_or_default();
    let sides = [json("imgsz_h"), json("imgsz_w")].map(|side| side.as_ref().and_then(height_and_width));
    if let [Some([height, _]), Some([width, _])] = sides {
        (words.input.width, words.input.height) = (Some(width), Some(height));
    }
    let task = metadata.get("task").unwrap_or("detect");
    if task != "detect" {
        declared.unsupported = Some(format!("{} for task '{}'", brief(family), brief(task)));
        return Some(declared);
    }
    let (input, output) = (&mut words.input, &mut words.output);
    input.channels = Some(ChannelOrder::Rgb);
    input.resize = Some(Resize::Stretch);
    match family {
        "yolox" => {
            (input.channels, input.resize, input.padding) =
                (Some(ChannelOrder::Bgr), Some(Resize::LetterboxTopLeft), Some(Padding::Pixel(114)));
            normalize(input, 1.0, None, None);
            // The exporter of this family puts the decoding into the file.
            (output.decoder, output.clip_before_nms) = (Some(DecoderKind::Yolov5), Some(true));
        }
        "yolo9" => {
            (input.resize, input.padding) = (Some(Resize::LetterboxTopLeft), Some(Padding::Pixel(114)));
            normalize(input, 1.0 / 255.0, None, None);
            (output.decoder, output.box_format) = (Some(DecoderKind::Yolov8), Some(BoxFormat::Corners));
            (output.multi_label, output.clip_before_nms) = (Some(true), Some(true));
        }
        "rtmdet" => {
            (input.channels, input.resize, input.padding) =
                (Some(ChannelOrder::Bgr), Some(Resize::LetterboxTopLeft), Some(Padding::Pixel(114)));
            input.interpolation = Some(Interpolation::PilBilinear);
            normalize(input, 1.0, Some(RTMDET_MEAN.to_vec()), Some(RTMDET_STD.to_vec()));
            corners_of_any_class(output, DecoderKind::Yolov8);
        }
        "picodet" | "ppyoloe" => {
            normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec()));
            let decoder = if family == "picodet" { DecoderKind::Yolov8 } else { DecoderKind::BoxesScores };
            corners_of_any_class(output, decoder);
        }
        // The exporter of these families puts the anchors into the file.
        "yolo2" | "yolo3" | "yolo4" | "yolo7" => {
            let grey = if family == "yolo7" { 114 } else { 128 };
            (input.resize, input.padding) = (Some(Resize::LetterboxTopLeft), Some(Padding::Pixel(grey)));
            input.interpolation = Some(Interpolation::PilBilinear);
            normalize(input, 1.0 / 255.0, None, None);
            corners_of_any_class(output, DecoderKind::Yolov8);
            output.nms = Some(NmsMode::Agnostic);
        }
        "yolonas" => {
            // This family leaves a margin of 2 pixels in an input of 640, which no key of the sidecar can state.
            (input.resize, input.padding) = (Some(Resize::Letterbox), Some(Padding::Pixel(114)));
            input.interpolation = Some(Interpolation::PilBilinear);
            normalize(input, 1.0 / 255.0, None, None);
            corners_of_any_class(output, DecoderKind::BoxesScores);
            output.multi_label = Some(false);
        }
        "efficientdet" => {
            (input.resize, input.padding) = (Some(Resize::LetterboxTopLeft), Some(Padding::Mean));
            input.interpolation = Some(Interpolation::PilBilinear);
            normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec()));
            // The best 5000 pairs of anchor and class, which still overlap.
            (output.decoder, output.nms) = (Some(DecoderKind::EndToEnd), Some(NmsMode::ClassWise));
            output.clip_before_nms = Some(true);
        }
        "centernet" => {
            // This family places the frame half a pixel of the input beside ours, which no key of the sidecar can state.
            (input.channels, input.resize, input.padding) =
                (Some(ChannelOrder::Bgr), Some(Resize::Letterbox), Some(Padding::Pixel(0)));
            normalize(input, 1.0 / 255.0, Some(CENTERNET_MEAN.to_vec()), Some(CENTERNET_STD.to_vec()));
            // The exporter of this family puts the choice of the best 100 peaks into the file.
            output.decoder = Some(DecoderKind::EndToEnd);
        }
        "rtdetr" | "rtdetrv2" | "rtdetrv4" | "dfine" | "deim" | "deimv2" | "rfdetr" | "lwdetr" | "detr"
        | "deformable_detr" | "dinodetr" => {
            // OpenCV resizes for the first three, Pillow for the others.
            if !matches!(family, "rtdetr" | "rtdetrv2" | "rfdetr") {
                input.interpolation = Some(Interpolation::PilBilinear);
            }
            let is_normalized = match family {
                "rfdetr" | "lwdetr" | "detr" | "deformable_detr" | "dinodetr" => true,
                // The models with DINO's backbone.
                "deimv2" => matches!(metadata.get("model_size"), Some("s" | "m" | "l" | "x")),
                _ => false,
            };
            let [mean, std] =
                [IMAGENET_MEAN, IMAGENET_STD].map(|values| is_normalized.then(|| values.to_vec()));
            normalize(input, 1.0 / 255.0, mean, std);
            output.decoder = Some(DecoderKind::Queries);
            if family == "detr" {
                output.activation = Some(Activation::Softmax);
                output.background = Some(Background::Last);
            } else {
                output.activation = Some(Activation::Sigmoid);
            }
        }
        other => {
            (input.channels, input.resize) = (None, None);
            declared.unsupported = Some(format!("family '{}'", brief(other)));
        }
    }
    Some(declared)
}

/// Decoded corners in pixels with a score for each class; every class above the threshold counts.
fn corners_of_any_class(output: &mut Output, decoder: DecoderKind) {
    (output.decoder, output.box_format) = (Some(decoder), Some(BoxFormat::Corners));
    output.normalized = (decoder == DecoderKind::BoxesScores).then_some(false);
    (output.multi_label, output.clip_before_nms) = (Some(true), Some(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(family: &str, task: &str, names: &str) -> Option<Declared> {
        let entries = [
            ("model_family", family),
            ("libreyolo_version", "1.0"),
            ("task", task),
            ("names", names),
            ("imgsz_h", "320"),
            ("imgsz_w", "640"),
        ];
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        read(&Metadata { entries, ..Metadata::default() })
    }

    #[test]
    fn families_are_prepared_as_their_own_code_does() {
        let yolox = declared("yolox", "detect", "{\"0\": \"person\", \"1\": \"car\"}").unwrap().words;
        assert_eq!(
            (yolox.input.channels, yolox.input.scale, yolox.input.padding),
            (Some(ChannelOrder::Bgr), Some(1.0), Some(Padding::Pixel(114)))
        );
        assert_eq!((yolox.input.height, yolox.input.width), (Some(320), Some(640)));
        assert_eq!(
            (yolox.output.decoder, yolox.output.labels),
            (Some(DecoderKind::Yolov5), vec!["person".into(), "car".into()])
        );
        let yolo9 = declared("yolo9", "detect", "{}").unwrap().words;
        assert_eq!(
            (yolo9.output.decoder, yolo9.output.box_format),
            (Some(DecoderKind::Yolov8), Some(BoxFormat::Corners))
        );
        assert_eq!((yolo9.output.multi_label, yolo9.output.clip_before_nms), (Some(true), Some(true)));
        assert_eq!((yolox.output.multi_label, yolox.output.clip_before_nms), (None, Some(true)));
        let rfdetr = declared("rfdetr", "detect", "{}").unwrap().words;
        assert_eq!(
            (rfdetr.input.resize, rfdetr.input.mean),
            (Some(Resize::Stretch), Some(IMAGENET_MEAN.to_vec()))
        );
        assert_eq!(
            (rfdetr.output.decoder, rfdetr.output.activation),
            (Some(DecoderKind::Queries), Some(Activation::Sigmoid))
        );
        assert_eq!(rfdetr.input.interpolation, None);
        let dfine = declared("dfine", "detect", "{}").unwrap().words;
        assert_eq!(
            (dfine.input.mean, dfine.input.interpolation, dfine.output.activation),
            (None, Some(Interpolation::PilBilinear), Some(Activation::Sigmoid))
        );
        let detr = declared("detr", "detect", "{}").unwrap().words;
        assert_eq!(detr.input.std, Some(IMAGENET_STD.to_vec()));
        assert_eq!(
            (detr.output.decoder, detr.output.activation, detr.output.background),
            (Some(DecoderKind::Queries), Some(Activation::Softmax), Some(Background::Last))
        );
        for (size, mean) in [("s", Some(IMAGENET_MEAN.to_vec())), ("n", None)] {
            let entries = [("model_family", "deimv2"), ("libreyolo_version", "1.6"), ("model_size", size)];
            let entries = entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            let words = read(&Metadata { entries, ..Metadata::default() }).unwrap().words;
            assert_eq!(
                (words.input.mean, words.output.decoder),
                (mean, Some(DecoderKind::Queries)),
                "{size}"
            );
        }
    }

    #[test]
    fn boxes_that_are_decoded_already_are_corners_in_pixels() {
        let (top_left, agnostic) = (Resize::LetterboxTopLeft, Some(NmsMode::Agnostic));
        for (family, nms, resize, padding, mean) in [
            ("rtmdet", None, top_left, Some(Padding::Pixel(114)), Some(RTMDET_MEAN.to_vec())),
            ("picodet", None, Resize::Stretch, None, Some(IMAGENET_MEAN.to_vec())),
            ("yolo3", agnostic, top_left, Some(Padding::Pixel(128)), None),
            ("yolo4", agnostic, top_left, Some(Padding::Pixel(128)), None),
            ("yolo7", agnostic, top_left, Some(Padding::Pixel(114)), None),
        ] {
            let words = declared(family, "detect", "{}").unwrap().words;
            let (input, output) = (words.input, words.output);
            assert_eq!((output.decoder, output.nms), (Some(DecoderKind::Yolov8), nms), "{family}");
            assert_eq!(output.box_format, Some(BoxFormat::Corners), "{family}");
            assert_eq!((output.multi_label, output.clip_before_nms), (Some(true), Some(true)), "{family}");
            assert_eq!((input.resize, input.padding, input.mean), (Some(resize), padding, mean), "{family}");
        }
        for (family, resize, mean, multi_label) in [
            ("ppyoloe", Resize::Stretch, Some(IMAGENET_MEAN.to_vec()), true),
            ("yolonas", Resize::Letterbox, None, false),
        ] {
            let words = declared(family, "detect", "{}").unwrap().words;
            let (input, output) = (words.input, words.output);
            assert_eq!(
                (output.decoder, output.normalized),
                (Some(DecoderKind::BoxesScores), Some(false)),
                "{family}"
            );
            assert_eq!((output.box_format, output.nms), (Some(BoxFormat::Corners), None), "{family}");
            assert_eq!(
                (output.multi_label, output.clip_before_nms),
                (Some(multi_label), Some(true)),
                "{family}"
            );
            assert_eq!((input.resize, input.mean), (Some(resize), mean), "{family}");
        }
        let rtmdet = declared("rtmdet", "detect", "{}").unwrap().words.input;
        assert_eq!((rtmdet.channels, rtmdet.scale), (Some(ChannelOrder::Bgr), Some(1.0)));
    }

    #[test]
    fn candidates_in_rows_are_suppressed_where_the_file_has_not_done_it() {
        let efficient = declared("efficientdet", "detect", "{}").unwrap().words;
        let output = efficient.output;
        assert_eq!((output.decoder, output.nms), (Some(DecoderKind::EndToEnd), Some(NmsMode::ClassWise)));
        assert_eq!((output.clip_before_nms, output.multi_label), (Some(true), None));
        let input = efficient.input;
        assert_eq!((input.resize, input.padding), (Some(Resize::LetterboxTopLeft), Some(Padding::Mean)));
        let center = declared("centernet", "detect", "{}").unwrap().words;
        assert_eq!((center.output.decoder, center.output.nms), (Some(DecoderKind::EndToEnd), None));
        assert_eq!(
            (center.input.channels, center.input.padding),
            (Some(ChannelOrder::Bgr), Some(Padding::Pixel(0)))
        );
        assert_eq!(center.input.mean, Some(CENTERNET_MEAN.to_vec()));
    }

    #[test]
    fn what_is_not_known_is_kept_as_a_word() {
        for (family, task) in [("yolo9", "pose"), ("fomo", "detect"), ("\u{7}", "detect")] {
            let other = declared(family, task, "[1, 2").unwrap();
            assert!(other.unsupported.is_some() && other.words.output.decoder.is_none(), "{family}");
            assert!(other.words.output.labels.is_empty());
        }
    }
}
