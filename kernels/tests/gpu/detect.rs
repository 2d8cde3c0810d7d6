//! Decoding and NMS on the GPU against the CPU's, and against a reference in f64.
//!
//! Where no exponential function is involved the detections must be the same bits. Else confidences may differ by 1e-6
//! and boxes by 1e-3 pixels (a few units in the last place of the exponential, times the stride and the map), and
//! detections whose confidences are that close may change places.

mod batch;
mod case;
mod contract;
mod extras;
mod finals;
mod multi_label;
mod rotated;
mod scene;
mod suppression;

use cudainfer_kernels::detect::{DecoderKind, DetectParams, Nms};
use cudainfer_kernels::geometry::{Affine, RowFrame};

use super::{Random, stream, upload};

use case::{Case, Tensor, alone, bits, device, single};
use scene::{Scene, cases};

const ROW: RowFrame = RowFrame { to_frame: Affine::upright([3.0, 2.5], [-20.0, 10.0]), frame: [1900, 1600] };
const MODES: [Nms; 5] =
    [Nms::ClassWise, Nms::Agnostic, Nms::SoftLinear, Nms::SoftGaussian { sigma: 0.5 }, Nms::None];

#[test]
#[ignore = "needs a CUDA device"]
fn every_decoder_in_both_precisions_and_every_mode_equals_the_cpu() {
    let stream = stream();
    for (case, halved) in cases(1).into_iter().zip(cases(1)) {
        for case in [case, halved.halved()] {
            for nms in MODES {
                let (found, outcome) = case.check(&stream, &DetectParams { nms, ..DetectParams::default() });
                assert!(outcome.candidates > 9 && found.len() > 5, "{}: nothing compared", case.name);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_number_of_candidates_and_any_limit_equal_the_cpu() {
    let stream = stream();
    let mut random = Random::new(2);
    for hits in [0, 1, 2, 31, 32, 33, 63, 64, 65, 300, 1000, 1001, 2047, 4095, 4096, 4097, 8400] {
        let scene = Scene::new(&mut random, 8400, 5, hits, 600.0);
        let case = single(DecoderKind::Yolov8, scene.yolov8());
        for nms in MODES {
            for (top_k_before, top_k_after) in
                [(1000, 300), (1, 1), (33, 300), (30000, 300), (30000, 1 << 20)]
            {
                let soft = matches!(nms, Nms::SoftLinear | Nms::SoftGaussian { .. });
                if soft && top_k_before.min(hits) > 1000 {
                    continue;
                }
                let params = DetectParams { nms, top_k_before, top_k_after, ..DetectParams::default() };
                let (_, outcome) = case.check(&stream, &params);
                assert_eq!(outcome.candidates, hits);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn thresholds_filters_and_sizes_of_single_classes_equal_the_cpu() {
    let stream = stream();
    let mut random = Random::new(5);
    let scene = Scene::new(&mut random, 2000, 6, 900, 700.0);
    let case = single(DecoderKind::Yolov8, scene.yolov8());
    let base = DetectParams::default;
    let class_confidence = vec![(4, 0.6), (1, 0.9), (2, 0.05)];
    for params in [
        DetectParams { class_confidence: class_confidence.clone(), ..base() },
        DetectParams { classes: vec![5, 0, 3], ..base() },
        DetectParams { classes: vec![5, 1, 2], class_confidence: class_confidence.clone(), ..base() },
        DetectParams { class_iou: vec![(3, 0.9), (0, 0.0)], ..base() },
        DetectParams { min_size: [150.0, 90.0], ..base() },
        DetectParams { confidence: 0.0, ..base() },
        DetectParams { iou: 0.0, ..base() },
        DetectParams { iou: 1.0, ..base() },
        DetectParams { nms: Nms::SoftLinear, class_confidence, ..base() },
    ] {
        case.check(&stream, &params);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn broken_values_are_dropped_and_counted_as_on_the_cpu() {
    let stream = stream();
    let mut random = Random::new(6);
    let broken = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 3e38, f32::MIN_POSITIVE];
    for mut case in cases(1) {
        for tensor in &mut case.tensors {
            let mut values = tensor.view().to_f32().into_owned();
            // Of a small tensor more, so that some are in scores.
            for _ in 0..(values.len() / 100).max(64.min(values.len() / 20)) {
                let at = random.below(values.len());
                values[at] = broken[random.below(broken.len())];
            }
            *tensor = Tensor::new(tensor.name, &tensor.dims, &values);
        }
        for confidence in [0.25, 0.0] {
            // Nearly every anchor then is a candidate, and decisions are too many to all be clear.
            if confidence == 0.0 && !case.exact {
                continue;
            }
            let (_, outcome) = case.check(&stream, &DetectParams { confidence, ..DetectParams::default() });
            assert!(outcome.non_finite > 0, "{}", case.name);
        }
    }
}
