//! Rotated boxes: what the CPU finds of every row of a batch, in one launch more than upright ones.
//!
//! Sines, arc tangents and logarithms in float64 may differ in their last place, so boxes that are rounded to float32 may too:
//! by 1e-3 pixels. Decisions hang on no more than that, so they are the same.

use cudainfer_kernels::associate::Oriented;
use cudainfer_kernels::detect::{
    Attached, CudaDetector, DecoderKind, DetectError, DetectParams, Detection, Detector, Hints, Nms,
};
use cudainfer_kernels::device::DeviceTensor;
use cudainfer_kernels::geometry::{Affine, RowFrame};

use super::{Case, Random, Scene, Tensor, bits, device, stream, upload};

const ROWS: [RowFrame; 4] = [
    RowFrame { to_frame: Affine::upright([3.0, 3.0], [-20.0, 10.0]), frame: [1900, 1600] },
    // Two scales: rectangles become parallelograms.
    RowFrame { to_frame: Affine::upright([3.0, 1.75], [-20.0, 10.0]), frame: [1900, 1100] },
    RowFrame {
        to_frame: Affine { scale: [1.5, 1.25], skew: [-2.0, 1.75], offset: [900.0, -30.0] },
        frame: [1920, 1080],
    },
    RowFrame { to_frame: Affine::IDENTITY, frame: [640, 640] },
];

/// `n` anchors of three classes, `hits` of which are sure of themselves; some of their numbers are broken.
fn case(random: &mut Random, n: usize, hits: usize, suppressed: bool) -> Case {
    let scene = Scene::new(random, n, 3, hits, 600.0);
    let rows: Vec<Vec<f32>> = scene
        .rows()
        .enumerate()
        .map(|(i, (b, s))| {
            let shape = [(b[0] + b[2]) * 0.5, (b[1] + b[3]) * 0.5, b[2] - b[0], (b[3] - b[1]) * 0.4];
            let angle = if i % 97 == 5 { f32::NAN } else { random.range(-0.8, 2.4) };
            let scores = if suppressed {
                vec![s.iter().copied().fold(0.0, f32::max), (i % 3) as f32]
            } else {
                s.clone()
            };
            [shape.as_slice(), &scores, &[angle]].concat()
        })
        .collect();
    let width = rows[0].len();
    let tensor = if suppressed {
        Tensor::new("o", &[1, n, width], &rows.concat())
    } else {
        let values: Vec<f32> = (0..n * width).map(|i| rows[i % n][i / n]).collect();
        Tensor::new("o", &[1, width, n], &values)
    };
    let hints = Hints { classes: Some(3), ..Hints::default() };
    let name = format!("yolo-obb {n} {hits} {suppressed}");
    Case::new(&name, DecoderKind::YoloObb, vec![tensor], [640, 640], &hints, false)
}

fn cpu(case: &Case, params: &DetectParams, row: &RowFrame) -> (Vec<Detection>, Attached) {
    let views: Vec<_> = case.tensors.iter().map(Tensor::view).collect();
    let mut found = vec![];
    let mut detector = Detector::new(case.decoder.clone(), params.clone()).unwrap();
    detector.run(&views, &row.to_frame, row.frame, &mut found).unwrap();
    (found, detector.attached().clone())
}

/// The farthest that a corner of one box is from the nearest of the other: the same rectangle may have two descriptions.
fn apart(a: &Oriented, b: &Oriented) -> f32 {
    let [p, q] = [a, b].map(Oriented::outline_points);
    let nearest =
        |(x, y): (f32, f32)| q.iter().map(|(u, v)| (x - u).hypot(y - v)).fold(f32::INFINITY, f32::min);
    p.into_iter().map(nearest).fold(0.0, f32::max)
}

#[test]
#[ignore = "needs a CUDA device"]
fn rotated_boxes_are_those_of_the_cpu_in_every_row_form_and_mode() {
    let stream = stream();
    let mut random = Random::new(31);
    let mut compared = 0;
    // 5000 candidates take two windows.
    for (n, hits, suppressed) in
        [(2100, 700, false), (333, 100, false), (9000, 5000, false), (700, 300, true)]
    {
        for half in [false, true] {
            let cases: Vec<Case> = (0..4).map(|_| case(&mut random, n, hits, suppressed)).collect();
            let cases: Vec<Case> = if half { cases.into_iter().map(Case::halved).collect() } else { cases };
            let bytes: Vec<u8> = cases.iter().flat_map(|case| case.tensors[0].bytes.clone()).collect();
            let memory = upload(&stream, &bytes);
            let tensor = &cases[0].tensors[0];
            let dims: Vec<usize> = [4].iter().chain(&tensor.dims[1..]).copied().collect();
            let outputs = [DeviceTensor::new(tensor.name, tensor.ty, &dims, memory.slice()).unwrap()];
            for (nms, iou) in [
                (Nms::ClassWise, 0.45),
                (Nms::ClassWise, 0.0),
                (Nms::ClassWise, 1.0),
                (Nms::Agnostic, 0.7),
                (Nms::None, 0.45),
            ] {
                for (top_k_before, top_k_after) in [(1000, 300), (30000, 1 << 20), (100, 7)] {
                    let class_iou = vec![(1, 0.2)];
                    let params = DetectParams {
                        nms,
                        iou,
                        class_iou,
                        top_k_before,
                        top_k_after,
                        ..DetectParams::default()
                    };
                    let decoder = cases[0].decoder.clone();
                    let mut detector = CudaDetector::new(decoder, params.clone(), &stream).unwrap();
                    let mut first: Vec<Vec<[u32; 6]>> = vec![];
                    // The second time in buffers that have been used.
                    for turn in 0..2 {
                        let mut found = vec![];
                        let outcomes = detector.run(&stream, &outputs, &ROWS, &mut found).unwrap();
                        for (i, (case, row)) in cases.iter().zip(&ROWS).enumerate() {
                            let (expected, attached) = cpu(case, &params, row);
                            let expected = (expected, case.cpu(&params, row).1);
                            case.compare(&(found[i].clone(), outcomes[i]), &expected, &params);
                            let boxes = &detector.attached()[i].rotated;
                            assert_eq!(boxes.len(), found[i].len());
                            for (g, c) in boxes.iter().zip(&attached.rotated) {
                                assert!(apart(g, c) < 2e-3, "{}, row {i}: {g:?}, not {c:?}", case.name);
                            }
                            compared += boxes.len();
                        }
                        let all: Vec<_> = found.iter().map(|row| bits(row)).collect();
                        if turn == 0 {
                            first = all;
                        } else {
                            assert!(first == all, "{}: another result the second time", cases[0].name);
                        }
                    }
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn they_cost_one_launch_more_no_wait_and_no_allocation() {
    let stream = stream();
    let case = case(&mut Random::new(32), 2100, 700, false);
    let memories = [case.tensors[0].upload(&stream)];
    let outputs = device(&case.tensors, &memories);
    for (nms, launches) in [(Nms::ClassWise, 5), (Nms::None, 4)] {
        let params = DetectParams { nms, ..DetectParams::default() };
        let mut detector = CudaDetector::new(case.decoder.clone(), params, &stream).unwrap();
        let counters = stream.counters();
        let mut found = vec![];
        for frame in 0..3 {
            let all =
                [&counters.launches, &counters.host_waits, &counters.device_to_host, &counters.allocations];
            let before = all.map(|c| c.get());
            detector.run(&stream, &outputs, &ROWS[..1], &mut found).unwrap();
            let after = all.map(|c| c.get());
            let count = u64::try_from(found[0].len()).unwrap();
            assert!(count > 10);
            assert_eq!([after[0] - before[0], after[1] - before[1]], [launches, 1]);
            assert_eq!(after[2] - before[2], 16 + count * (24 + 20));
            assert!(frame == 0 || after[3] == before[3]);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn soft_suppression_of_rotated_boxes_is_refused_as_on_the_cpu() {
    let stream = stream();
    let case = case(&mut Random::new(33), 333, 100, false);
    let params = DetectParams { nms: Nms::SoftLinear, ..DetectParams::default() };
    let error = CudaDetector::new(case.decoder, params, &stream).unwrap_err();
    assert!(matches!(error, DetectError::Param { .. }), "{error}");
}
