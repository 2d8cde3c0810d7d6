//! transformers' `config.json` (`model_type`, `architectures`, `id2label`, `problem_type`, and of models of depth
//! `depth_estimation_type`, `max_depth`, `bin_configurations`) and `preprocessor_config.json`
//! (`size`, `max_size`, `resample`, `do_rescale`, `rescale_factor`, `do_normalize`, `image_mean`, `image_std`, `do_center_crop`, `crop_size`,
//! `do_pad`, `pad_size`).

use cudainfer_kernels::detect::{Activation, Background};
use cudainfer_kernels::preproc::MIN_CROP_RATIO;
use serde_json::Value;

use super::source::Declared;
use super::values::{IMAGENET_MEAN, IMAGENET_STD, brief, by_channel, float, names, normalize, size};
use super::vitpose;
use crate::model::enums::classes;
use crate::model::enums::detection::Decoder;
use crate::model::enums::maps;
use crate::model::enums::tensor::{Interpolation, Resize};
use crate::model::origin::Source;
use crate::model::sidecar::Sidecar;

/// What the two files say, each under its own name.
pub(super) fn read(configuration: Option<&Value>, processor: Option<&Value>) -> Vec<Declared> {
    let kind = configuration.and_then(|all| all.get("model_type")?.as_str());
    let mut found = Vec::new();
    if let (Some(all), Some(kind)) = (configuration, kind) {
        let mut declared = Declared::new(Source::FileBeside, "config.json, transformers");
        outputs(all, kind, &mut declared);
        found.push(declared);
    }
    // Others have files of this name as well.
    let class = processor
        .and_then(|all| all.get("image_processor_type").or(all.get("feature_extractor_type"))?.as_str());
    if let (Some(all), Some(class)) = (processor, class) {
        let mut declared = Declared::new(Source::FileBeside, "preprocessor_config.json");
        input(all, class, &mut declared);
        found.push(declared);
    }
    found
}

fn outputs(all: &Value, kind: &str, declared: &mut Declared) {
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
                Some(if several { classes::Activation::Sigmoid } else { classes::Activation::Softmax });
        }
        ("SemanticSegmentation", _) => {
            let first = output.labels.first().map(|label| label.to_ascii_lowercase());
            segment.background = Some(if first.as_deref() == Some("background") { 0 } else { -1 });
        }
        // Of their processors, post_process_object_detection takes the softmax here, and a query's best class.
        ("ObjectDetection", "detr" | "yolos" | "table-transformer") => {
            output.decoder = Some(Decoder::Queries);
            output.activation = Some(Activation::Softmax);
            output.background = Some(Background::Last);
        }
        // And here the sigmoid, and the strongest pairs of query and class; all have as many columns as labels.
        (
            "ObjectDetection",
            "conditional_detr" | "deformable_detr" | "dab-detr" | "rt_detr" | "rt_detr_v2" | "d_fine"
            | "deimv2" | "lw_detr" | "rf_detr",
        ) => {
            output.decoder = Some(Decoder::Queries);
            output.activation = Some(Activation::Sigmoid);
        }
        ("DepthEstimation", _) => match depth(all, kind) {
            Some([min, max]) => (map.range_min, map.range_max) = (Some(min), Some(max)),
            // As their pipeline shows it.
            None => map.range = Some(maps::Range::Frame),
        },
        // Its post_process takes what is from 0 to 1.
        ("ImageSuperResolution", "swin2sr") => {
            (map.range_min, map.range_max) = (Some(0.0), Some(1.0));
        }
        // Its labels are names of points.
        ("PoseEstimation", "vitpose") => {
            output.labels.clear();
            vitpose::outputs(all, words);
        }
        _ => {
            declared.unsupported = Some(format!("architecture '{}'", brief(architecture)));
        }
    }
}

/// The least and the greatest depth of a model whose unit is the metre; none of one that says only what is nearer.
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

/// The processors of detectors with queries, whose classes have these defaults in common: bilinear interpolation, ImageNet's mean and
/// std, and a size of one number that is the shorter side.
const DETECTORS: [&str; 6] = ["Detr", "Yolos", "ConditionalDetr", "DeformableDetr", "RTDetr", "RfDetr"];

fn input(all: &Value, class: &str, declared: &mut Declared) {
    let (input, inexact) = (&mut declared.words.input, &mut declared.inexact);
    let flag = |key, default| all.get(key).and_then(Value::as_bool).unwrap_or(default);
    let of_detector = DETECTORS.iter().any(|name| class.starts_with(name));
    // Pillow's numbers. It antialiases all but the first.
    let filter = all.get("resample").map_or(of_detector.then_some(2), Value::as_u64);
    match filter {
        Some(0) => input.interpolation = Some(Interpolation::Nearest),
        Some(4) => input.interpolation = Some(Interpolation::Area),
        // RF-DETR's does not antialias.
        Some(2) if class.starts_with("RfDetr") => input.interpolation = Some(Interpolation::Bilinear),
        Some(2) => input.interpolation = Some(Interpolation::PilBilinear),
        Some(3) => input.interpolation = Some(Interpolation::PilBicubic),
        Some(filter @ (1 | 5)) => {
            input.interpolation = Some(Interpolation::PilBicubic);
            let name = if filter == 1 { "Lanczos" } else { "Hamming" };
            inexact.push(format!("{name} interpolation is taken for bicubic"));
        }
        _ => (),
    }
    let scale = match (flag("do_rescale", true), all.get("rescale_factor")) {
        (false, _) => Some(1.0),
        (true, None) => Some(1.0 / 255.0),
        (true, Some(factor)) => float(factor),
    };
    // RT-DETR's processor does not normalise unless it is told to, those of Swin2SR and GLPN never; all others do.
    let unnormalized = ["RTDetr", "Swin2SR", "GLPN"].iter().any(|name| class.starts_with(name));
    let normalizes = flag("do_normalize", !unnormalized);
    let of = |key, usual: [f32; 3]| match all.get(key) {
        None if of_detector => Some(usual.to_vec()),
        value => value.and_then(by_channel),
    };
    match (scale, of("image_mean", IMAGENET_MEAN), of("image_std", IMAGENET_STD)) {
        (Some(scale), _, _) if !normalizes => normalize(input, scale, None, None),
        (Some(scale), Some(mean), Some(std)) => normalize(input, scale, Some(mean), Some(std)),
        // The class's own mean and std, which are not in the file.
        _ => inexact.push("mean and std are not in the file, so that none are taken".into()),
    }
    // The longer side's limit goes with a size that is the shorter one.
    let is_shorter = of_detector && all.get("max_size").is_some();
    let dims = |key: &str| match Dims::of(all.get(key)?)? {
        Dims::Both { width, .. } if is_shorter && key == "size" => Some(Dims::Shortest(width)),
        dims => Some(dims),
    };
    let crop = dims("crop_size").filter(|_| flag("do_center_crop", false));
    let resized = dims("size").filter(|_| flag("do_resize", true));
    match (crop, resized) {
        (Some(Dims::Fixed { width, height } | Dims::Both { width, height }), resized) => {
            (input.width, input.height) = (Some(width), Some(height));
            input.resize = Some(Resize::CenterCrop);
            let is_exact = match resized {
                Some(Dims::Shortest(shortest)) if width == height => {
                    input.crop_ratio = crop_ratio(width, shortest);
                    shortest == width || input.crop_ratio.is_some()
                }
                Some(Dims::Fixed { width: w, height: h } | Dims::Both { width: w, height: h }) => {
                    (w, h) == (width, height)
                }
                _ => false,
            };
            if !is_exact {
                inexact.push(
                    "a crop from the middle of a larger picture is taken for one without a margin".into(),
                );
            }
        }
        (_, Some(Dims::Fixed { width, height } | Dims::Both { width, height })) => {
            (input.width, input.height) = (Some(width), Some(height));
            input.resize = Some(Resize::Stretch);
            if flag("keep_aspect_ratio", false) {
                inexact.push(
                    "a size that follows the picture's is taken for one that it is stretched to".into(),
                );
            }
        }
        (_, Some(Dims::Shortest(_))) => match dims("pad_size").filter(|_| flag("do_pad", true)) {
            Some(Dims::Fixed { width, height } | Dims::Both { width, height }) => {
                (input.width, input.height) = (Some(width), Some(height));
                input.resize = Some(Resize::LetterboxTopLeft);
                input.padding = Some(0);
            }
            _ => {
                input.resize = Some(Resize::Stretch);
                inexact.push(
                    "a size that follows the picture's is taken for one that it is stretched to".into(),
                );
            }
        },
        _ => (),
    }
    if class.starts_with("VitPose") {
        vitpose::crop(input);
    }
}

/// The ratio with which a square crop of `side` pixels is cut from a picture whose shorter side has `shortest`.
fn crop_ratio(side: u32, shortest: u32) -> Option<f64> {
    let ratio = f64::from(side) / f64::from(shortest);
    // The other way round it is rounded down, and must not lose a pixel to the division.
    let exact = (f64::from(side) / ratio).floor() == f64::from(shortest);
    let ratio = if exact { ratio } else { f64::from(side) / (f64::from(shortest) + 1e-6) };
    (MIN_CROP_RATIO..1.0).contains(&ratio).then_some(ratio)
}

/// The ways to write a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dims {
    /// Width and height.
    Fixed { width: u32, height: u32 },
    /// One number, which old versions of a few processors took for the shorter side, and most for both.
    Both { width: u32, height: u32 },
    /// The shorter side; the longer one follows the picture.
    Shortest(u32),
}

impl Dims {
    fn of(value: &Value) -> Option<Self> {
        let side = |key| value.get(key).and_then(size);
        if let Some(both) = size(value) {
            return Some(Self::Both { width: both, height: both });
        }
        match (side("width"), side("height"), side("shortest_edge")) {
            (Some(width), Some(height), _) => Some(Self::Fixed { width, height }),
            (_, _, Some(shortest)) => Some(Self::Shortest(shortest)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::enums::tensor::RoiCrop;

    fn one(configuration: Option<Value>, processor: Option<Value>) -> Declared {
        let mut found = read(configuration.as_ref(), processor.as_ref());
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

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
                (Some(Decoder::Queries), Some(activation), background),
                "{kind}"
            );
            assert_eq!(output.labels, ["N/A", "person"]);
        }
        let other =
            one(Some(json!({"model_type": "owlvit", "architectures": ["OwlViTForObjectDetection"]})), None);
        assert!(other.unsupported.unwrap().contains("OwlViT"));
    }

    #[test]
    fn classifiers_and_segmenters_are_told_apart() {
        let of = |architecture: &str, more: (&str, Value)| {
            let mut all = json!({"model_type": "vit", "architectures": [architecture]});
            all[more.0] = more.1;
            one(Some(all), None).words
        };
        let vit = of("ViTForImageClassification", ("id2label", json!({"0": "cat"})));
        assert_eq!(vit.classify.activation, Some(classes::Activation::Softmax));
        let several = of("ViTForImageClassification", ("problem_type", json!("multi_label_classification")));
        assert_eq!(several.classify.activation, Some(classes::Activation::Sigmoid));
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
        let frame = (None, Some(maps::Range::Frame));
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

    #[test]
    fn the_processors_of_depth_and_super_resolution_fill_the_input() {
        let dpt = one(
            None,
            Some(
                json!({"image_processor_type": "DPTImageProcessor", "do_resize": true, "keep_aspect_ratio": true,
            "ensure_multiple_of": 14, "size": {"height": 518, "width": 518}, "resample": 3, "do_normalize": true,
            "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}),
            ),
        );
        let input = &dpt.words.input;
        assert_eq!((input.width, input.height, input.resize), (Some(518), Some(518), Some(Resize::Stretch)));
        assert_eq!((input.interpolation, dpt.inexact.len()), (Some(Interpolation::PilBicubic), 1));
        for (class, size) in [
            ("Swin2SRImageProcessor", json!({"pad_size": 8})),
            ("GLPNImageProcessor", json!({"size_divisor": 32})),
        ] {
            let mut all = json!({"image_processor_type": class, "do_rescale": true});
            all.as_object_mut().unwrap().extend(size.as_object().unwrap().clone());
            let declared = one(None, Some(all));
            let input = declared.words.input;
            assert_eq!(
                (input.scale, input.mean, declared.inexact.len()),
                (Some(1.0 / 255.0), None, 0),
                "{class}"
            );
        }
    }

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
        assert_eq!((input.width, input.height, input.padding), (Some(192), Some(256), Some(0)));
        assert_eq!((input.resize, input.roi_crop), (Some(Resize::Letterbox), Some(RoiCrop::MmposeUdp)));
        assert_eq!((input.roi_padding, crop.inexact.len()), (Some(1.25), 0));
    }

    #[test]
    fn the_processor_says_how_the_input_is_filled() {
        let vit = one(
            None,
            Some(json!({
            "image_processor_type": "ViTImageProcessor", "do_resize": true, "size": {"height": 224, "width": 192}, "resample": 2,
            "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 0.00392156862745098})),
        );
        let input = vit.words.input;
        assert_eq!((input.width, input.height, input.resize), (Some(192), Some(224), Some(Resize::Stretch)));
        assert_eq!((input.scale, input.std), (Some(1.0 / 255.0), Some(vec![0.5; 3])));
        assert_eq!((input.interpolation, vit.inexact.len()), (Some(Interpolation::PilBilinear), 0));
        // Without do_normalize in the file, RT-DETR's processor does not.
        let rt = one(
            None,
            Some(
                json!({"image_processor_type": "RTDetrImageProcessor", "size": {"height": 640, "width": 640},
            "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}),
            ),
        )
        .words
        .input;
        assert_eq!((rt.scale, rt.mean), (Some(1.0 / 255.0), None));
        let raw =
            one(None, Some(json!({"image_processor_type": "X", "do_rescale": false, "do_normalize": false})))
                .words
                .input;
        assert_eq!((raw.scale, raw.resize), (Some(1.0), None));
        let cropped = one(
            None,
            Some(json!({"image_processor_type": "X", "do_normalize": false, "size": {"shortest_edge": 256},
            "do_center_crop": true, "crop_size": {"height": 224, "width": 224}})),
        );
        assert_eq!(
            (cropped.words.input.resize, cropped.words.input.width),
            (Some(Resize::CenterCrop), Some(224))
        );
        assert_eq!((cropped.words.input.crop_ratio, cropped.inexact.len()), (Some(0.875), 0));
        for side in 100..400 {
            for shortest in side + 1..2 * side {
                let ratio = crop_ratio(side, shortest).unwrap();
                assert_eq!((f64::from(side) / ratio).floor(), f64::from(shortest), "{side} of {shortest}");
            }
        }
        let detr = one(
            None,
            Some(json!({"feature_extractor_type": "DetrFeatureExtractor", "do_normalize": false,
            "size": {"shortest_edge": 800, "longest_edge": 1333}})),
        );
        assert_eq!((detr.words.input.width, detr.words.input.resize), (None, Some(Resize::Stretch)));
        assert!(!detr.inexact.is_empty());
        // As in the first files of DETR on the Hub: 800 is the shorter side, and the rest is the class's default.
        let first = one(
            None,
            Some(
                json!({"feature_extractor_type": "DetrFeatureExtractor", "do_normalize": true, "do_resize": true,
            "max_size": 1333, "size": 800}),
            ),
        );
        let input = first.words.input;
        assert_eq!((input.width, input.resize), (None, Some(Resize::Stretch)));
        assert_eq!((input.mean, input.std), (Some(IMAGENET_MEAN.to_vec()), Some(IMAGENET_STD.to_vec())));
        assert_eq!(input.interpolation, Some(Interpolation::PilBilinear));
        assert_eq!(first.inexact.len(), 1);
        // RF-DETR's processor interpolates without antialiasing, and normalises.
        let rf = one(
            None,
            Some(json!({"image_processor_type": "RfDetrImageProcessor", "size": {"height": 560, "width": 560},
            "do_rescale": true, "resample": 2, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]})),
        )
        .words
        .input;
        assert_eq!((rf.interpolation, rf.width), (Some(Interpolation::Bilinear), Some(560)));
        assert_eq!(rf.mean, Some(IMAGENET_MEAN.to_vec()));
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
