//! torchvision's models by the modules that PyTorch's exporters name in the graph: detectors (torchvision/models/detection),
//! segmenters (segmentation) and classifiers. Their names are parts of torchvision's sources, so that an own network seldom has all
//! of them. Newer exporters write the model's class.

use cudainfer_kernels::detect::{Background, DecoderKind};
use cudainfer_kernels::segment;

use super::statements::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, normalize};
use crate::onnx::Scopes;
use crate::origin::OriginKind;

/// Modules of a classifier's own, and such as these are made of.
type Parts = (&'static [&'static str], &'static [&'static str]);

/// One for each architecture, or for several that are alike. Torchvision's have both.
const CLASSIFIERS: [Parts; 7] = [
    // ResNet, ResNeXt, Wide ResNet. (timm's have `act1` and `global_pool`, faces' of InsightFace `prelu` and `features`.)
    (&["conv1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"], &[]),
    // MobileNetV3, EfficientNet, ConvNeXt.
    (&["features", "avgpool", "classifier"], &["block"]),
    // MobileNetV2.
    (&["features", "classifier"], &["features.18", "conv"]),
    (&["features", "classifier"], &["denseblock1", "transition1"]),
    // ShuffleNetV2.
    (&["conv1", "maxpool", "stage2", "stage3", "stage4", "conv5", "fc"], &["branch2"]),
    // RegNet.
    (&["stem", "trunk_output", "avgpool", "fc"], &[]),
    // ViT.
    (&["conv_proj", "encoder", "heads"], &["self_attention"]),
];

/// What a segmenter's `backbone` and `classifier` are made of: FCN on ResNet, DeepLabV3, LR-ASPP.
const SEGMENTERS: [&[&str]; 3] = [
    &["conv1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "classifier.4"],
    &["convs.0", "project"],
    &["low_classifier", "high_classifier"],
];

/// The only one of them whose weights were not trained with ImageNet's mean and std is EfficientNetV2-L, and this is a block that no other has.
const OF_EFFICIENTNET_V2_L: &str = "features.7.6";

/// What torchvision's models expect and return; none of any other model. `scopes` are those of a file by PyTorch.
pub(super) fn read(scopes: &Scopes) -> Option<Declared> {
    let mut declared = Declared::new(OriginKind::Graph, "torchvision");
    let class = scopes.class.strip_prefix("torchvision.models.");
    let is_detector = match class {
        Some(class) => class.starts_with("detection."),
        None => is_detector(scopes),
    };
    if is_detector {
        // Label 0 is the background, also where the model cannot find it.
        let output = &mut declared.words.output;
        (output.decoder, output.background) = (Some(DecoderKind::Detections), Some(Background::First));
        if scopes.class.ends_with(".MaskRCNN") || scopes.inner.contains("mask_predictor") {
            // A sigmoid is in the model.
            declared.words.segment.activation = Some(segment::Activation::None);
        }
        return Some(declared);
    }
    let expects_pictures = match class {
        Some(class) => !["optical_flow.", "video."].iter().any(|other| class.starts_with(other)),
        None => is_classifier(scopes) || is_segmenter(scopes),
    };
    expects_pictures.then(|| {
        let (mean, std) = if scopes.inner.contains(OF_EFFICIENTNET_V2_L) {
            ([0.5; 3], [0.5; 3])
        } else {
            (IMAGENET_MEAN, IMAGENET_STD)
        };
        normalize(&mut declared.words.input, 1.0 / 255.0, Some(mean.to_vec()), Some(std.to_vec()));
        declared.inexact.push("mean and std are assumed to be those of torchvision's own weights".into());
        declared
    })
}

/// Whether the model normalises pictures itself and has regions or anchors as torchvision's detectors do.
fn is_detector(scopes: &Scopes) -> bool {
    let of_regions = scopes.has(&["transform", "backbone", "rpn", "roi_heads"]);
    of_regions || scopes.has(&["transform", "backbone", "anchor_generator", "head"])
}

fn is_classifier(scopes: &Scopes) -> bool {
    CLASSIFIERS.iter().any(|(own, inner)| scopes.has(own) && has_inner(scopes, inner))
}

fn is_segmenter(scopes: &Scopes) -> bool {
    scopes.has(&["backbone", "classifier"]) && SEGMENTERS.iter().any(|inner| has_inner(scopes, inner))
}

fn has_inner(scopes: &Scopes, modules: &[&str]) -> bool {
    modules.iter().all(|module| scopes.inner.contains(*module))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(modules: &[&str], inner: &[&str]) -> Scopes {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Scopes { modules: owned(modules), inner: owned(inner), ..Scopes::default() }
    }

    fn of_class(class: &str) -> Scopes {
        Scopes { class: class.into(), ..Scopes::default() }
    }

    const RESNET: [&str; 9] =
        ["conv1", "relu", "maxpool", "layer1", "layer2", "layer3", "layer4", "avgpool", "fc"];

    #[test]
    fn detectors_have_their_background_first() {
        let regions = scopes(&["transform", "backbone", "rpn", "roi_heads"], &[]);
        let anchors = scopes(&["transform", "backbone", "anchor_generator", "head"], &[]);
        for scopes in [of_class("torchvision.models.detection.faster_rcnn.FasterRCNN"), regions, anchors] {
            let declared = read(&scopes).unwrap();
            assert_eq!(declared.origin.to_string(), "the modules in its graph (torchvision)");
            let output = declared.words.output;
            assert_eq!(
                (output.decoder, output.background),
                (Some(DecoderKind::Detections), Some(Background::First))
            );
            assert_eq!((declared.words.input.mean, declared.words.segment.activation), (None, None));
        }
    }

    #[test]
    fn the_masks_of_mask_r_cnn_are_probabilities() {
        let modules = ["transform", "backbone", "rpn", "roi_heads"];
        for scopes in [
            of_class("torchvision.models.detection.mask_rcnn.MaskRCNN"),
            scopes(&modules, &["mask_predictor", "conv5_mask"]),
        ] {
            assert_eq!(read(&scopes).unwrap().words.segment.activation, Some(segment::Activation::None));
        }
    }

    #[test]
    fn classifiers_and_segmenters_are_normalised_as_their_weights_were_trained() {
        for scopes in [
            scopes(&RESNET, &["layer1.0", "conv2"]),
            scopes(&["features", "avgpool", "classifier"], &["features.1", "block", "classifier.1"]),
            scopes(&["features", "classifier"], &["features.18", "features.1", "conv"]),
            scopes(&["backbone", "classifier"], &["backbone.0", "convs.0", "project"]),
            scopes(&["backbone", "classifier"], &["low_classifier", "high_classifier"]),
            of_class("torchvision.models.vgg.VGG"),
            of_class("torchvision.models.segmentation.fcn.FCN"),
        ] {
            let declared = read(&scopes).unwrap();
            let input = &declared.words.input;
            assert_eq!((input.scale, input.mean.as_deref()), (Some(1.0 / 255.0), Some(&IMAGENET_MEAN[..])));
            assert_eq!((input.std.as_deref(), declared.inexact.len()), (Some(&IMAGENET_STD[..]), 1));
            assert_eq!((input.resize, declared.words.output.decoder), (None, None));
        }
        let large =
            scopes(&["features", "avgpool", "classifier"], &["features.1.3", "block", "features.7.6"]);
        assert_eq!(read(&large).unwrap().words.input.mean, Some(vec![0.5; 3]));
    }

    #[test]
    fn part_of_the_evidence_is_none() {
        for scopes in [
            scopes(&RESNET[..8], &[]),
            // timm's and InsightFace's.
            scopes(
                &["conv1", "act1", "maxpool", "layer1", "layer2", "layer3", "layer4", "global_pool", "fc"],
                &[],
            ),
            scopes(&["conv1", "prelu", "layer1", "layer2", "layer3", "layer4", "fc", "features"], &[]),
            scopes(&["features", "avgpool", "classifier"], &["features.0", "classifier.6"]),
            scopes(&["backbone", "classifier"], &["layer1", "convs.0"]),
            scopes(&["backbone", "head", "transform"], &[]),
            of_class("torchvision.models.optical_flow.raft.RAFT"),
            of_class("torchvision.models.video.resnet.VideoResNet"),
            of_class("my.torchvision.models.resnet.ResNet"),
        ] {
            assert!(read(&scopes).is_none(), "{scopes:?}");
        }
    }
}
