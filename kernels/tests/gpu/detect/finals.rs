//! Lists of final boxes whose number is none, or cannot be: read within their bounds, counted as on the CPU.

use cudainfer_kernels::detect::{DecoderKind, DetectParams, Hints, Nms};
use cudainfer_kernels::tensor::TensorType;

use super::scene::detections;
use super::{Case, Random, Tensor, stream};

#[test]
#[ignore = "needs a CUDA device"]
fn numbers_of_boxes_that_are_none_or_cannot_be_equal_the_cpu() {
    let stream = stream();
    let params = DetectParams { nms: Nms::None, ..DetectParams::default() };
    for (count, bad) in
        [(0, 0), (1, 0), (-1, 1), (302, 1), (i64::from(i32::MAX), 1), (i64::from(i32::MIN), 1)]
    {
        let mut random = Random::new(41);
        let case = detections(&mut random, TensorType::Int64, Some(count), None);
        let (found, outcome) = case.check(&stream, &params);
        assert!(outcome.non_finite >= bad, "{count}: {outcome:?}");
        assert!(count > 0 || found.is_empty(), "{count}");
    }
    for count in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38, 2.75] {
        let mut random = Random::new(42);
        let mut case = detections(&mut random, TensorType::Int64, Some(5), None);
        case.tensors[3] = Tensor::new("num_dets", &[1, 1], &[count]);
        case.check(&stream, &params);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_without_room_for_a_box_has_none() {
    let stream = stream();
    let tensors = vec![
        Tensor::new("boxes", &[0, 4], &[]),
        Tensor::integers("labels", TensorType::Int64, &[0], &[]),
        Tensor::new("scores", &[0], &[]),
        Tensor::integers("num_dets", TensorType::Int32, &[1], &[1]),
    ];
    let case = Case::new("empty", DecoderKind::Detections, tensors, [640, 640], &Hints::default(), true);
    let (found, outcome) = case.check(&stream, &DetectParams::default());
    assert_eq!((found.len(), outcome.non_finite), (0, 1));
}
