//! The operation `appearance`: the CPU's counts and embeddings bit for bit, by every variant, from every format.

use cudainfer_kernels::appearance::{AppearanceError, CudaDescriber, Describer, LENGTH, Variant};
use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, Memory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

use super::preproc::reference::Owned;
use super::{Random, stream, upload};

const VARIANTS: [Variant; 3] = [Variant::Global, Variant::Shared, Variant::Chunked];

fn format(pixels: PixelFormat, width: usize, height: usize, number: usize) -> FrameFormat {
    let matrix = Matrix::ALL[number % Matrix::ALL.len()];
    let range = [Range::Limited, Range::Full][number % 2];
    FrameFormat { pixels, width, height, matrix, range }
}

/// Noise under which there are areas of one colour: counts that many samples meet in.
fn picture(format: FrameFormat, slack: usize, seed: u64) -> Owned {
    let mut owned = Owned::noise(format, slack, seed);
    for (data, _) in &mut owned.planes {
        let noise = data.clone();
        for (i, byte) in data.iter_mut().enumerate() {
            *byte = if i / 40 % 3 == 0 { 90 } else { noise[i / 7] / 3 + noise[i] / 16 + 60 };
        }
    }
    owned
}

/// Boxes of all sizes in and around a frame, and among them what is no box.
fn boxes(random: &mut Random, format: &FrameFormat, count: usize) -> Vec<Rect> {
    const ODD: [f32; 7] = [0.0, -7.0, 1e-30, 3e38, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let (width, height) = (format.width as f32, format.height as f32);
    let one = |i| {
        let mut v = [
            random.range(-0.2 * width, width),
            random.range(-0.2 * height, height),
            random.range(0.01, width) * random.unit(),
            random.range(0.01, height) * random.unit(),
        ];
        if random.below(10) == 0 {
            v[random.below(4)] = ODD[random.below(ODD.len())];
        }
        if i % 11 == 3 {
            v = [v[0].floor(), v[1].floor(), 1.0, 1.0];
        }
        Rect { x: v[0], y: v[1], w: v[2], h: v[3] }
    };
    (0..count).map(one).collect()
}

/// Memory for each plane, and not a byte more.
fn uploaded(stream: &CudaStream, owned: &Owned) -> Vec<(Memory, usize)> {
    owned.planes.iter().map(|(data, stride)| (upload(stream, data), *stride)).collect()
}

fn frame<'a>(format: &FrameFormat, memory: &'a [(Memory, usize)]) -> DeviceFrame<'a> {
    let planes: Vec<_> =
        memory.iter().map(|(memory, stride)| DevicePlane::new(memory.slice(), *stride)).collect();
    DeviceFrame::new(format, &planes).unwrap()
}

#[track_caller]
fn assert_equals_cpu(stream: &CudaStream, gpu: &mut CudaDescriber, owned: &Owned, boxes: &[Rect]) {
    let cpu = Describer::new(owned.format).unwrap();
    let (mut wanted, mut got) = (Vec::new(), vec![1.0]);
    let mut counts = Vec::new();
    cpu.counts(&owned.frame(), boxes, &mut counts).unwrap();
    let memory = uploaded(stream, owned);
    gpu.start(stream, &frame(&owned.format, &memory), boxes).unwrap();
    let found = gpu.finish_counts(stream).unwrap();
    assert_eq!(found.len(), counts.len());
    for (i, (found, wanted)) in found.chunks(LENGTH).zip(counts.chunks(LENGTH)).enumerate() {
        assert_eq!(found, wanted, "box {i} of {}: {:?} {:?}", boxes.len(), boxes[i], owned.format);
    }
    cpu.run(&owned.frame(), boxes, &mut wanted).unwrap();
    gpu.start(stream, &frame(&owned.format, &memory), boxes).unwrap();
    gpu.finish(stream, &mut got).unwrap();
    assert!(got.iter().map(|v| v.to_bits()).eq(wanted.iter().map(|v| v.to_bits())));
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_variant_counts_as_the_cpu_in_every_format() {
    let (stream, mut random) = (stream(), Random::new(3));
    for (number, pixels) in PixelFormat::ALL.into_iter().cycle().take(22).enumerate() {
        let (width, height) = [(320, 200), (641, 363), (9, 17), (33, 130), (1, 1), (2, 70)][number % 6];
        let owned = picture(format(pixels, width, height, number), number % 4, number as u64);
        for variant in VARIANTS {
            let mut gpu = CudaDescriber::with_variant(owned.format, variant, &stream).unwrap();
            let boxes = boxes(&mut random, &owned.format, 40);
            assert_equals_cpu(&stream, &mut gpu, &owned, &boxes);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_number_of_boxes_is_described_in_the_fewest_launches() {
    let (stream, mut random) = (stream(), Random::new(4));
    for pixels in [PixelFormat::Nv12, PixelFormat::Rgb] {
        let owned = picture(format(pixels, 1280, 720, 0), 64, 9);
        let memory = uploaded(&stream, &owned);
        for variant in VARIANTS {
            let mut gpu = CudaDescriber::with_variant(owned.format, variant, &stream).unwrap();
            // Down again, so that what is left of the larger frame would show.
            for count in [0, 1, 7, 100, 480, 481, 1000, 100, 1, 0] {
                let boxes = boxes(&mut random, &owned.format, count);
                assert_equals_cpu(&stream, &mut gpu, &owned, &boxes);
                let counters = stream.counters();
                let before =
                    [&counters.launches, &counters.host_waits, &counters.allocations].map(|c| c.get());
                gpu.start(&stream, &frame(&owned.format, &memory), &boxes).unwrap();
                gpu.finish_counts(&stream).unwrap();
                let after =
                    [&counters.launches, &counters.host_waits, &counters.allocations].map(|c| c.get());
                let wanted =
                    [before[0] + count.div_ceil(480) as u64, before[1] + count.min(1) as u64, before[2]];
                assert_eq!(after, wanted, "{variant:?} {count}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_that_is_not_finished_is_given_up() {
    let stream = stream();
    let owned = picture(format(PixelFormat::I420, 200, 150, 1), 0, 1);
    let memory = uploaded(&stream, &owned);
    let frame = frame(&owned.format, &memory);
    let mut random = Random::new(5);
    for variant in VARIANTS {
        let mut gpu = CudaDescriber::with_variant(owned.format, variant, &stream).unwrap();
        for _ in 0..50 {
            gpu.start(&stream, &frame, &boxes(&mut random, &owned.format, 300)).unwrap();
        }
        assert_equals_cpu(&stream, &mut gpu, &owned, &boxes(&mut random, &owned.format, 20));
        assert!(gpu.finish_counts(&stream).unwrap().is_empty(), "nothing was started");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_flat_frame_fills_a_few_counters_to_the_top() {
    let stream = stream();
    let flat = Owned::flat(format(PixelFormat::Nv12, 640, 640, 0), &[&[120], &[90, 200]]);
    // Of the strongest gradients, too.
    let lines = Owned::flat(format(PixelFormat::Gray8, 640, 640, 0), &[&[0, 0, 255, 255]]);
    for owned in [flat, lines] {
        let rect = |i: u8| Rect { x: f32::from(i), y: 1.0, w: 32.0, h: 64.0 * f32::from(1 + i % 9) };
        let boxes: Vec<_> = (0..100).map(rect).collect();
        for variant in VARIANTS {
            let mut gpu = CudaDescriber::with_variant(owned.format, variant, &stream).unwrap();
            assert_equals_cpu(&stream, &mut gpu, &owned, &boxes);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_of_another_format_is_refused() {
    let stream = stream();
    let small = Owned::noise(format(PixelFormat::Nv12, 64, 64, 0), 0, 1);
    let memory = uploaded(&stream, &small);
    let mut gpu = CudaDescriber::new(format(PixelFormat::Nv12, 64, 66, 0), &stream).unwrap();
    let all = [Rect { x: 0.0, y: 0.0, w: 64.0, h: 64.0 }];
    let wrong = gpu.start(&stream, &frame(&small.format, &memory), &all).unwrap_err();
    assert!(matches!(wrong, AppearanceError::Frame(_)), "{wrong}");
}
