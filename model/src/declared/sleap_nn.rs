//! sleap-nn's exporter writes JSON under `sleap_nn_metadata`: `model_type`, `node_names`, `edge_inds`, `input_channels`, and more;
//! and the configuration of the training, YAML, under `training_config`. Its networks divide by 255, resize and find the peaks
//! themselves: their outputs are points in pixels of the frame, whose first pixel's centre is 0 (`export/wrappers`); those of
//! `bottomup` are in pixels of the frame after `input_scale`, and are divided by it in `inference/layers/exported.py`.
//!
//! The frame keeps its size. Where that is no multiple of the backbone's `max_stride`, sleap-nn pads it with black at the right and
//! bottom (`apply_pad_to_stride` in data/resizing.py).

use cudainfer_kernels::keypoints::PixelOrigin;
use cudainfer_kernels::preproc::{ChannelOrder, Padding, Resize};
use serde_json::Value;

use super::statements::Declared;
use super::values::{brief, float, height_and_width, names, normalize, size};
use super::yaml;
use crate::onnx::Metadata;
use crate::origin::OriginKind;
use crate::sidecar::{Input, Peaks};
use crate::{Encoding, Grouping, Skeleton};

/// The types of models that are read.
const TYPES: &str = "single_instance, centered_instance, centroid, topdown, bottomup, multi_class_topdown, \
                     multi_class_topdown_combined and multi_class_bottomup";

/// The versions whose exports are known.
const VERSION: &str = "0.3.";

pub(super) fn read(metadata: &Metadata) -> Option<Declared> {
    let all: Value = serde_json::from_str(metadata.get("sleap_nn_metadata")?).ok()?;
    let mut declared = Declared::new(OriginKind::Metadata, "sleap-nn");
    if all.get("normalization").and_then(Value::as_str) == Some("0_to_1") {
        normalize(&mut declared.words.input, 1.0, None, None);
    }
    if let Some(points) = all.get("node_names").and_then(names) {
        let skeleton = Skeleton::of_points(points.clone());
        let edges = edges(&all, points.len()).unwrap_or_default();
        declared.words.skeleton = skeleton.map(|skeleton| skeleton.with_edges(edges)).unwrap_or_default();
    }
    let kind = all.get("model_type").and_then(Value::as_str).unwrap_or("of no kind");
    match peaks(kind, &all) {
        Some(peaks) => {
            declared.words.peaks = peaks;
            fill(&mut declared.words.input, kind, &all, training(metadata, kind).as_ref());
            declared.inexact = doubts(kind, &all);
        }
        None => {
            let kind = brief(kind);
            declared.unsupported = Some(format!("what a '{kind}' model finds ({TYPES} are read)"));
        }
    }
    Some(declared)
}

/// What cannot be as it is read.
fn doubts(kind: &str, all: &Value) -> Vec<String> {
    let mut doubts = Vec::new();
    let version = all.get("sleap_nn_version").and_then(Value::as_str);
    if let Some(version) = version.filter(|version| !version.starts_with(VERSION)) {
        doubts.push(format!("sleap-nn {} wrote it, and exports of {VERSION}x are known", brief(version)));
    }
    let classes = all.get("class_names").and_then(names).unwrap_or_default();
    if classes.len() > 1 && !kind.starts_with("multi_class") {
        doubts.push(format!(
            "it names {} classes, and a model of the type {kind} tells no individuals apart",
            classes.len()
        ));
    }
    doubts
}

/// The edges, if all of them join two points.
fn edges(all: &Value, points: usize) -> Option<Vec<[usize; 2]>> {
    let edge = |edge: &Value| {
        let number = |at: usize| usize::try_from(edge.get(at)?.as_u64()?).ok().filter(|n| *n < points);
        number(0).zip(number(1)).filter(|(a, b)| a != b && edge.get(2).is_none()).map(<[usize; 2]>::from)
    };
    all.get("edge_inds")?.as_array()?.iter().map(edge).collect()
}

/// How the outputs of a model of this type are read; `None` where they are not.
fn peaks(kind: &str, all: &Value) -> Option<Peaks> {
    let named = |name: &str| Some(name.to_owned());
    let points = Peaks {
        encoding: Some(Encoding::Points),
        output: named("peaks"),
        scores: named("peak_vals"),
        normalized: Some(false),
        pixel_origin: Some(PixelOrigin::Center),
        threshold: all.get("peak_threshold").and_then(float),
        ..Peaks::default()
    };
    let scale = all.get("input_scale").and_then(float).filter(|scale| *scale > 0.0 && *scale != 1.0);
    let individuals = all.get("class_names").and_then(names).unwrap_or_default();
    match kind {
        "single_instance" | "centered_instance" => Some(points),
        "centroid" => Some(Peaks {
            encoding: Some(Encoding::Poses),
            output: named("centroids"),
            scores: named("centroid_vals"),
            valid: named("instance_valid"),
            grouping: Some(Grouping::Each),
            label: named("centroid"),
            ..points
        }),
        "topdown" => Some(Peaks {
            encoding: Some(Encoding::Poses),
            pose_scores: named("centroid_vals"),
            valid: named("instance_valid"),
            ..points
        }),
        "bottomup" => Some(Peaks {
            encoding: Some(Encoding::Candidates),
            valid: named("peak_mask"),
            line_scores: named("line_scores"),
            coordinate_scale: scale.map(|scale| 1.0 / scale),
            ..points
        }),
        "multi_class_topdown" => {
            Some(Peaks { identity_scores: named("class_logits"), individuals, ..points })
        }
        "multi_class_topdown_combined" => Some(Peaks {
            encoding: Some(Encoding::Poses),
            pose_scores: named("centroid_vals"),
            identity_scores: named("class_logits"),
            individuals,
            valid: named("instance_valid"),
            ..points
        }),
        // This one is back in pixels of the frame (`bottomup_multiclass.py`).
        "multi_class_bottomup" => Some(Peaks {
            encoding: Some(Encoding::Candidates),
            identity_scores: named("class_probs"),
            individuals,
            valid: named("peak_mask"),
            ..points
        }),
        _ => None,
    }
}

/// The configuration of the training of this type of model; of two networks in one file, that of the one that sees the frame.
fn training(metadata: &Metadata, kind: &str) -> Option<Value> {
    let text = metadata.get("training_config")?;
    let both: Option<Value> = serde_json::from_str(text).ok();
    let is_combined = ["topdown", "multi_class_topdown_combined"].contains(&kind);
    match both.as_ref().and_then(|both| both.get(if is_combined { "centroid" } else { kind })) {
        Some(one) => yaml::read(one.as_str()?).ok(),
        None => yaml::read(text).ok(),
    }
}

/// How frames, or crops around centroids, fill the input.
fn fill(input: &mut Input, kind: &str, all: &Value, training: Option<&Value>) {
    let gray = all.get("input_channels").and_then(Value::as_u64) == Some(1);
    input.channels = Some(if gray { ChannelOrder::Gray } else { ChannelOrder::Rgb });
    if ["centered_instance", "multi_class_topdown"].contains(&kind) {
        let of_training =
            || training?.pointer("/data_config/preprocessing/crop_size").and_then(height_and_width);
        let crop = all.get("crop_size").and_then(height_and_width).or_else(of_training);
        if let Some([height, width]) = crop {
            (input.width, input.height) = (Some(width), Some(height));
            input.roi_size = Some(width.max(height));
        }
        return;
    }
    (input.resize, input.padding) = (Some(Resize::Pad), Some(Padding::Pixel(0)));
    // The configuration has an entry for each kind of backbone, all but one of them null.
    let backbones =
        training.and_then(|training| training.pointer("/model_config/backbone_config")?.as_object());
    let stride =
        backbones.into_iter().flatten().find_map(|(_, backbone)| backbone.get("max_stride").and_then(size));
    // The backbone sees the frame after it was scaled.
    let scale = training.and_then(|training| training.pointer("/data_config/preprocessing/scale"));
    let scale = scale.or(all.get("input_scale")).and_then(float).filter(|scale| (0.01..=1.0).contains(scale));
    input.size_multiple = Some((stride.unwrap_or(1) as f32 / scale.unwrap_or(1.0)).ceil() as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(json: &str, training: &str) -> Option<Declared> {
        let entries = [("sleap_nn_metadata", json), ("training_config", training)];
        let entries = entries.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        read(&Metadata { entries, ..Metadata::default() })
    }

    /// Of a model of two points, with further entries.
    fn of_kind(kind: &str, more: &str) -> Declared {
        let text = format!(
            r#"{{"model_type": "{kind}", "node_names": ["A", "B"], "edge_inds": [[0, 1]], "peak_threshold": 0.2,
            "normalization": "0_to_1", "input_channels": 1{more}}}"#
        );
        declared(&text, "").unwrap()
    }

    #[test]
    fn the_skeleton_is_read() {
        let text = r#"{"model_type": "bottomup", "node_names": ["head", "thorax", "tail"], "edge_inds": [[1, 0], [1, 2]],
            "normalization": "0_to_1", "input_channels": 1}"#;
        let fly = declared(text, "").unwrap();
        assert_eq!(fly.words.skeleton.points, ["head", "thorax", "tail"]);
        assert_eq!(fly.words.skeleton.edges, [[1, 0], [1, 2]]);
        assert_eq!(fly.words.input.scale, Some(1.0));
    }

    #[test]
    fn each_type_says_which_outputs_hold_its_points() {
        let outputs = |kind: &str| {
            let Peaks { encoding, output, scores, pose_scores, valid, line_scores, grouping, .. } =
                of_kind(kind, "").words.peaks;
            let named = [output, scores, pose_scores, valid, line_scores].map(Option::unwrap_or_default);
            (encoding.unwrap(), grouping, named.join(" "))
        };
        let (points, poses) = (Encoding::Points, Encoding::Poses);
        assert_eq!(outputs("single_instance"), (points, None, "peaks peak_vals   ".into()));
        assert_eq!(outputs("centered_instance"), (points, None, "peaks peak_vals   ".into()));
        let each = Some(Grouping::Each);
        assert_eq!(outputs("centroid"), (poses, each, "centroids centroid_vals  instance_valid ".into()));
        assert_eq!(outputs("topdown"), (poses, None, "peaks peak_vals centroid_vals instance_valid ".into()));
        assert_eq!(
            outputs("bottomup"),
            (Encoding::Candidates, None, "peaks peak_vals  peak_mask line_scores".into())
        );
        let peaks = of_kind("topdown", "").words.peaks;
        assert_eq!((peaks.normalized, peaks.threshold), (Some(false), Some(0.2)));
        assert_eq!(peaks.pixel_origin, Some(PixelOrigin::Center));
        let identities = |kind: &str| {
            let peaks = of_kind(kind, r#", "class_names": ["female", "male"]"#).words.peaks;
            assert_eq!(peaks.individuals, ["female", "male"]);
            (peaks.encoding.unwrap(), peaks.identity_scores.unwrap(), peaks.valid, peaks.pose_scores)
        };
        let (valid, centroids) = (Some("instance_valid".into()), Some("centroid_vals".into()));
        assert_eq!(identities("multi_class_topdown"), (points, "class_logits".into(), None, None));
        assert_eq!(
            identities("multi_class_topdown_combined"),
            (poses, "class_logits".into(), valid, centroids)
        );
        assert_eq!(
            identities("multi_class_bottomup"),
            (Encoding::Candidates, "class_probs".into(), Some("peak_mask".into()), None)
        );
        for kind in ["embedding", "bbox_ssd"] {
            let refused = of_kind(kind, "");
            assert!(
                refused.unsupported.unwrap().contains(&format!("'{kind}' model finds (single_instance,"))
            );
            assert_eq!(refused.words.peaks, Peaks::default());
        }
    }

    #[test]
    fn another_version_and_classes_of_a_single_animal_are_doubted() {
        let doubts = |kind: &str, more: &str| of_kind(kind, more).inexact;
        assert!(doubts("single_instance", r#", "sleap_nn_version": "0.3.5""#).is_empty());
        let found = doubts("single_instance", r#", "sleap_nn_version": "0.4.0""#);
        assert_eq!(found, ["sleap-nn 0.4.0 wrote it, and exports of 0.3.x are known"]);
        let classes = r#", "class_names": ["female", "male"]"#;
        let found = doubts("single_instance", classes);
        assert!(found[0].contains("2 classes") && found[0].contains("type single_instance"), "{found:?}");
        assert!(doubts("multi_class_bottomup", classes).is_empty());
    }

    #[test]
    fn only_bottom_up_points_are_in_pixels_after_the_scale() {
        let scale = |kind: &str| of_kind(kind, r#", "input_scale": 0.5"#).words.peaks.coordinate_scale;
        assert_eq!((scale("bottomup"), scale("single_instance"), scale("topdown")), (Some(2.0), None, None));
        assert_eq!(scale("multi_class_bottomup"), None);
        for scale in ["0", "-1", "\"half\"", "1.0"] {
            let more = format!(r#", "input_scale": {scale}"#);
            assert_eq!(of_kind("bottomup", &more).words.peaks.coordinate_scale, None, "{scale}");
        }
    }

    #[test]
    fn frames_are_padded_to_the_stride_of_the_backbone_and_crops_have_their_own_size() {
        let training =
            "model_config:\n  backbone_config:\n    convnext: null\n    unet:\n      max_stride: 16\n";
        let json =
            |kind: &str| format!(r#"{{"model_type": "{kind}", "node_names": ["A"], "input_channels": 3}}"#);
        let input = declared(&json("bottomup"), training).unwrap().words.input;
        assert_eq!(
            (input.resize, input.padding, input.size_multiple),
            (Some(Resize::Pad), Some(Padding::Pixel(0)), Some(16))
        );
        assert_eq!((input.channels, input.width), (Some(ChannelOrder::Rgb), None));
        // Two networks in one file.
        let both =
            serde_json::json!({"centroid": training, "centered_instance": "no: yaml: at all"}).to_string();
        let input = declared(&json("topdown"), &both).unwrap().words.input;
        assert_eq!(input.size_multiple, Some(16));
        let half = format!("{training}data_config:\n  preprocessing:\n    scale: 0.5\n");
        assert_eq!(declared(&json("bottomup"), &half).unwrap().words.input.size_multiple, Some(32));
        // Nothing is known of the backbone.
        for text in ["", "{", "model_config: 3", "[]"] {
            assert_eq!(
                declared(&json("bottomup"), text).unwrap().words.input.size_multiple,
                Some(1),
                "{text}"
            );
        }
        let input = of_kind("centered_instance", r#", "crop_size": [64, 96]"#).words.input;
        assert_eq!((input.width, input.height, input.roi_size), (Some(96), Some(64), Some(96)));
        assert_eq!((input.resize, input.channels), (None, Some(ChannelOrder::Gray)));
        let training = "data_config:\n  preprocessing:\n    crop_size: 160\n";
        let input = declared(&json("centered_instance"), training).unwrap().words.input;
        assert_eq!((input.width, input.height), (Some(160), Some(160)));
    }

    #[test]
    fn hostile_skeletons_are_left_out() {
        for edges in ["[[0, 9]]", "[[0, 0]]", "[[-1, 0]]", "[[0]]", "[[0, 1, 2]]", "[0]"] {
            let text = format!(r#"{{"node_names": ["a", "b"], "edge_inds": {edges}}}"#);
            let skeleton = declared(&text, "").unwrap().words.skeleton;
            assert_eq!((skeleton.points.len(), skeleton.edges.len()), (2, 0), "{edges}");
        }
        assert!(declared(r#"{"node_names": ["a", "a"]}"#, "").unwrap().words.skeleton.points.is_empty());
        for text in ["", "{", "\u{0}", &"[".repeat(100_000)] {
            assert!(declared(text, "").is_none());
        }
    }
}
