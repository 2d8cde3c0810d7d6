//! Keypoints, coefficients and rows of masks: those of the CPU, for every row of a batch, in one launch more and no wait more.

use cudainfer_kernels::detect::{Attached, CudaDetector, DetectParams, Detection, Detector, Nms};
use cudainfer_kernels::device::DeviceTensor;
use cudainfer_kernels::geometry::{Affine, RowFrame};

use super::{Case, MODES, bits, cases, stream, upload};

const ROWS: [RowFrame; 3] = [
    RowFrame { to_frame: Affine::upright([3.0, 2.5], [-20.0, 10.0]), frame: [1900, 1600] },
    RowFrame {
        to_frame: Affine { scale: [1.5, 1.25], skew: [-2.0, 1.75], offset: [900.0, -30.0] },
        frame: [1920, 1080],
    },
    RowFrame { to_frame: Affine::IDENTITY, frame: [640, 640] },
];

fn cpu(case: &Case, params: &DetectParams, row: &RowFrame) -> (Vec<Detection>, Attached) {
    let views: Vec<_> = case.tensors.iter().map(super::Tensor::view).collect();
    let mut found = vec![];
    let mut detector = Detector::new(case.decoder.clone(), params.clone()).unwrap();
    detector.run(&views, &row.to_frame, row.frame, &mut found).unwrap();
    (found, detector.attached().clone())
}

fn check(gpu: &Attached, cpu: &Attached, exact: bool, what: &str) {
    let same = |(g, c): (&f32, &f32)| g == c || g.is_nan() && c.is_nan();
    assert_eq!(gpu.coefficients.len(), cpu.coefficients.len(), "{what}");
    assert!(gpu.coefficients.iter().zip(&cpu.coefficients).all(same), "{what}");
    assert_eq!(gpu.rows, cpu.rows, "{what}");
    assert_eq!(gpu.keypoints.len(), cpu.keypoints.len(), "{what}");
    // Sizes by the exponential differ in the last places: see the detections' tolerance.
    let tolerance = if exact { 0.0 } else { 1e-3 };
    for (i, (g, c)) in gpu.keypoints.iter().zip(&cpu.keypoints).enumerate() {
        let close = g.iter().zip(c).all(|(g, c)| (g - c).abs() <= tolerance);
        assert!(close, "{what}: point {i} is {g:?}, on the CPU {c:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_detections_carry_equals_the_cpu_in_every_row_form_and_mode() {
    let stream = stream();
    let by_seed: Vec<_> = [21, 22, 23].map(cases).into();
    let mut compared = 0;
    for number in 0..by_seed[0].len() {
        let first = &by_seed[0][number];
        if first.decoder.keypoints() == 0 && first.decoder.masks().is_none() {
            continue;
        }
        for half in [false, true] {
            let mut cases: Vec<Case> = by_seed.iter().map(|all| all[number].clone()).collect();
            if half {
                cases = cases.into_iter().map(Case::halved).collect();
            }
            if let Some(last) = cases[2].tensors.first_mut() {
                // Some broken numbers, also among what is carried.
                let mut values = last.view().to_f32().into_owned();
                values.iter_mut().step_by(97).for_each(|v| *v = f32::NAN);
                let broken = super::Tensor::new(last.name, &last.dims, &values);
                *last = if half { broken.halved() } else { broken };
            }
            let memories: Vec<_> = (0..cases[0].tensors.len())
                .map(|t| {
                    let bytes: Vec<u8> =
                        cases.iter().flat_map(|case| case.tensors[t].bytes.clone()).collect();
                    upload(&stream, &bytes)
                })
                .collect();
            let pairs = cases[0].tensors.iter().zip(&memories);
            let outputs: Vec<_> = pairs
                .map(|(t, memory)| {
                    let dims: Vec<usize> = [3].iter().chain(&t.dims[1..]).copied().collect();
                    DeviceTensor::new(t.name, t.ty, &dims, memory.slice()).unwrap()
                })
                .collect();
            for nms in MODES {
                // Where an exponential decides who overlaps whom, the order of what is left is not for sure.
                if (!cases[0].exact || matches!(nms, Nms::SoftGaussian { .. })) && nms != Nms::None {
                    continue;
                }
                let params = DetectParams { nms, top_k_after: 100, ..DetectParams::default() };
                let mut detector =
                    CudaDetector::new(cases[0].decoder.clone(), params.clone(), &stream).unwrap();
                // The second time in buffers that have been used.
                for _ in 0..2 {
                    let mut found = vec![];
                    detector.run(&stream, &outputs, &ROWS, &mut found).unwrap();
                    assert_eq!(detector.attached().len(), 3);
                    for (i, (case, row)) in cases.iter().zip(&ROWS).enumerate() {
                        let what = format!("{} {nms:?}, row {i}", case.name);
                        let (expected, attached) = cpu(case, &params, row);
                        assert_eq!(found[i].len(), expected.len(), "{what}");
                        assert!(!case.exact || bits(&found[i]) == bits(&expected), "{what}");
                        check(&detector.attached()[i], &attached, case.exact, &what);
                        compared += expected.len();
                    }
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn keypoints_cost_one_launch_more_no_wait_and_no_allocation() {
    let stream = stream();
    let case = cases(24).into_iter().find(|case| case.decoder.keypoints() == 17).unwrap();
    let memories: Vec<_> = case.tensors.iter().map(|t| t.upload(&stream)).collect();
    let outputs = super::device(&case.tensors, &memories);
    for (nms, launches) in [(Nms::ClassWise, 5), (Nms::SoftLinear, 4), (Nms::None, 4)] {
        let params = DetectParams { nms, ..DetectParams::default() };
        let mut detector = CudaDetector::new(case.decoder.clone(), params, &stream).unwrap();
        let mut found = vec![];
        let counters = stream.counters();
        for frame in 0..3 {
            let all =
                [&counters.launches, &counters.host_waits, &counters.device_to_host, &counters.allocations];
            let before = all.map(|c| c.get());
            detector.run(&stream, &outputs, &ROWS[..1], &mut found).unwrap();
            let after = all.map(|c| c.get());
            let count = u64::try_from(found[0].len()).unwrap();
            assert!(count > 10);
            assert_eq!(after[0] - before[0], launches);
            assert_eq!(after[1] - before[1], 1);
            assert_eq!(after[2] - before[2], 16 + count * (24 + 17 * 12));
            assert!(frame == 0 || after[3] == before[3]);
        }
    }
}
