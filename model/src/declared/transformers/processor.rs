//! How the input is filled, as `preprocessor_config.json` says.

use cudainfer_kernels::preproc::{Interpolation, MIN_CROP_RATIO, Padding, Resize};
use serde_json::Value;

use super::vitpose;
use crate::declared::statements::Declared;
use crate::declared::values::{IMAGENET_MEAN, IMAGENET_STD, by_channel, float, normalize, size};

/// The processors of detectors with queries, whose classes have these defaults in common: bilinear interpolation, ImageNet's mean and
/// std, and a size of one number that is the shorter side.
const DETECTORS: [&str; 6] = ["Detr", "Yolos", "ConditionalDetr", "DeformableDetr", "RTDetr", "RfDetr"];

/// Fills in the input as a processor of this class does.
pub(super) fn fill(all: &Value, class: &str, declared: &mut Declared) {
    let (input, inexact) = (&mut declared.words.input, &mut declared.inexact);
    let flag = |key, default| all.get(key).and_then(Value::as_bool).unwrap_or(default);
    let of_detector = DETECTORS.iter().any(|name| class.starts_with(name));
    // Pillow's numbers. It antialiases all but the first.
    let filter = all.get("resample").map_or(of_detector.then_some(2), Value::as_u64);
    match filter {
        Some(0) => input.interpolation = Some(Interpolation::Nearest),
        Some(4) => input.interpolation = Some(Interpolation::Area),
        // RF-DETR's processor does not antialias.
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
    // RT-DETR's processor normalises only if the file asks for it, those of Swin2SR and GLPN never; all others do.
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
                // These processors pad after they have normalised.
                input.padding = Some(Padding::Mean);
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
    // The inverse is rounded down, and must not lose a pixel to the division.
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

    use super::super::one;
    use super::*;

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
}
