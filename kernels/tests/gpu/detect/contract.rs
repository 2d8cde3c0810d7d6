//! What holds besides the numbers: errors, allocations, order of frames, reproducibility.

use cudainfer_kernels::detect::{
    CudaDetector, DecoderKind, DetectError, DetectParams, Detector, Hints, Outcome, choose,
};
use cudainfer_kernels::geometry::{Affine, RowFrame};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::{Case, MODES, ROW, Random, Scene, Tensor, alone, bits, device, single, stream};

#[test]
#[ignore = "needs a CUDA device"]
fn outputs_without_anchors_give_nothing() {
    let stream = stream();
    let parse = |text: &str| -> Vec<TensorDesc> { text.split(' ').map(|t| t.parse().unwrap()).collect() };
    type Case<'a> = (&'a str, DecoderKind, &'a [&'a [usize]]);
    let cases: [Case; 4] = [
        ("o:float32:?x?x7", DecoderKind::Yolov5, &[&[1, 0, 7]]),
        ("o:float32:?x?x?", DecoderKind::Yolov8, &[&[1, 5, 0]]),
        ("o:float32:?x?x6", DecoderKind::EndToEnd, &[&[1, 0, 6]]),
        ("b:float32:?x?x4 s:float32:?x?x3", DecoderKind::BoxesScores, &[&[1, 0, 4], &[1, 0, 3]]),
    ];
    for (text, kind, dims) in cases {
        let decoder = choose(&parse(text), [16, 16], Some(kind), &Hints::default()).unwrap();
        let tensors = dims.iter().map(|d| Tensor::new("o", d, &[])).collect();
        let case = self::Case { name: text.into(), tensors, decoder, exact: true };
        for nms in MODES {
            let (found, outcome) = case.check(&stream, &DetectParams { nms, ..DetectParams::default() });
            assert_eq!((found.len(), outcome), (0, Outcome::default()));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn tensors_of_other_types_are_read_as_the_cpu_reads_them() {
    let stream = stream();
    let decoder = single(DecoderKind::Yolov5, Tensor::new("o", &[1, 50, 7], &[0.0; 350])).decoder;
    let value = |i: usize| {
        [40, 40, 10, 10, 1, 1, 0][i % 7] + u8::try_from(i / 70 % 5).unwrap() * u8::from(i % 7 < 2) * 9
    };
    type Encode = fn(u8) -> Vec<u8>;
    let all: [(TensorType, Encode); 4] = [
        (TensorType::UInt8, |v| vec![v]),
        (TensorType::Int8, |v| vec![v]),
        (TensorType::Int32, |v| i32::from(v).to_le_bytes().into()),
        (TensorType::Int64, |v| i64::from(v).to_le_bytes().into()),
    ];
    for (ty, encode) in all {
        let bytes = (0..350).flat_map(|i| encode(value(i))).collect();
        let tensors = vec![Tensor { name: "o", ty, dims: vec![1, 50, 7], bytes }];
        let case = Case { name: ty.to_string(), tensors, decoder: decoder.clone(), exact: true };
        assert!(!case.check(&stream, &DetectParams::default()).0.is_empty());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn wrong_outputs_are_refused_in_the_words_of_the_cpu() {
    let stream = stream();
    let small = [16, 16];
    let hints = Hints { strides: vec![8, 16], ..Hints::default() };
    let parse = |text: &str| -> Vec<TensorDesc> { text.split(' ').map(|t| t.parse().unwrap()).collect() };
    let apart = "s:float32:?x?x3 t:float32:?x?x3 a:float32:?x?x8 b:float32:?x?x8";
    type Case<'a> = (&'a str, Option<DecoderKind>, &'a [&'a [usize]], bool);
    let cases: [Case; 12] = [
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &[&[1, 9, 7]], true),
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &[&[1, 9, 8]], false),
        ("o:float32:?x?x7", Some(DecoderKind::Yolov5), &[&[1, 9, 7], &[1, 9, 7]], false),
        ("o:float32:?x?x?", Some(DecoderKind::Yolov8), &[&[1, 4, 9]], false),
        ("o:float32:?x?x7", Some(DecoderKind::Yolox), &[&[1, 5, 7]], true),
        ("o:float32:?x?x7", Some(DecoderKind::Yolox), &[&[1, 6, 7]], false),
        ("o:float32:?x?x6", Some(DecoderKind::EndToEnd), &[&[1, 9, 7]], false),
        (apart, None, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 8]], true),
        (apart, None, &[&[1, 4, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 8]], false),
        (apart, None, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8], &[1, 1, 12]], false),
        (apart, None, &[&[1, 1, 3], &[1, 4, 3], &[1, 4, 8]], false),
        ("b:float32:?x?x4 s:float32:?x?x3", None, &[&[1, 7, 4], &[1, 8, 3]], false),
    ];
    for (text, kind, dims, fits) in cases {
        let decoder = choose(&parse(text), small, kind, &hints).unwrap();
        let tensors: Vec<_> =
            dims.iter().map(|d| Tensor::new("out", d, &vec![0.0; d.iter().product()])).collect();
        let memories: Vec<_> = tensors.iter().map(|t| t.upload(&stream)).collect();
        let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
        let mut found = vec![];
        let cpu = Detector::new(decoder.clone(), DetectParams::default()).unwrap().run(
            &views,
            &Affine::IDENTITY,
            small,
            &mut found,
        );
        let mut detector = CudaDetector::new(decoder, DetectParams::default(), &stream).unwrap();
        let row = RowFrame { to_frame: Affine::IDENTITY, frame: small };
        let mut batch = vec![vec![]];
        let gpu = detector.run(&stream, &device(&tensors, &memories), &[row], &mut batch);
        assert_eq!(gpu, cpu.map(|outcome| vec![outcome]), "{text} {dims:?}");
        assert_eq!(gpu.is_ok(), fits, "{text} {dims:?}");
        assert!(found.is_empty() && batch.concat().is_empty());
    }
    let decoder = single(DecoderKind::EndToEnd, Tensor::new("o", &[1, 9, 6], &[0.0; 54])).decoder;
    let error = CudaDetector::new(decoder, DetectParams { iou: 2.0, ..DetectParams::default() }, &stream)
        .unwrap_err();
    assert!(matches!(error, DetectError::Param { .. }), "{error}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_hundred_runs_give_the_same_bits() {
    let stream = stream();
    let mut random = Random::new(7);
    // Equal scores in numbers: their order must not depend on which block was first.
    let mut scene = Scene::new(&mut random, 8400, 3, 2500, 600.0);
    scene.scores.iter_mut().flatten().for_each(|s| *s = (*s * 10.0).round() / 10.0);
    let case = single(DecoderKind::Yolov8, scene.yolov8());
    let memories = [case.tensors[0].upload(&stream)];
    let outputs = device(&case.tensors, &memories);
    for nms in MODES {
        let params = DetectParams { nms, top_k_before: 2000, ..DetectParams::default() };
        let mut detector = CudaDetector::new(case.decoder.clone(), params, &stream).unwrap();
        let mut first = None;
        for _ in 0..100 {
            let (found, outcome) = alone(&mut detector, &stream, &outputs, &ROW).unwrap();
            let this = (bits(&found), outcome);
            assert!(*first.get_or_insert_with(|| this.clone()) == this, "{nms:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_after_the_first_allocate_nothing_and_the_host_waits_once_for_at_most_8_kb() {
    let stream = stream();
    let mut random = Random::new(8);
    let scene = Scene::new(&mut random, 8400, 80, 1500, 600.0);
    let case = single(DecoderKind::Yolov8, scene.yolov8());
    let memories = [case.tensors[0].upload(&stream)];
    let outputs = device(&case.tensors, &memories);
    let params = DetectParams { iou: 0.9, ..DetectParams::default() };
    let mut detector = CudaDetector::new(case.decoder.clone(), params, &stream).unwrap();
    let mut found = vec![];
    let counters = stream.counters();
    for frame in 0..5 {
        let before =
            [&counters.allocations, &counters.host_waits, &counters.device_to_host, &counters.launches]
                .map(|c| c.get());
        detector.run(&stream, &outputs, &[ROW], &mut found).unwrap();
        assert_eq!(found[0].len(), 300);
        assert_eq!(counters.host_waits.get() - before[1], 1);
        assert_eq!(counters.device_to_host.get() - before[2], 16 + 24 * 300);
        assert_eq!(counters.launches.get() - before[3], 3);
        assert!(frame == 0 || counters.allocations.get() == before[0]);
    }
    // Not started, nothing to wait for.
    let waits = counters.host_waits.get();
    assert_eq!(detector.finish(&stream, &mut found).unwrap(), []);
    assert!(found.is_empty() && counters.host_waits.get() == waits);
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_with_more_or_fewer_anchors_follow_one_another() {
    let stream = stream();
    let mut random = Random::new(9);
    let desc: TensorDesc = "output0:float32:?x?x8".parse().unwrap();
    let decoder = choose(&[desc], [640, 640], Some(DecoderKind::Yolov5), &Hints::default()).unwrap();
    let mut detector = CudaDetector::new(decoder.clone(), DetectParams::default(), &stream).unwrap();
    for n in [10, 5000, 3, 0, 9000, 100] {
        let tensor = Scene::new(&mut random, n, 3, n / 2, 600.0).yolov5();
        let tensor = if n == 0 { Tensor::new("output0", &[1, 0, 8], &[]) } else { tensor };
        let case = Case { name: n.to_string(), tensors: vec![tensor], decoder: decoder.clone(), exact: true };
        let memories = [case.tensors[0].upload(&stream)];
        let outputs = device(&case.tensors, &memories);
        let found = alone(&mut detector, &stream, &outputs, &ROW).unwrap();
        assert_eq!(found, case.cpu(&DetectParams::default(), &ROW), "{n}");
    }
}
