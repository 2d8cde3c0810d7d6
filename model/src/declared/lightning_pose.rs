//! Lightning Pose's `config.yaml`, which lies in the folder of a model, above `exports_onnx` with what `litpose export` writes
//! (2.4.3, api/model_runtime.py): an input `images` `[B,3,H,W]` of `data.image_resize_dims`, normalised as ImageNet, and an output
//! `heatmaps` `[B,K,h,w]`, each of which is a softmax. A model of context sees five frames, and one of several views all of them.
//!
//! Its points are a soft argmax of maps that are upsampled to the input (`run_subpixelmaxima`, models/heads/heatmap.py), with a
//! temperature at which that is the maximum. Maps are drawn as Gaussians, whose logarithm is a parabola: its vertex is the same
//! place, which DarkPose's refinement finds with hardly any blur. Cell `i` is on pixel `i * stride`.

use cudainfer_kernels::peaks::{Activation, Grid, Mode, Refinement};
use cudainfer_kernels::preproc::{ChannelOrder, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, brief, names, normalize, size};
use super::yaml;
use crate::origin::OriginKind;
use crate::{Encoding, Grouping, Skeleton};

/// The name of the file.
pub(super) const FILE: &str = "config.yaml";

/// The model's description in the text; `None` if the file of that name belongs to another program.
///
/// # Errors
/// The text is no YAML that can be read.
pub(super) fn read(text: &str) -> Result<Option<Declared>, String> {
    let all = yaml::read(text)?;
    let dims = all.pointer("/data/image_resize_dims");
    let (Some(dims), Some(kind)) = (dims, all.pointer("/model/model_type").and_then(Value::as_str)) else {
        return Ok(None);
    };
    let mut declared = Declared::new(OriginKind::FileBeside, "config.yaml, Lightning Pose");
    let input = &mut declared.words.input;
    if let (Some(width), Some(height)) = (dims.get("width").and_then(size), dims.get("height").and_then(size))
    {
        (input.width, input.height) = (Some(width), Some(height));
    }
    normalize(input, 1.0 / 255.0, Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec()));
    (input.resize, input.channels) = (Some(Resize::Stretch), Some(ChannelOrder::Rgb));
    let points = all.pointer("/data/keypoint_names").or_else(|| all.pointer("/data/keypoints"));
    declared.words.skeleton = points.and_then(names).and_then(Skeleton::of_points).unwrap_or_default();
    let views = all.pointer("/data/view_names").and_then(Value::as_array).map_or(0, Vec::len);
    declared.unsupported = match kind {
        _ if views > 1 => Some(format!("a Lightning Pose model of {views} views (one view is read)")),
        "heatmap_mhcrnn" => Some("a Lightning Pose model of context, because clips are not read yet".into()),
        "heatmap" => None,
        other => Some(format!("a Lightning Pose model of type '{}' (heatmap is read)", brief(other))),
    };
    if declared.unsupported.is_none() {
        let peaks = &mut declared.words.peaks;
        (peaks.encoding, peaks.grouping) = (Some(Encoding::Maps), Some(Grouping::Frame));
        (peaks.mode, peaks.grid) = (Some(Mode::Global), Some(Grid::Strided));
        (peaks.activation, peaks.threshold) = (Some(Activation::None), Some(0.0));
        (peaks.refinement, peaks.blur_kernel, peaks.blur_sigma) =
            (Some(Refinement::Dark), Some(3), Some(0.1));
        declared.inexact.push("the confidence of a point is its map's greatest value; Lightning Pose has that of a sharpened map".into());
    }
    Ok(Some(declared))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
data:
  image_resize_dims: {height: 128, width: 256}
  keypoint_names: [paw, nose]
  view_names: null
model:
  model_type: heatmap
";

    fn changed(from: &str, to: &str) -> Declared {
        assert!(CONFIG.contains(from), "{from}");
        read(&CONFIG.replace(from, to)).unwrap().unwrap()
    }

    #[test]
    fn a_model_of_one_view_has_maps_of_its_points() {
        let declared = changed("", "");
        assert_eq!(declared.words.skeleton.points, ["paw", "nose"]);
        let input = declared.words.input;
        assert_eq!((input.width, input.height, input.resize), (Some(256), Some(128), Some(Resize::Stretch)));
        assert_eq!(input.mean, Some(IMAGENET_MEAN.to_vec()));
        let peaks = declared.words.peaks;
        assert_eq!((peaks.mode, peaks.grid), (Some(Mode::Global), Some(Grid::Strided)));
        assert_eq!((peaks.refinement, peaks.blur_kernel), (Some(Refinement::Dark), Some(3)));
        assert_eq!(declared.unsupported, None);
    }

    #[test]
    fn context_views_and_other_types_are_not_read() {
        let refused = |from: &str, to: &str| {
            let declared = changed(from, to);
            assert_eq!(declared.words.peaks, crate::sidecar::Peaks::default());
            declared.unsupported.unwrap()
        };
        assert!(refused("type: heatmap", "type: heatmap_mhcrnn").contains("clips are not read yet"));
        assert!(refused("view_names: null", "view_names: [top, side]").contains("of 2 views"));
        assert!(refused("type: heatmap", "type: regression").contains("'regression' (heatmap is read)"));
        assert_eq!(changed("view_names: null", "view_names: [top]").unsupported, None);
        assert!(read("model: {model_type: heatmap}").unwrap().is_none());
    }
}
