//! DeepLabCut 3's `pytorch_config.yaml`, which lies beside a model that a PyTorch project trained: `data`, `metadata`, `method`,
//! and `model.heads.bodypart`. DeepLabCut 3.0.2 has no ONNX exporter of its own; an export of its `PoseModel` has the outputs of
//! that head, `heatmap` `[B,N,H,W]` and `locref` `[B,2N,H,W]`, which `HeatmapPredictor` reads
//! (pose_estimation_pytorch/models/predictors/single_predictor.py): the greatest cell of a map, and the offset there. Networks of
//! several animals are read with the sidecar that `scripts/export deeplabcut` writes.

use cudainfer_kernels::peaks::{Activation, Grid, Mode, Refinement};
use cudainfer_kernels::preproc::{ChannelOrder, Padding, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, brief, float, names, normalize, size};
use super::yaml;
use crate::origin::OriginKind;
use crate::sidecar::{Input, Sidecar};
use crate::{Encoding, Grouping, RoiCrop, Skeleton};

/// The name of the file.
pub(super) const FILE: &str = "pytorch_config.yaml";

/// What else is read of a network whose configuration alone does not do.
const EXPORTED: &str = "and the file that scripts/export deeplabcut makes of it";

/// The coarsest stride of the backbones, if the configuration has none.
const STRIDE: u32 = 32;

/// The model's description in the text; `None` if the file of that name belongs to another program.
///
/// # Errors
/// The text is no YAML that can be read.
pub(super) fn read(text: &str) -> Result<Option<Declared>, String> {
    let all = yaml::read(text)?;
    let Some(head) = all.pointer("/model/heads/bodypart") else { return Ok(None) };
    let mut declared = Declared::new(OriginKind::FileBeside, "pytorch_config.yaml, DeepLabCut");
    let stride = stride(head, &all);
    fill(&mut declared.words.input, &all, stride);
    let points = all.pointer("/metadata/bodyparts").and_then(names).unwrap_or_default();
    declared.words.skeleton = Skeleton::of_points(points).unwrap_or_default();
    let predictor = head.get("predictor").cloned().unwrap_or_default();
    let kind = predictor.get("type").and_then(Value::as_str).unwrap_or("of no kind");
    let method = all.get("method").and_then(Value::as_str).unwrap_or("bu");
    match (kind, method.to_ascii_lowercase().as_str()) {
        ("HeatmapPredictor", "bu") => declared.unsupported = peaks(&predictor, stride, &mut declared.words),
        ("HeatmapPredictor", "td") => {
            let refused = crops(&all, &mut declared);
            declared.unsupported = refused.or_else(|| peaks(&predictor, stride, &mut declared.words));
        }
        ("HeatmapPredictor", _) => {
            declared.unsupported =
                Some(format!("a DeepLabCut model of method '{}' (bu and td are read)", brief(method)));
        }
        ("PartAffinityFieldPredictor", _) => {
            declared.unsupported = Some(format!(
                "what DeepLabCut's 'PartAffinityFieldPredictor' finds (HeatmapPredictor is read, {EXPORTED})"
            ));
        }
        (kind, _) => {
            declared.unsupported =
                Some(format!("what DeepLabCut's '{}' finds (HeatmapPredictor is read)", brief(kind)));
        }
    }
    let clips = predictor.get("clip_scores").and_then(Value::as_bool).unwrap_or(false);
    if clips && declared.unsupported.is_none() {
        declared.inexact.push("DeepLabCut cuts confidences above 1 to 1".into());
    }
    Ok(Some(declared))
}

/// How a top-down network's crops are cut; what is not read, if anything is.
fn crops(all: &Value, declared: &mut Declared) -> Option<String> {
    let crop = all.pointer("/data/inference/top_down_crop");
    let of_crop = |key| crop.and_then(|crop| crop.get(key));
    if of_crop("crop_with_context").and_then(Value::as_bool) == Some(false) {
        return Some("DeepLabCut's top_down_crop without crop_with_context".into());
    }
    let margin = of_crop("margin").and_then(float).unwrap_or(0.0);
    if margin != 0.0 {
        declared.inexact.push(format!(
            "DeepLabCut's crops have {margin} pixels around a box on each side; set roi-padding to about that"
        ));
    }
    let input = &mut declared.words.input;
    (input.resize, input.padding, input.size_multiple) =
        (Some(Resize::Letterbox), Some(Padding::Pixel(0)), None);
    input.roi_crop = Some(RoiCrop::DeepLabCut);
    None
}

/// Pixels from cell to cell, if the configuration says it: heads that double the maps make cells beyond the frame as well.
fn stride(head: &Value, all: &Value) -> Option<f32> {
    let backbone = all.pointer("/model/backbone/output_stride").and_then(float)?;
    let doubled = head.pointer("/heatmap_config/strides").and_then(Value::as_array)?;
    let doubled: Option<f32> = doubled.iter().map(float).product();
    doubled.filter(|times| *times > 0.0).map(|times| backbone / times)
}

/// How the maps are read; what is not read, if anything is.
fn peaks(predictor: &Value, stride: Option<f32>, words: &mut Sidecar) -> Option<String> {
    let flag = |key, default| predictor.get(key).and_then(Value::as_bool).unwrap_or(default);
    let peaks = &mut words.peaks;
    (peaks.encoding, peaks.grouping) = (Some(Encoding::Maps), Some(Grouping::Frame));
    (peaks.mode, peaks.grid) = (Some(Mode::Global), Some(Grid::StridedHalf));
    peaks.stride = stride;
    // DeepLabCut has all points, and leaves the choice to its `pcutoff`.
    peaks.threshold = Some(0.0);
    let sigmoid = flag("apply_sigmoid", true);
    peaks.activation = Some(if sigmoid { Activation::Sigmoid } else { Activation::None });
    if !flag("location_refinement", true) {
        peaks.refinement = Some(Refinement::None);
        return None;
    }
    let Some(scale) = predictor.get("locref_std").map_or(Some(7.2801), float) else {
        return Some("a locref_std that is no number".into());
    };
    (peaks.refinement, peaks.offset_scale) = (Some(Refinement::Offsets), Some(scale));
    None
}

/// Frames keep their size, and are padded to the stride where that of cells is not known.
fn fill(input: &mut Input, all: &Value, stride: Option<f32>) {
    let bgr = all.pointer("/data/colormode").and_then(Value::as_str) == Some("BGR");
    input.channels = Some(if bgr { ChannelOrder::Bgr } else { ChannelOrder::Rgb });
    let inference = all.pointer("/data/inference");
    let flag = |key| inference.and_then(|all| all.get(key)).and_then(Value::as_bool).unwrap_or(false);
    match (flag("normalize_images"), flag("scale_to_unit_range")) {
        // albumentations' Normalize divides by 255 first.
        (true, _) => normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec())),
        (false, true) => normalize(input, 1.0 / 255.0, None, None),
        (false, false) => normalize(input, 1.0, None, None),
    }
    // As the network's own convolutions pad: with 0 after the normalisation.
    (input.resize, input.padding) = (Some(Resize::Pad), Some(Padding::Mean));
    let divisor = inference.and_then(|all| all.pointer("/auto_padding/pad_width_divisor"));
    // Maps must tile the frame where nothing says how far their cells are from each other.
    let backbone = all.pointer("/model/backbone/output_stride").and_then(size).unwrap_or(STRIDE);
    let multiple = if stride.is_some() { 1 } else { backbone };
    input.size_multiple = Some(divisor.and_then(size).unwrap_or(multiple));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
data:
  colormode: RGB
  inference:
    normalize_images: true
metadata:
  bodyparts: [snout, leftear, tailbase]
  unique_bodyparts: []
method: bu
model:
  backbone: {type: ResNet, output_stride: 16}
  heads:
    bodypart:
      type: HeatmapHead
      heatmap_config: {channels: [2048, 3], kernel_size: [3], strides: [2]}
      predictor: {type: HeatmapPredictor, apply_sigmoid: false, clip_scores: true, location_refinement: true, locref_std: 7.2801}
";

    fn changed(from: &str, to: &str) -> Declared {
        assert!(CONFIG.contains(from), "{from}");
        read(&CONFIG.replace(from, to)).unwrap().unwrap()
    }

    #[test]
    fn a_model_of_one_animal_has_maps_with_offsets() {
        let declared = changed("", "");
        assert_eq!(declared.words.skeleton.points, ["snout", "leftear", "tailbase"]);
        let peaks = declared.words.peaks;
        assert_eq!((peaks.mode, peaks.grid), (Some(Mode::Global), Some(Grid::StridedHalf)));
        assert_eq!((peaks.refinement, peaks.offset_scale), (Some(Refinement::Offsets), Some(7.2801)));
        assert_eq!((peaks.activation, peaks.threshold), (Some(Activation::None), Some(0.0)));
        assert_eq!(peaks.stride, Some(8.0), "cells of a head that doubles the maps");
        let input = declared.words.input;
        assert_eq!((input.resize, input.size_multiple), (Some(Resize::Pad), Some(1)));
        assert_eq!((input.mean, input.std), (Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec())));
        assert_eq!((declared.unsupported, declared.inexact.len()), (None, 1));
    }

    #[test]
    fn the_configuration_of_predictor_and_input_counts() {
        let peaks = changed("apply_sigmoid: false", "apply_sigmoid: true").words.peaks;
        assert_eq!(peaks.activation, Some(Activation::Sigmoid));
        let peaks = changed("location_refinement: true", "location_refinement: false").words.peaks;
        assert_eq!((peaks.refinement, peaks.offset_scale), (Some(Refinement::None), None));
        let input = changed("normalize_images: true", "scale_to_unit_range: true").words.input;
        assert_eq!((input.scale, input.mean), (Some(1.0 / 255.0), None));
        assert_eq!(changed("normalize_images: true", "other: 3").words.input.scale, Some(1.0));
        let input = changed("normalize_images: true", "auto_padding: {pad_width_divisor: 32}").words.input;
        assert_eq!(input.size_multiple, Some(32));
        let unknown = changed(", output_stride: 16", "").words;
        assert_eq!((unknown.input.size_multiple, unknown.peaks.stride), (Some(32), None));
        assert_eq!(changed("strides: [2]", "strides: []").words.peaks.stride, Some(16.0));
        let unknown = changed("heatmap_config", "other_config").words;
        assert_eq!((unknown.input.size_multiple, unknown.peaks.stride), (Some(16), None));
        assert_eq!(changed("RGB", "BGR").words.input.channels, Some(ChannelOrder::Bgr));
    }

    #[test]
    fn a_top_down_network_has_crops_around_boxes() {
        let cropped = |crop: &str| {
            let with =
                format!("normalize_images: true\n    top_down_crop: {{width: 256, height: 192{crop}}}");
            let text = CONFIG.replace("normalize_images: true", &with).replace("method: bu", "method: td");
            read(&text).unwrap().unwrap()
        };
        let declared = cropped("");
        let input = declared.words.input;
        assert_eq!(
            (input.resize, input.padding, input.size_multiple),
            (Some(Resize::Letterbox), Some(Padding::Pixel(0)), None)
        );
        assert_eq!((input.roi_crop, declared.words.peaks.stride), (Some(RoiCrop::DeepLabCut), Some(8.0)));
        assert_eq!((declared.unsupported, declared.inexact.len()), (None, 1));
        let wider = cropped(", margin: 12").inexact;
        assert!(wider.iter().any(|what| what.contains("12 pixels around a box")), "{wider:?}");
        assert!(
            cropped(", crop_with_context: false").unsupported.unwrap().contains("without crop_with_context")
        );
    }

    #[test]
    fn what_is_not_read_is_named() {
        let refused = |from: &str, to: &str| changed(from, to).unsupported.unwrap();
        let several = refused("type: HeatmapPredictor", "type: PartAffinityFieldPredictor");
        assert!(
            several
                .contains("'PartAffinityFieldPredictor' finds (HeatmapPredictor is read, and the file that"),
            "{several}"
        );
        let dekr = refused("type: HeatmapPredictor", "type: DEKRPredictor");
        assert!(dekr.ends_with("'DEKRPredictor' finds (HeatmapPredictor is read)"), "{dekr}");
        assert!(refused("method: bu", "method: ctd").contains("method 'ctd' (bu and td are read)"));
        assert!(refused("locref_std: 7.2801", "locref_std: wide").contains("locref_std"));
        // Of another program, and of nobody.
        assert!(read("model: {heads: 3}").unwrap().is_none());
        assert!(read("{").is_err());
    }
}
