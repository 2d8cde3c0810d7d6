//! transformers' `config.json` (`model_type`, `architectures`, `id2label`, `problem_type`, and of models of depth
//! `depth_estimation_type`, `max_depth`, `bin_configurations`) and `preprocessor_config.json`
//! (`size`, `max_size`, `resample`, `do_rescale`, `rescale_factor`, `do_normalize`, `image_mean`, `image_std`, `do_center_crop`, `crop_size`,
//! `do_pad`, `pad_size`).

mod outputs;
mod processor;

use serde_json::Value;

use super::statements::Declared;
use super::vitpose;
use crate::origin::OriginKind;

/// The content of the two files, each under its own name.
pub(super) fn read(configuration: Option<&Value>, processor: Option<&Value>) -> Vec<Declared> {
    let kind = configuration.and_then(|all| all.get("model_type")?.as_str());
    let mut found = Vec::new();
    if let (Some(all), Some(kind)) = (configuration, kind) {
        let mut declared = Declared::new(OriginKind::FileBeside, "config.json, transformers");
        outputs::fill(all, kind, &mut declared);
        found.push(declared);
    }
    // Other programs have files of this name as well.
    let class = processor
        .and_then(|all| all.get("image_processor_type").or(all.get("feature_extractor_type"))?.as_str());
    if let (Some(all), Some(class)) = (processor, class) {
        let mut declared = Declared::new(OriginKind::FileBeside, "preprocessor_config.json");
        processor::fill(all, class, &mut declared);
        found.push(declared);
    }
    found
}

/// The content of one of the two files.
#[cfg(test)]
fn one(configuration: Option<Value>, processor: Option<Value>) -> Declared {
    let mut found = read(configuration.as_ref(), processor.as_ref());
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::RoiCrop;
    use cudainfer_kernels::preproc::{Padding, Resize};

    #[test]
    fn vitpose_is_cropped_and_its_maps_are_blurred_as_its_processor_does_it() {
        let maps = one(
            Some(json!({"model_type": "vitpose", "architectures": ["VitPoseForPoseEstimation"],
            "id2label": {"0": "Nose", "1": "L_Eye"}, "edges": [[0, 1]]})),
            None,
        );
        assert_eq!((maps.unsupported, maps.words.output.labels.len()), (None, 0));
        assert_eq!(maps.words.skeleton.points, ["Nose", "L_Eye"]);
        assert_eq!((maps.words.peaks.blur_kernel, maps.words.peaks.blur_sigma), (Some(11), Some(0.8)));
        let crop = one(
            None,
            Some(
                json!({"image_processor_type": "VitPoseImageProcessor", "do_affine_transform": true, "do_normalize": true,
            "do_rescale": true, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
            "size": {"height": 256, "width": 192}}),
            ),
        );
        let input = &crop.words.input;
        assert_eq!(
            (input.width, input.height, input.padding),
            (Some(192), Some(256), Some(Padding::Pixel(0)))
        );
        assert_eq!((input.resize, input.roi_crop), (Some(Resize::Letterbox), Some(RoiCrop::MmposeUdp)));
        assert_eq!((input.roi_padding, crop.inexact.len()), (Some(1.25), 0));
    }

    #[test]
    fn hostile_values_are_left_out() {
        assert!(read(Some(&json!([1])), Some(&json!("x"))).is_empty());
        assert!(read(Some(&json!({"model_type": 5})), Some(&json!({"size": 5}))).is_empty());
        for size in [
            json!({"height": -1, "width": 5}),
            json!({"height": 0, "width": 0}),
            json!(1e99),
            json!({"shortest_edge": "800"}),
            json!([[]]),
        ] {
            let input = one(None, Some(json!({"image_processor_type": "X", "size": size, "image_std": [0, 0, 0], "image_mean": [1, 2, 3],
                "rescale_factor": "much", "resample": -2}))).words.input;
            assert_eq!(
                (input.width, input.height, input.scale, input.resize),
                (None, None, None, None),
                "{size}"
            );
        }
        let words = one(Some(json!({"model_type": "detr", "architectures": "DetrForObjectDetection", "id2label": {"x": "y"}})), None).words;
        assert!(words.output.labels.is_empty() && words.output.decoder.is_none());
    }
}
