//! What a model is by the modules that PyTorch's exporters name in its graph, where its library writes nothing else:
//! torchvision's detectors and RF-DETR. Their names are parts of these libraries' sources (torchvision/models/detection,
//! rfdetr/export), so that an own network seldom has all of them.

use super::source::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, normalize};
use crate::model::enums::detection::Decoder;
use crate::model::enums::tensor::Resize;
use crate::model::onnx::Scopes;
use crate::model::origin::Source;
use cudainfer_kernels::detect::Background;

pub(super) fn read(scopes: &Scopes) -> Option<Declared> {
    if scopes.producer != "pytorch" {
        return None;
    }
    if scopes.class.starts_with("torchvision.models.detection.") || is_torchvision_detector(scopes) {
        let mut declared = Declared::new(Source::Graph, "torchvision");
        // Label 0 is the background, also where the model cannot find it.
        let output = &mut declared.words.output;
        (output.decoder, output.background) = (Some(Decoder::Detections), Some(Background::First));
        return Some(declared);
    }
    let is_rfdetr = scopes.has(&["backbone", "transformer", "class_embed", "bbox_embed"])
        && ["dets", "labels"].iter().all(|output| scopes.outputs.contains(*output));
    is_rfdetr.then(|| {
        let mut declared = Declared::new(Source::Graph, "RF-DETR");
        let input = &mut declared.words.input;
        input.resize = Some(Resize::Stretch);
        normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec()));
        declared
    })
}

/// Whether the model normalises pictures itself and has regions or anchors as torchvision's detectors do.
fn is_torchvision_detector(scopes: &Scopes) -> bool {
    let of_regions = scopes.has(&["transform", "backbone", "rpn", "roi_heads"]);
    of_regions || scopes.has(&["transform", "backbone", "anchor_generator", "head"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(producer: &str, modules: &[&str], outputs: &[&str]) -> Scopes {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Scopes {
            producer: producer.into(),
            modules: owned(modules),
            outputs: owned(outputs),
            ..Scopes::default()
        }
    }

    #[test]
    fn torchvisions_detectors_have_their_background_first() {
        let named = Scopes {
            producer: "pytorch".into(),
            class: "torchvision.models.detection.faster_rcnn.FasterRCNN".into(),
            ..Scopes::default()
        };
        let regions = scopes("pytorch", &["transform", "backbone", "rpn", "roi_heads"], &[]);
        let anchors = scopes("pytorch", &["transform", "backbone", "anchor_generator", "head"], &[]);
        for scopes in [named, regions, anchors] {
            let declared = read(&scopes).unwrap();
            assert_eq!(declared.origin.to_string(), "the modules in its graph (torchvision)");
            let output = declared.words.output;
            assert_eq!(
                (output.decoder, output.background),
                (Some(Decoder::Detections), Some(Background::First))
            );
        }
    }

    #[test]
    fn rf_detr_is_stretched_and_normalised() {
        let modules = ["backbone", "transformer", "class_embed", "bbox_embed"];
        let declared = read(&scopes("pytorch", &modules, &["dets", "labels", "masks"])).unwrap();
        let input = &declared.words.input;
        assert_eq!((input.resize, input.std.clone()), (Some(Resize::Stretch), Some(IMAGENET_STD.to_vec())));
        assert_eq!(declared.words.output.decoder, None);
    }

    #[test]
    fn part_of_the_evidence_is_none() {
        let modules = ["backbone", "transformer", "class_embed", "bbox_embed"];
        for scopes in [
            scopes("pytorch", &modules, &["pred_boxes", "logits"]),
            scopes("pytorch", &modules[..3], &["dets", "labels"]),
            scopes("pytorch", &["backbone", "head", "transform"], &["boxes", "scores", "labels"]),
            scopes("tf2onnx", &["transform", "backbone", "rpn", "roi_heads"], &["boxes"]),
            Scopes { class: "torchvision.models.resnet.ResNet".into(), ..scopes("pytorch", &[], &[]) },
        ] {
            assert!(read(&scopes).is_none(), "{scopes:?}");
        }
    }
}
