//! Batches: every row as if it were alone, in the launches and with the wait of one frame.

use cudainfer_kernels::detect::{CudaDetector, DecoderKind, DetectError, DetectParams, Detection, Outcome};
use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::{Affine, RowFrame};

use super::{Case, MODES, Nms, Random, Scene, Tensor, alone, bits, cases, device, single, stream, upload};

/// Frames of several sizes, each placed differently in the input tensor; every third is rotated.
fn row(i: usize) -> RowFrame {
    let i = i % 30;
    let k = i as f64;
    let skew = if i % 3 == 2 { [-0.375, 0.5] } else { [0.0; 2] };
    let upright = Affine::upright([1.5 + 0.125 * k, 2.0 - 0.0625 * k], [-3.0 * k, 10.5 + k]);
    RowFrame { to_frame: Affine { skew, ..upright }, frame: [900 + 70 * i, 1300 - 40 * i] }
}

/// Frames of one model in device memory, one after the other, and two rows of NaN after them.
struct Frames {
    cases: Vec<Case>,
    memories: Vec<Memory>,
}

impl Frames {
    const PADDING: usize = 2;

    fn new(stream: &CudaStream, cases: Vec<Case>) -> Self {
        let memories = (0..cases[0].tensors.len())
            .map(|t| {
                let mut bytes: Vec<u8> =
                    cases.iter().flat_map(|case| case.tensors[t].bytes.clone()).collect();
                bytes.resize(bytes.len() / cases.len() * (cases.len() + Self::PADDING), 0xff);
                upload(stream, &bytes)
            })
            .collect();
        Self { cases, memories }
    }

    /// The outputs for `rows` rows from frame `first` on.
    fn outputs(&self, first: usize, rows: usize) -> Vec<DeviceTensor<'_>> {
        let pairs = self.cases[0].tensors.iter().zip(&self.memories);
        pairs
            .map(|(t, memory)| {
                let dims: Vec<usize> = [rows].iter().chain(&t.dims[1..]).copied().collect();
                let slice = memory.slice().after(first * t.bytes.len()).first(rows * t.bytes.len());
                DeviceTensor::new(t.name, t.ty, &dims, slice).unwrap()
            })
            .collect()
    }

    fn detector(&self, stream: &CudaStream, params: &DetectParams) -> CudaDetector {
        CudaDetector::new(self.cases[0].decoder.clone(), params.clone(), stream).unwrap()
    }

    /// What each frame gives by itself.
    fn alone(&self, stream: &CudaStream, params: &DetectParams) -> Vec<(Vec<Detection>, Outcome)> {
        let mut detector = self.detector(stream, params);
        let frame = |i| alone(&mut detector, stream, &self.outputs(i, 1), &row(i)).unwrap();
        (0..self.cases.len()).map(frame).collect()
    }

    /// Runs a batch of frames and compares it with them.
    fn check(
        &self,
        stream: &CudaStream,
        detector: &mut CudaDetector,
        (first, rows, padding): (usize, usize, usize),
        wanted: &[(Vec<Detection>, Outcome)],
    ) {
        let what = format!("{}: {rows} rows from {first} on, {padding} more", self.cases[0].name);
        let maps: Vec<RowFrame> = (first..first + rows).map(row).collect();
        let mut found = vec![];
        let outputs = self.outputs(first, rows + padding);
        let outcomes = detector.run(stream, &outputs, &maps, &mut found).unwrap();
        assert_eq!((found.len(), outcomes.len()), (rows, rows), "{what}");
        for (i, (found, outcome)) in found.iter().zip(&outcomes).enumerate() {
            let (alone, expected) = &wanted[first + i];
            assert_eq!(outcome, expected, "{what}: row {i}");
            assert!(bits(found) == bits(alone), "{what}: row {i} is {found:?}, alone {alone:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn rows_of_batches_that_grow_and_shrink_are_those_of_every_decoder_and_mode_alone() {
    const FRAMES: usize = 17;
    let stream = stream();
    let mut random = Random::new(12);
    let mut by_seed: Vec<_> = (1..=FRAMES as u64).map(|seed| cases(seed).into_iter()).collect();
    let mut turn = 0;
    for number in 0.. {
        let Some(cases) = by_seed.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>() else { break };
        let cases = if number % 2 == 1 { cases.into_iter().map(Case::halved).collect() } else { cases };
        let frames = Frames::new(&stream, cases);
        for nms in MODES {
            let params = DetectParams { nms, ..DetectParams::default() };
            let wanted = frames.alone(&stream, &params);
            for (i, (case, gpu)) in frames.cases.iter().zip(&wanted).enumerate() {
                assert!(gpu.1.candidates > 5 && !gpu.0.is_empty(), "{}: nothing compared", case.name);
                // With this many frames, some values would be decided by an exponential's last bit.
                if case.exact || nms == Nms::ClassWise {
                    case.compare(gpu, &case.cpu(&params, &row(i)), &params);
                }
            }
            let mut detector = frames.detector(&stream, &params);
            for _ in 0..4 {
                // Every size from 1 to 17, in no order.
                turn += 1;
                let rows = 1 + turn * 7 % FRAMES;
                let first = random.below(FRAMES - rows + 1);
                let padding = random.below(FRAMES + Frames::PADDING - first - rows + 1);
                frames.check(&stream, &mut detector, (first, rows, padding), &wanted);
            }
        }
    }
    assert!(turn > 10 * FRAMES);
}

#[test]
#[ignore = "needs a CUDA device"]
fn rows_with_none_and_with_thousands_of_candidates_do_not_disturb_each_other() {
    let stream = stream();
    let mut random = Random::new(13);
    let cases = [0, 9000, 1, 4097, 33, 0].map(|hits| {
        let scene = Scene::new(&mut random, 9000, 3, hits, 600.0);
        single(DecoderKind::Yolov8, scene.yolov8())
    });
    let frames = Frames::new(&stream, cases.into());
    for nms in [Nms::ClassWise, Nms::Agnostic, Nms::None, Nms::SoftLinear] {
        let top_k_before = if nms == Nms::SoftLinear { 1000 } else { 9000 };
        let params = DetectParams { nms, top_k_before, top_k_after: 9000, ..DetectParams::default() };
        let wanted = frames.alone(&stream, &params);
        assert_eq!(wanted.iter().map(|(_, o)| o.candidates).collect::<Vec<_>>(), [0, 9000, 1, 4097, 33, 0]);
        for (i, (case, gpu)) in frames.cases.iter().zip(&wanted).enumerate() {
            case.compare(gpu, &case.cpu(&params, &row(i)), &params);
        }
        let mut detector = frames.detector(&stream, &params);
        for batch in [(2, 1, 0), (0, 6, 2), (3, 2, 0), (0, 6, 0), (5, 1, 2)] {
            frames.check(&stream, &mut detector, batch, &wanted);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn batches_of_more_rows_than_a_launch_has_parameters_for_are_decoded_in_several() {
    let stream = stream();
    let mut random = Random::new(14);
    let cases = (0..130).map(|i| {
        let scene = Scene::new(&mut random, 100, 3, 10 + i % 60, 600.0);
        single(DecoderKind::Yolov5, scene.yolov5())
    });
    let frames = Frames::new(&stream, cases.collect());
    let params = DetectParams::default();
    let wanted = frames.alone(&stream, &params);
    let mut detector = frames.detector(&stream, &params);
    for (rows, launches) in [(56, 3), (57, 4), (130, 5), (1, 3)] {
        let before = stream.counters().launches.get();
        frames.check(&stream, &mut detector, (130 - rows, rows, 0), &wanted);
        assert_eq!(stream.counters().launches.get() - before, launches, "{rows} rows");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_costs_the_launches_and_the_wait_of_one_frame_and_no_allocation() {
    let stream = stream();
    let mut random = Random::new(15);
    let cases = (0..16).map(|_| {
        let scene = Scene::new(&mut random, 2100, 8, 200, 600.0);
        single(DecoderKind::Yolov8, scene.yolov8())
    });
    let frames = Frames::new(&stream, cases.collect());
    for (nms, launches) in [(Nms::ClassWise, 3), (Nms::SoftLinear, 3), (Nms::None, 3)] {
        let params = DetectParams { nms, ..DetectParams::default() };
        let wanted = frames.alone(&stream, &params);
        let mut detector = frames.detector(&stream, &params);
        let counters = stream.counters();
        for rows in [16, 1, 7, 16] {
            let before = [&counters.allocations, &counters.host_waits, &counters.launches].map(|c| c.get());
            frames.check(&stream, &mut detector, (0, rows, 0), &wanted);
            assert_eq!(counters.host_waits.get() - before[1], 1);
            assert_eq!(counters.launches.get() - before[2], launches);
            assert!(rows == 16 || counters.allocations.get() == before[0]);
        }
        // No rows: nothing to do, nothing to wait for.
        let before = [&counters.host_waits, &counters.launches].map(|c| c.get());
        frames.check(&stream, &mut detector, (0, 0, 1), &wanted);
        assert_eq!([&counters.host_waits, &counters.launches].map(|c| c.get()), before);
    }
}

/// Rows with more candidates than the small kernels take: one batch with such a row is decoded once more, with the other kernels
/// (two windows of 4096 candidates), those that follow with these only, until there is no such row.
#[test]
#[ignore = "needs a CUDA device"]
fn crowded_rows_equal_the_cpu_beside_others_and_cost_a_second_wait_once() {
    const FEW: [usize; 16] = [0, 1, 31, 32, 33, 64, 300, 700, 1000, 1023, 1024, 1025, 1999, 2047, 2048, 5];
    const ROWS: usize = FEW.len();
    let stream = stream();
    let mut random = Random::new(16);
    let mut cases: Vec<Case> = vec![];
    for (i, hits) in FEW.into_iter().chain([5000, 4000]).enumerate() {
        let mut scene = Scene::new(&mut random, 5000, 3, hits, 600.0);
        if i % 3 == 0 {
            // Equal ones are ordered by their anchors.
            scene.scores.iter_mut().flatten().for_each(|s| *s = if *s > 0.25 { 0.75 } else { 0.125 });
        }
        cases.push(single(DecoderKind::Yolov8, scene.yolov8()));
    }
    let halves = cases.iter().cloned().map(Case::halved).collect();
    for frames in [Frames::new(&stream, cases), Frames::new(&stream, halves)] {
        for nms in [Nms::ClassWise, Nms::Agnostic] {
            let params = DetectParams { nms, ..DetectParams::default() };
            let wanted = frames.alone(&stream, &params);
            for (i, (case, gpu)) in frames.cases.iter().zip(&wanted).enumerate() {
                case.compare(gpu, &case.cpu(&params, &row(i)), &params);
            }
            let mut detector = frames.detector(&stream, &params);
            let counters = stream.counters();
            for (first, launches, waits) in
                [(0, 3, 1), (1, 9, 2), (1, 6, 1), (2, 6, 1), (0, 6, 1), (0, 3, 1), (2, 9, 2)]
            {
                let before = [&counters.launches, &counters.host_waits].map(|c| c.get());
                frames.check(&stream, &mut detector, (first, ROWS, 0), &wanted);
                let after = [&counters.launches, &counters.host_waits].map(|c| c.get());
                assert_eq!(
                    [after[0] - before[0], after[1] - before[1]],
                    [launches, waits],
                    "from {first} on"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_that_nobody_finishes_leaves_no_memory_in_use() {
    let stream = stream();
    let mut random = Random::new(18);
    let cases = [5000, 300].map(|hits| {
        let scene = Scene::new(&mut random, 5000, 3, hits, 600.0);
        single(DecoderKind::Yolov8, scene.yolov8())
    });
    let frames = Frames::new(&stream, cases.into());
    let params = DetectParams::default();
    let wanted = frames.alone(&stream, &params);
    let mut detector = frames.detector(&stream, &params);
    for first in [0, 1] {
        detector.start(&stream, &frames.outputs(first, 1), &[row(first)]).unwrap();
        frames.check(&stream, &mut detector, (1, 1, 0), &wanted);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn outputs_of_fewer_rows_than_the_batch_are_refused() {
    let stream = stream();
    let zeros = |dims: &[usize]| vec![Tensor::new("o", dims, &vec![0.0; dims.iter().product()])];
    let decoder = single(DecoderKind::Yolov5, Tensor::new("o", &[1, 9, 7], &[0.0; 63])).decoder;
    let mut detector = CudaDetector::new(decoder, DetectParams::default(), &stream).unwrap();
    let mut run = |dims: &[usize], rows: usize| {
        let tensors = zeros(dims);
        let memories = [tensors[0].upload(&stream)];
        let rows: Vec<RowFrame> = (0..rows).map(row).collect();
        detector.run(&stream, &device(&tensors, &memories), &rows, &mut vec![])
    };
    assert_eq!(run(&[3, 9, 7], 3).unwrap(), [Outcome::default(); 3]);
    assert_eq!(run(&[3, 9, 7], 1).unwrap(), [Outcome::default()]);
    // A matrix is one frame's.
    assert_eq!(run(&[9, 7], 1).unwrap(), [Outcome::default()]);
    for dims in [&[2, 9, 7][..], &[9, 7]] {
        let error = run(dims, 3).unwrap_err();
        assert!(matches!(error, DetectError::Shape { .. }), "{error}");
        assert!(error.to_string().contains("[1, N, 7] for each of 3 frames"), "{error}");
    }
}
