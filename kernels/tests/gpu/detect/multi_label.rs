//! Every class of an anchor as a candidate: as on the CPU, also what the candidates carry, within the room there is.

use cudainfer_kernels::detect::{
    Activation, AnchorFormula, CudaDetector, DecoderKind, DetectParams, Detector, Hints, Nms,
};

use super::scene::anchors;
use super::{Case, MODES, ROW, Random, Scene, cases, device, single, stream};

/// Those that boxes with a single label do not refuse.
fn takes(case: &Case, params: &DetectParams) -> bool {
    Detector::new(case.decoder.clone(), params.clone()).is_ok()
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_class_that_passes_equals_the_cpu_in_every_mode() {
    let stream = stream();
    // Only exact cases: with this many scores, some are too near to the threshold for an exponential.
    for case in cases(31).into_iter().filter(|case| case.exact) {
        for nms in MODES {
            let params =
                DetectParams { nms, multi_label: true, confidence: 0.125, ..DetectParams::default() };
            if !takes(&case, &params) {
                continue;
            }
            let best = case.cpu(&DetectParams { multi_label: false, ..params.clone() }, &ROW).1.candidates;
            let (_, outcome) = case.check(&stream, &params);
            assert!(outcome.candidates >= best && best > 9, "{}: nothing compared", case.name);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn logits_of_several_classes_equal_the_cpu() {
    let stream = stream();
    let mut random = Random::new(32);
    let mut scene = Scene::new(&mut random, 1027, 7, 500, 600.0);
    for (i, scores) in scene.scores.iter_mut().enumerate() {
        // A second class, further from the threshold than the exponential's last places.
        scores[i % 7] = if i % 3 == 0 { 0.5 } else { 0.125 };
        scores.iter_mut().for_each(|p| *p = (*p / (1.001 - *p)).max(1e-6).ln());
    }
    let hints = Hints { activation: Some(Activation::Sigmoid), ..Hints::default() };
    let case = Case::new("logits", DecoderKind::Yolov8, vec![scene.yolov8()], [640, 640], &hints, false);
    let (_, outcome) = case.check(&stream, &DetectParams { multi_label: true, ..DetectParams::default() });
    assert!(outcome.candidates > 700, "{outcome:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn classes_of_raw_heads_equal_the_cpu_in_every_order_of_dimensions() {
    let stream = stream();
    let mut random = Random::new(35);
    let params = DetectParams { multi_label: true, nms: Nms::None, ..DetectParams::default() };
    for form in 0..4 {
        // Their confidences are products: no exponential decides which of them pass.
        let case = anchors(&mut random, AnchorFormula::Yolov5, form, Activation::None);
        for case in [case.clone(), case.halved()] {
            let (found, outcome) = case.check(&stream, &params);
            assert!(outcome.candidates > found.len() && found.len() == params.top_k_after, "{outcome:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn keypoints_and_coefficients_are_those_of_the_candidates_anchor() {
    let stream = stream();
    let params =
        DetectParams { multi_label: true, confidence: 0.125, nms: Nms::None, ..DetectParams::default() };
    let mut compared = 0;
    for case in cases(33).into_iter().filter(|case| case.exact && takes(case, &params)) {
        if case.decoder.keypoints() == 0 && case.decoder.masks().is_none() {
            continue;
        }
        let views: Vec<_> = case.tensors.iter().map(super::Tensor::view).collect();
        let mut cpu = Detector::new(case.decoder.clone(), params.clone()).unwrap();
        cpu.run(&views, &ROW.to_frame, ROW.frame, &mut vec![]).unwrap();
        let memories: Vec<_> = case.tensors.iter().map(|t| t.upload(&stream)).collect();
        let mut gpu = CudaDetector::new(case.decoder.clone(), params.clone(), &stream).unwrap();
        gpu.run(&stream, &device(&case.tensors, &memories), &[ROW], &mut vec![]).unwrap();
        assert_eq!(gpu.attached()[0].keypoints, cpu.attached().keypoints, "{}", case.name);
        assert_eq!(gpu.attached()[0].coefficients, cpu.attached().coefficients, "{}", case.name);
        compared += 1;
    }
    assert!(compared > 3);
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_there_is_no_room_for_is_counted_as_truncated() {
    let stream = stream();
    let mut random = Random::new(34);
    let case = single(DecoderKind::Yolov8, Scene::new(&mut random, 8400, 80, 300, 600.0).yolov8());
    let params =
        DetectParams { multi_label: true, confidence: 0.0, nms: Nms::None, ..DetectParams::default() };
    let (found, outcome) = case.gpu_once(&stream, &params);
    assert_eq!(outcome, case.cpu(&params, &ROW).1);
    assert_eq!((found.len(), outcome.candidates), (params.top_k_after, 8400 * 80));
}
