//! What the outputs are, as `config.json` says.

use cudainfer_kernels::detect::{self, Activation, Background, DecoderKind};
use serde_json::Value;

use super::vitpose;
use crate::MapRange;
use crate::declared::statements::Declared;
use crate::declared::values::{brief, float, names};
use crate::sidecar::Sidecar;

/// Fills in the outputs of a model of this kind.
pub(super) fn fill(all: &Value, kind: &str, declared: &mut Declared) {
    let words = &mut declared.words;
    let Sidecar { output, classify, segment, map, .. } = words;
    output.labels = all.get("id2label").and_then(names).unwrap_or_default();
    let architecture = all.get("architectures").and_then(|list| list.get(0)?.as_str()).unwrap_or_default();
    let Some((_, purpose)) = architecture.split_once("For") else { return };
    match (purpose, kind) {
        ("ImageClassification", _) => {
            let several =
                all.get("problem_type").and_then(Value::as_str) == Some("multi_label_classification");
            classify.activation =
                Some(if several { detect::Activation::Sigmoid } else { detect::Activation::Softmax });
        }
        ("SemanticSegmentation", _) => {
            let first = output.labels.first().map(|label| label.to_ascii_lowercase());
            segment.background = Some(if first.as_deref() == Some("background") { 0 } else { -1 });
        }
        // Of the models' processors, post_process_object_detection takes the softmax here, and a query's best class.
        ("ObjectDetection", "detr" | "yolos" | "table-transformer") => {
            output.decoder = Some(DecoderKind::Queries);
            output.activation = Some(Activation::Softmax);
            output.background = Some(Background::Last);
        }
        // And here the sigmoid, and the strongest pairs of query and class; all have as many columns as labels.
        (
            "ObjectDetection",
            "conditional_detr" | "deformable_detr" | "dab-detr" | "rt_detr" | "rt_detr_v2" | "d_fine"
            | "deimv2" | "lw_detr" | "rf_detr",
        ) => {
            output.decoder = Some(DecoderKind::Queries);
            output.activation = Some(Activation::Sigmoid);
        }
        ("DepthEstimation", _) => match depth(all, kind) {
            Some([min, max]) => (map.range_min, map.range_max) = (Some(min), Some(max)),
            // As the library's pipeline shows it.
            None => map.range = Some(MapRange::Frame),
        },
        // The processor's post_process takes what is from 0 to 1.
        ("ImageSuperResolution", "swin2sr") => {
            (map.range_min, map.range_max) = (Some(0.0), Some(1.0));
        }
        // The labels are names of points.
        ("PoseEstimation", "vitpose") => {
            output.labels.clear();
            vitpose::outputs(all, words);
        }
        _ => {
            declared.unsupported = Some(format!("architecture '{}'", brief(architecture)));
        }
    }
}

/// The least and the greatest depth of a model whose unit is the metre; `None` for a model of relative depth.
fn depth(all: &Value, kind: &str) -> Option<[f32; 2]> {
    let number = |value: &Value, key: &str| value.get(key).and_then(float);
    let ends = match kind {
        // A sigmoid, times the greatest depth.
        "depth_anything" | "prompt_depth_anything" => {
            let metric = all.get("depth_estimation_type").and_then(Value::as_str) == Some("metric");
            [0.0, number(all, "max_depth").filter(|_| metric)?]
        }
        "glpn" => [0.0, number(all, "max_depth").unwrap_or(10.0)],
        // One head for each kind of place.
        "zoedepth" => {
            let heads = all.get("bin_configurations")?.as_array()?;
            let of = |key| heads.iter().map(|head| number(head, key)).collect::<Option<Vec<f32>>>();
            let (least, greatest) = (of("min_depth")?, of("max_depth")?);
            [least.into_iter().reduce(f32::min)?, greatest.into_iter().reduce(f32::max)?]
        }
        _ => return None,
    };
    (ends[0] < ends[1]).then_some(ends)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::one;
    use super::*;

    #[test]
    fn detectors_of_queries_differ_in_what_the_scores_are() {
        let labels = json!({"0": "N/A", "1": "person"});
        let of = |kind: &str| {
            one(
                Some(
                    json!({"model_type": kind, "architectures": ["XForObjectDetection"], "id2label": labels}),
                ),
                None,
            )
            .words
            .output
        };
        for (kind, activation, background) in [
            ("detr", Activation::Softmax, Some(Background::Last)),
            ("yolos", Activation::Softmax, Some(Background::Last)),
            ("table-transformer", Activation::Softmax, Some(Background::Last)),
            ("conditional_detr", Activation::Sigmoid, None),
            ("deformable_detr", Activation::Sigmoid, None),
            ("rt_detr", Activation::Sigmoid, None),
            ("rt_detr_v2", Activation::Sigmoid, None),
            ("d_fine", Activation::Sigmoid, None),
            ("deimv2", Activation::Sigmoid, None),
            ("rf_detr", Activation::Sigmoid, None),
        ] {
            let output = of(kind);
            assert_eq!(
                (output.decoder, output.activation, output.background),
                (Some(DecoderKind::Queries), Some(activation), background),
                "{kind}"
            );
            assert_eq!(output.labels, ["N/A", "person"]);
        }
        let other =
            one(Some(json!({"model_type": "owlvit", "architectures": ["OwlViTForObjectDetection"]})), None);
        assert!(other.unsupported.unwrap().contains("OwlViT"));
    }

    #[test]
    fn classifiers_and_segmenters_are_distinguished() {
        let of = |architecture: &str, more: (&str, Value)| {
            let mut all = json!({"model_type": "vit", "architectures": [architecture]});
            all[more.0] = more.1;
            one(Some(all), None).words
        };
        let vit = of("ViTForImageClassification", ("id2label", json!({"0": "cat"})));
        assert_eq!(vit.classify.activation, Some(detect::Activation::Softmax));
        let several = of("ViTForImageClassification", ("problem_type", json!("multi_label_classification")));
        assert_eq!(several.classify.activation, Some(detect::Activation::Sigmoid));
        let walls = of("SegformerForSemanticSegmentation", ("id2label", json!({"0": "wall"})));
        assert_eq!(walls.segment.background, Some(-1));
        let nothing = of("SegformerForSemanticSegmentation", ("id2label", json!({"0": "Background"})));
        assert_eq!(nothing.segment.background, Some(0));
    }

    #[test]
    fn depth_is_in_metres_where_the_configuration_says_how_many_and_pictures_are_from_0_to_1() {
        let of = |kind: &str, architecture: &str, more: Value| {
            let mut all = json!({"model_type": kind, "architectures": [architecture]});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let declared = one(Some(all), None);
            assert_eq!(declared.unsupported, None);
            let map = declared.words.map;
            (map.range_min.zip(map.range_max), map.range)
        };
        let frame = (None, Some(MapRange::Frame));
        let any = "DepthAnythingForDepthEstimation";
        let metric = json!({"depth_estimation_type": "metric", "max_depth": 20});
        assert_eq!(of("depth_anything", any, metric), (Some((0.0, 20.0)), None));
        for relative in [
            json!({"depth_estimation_type": "relative", "max_depth": 1}),
            json!({}),
            json!({"max_depth": 80.0}),
        ] {
            assert_eq!(of("depth_anything", any, relative), frame);
        }
        assert_eq!(of("dpt", "DPTForDepthEstimation", json!({})), frame);
        assert_eq!(of("glpn", "GLPNForDepthEstimation", json!({"max_depth": 80})), (Some((0.0, 80.0)), None));
        assert_eq!(of("glpn", "GLPNForDepthEstimation", json!({})), (Some((0.0, 10.0)), None));
        let zoe = "ZoeDepthForDepthEstimation";
        let heads = json!({"bin_configurations": [{"name": "nyu", "n_bins": 64, "min_depth": 0.001, "max_depth": 10.0},
            {"name": "kitti", "n_bins": 64, "min_depth": 0.002, "max_depth": 80.0}]});
        assert_eq!(of("zoedepth", zoe, heads), (Some((0.001, 80.0)), None));
        for hostile in [
            json!({"bin_configurations": []}),
            json!({"bin_configurations": [{"min_depth": 3, "max_depth": 3}]}),
            json!({"bin_configurations": [{"min_depth": 0}]}),
            json!({"bin_configurations": "many"}),
            json!({"max_depth": 5}),
        ] {
            assert_eq!(of("zoedepth", zoe, hostile), frame);
        }
        assert_eq!(of("swin2sr", "Swin2SRForImageSuperResolution", json!({})), (Some((0.0, 1.0)), None));
        let other =
            one(Some(json!({"model_type": "x", "architectures": ["XForImageSuperResolution"]})), None);
        assert!(other.unsupported.is_some());
    }
}
