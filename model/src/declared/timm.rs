//! timm's `config.json`: `architecture`, `pretrained_cfg` (`input_size` as channels, height, width; `mean`, `std`,
//! `interpolation`, `crop_pct`, `crop_mode`), `label_names`.

use cudainfer_kernels::preproc::{Interpolation, MIN_CROP_RATIO, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::{brief, by_channel, names, normalize, size};
use crate::origin::OriginKind;

pub(super) fn read(configuration: &Value) -> Option<Declared> {
    let all = configuration.get("pretrained_cfg")?;
    configuration.get("architecture")?;
    let mut declared = Declared::new(OriginKind::FileBeside, "config.json, timm");
    let input = &mut declared.words.input;
    if let Some([_, height, width]) = all.get("input_size").and_then(Value::as_array).map(Vec::as_slice) {
        (input.width, input.height) = (size(width), size(height));
    }
    let of = |key| all.get(key).and_then(by_channel);
    if let (Some(mean), Some(std)) = (of("mean"), of("std")) {
        normalize(input, 1.0 / 255.0, Some(mean), Some(std));
    }
    let crop = all.get("crop_pct").and_then(Value::as_f64);
    match all.get("crop_mode").and_then(Value::as_str).unwrap_or("center") {
        "center" => {
            input.resize = Some(Resize::CenterCrop);
            input.crop_ratio = crop.filter(|share| (MIN_CROP_RATIO..1.0).contains(share));
        }
        "squash" => input.resize = Some(Resize::Stretch),
        "border" => input.resize = Some(Resize::Letterbox),
        _ => (),
    }
    match all.get("interpolation").and_then(Value::as_str) {
        Some("nearest") => input.interpolation = Some(Interpolation::Nearest),
        Some("bilinear") => input.interpolation = Some(Interpolation::PilBilinear),
        Some("bicubic") => input.interpolation = Some(Interpolation::PilBicubic),
        Some(other) => {
            input.interpolation = Some(Interpolation::PilBicubic);
            declared.inexact.push(format!("interpolation '{}' is taken for bicubic", brief(other)));
        }
        None => (),
    }
    declared.words.output.labels = configuration.get("label_names").and_then(names).unwrap_or_default();
    Some(declared)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_classifiers_input_is_read() {
        let mut configuration = json!({
            "architecture": "resnet50", "num_classes": 2, "label_names": ["cat", "dog"],
            "pretrained_cfg": {"input_size": [3, 224, 192], "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225],
                "interpolation": "bicubic", "crop_pct": 0.95, "crop_mode": "center"},
        });
        let read_as = read(&configuration).unwrap();
        let input = &read_as.words.input;
        assert_eq!(
            (input.height, input.width, input.resize),
            (Some(224), Some(192), Some(Resize::CenterCrop))
        );
        assert_eq!(
            (input.scale, input.mean.as_deref()),
            (Some(1.0 / 255.0), Some(&[0.485, 0.456, 0.406][..]))
        );
        assert_eq!(read_as.words.output.labels, ["cat", "dog"]);
        assert_eq!((input.crop_ratio, input.interpolation), (Some(0.95), Some(Interpolation::PilBicubic)));
        assert_eq!(read_as.inexact, [""; 0]);
        assert_eq!(read_as.origin.to_string(), "a file beside it (config.json, timm)");
        configuration["pretrained_cfg"]["crop_mode"] = json!("squash");
        configuration["pretrained_cfg"]["interpolation"] = json!("lanczos");
        let squashed = read(&configuration).unwrap();
        assert_eq!(squashed.words.input.resize, Some(Resize::Stretch));
        assert_eq!((squashed.words.input.crop_ratio, squashed.inexact.len()), (None, 1));
    }

    #[test]
    fn hostile_values_are_left_out() {
        let cfg = |cfg: Value| {
            read(&json!({"architecture": "x", "pretrained_cfg": cfg, "label_names": [1]})).unwrap().words
        };
        for wrong in
            [json!([3, 0, 224]), json!([3, -1, 1]), json!([3]), json!("3,224,224"), json!([3, 1e300, 5])]
        {
            let input = cfg(json!({"input_size": wrong})).input;
            assert!(input.width.is_none() || input.height.is_none(), "{wrong}");
        }
        assert_eq!(cfg(json!({"mean": [0, 0], "std": [1, 1]})).input.scale, None);
        assert_eq!(cfg(json!({"mean": [0, 0, 0], "std": [1, 0, 1]})).input.scale, None);
        assert!(cfg(json!(5)).output.labels.is_empty());
        assert!(read(&json!({"model_type": "detr"})).is_none() && read(&json!([])).is_none());
    }
}
