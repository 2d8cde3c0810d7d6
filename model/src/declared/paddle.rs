//! PaddleDetection's `infer_cfg.yml`: `arch`, `Preprocess` (a list of steps with their `type`), `label_list`, `NMS`. Its models
//! that end with NMS write class, confidence and corners in frame pixels, for which there is no decoder.

use cudainfer_kernels::preproc::{ChannelOrder, Interpolation, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::{brief, by_channel, height_and_width, names, normalize};
use super::yaml;
use crate::origin::OriginKind;

/// The model's description in the text; `None` if the file of that name belongs to another program.
///
/// # Errors
/// The text is no YAML that can be read.
pub(super) fn read(text: &str) -> Result<Option<Declared>, String> {
    let all = yaml::read(text)?;
    let (Some(arch), Some(steps)) =
        (all.get("arch").and_then(Value::as_str), all.get("Preprocess").and_then(Value::as_array))
    else {
        return Ok(None);
    };
    let mut declared = Declared::new(OriginKind::FileBeside, "infer_cfg.yml, PaddleDetection");
    declared.words.output.labels = all.get("label_list").and_then(names).unwrap_or_default();
    // Its reader turns OpenCV's BGR into RGB.
    declared.words.input.channels = Some(ChannelOrder::Rgb);
    for step in steps {
        read_step(step, &mut declared);
    }
    declared.unsupported = Some(format!("PaddleDetection's architecture '{}'", brief(arch)));
    Ok(Some(declared))
}

fn read_step(step: &Value, declared: &mut Declared) {
    let (input, inexact) = (&mut declared.words.input, &mut declared.inexact);
    let flag = |key, default| step.get(key).and_then(Value::as_bool).unwrap_or(default);
    let size = step.get("target_size").and_then(height_and_width);
    match step.get("type").and_then(Value::as_str) {
        Some("Resize" | "LetterBoxResize") => {
            let letterbox = step.get("type").and_then(Value::as_str) == Some("LetterBoxResize");
            input.resize = Some(if letterbox || flag("keep_ratio", false) {
                Resize::Letterbox
            } else {
                Resize::Stretch
            });
            if let Some([height, width]) = size {
                (input.width, input.height) = (Some(width), Some(height));
            }
            // OpenCV's numbers; it does not antialias.
            match step.get("interp").and_then(Value::as_u64) {
                Some(0) => input.interpolation = Some(Interpolation::Nearest),
                Some(1) => input.interpolation = Some(Interpolation::Bilinear),
                Some(3) => input.interpolation = Some(Interpolation::Area),
                Some(2 | 4) => {
                    input.interpolation = Some(Interpolation::Bilinear);
                    inexact.push("an interpolation over more than four pixels is taken for bilinear".into());
                }
                _ => (),
            }
        }
        Some("NormalizeImage") => {
            let scale = if flag("is_scale", true) { 1.0 / 255.0 } else { 1.0 };
            let of = |key| step.get(key).and_then(by_channel);
            match step.get("norm_type").and_then(Value::as_str).unwrap_or("mean_std") {
                "none" => normalize(input, scale, None, None),
                _ => {
                    if let (Some(mean), Some(std)) = (of("mean"), of("std")) {
                        normalize(input, scale, Some(mean), Some(std));
                    }
                }
            }
        }
        Some("Pad" | "PadStride" | "PadBatch") => {
            inexact.push("padding at the right and at the bottom is left out".into());
        }
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PaddleDetection's exporter writes it.
    const PPYOLOE: &str = "mode: paddle\ndraw_threshold: 0.5\nmetric: COCO\nuse_dynamic_shape: false\narch: YOLO\n\
        min_subgraph_size: 3\nPreprocess:\n- interp: 2\n  keep_ratio: false\n  target_size:\n  - 320\n  - 640\n  type: Resize\n\
        - is_scale: true\n  mean:\n  - 0.485\n  - 0.456\n  - 0.406\n  std:\n  - 0.229\n  - 0.224\n  - 0.225\n  type: NormalizeImage\n\
        - type: Permute\nlabel_list:\n- person\n- 'yes'\n- no\nNMS:\n  keep_top_k: 100\n  name: MultiClassNMS\n";

    #[test]
    fn the_steps_become_the_sidecars_words() {
        let declared = read(PPYOLOE).unwrap().unwrap();
        let input = &declared.words.input;
        assert_eq!((input.height, input.width, input.resize), (Some(320), Some(640), Some(Resize::Stretch)));
        assert_eq!(
            (input.scale, input.mean.as_deref()),
            (Some(1.0 / 255.0), Some(&[0.485, 0.456, 0.406][..]))
        );
        assert_eq!(declared.words.output.labels, ["person", "yes", "no"]);
        assert_eq!(declared.inexact.len(), 1);
        assert!(declared.unsupported.unwrap().contains("'YOLO'"));
        let raw = PPYOLOE.replace("is_scale: true", "is_scale: false\n  norm_type: none");
        let raw = read(&raw).unwrap().unwrap().words.input;
        assert_eq!((raw.scale, raw.mean), (Some(1.0), None));
    }

    #[test]
    fn hostile_values_are_left_out() {
        assert!(read("a: 1").unwrap().is_none());
        assert!(read("- 1").unwrap().is_none());
        let wrong =
            PPYOLOE.replace("- 320", "- -320").replace("0.224", "0.0").replace("- person", "- {a: b}");
        let words = read(&wrong).unwrap().unwrap().words;
        assert_eq!((words.input.width, words.input.scale), (None, None));
        assert!(words.output.labels.is_empty());
    }
}
