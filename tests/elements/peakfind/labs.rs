//! What DeepLabCut and Lightning Pose train, with their own configuration beside the model.

use std::path::{Path, PathBuf};

use cudainfer_tests::{model, run, scratch};
use gstcudainfer::meta::object::Object;

const DEEPLABCUT: &str = "
data:
  colormode: RGB
  inference:
    normalize_images: true
metadata:
  bodyparts: [snout, tailbase]
method: bu
model:
  backbone:
    output_stride: 16
  heads:
    bodypart:
      predictor:
        type: HeatmapPredictor
        apply_sigmoid: false
        location_refinement: true
        locref_std: 7.2801
";

const LIGHTNING_POSE: &str = "
data:
  image_resize_dims: {height: 64, width: 96}
  keypoint_names: [paw, nose]
model:
  model_type: heatmap
";

/// A folder of a model and its configuration, at these places.
fn folder(name: &str, network: &str, at: &str, config: &str, text: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::create_dir_all(folder.join(at).parent().unwrap()).unwrap();
    std::fs::copy(model(network), folder.join(at)).unwrap();
    std::fs::write(folder.join(config), text).unwrap();
    folder
}

/// Names, places and confidences of the points of the only object of each frame of 96x64 pixels.
fn points(model: &Path) -> Vec<(String, f64, f64, f64)> {
    let frames = super::found(&model.display().to_string(), "video/x-raw,format=RGB,width=96,height=64", "");
    assert_eq!(frames.len(), 2);
    let all = frames.iter().map(|frame| {
        let [Object { keypoints: Some(points), .. }] = &frame[..] else { panic!("{frame:?}") };
        let places = points.x.iter().zip(&points.y).zip(&points.score);
        points
            .names
            .iter()
            .zip(places)
            .map(|(name, ((x, y), score))| (name.clone(), *x, *y, *score))
            .collect()
    });
    let mut all: Vec<Vec<_>> = all.collect();
    assert_eq!(all[0], all[1]);
    all.remove(0)
}

fn assert_points(found: &[(String, f64, f64, f64)], wanted: [(&str, f64, f64); 2], tolerance: f64) {
    assert_eq!(found.len(), 2, "{found:?}");
    for ((name, x, y, _), (wanted, wanted_x, wanted_y)) in found.iter().zip(wanted) {
        let near = (x - wanted_x).abs() < tolerance && (y - wanted_y).abs() < tolerance;
        assert!(name == wanted && near, "{found:?}, not {wanted} at {wanted_x}, {wanted_y}");
    }
}

/// Cell times stride, half a stride, and the offset times locref_std: DeepLabCut's. Its first pixel's centre is 0, and 0.5 here.
const SNOUT: (&str, f64, f64) =
    ("snout", 3.0 * 8.0 + 4.0 + 0.25 * 7.2801 + 0.5, 2.0 * 8.0 + 4.0 - 0.5 * 7.2801 + 0.5);
const TAILBASE: (&str, f64, f64) =
    ("tailbase", 10.0 * 8.0 + 4.0 - 7.2801 + 0.5, 6.0 * 8.0 + 4.0 + 0.125 * 7.2801 + 0.5);

#[test]
fn points_of_deeplabcut_are_refined_by_its_location_refinement_and_have_its_names() {
    for network in ["deeplabcut", "deeplabcut-unnamed"] {
        let folder = folder(network, network, "model.onnx", "pytorch_config.yaml", DEEPLABCUT);
        let found = points(&folder);
        // Float32 of some pixels.
        assert_points(&found, [SNOUT, TAILBASE], 1e-4);
        assert!((found[0].3 - 0.9).abs() < 1e-6 && (found[1].3 - 0.75).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn points_of_lightning_pose_lie_between_cells_and_its_configuration_lies_above() {
    let folder =
        folder("litpose", "lightning-pose", "exports_onnx/last_fp32.onnx", "config.yaml", LIGHTNING_POSE);
    let found = points(&folder.join("exports_onnx/last_fp32.onnx"));
    // The blur of three cells that DarkPose's refinement has, and the floor of its logarithm, move a point by less.
    let wanted = [("paw", 5.3 * 4.0 + 0.5, 7.6 * 4.0 + 0.5), ("nose", 17.75 * 4.0 + 0.5, 4.1 * 4.0 + 0.5)];
    assert_points(&found, wanted, 0.02);
}

fn fails(model: &Path, words: &[&str]) {
    run(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=RGB,width=96,height=64 ! fusedpreproc ! trtinfer model={} ! peakfind ! fakesink",
        model.display()
    ))
    .fails_with(words);
}

#[test]
fn a_configuration_of_another_model_is_an_error() {
    let more = DEEPLABCUT.replace("[snout, tailbase]", "[snout, back, tailbase]");
    let other = folder("dlc-other", "deeplabcut", "model.onnx", "pytorch_config.yaml", &more);
    fails(&other, &["pytorch_config.yaml, DeepLabCut", "names 3 points", "'heatmap' has 2 maps"]);
    let more = LIGHTNING_POSE.replace("[paw, nose]", "[paw]");
    let other = folder("lp-other", "lightning-pose", "model.onnx", "config.yaml", &more);
    fails(&other, &["config.yaml, Lightning Pose", "names 1 points", "'heatmaps' has 2 maps"]);
    let none = scratch("dlc-none");
    std::fs::write(none.join("pytorch_config.yaml"), DEEPLABCUT).unwrap();
    fails(&none, &["the model file", "cannot be read", "Set model to an ONNX file"]);
}

#[test]
fn models_of_several_animals_views_and_frames_are_named() {
    let paf = DEEPLABCUT.replace("HeatmapPredictor", "PartAffinityFieldPredictor");
    let several = folder("dlc-several", "deeplabcut", "model.onnx", "pytorch_config.yaml", &paf);
    fails(
        &several,
        &["'PartAffinityFieldPredictor' finds (HeatmapPredictor is read", "scripts/export deeplabcut"],
    );
    let context = LIGHTNING_POSE.replace("type: heatmap", "type: heatmap_mhcrnn");
    let context = folder("lp-context", "lightning-pose", "model.onnx", "config.yaml", &context);
    fails(&context, &["model of context", "clips are not read yet"]);
    let views = LIGHTNING_POSE.replace("data:", "data:\n  view_names: [top, side]");
    let views = folder("lp-views", "lightning-pose", "model.onnx", "config.yaml", &views);
    fails(&views, &["model of 2 views"]);
}

#[test]
fn offsets_that_no_output_has_are_asked_for() {
    let folder = scratch("offsets");
    std::fs::copy(model("lightning-pose"), folder.join("model.onnx")).unwrap();
    std::fs::write(folder.join("model.toml"), "[peaks]\nrefinement = \"offsets\"\n").unwrap();
    fails(&folder, &["set output in the sidecar's [peaks] to the one with the confidence maps"]);
    std::fs::write(folder.join("model.toml"), "[peaks]\nrefinement = \"offsets\"\noutput = \"heatmaps\"\n")
        .unwrap();
    fails(&folder, &["set offsets in the sidecar's [peaks] to the one with the offsets of cells"]);
    std::fs::write(folder.join("model.toml"), "[peaks]\noffset-scale = 5000\n").unwrap();
    fails(&folder, &["peaks.offset-scale is a number from -1000 to 1000"]);
}
