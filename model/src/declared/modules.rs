//! What a model is by the modules that PyTorch's exporters name in its graph, where its library writes nothing else:
//! torchvision's models and RF-DETR. Their names are parts of these libraries' sources (torchvision/models, rfdetr/export), so that
//! an own network seldom has all of them.

use cudainfer_kernels::preproc::Resize;

use super::statements::Declared;
use super::torchvision;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, normalize};
use crate::onnx::Scopes;
use crate::origin::OriginKind;

pub(super) fn read(scopes: &Scopes) -> Option<Declared> {
    if !scopes.are_pytorchs() {
        return None;
    }
    torchvision::read(scopes).or_else(|| rfdetr(scopes))
}

fn rfdetr(scopes: &Scopes) -> Option<Declared> {
    let is_rfdetr = scopes.has(&["backbone", "transformer", "class_embed", "bbox_embed"])
        && ["dets", "labels"].iter().all(|output| scopes.outputs.contains(*output));
    is_rfdetr.then(|| {
        let mut declared = Declared::new(OriginKind::Graph, "RF-DETR");
        let input = &mut declared.words.input;
        input.resize = Some(Resize::Stretch);
        normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec()));
        declared
    })
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
    fn torchvisions_models_are_known_in_files_of_pytorch() {
        let modules = ["transform", "backbone", "rpn", "roi_heads"];
        let declared = read(&scopes("pytorch", &modules, &["boxes"])).unwrap();
        assert_eq!(declared.origin.to_string(), "the modules in its graph (torchvision)");
        assert!(read(&scopes("tf2onnx", &modules, &["boxes"])).is_none());
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
            scopes("tf2onnx", &modules, &["dets", "labels"]),
        ] {
            assert!(read(&scopes).is_none(), "{scopes:?}");
        }
    }
}
