//! The operation `segment`: every mask is the CPU's to the bit.

mod clean;
mod frame;
mod objects;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, DeviceTensor};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{Activation, Classes, CudaSegmenter, SegmentParams, Segmenter};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, download, stream, upload};

/// Values as `ty` holds them.
fn bytes_of(values: impl IntoIterator<Item = f32>, ty: TensorType) -> Vec<u8> {
    let values = values.into_iter();
    match ty {
        TensorType::Float16 => values.flat_map(|v| f16::from_f32(v).to_ne_bytes()).collect(),
        _ => values.flat_map(f32::to_ne_bytes).collect(),
    }
}

fn dims_of([c, h, w]: [usize; 3], layout: Layout) -> [usize; 4] {
    match layout {
        Layout::Nchw => [1, c, h, w],
        Layout::Nhwc => [1, h, w, c],
    }
}

/// Mostly logits; levels, so that ties abound; and now and then a value that is not finite.
fn value(random: &mut Random) -> f32 {
    match random.below(40) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        n if n < 20 => [-1.5, -0.0, 0.0, 2.25][n % 4],
        _ => random.range(-9.0, 9.0),
    }
}

/// Runs `frames` frames on both sides. `skipped` elements and bytes lie before logits and mask, so that nothing is aligned
/// where it is odd. The stream is reset before the last frame but one.
fn same(
    stream: &CudaStream,
    dims: [usize; 3],
    layout: Layout,
    ty: TensorType,
    params: SegmentParams,
    skipped: usize,
) {
    let what = format!("{dims:?} {layout:?} {ty} {params:?} {skipped}");
    let params = SegmentParams { layout: Some(layout), ..params };
    let (n, cells) = (dims.iter().product::<usize>(), dims[1] * dims[2]);
    let dims = dims_of(dims, layout);
    let desc = TensorDesc::fixed("logits", ty, &dims);
    let mut cpu = Segmenter::new(&desc, [64, 64], params).unwrap();
    let mut gpu = CudaSegmenter::new(&desc, [64, 64], params, stream).unwrap();
    assert_eq!((cpu.size(), cpu.channels()), (gpu.size(), gpu.channels()));
    let mut random = Random::new(n as u64);
    let room = upload(stream, &vec![0xee; cells + skipped + 1]);
    let frames = 5;
    for frame in 0..frames {
        if frame + 2 == frames {
            cpu.reset();
            gpu.reset();
        }
        let data = bytes_of((0..n + skipped).map(|_| value(&mut random)), ty);
        let memory = upload(stream, &data);
        let data = &data[skipped * ty.size()..];
        let on_device =
            DeviceTensor::new("logits", ty, &dims, memory.slice().after(skipped * ty.size())).unwrap();
        let mut wanted = vec![0; cells];
        cpu.run(&TensorView::new("logits", ty, &dims, data).unwrap(), &mut wanted).unwrap();
        gpu.run(stream, &on_device, room.slice().after(skipped).first(cells)).unwrap();
        let got = download(stream, room.slice());
        assert!(got[skipped..][..cells] == wanted, "{what} frame {frame}");
        assert!(got[..skipped].iter().chain(&got[skipped + cells..]).all(|b| *b == 0xee), "{what}: beyond");
    }
}

fn every_task(c: usize, smoothing: f32, mut check: impl FnMut(SegmentParams)) {
    let base = SegmentParams { smoothing, channel: c - 1, ..SegmentParams::default() };
    if c > 1 {
        check(base);
    }
    for activation in [Activation::None, Activation::Sigmoid, Activation::Softmax] {
        if activation != Activation::Softmax || c > 1 {
            let gated = SegmentParams { classes: Classes::Threshold(0.4), activation, ..base };
            for params in [gated, SegmentParams { soft: true, activation, ..base }] {
                check(params);
                check(SegmentParams { stretched: true, ..params });
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_mask_is_the_cpus_frame_by_frame() {
    let stream = stream();
    for dims in [[2, 1, 1], [1, 9, 17], [2, 16, 40], [3, 65, 17], [21, 24, 64], [9, 33, 31], [256, 8, 9]] {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in [TensorType::Float32, TensorType::Float16] {
                for smoothing in [0.0, 0.7] {
                    for skipped in [0, 3] {
                        every_task(dims[0], smoothing, |params| {
                            same(&stream, dims, layout, ty, params, skipped)
                        });
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_is_one_launch_without_allocation_or_wait_and_the_host_hears_of_what_is_not_finite() {
    let stream = stream();
    let dims = [1, 21, 64, 64];
    let desc = TensorDesc::fixed("logits", TensorType::Float16, &dims);
    let params = SegmentParams { smoothing: 0.5, ..SegmentParams::default() };
    let mut gpu = CudaSegmenter::new(&desc, [64, 64], params, &stream).unwrap();
    let mut values = vec![0.5; 21 * 64 * 64];
    let clean = upload(&stream, &bytes_of(values.iter().copied(), TensorType::Float16));
    values[70] = f32::NAN;
    values[80_000] = f32::INFINITY;
    let broken = upload(&stream, &bytes_of(values, TensorType::Float16));
    let mask = stream.allocate(64 * 64).unwrap();
    let counters = stream.counters();
    let counts = || [counters.launches.get(), counters.allocations.get(), counters.host_waits.get()];
    let before = counts();
    for memory in [&clean, &broken, &broken, &clean] {
        let logits = DeviceTensor::new("logits", desc.ty, &dims, memory.slice()).unwrap();
        gpu.run(&stream, &logits, mask.slice()).unwrap();
    }
    assert_eq!(counts(), [before[0] + 4, before[1], before[2]]);
    stream.synchronize().unwrap();
    assert_eq!(gpu.non_finite(), 4);
}

#[test]
#[ignore = "needs a CUDA device"]
fn another_size_is_refused_in_a_sentence() {
    let stream = stream();
    let desc = TensorDesc::fixed("logits", TensorType::Float32, &[1, 2, 4, 4]);
    let mut gpu = CudaSegmenter::new(&desc, [4, 4], SegmentParams::default(), &stream).unwrap();
    let memory = upload(&stream, &[0; 256]);
    let mut run = |dims: &[usize], room: DeviceSlice<'_>| {
        let bytes = 4 * dims.iter().product::<usize>();
        let logits = DeviceTensor::new("logits", desc.ty, dims, memory.slice().first(bytes)).unwrap();
        gpu.run(&stream, &logits, room).map_err(|error| error.to_string())
    };
    assert_eq!(run(&[1, 2, 4, 4], memory.slice().first(16)), Ok(()));
    let text = run(&[1, 2, 4, 8], memory.slice().first(32)).unwrap_err();
    assert!(text.contains("renegotiate"), "{text}");
    let text = run(&[1, 2, 4, 4], memory.slice().first(15)).unwrap_err();
    assert!(text.contains("a mask of 4x4 was handed 15 bytes"), "{text}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn class_numbers_of_every_type_are_the_cpus_masks_and_those_beyond_a_byte_are_counted() {
    let stream = stream();
    let mut random = Random::new(8);
    for ty in [TensorType::Int64, TensorType::Int32, TensorType::Int8, TensorType::UInt8, TensorType::Bool] {
        for (dims, params) in [
            (&[1, 65, 33][..], SegmentParams::default()),
            (&[1, 1, 9, 17], SegmentParams { opening: 1, closing: 1, ..SegmentParams::default() }),
            (&[1, 160, 160, 1], SegmentParams { min_area: 5, ..SegmentParams::default() }),
            (&[2, 3], SegmentParams::default()),
        ] {
            let cells: usize = dims.iter().product();
            let numbers = (0..cells).map(|_| match random.below(20) {
                0 => [-1, 256, i64::MIN, i64::MAX][random.below(4)],
                n => [0, 1, 1, 2, 100, 255][n % 6],
            });
            let bytes: Vec<u8> = numbers
                .flat_map(|number| match ty {
                    TensorType::Int64 => number.to_ne_bytes().to_vec(),
                    TensorType::Int32 => (number as i32).to_ne_bytes().to_vec(),
                    TensorType::Bool => vec![u8::from(number != 0)],
                    _ => vec![number as u8],
                })
                .collect();
            let desc = TensorDesc::fixed("classes", ty, dims);
            let mut cpu = Segmenter::new(&desc, [64, 64], params).unwrap();
            let mut gpu = CudaSegmenter::new(&desc, [64, 64], params, &stream).unwrap();
            let view = TensorView::new("classes", ty, dims, &bytes).unwrap();
            let mut wanted = vec![0xee; cells];
            let outside = cpu.run(&view, &mut wanted).unwrap().out_of_range as u64;
            let (memory, mask) = (upload(&stream, &bytes), upload(&stream, &vec![0xee; cells]));
            let tensor = DeviceTensor::new("classes", ty, dims, memory.slice()).unwrap();
            gpu.run(&stream, &tensor, mask.slice()).unwrap();
            assert!(download(&stream, mask.slice()) == wanted, "{desc} {params:?}");
            // A later launch, which has none itself, tells of the first.
            let clean = upload(&stream, &vec![0; bytes.len()]);
            let tensor = DeviceTensor::new("classes", ty, dims, clean.slice()).unwrap();
            gpu.run(&stream, &tensor, mask.slice()).unwrap();
            download(&stream, mask.slice());
            assert_eq!((gpu.out_of_range(), gpu.non_finite()), (outside, 0), "{desc}");
        }
    }
}
