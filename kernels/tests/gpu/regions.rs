//! The operation `preproc`, regions of interest: equal to the CPU twin bit by bit, which the crate's own tests compare with
//! a reference in f64.

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, Memory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::preproc::{
    ChannelOrder, CudaRegionPreproc, CudaRegions, Interpolation, Layout, Padding, PreprocError,
    PreprocParams, RegionMap, RegionPreproc, Resize,
};
use cudainfer_kernels::tensor::TensorType;

use super::preproc::reference::Owned;
use super::{Random, download, stream, upload};

pub(super) const INTERPOLATIONS: [Interpolation; 3] =
    [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Area];
pub(super) const TYPES: [TensorType; 5] =
    [TensorType::Float32, TensorType::Float16, TensorType::UInt8, TensorType::Int8, TensorType::Int32];
pub(super) const ORDERS: [ChannelOrder; 3] = [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray];

/// What no tensor is full of.
pub(super) const POISON: u8 = 0xcd;

pub(super) fn format(pixels: PixelFormat, (width, height): (usize, usize), seed: u64) -> FrameFormat {
    let matrix = Matrix::ALL[seed as usize % Matrix::ALL.len()];
    let range = if seed.is_multiple_of(2) { Range::Limited } else { Range::Full };
    FrameFormat { pixels, width, height, matrix, range }
}

/// Turned by any angle, mirrored or not, of scales from a quarter to 6, about any point in and around the frame.
fn map(random: &mut Random, (width, height): (usize, usize), size: (usize, usize)) -> Affine {
    let (sin, cos) = f64::from(random.range(-4.0, 4.0)).sin_cos();
    let (sin, cos) = if random.below(3) == 0 { (0.0, 1.0) } else { (sin, cos) };
    let [sx, sy] = [(); 2].map(|()| f64::from(random.range(0.25, 6.0)));
    let sx = if random.below(4) == 0 { -sx } else { sx };
    let (scale, skew) = ([cos * sx, cos * sy], [-sin * sy, sin * sx]);
    let center = [width, height].map(|side| f64::from(random.range(-10.0, 10.0 + side as f32)));
    let half = [0.5 * size.0 as f64, 0.5 * size.1 as f64];
    let offset = [
        center[0] - scale[0] * half[0] - skew[0] * half[1],
        center[1] - skew[1] * half[0] - scale[1] * half[1],
    ];
    Affine { scale, skew, offset }
}

/// Any padding that regions of such frames can have on a GPU.
pub(super) fn padding(pixels: PixelFormat, random: &mut Random) -> Padding {
    match random.below(512) {
        256.. if pixels != PixelFormat::Gray8 => Padding::Mean,
        value => Padding::Pixel(value as u8),
    }
}

/// Each plane `shift` bytes after an aligned address.
pub(super) fn planes(stream: &CudaStream, owned: &Owned, shift: usize) -> Vec<Memory> {
    let shifted = |data: &[u8]| [&vec![POISON; shift], data].concat();
    owned.planes.iter().map(|(data, _)| upload(stream, &shifted(data))).collect()
}

fn run<M: RegionMap, const N: usize>(
    stream: &CudaStream,
    owned: &Owned,
    params: &PreprocParams,
    maps: &[M],
    shift: usize,
) -> Vec<u8> {
    let regions = CudaRegions::<M, N>::new(owned.format, params.clone(), stream).unwrap();
    let memories = planes(stream, owned, shift);
    let planes: Vec<_> = memories
        .iter()
        .zip(&owned.planes)
        .map(|(memory, (_, stride))| DevicePlane::new(memory.slice().after(shift), *stride))
        .collect();
    let frame = DeviceFrame::new(&owned.format, &planes).unwrap();
    let (guard, bytes) = (64 + shift * params.ty.size(), maps.len() * regions.bytes());
    let around = upload(stream, &vec![POISON; guard + bytes + 64]);
    regions.run(stream, &frame, maps, around.slice().after(guard).first(bytes)).unwrap();
    let mut got = download(stream, around.slice());
    assert!(got.drain(..guard).all(|byte| byte == POISON), "written before the tensor");
    assert!(got.split_off(bytes).iter().all(|byte| *byte == POISON), "written after the tensor");
    got
}

fn twin<M: RegionMap>(owned: &Owned, params: &PreprocParams, maps: &[M]) -> Vec<u8> {
    let mut regions = RegionPreproc::new(owned.format, params.clone()).unwrap();
    let mut tensor = vec![!POISON; maps.len() * regions.bytes()];
    regions.run(&owned.frame(), maps, &mut tensor).unwrap();
    tensor
}

/// `N` is the most regions of a launch.
#[track_caller]
pub(super) fn assert_equals_cpu<M: RegionMap, const N: usize>(
    stream: &CudaStream,
    owned: &Owned,
    params: &PreprocParams,
    maps: &[M],
    shift: usize,
) {
    let (ours, theirs) = (run::<M, N>(stream, owned, params, maps, shift), twin(owned, params, maps));
    let wrong = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
    let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert!(wrong == 0, "{wrong} bytes differ from {first:?} on: {:?} {params:?} {shift}", owned.format);
}

#[track_caller]
fn assert_equals_twin(
    stream: &CudaStream,
    owned: &Owned,
    params: &PreprocParams,
    maps: &[Affine],
    shift: usize,
) {
    assert_equals_cpu::<Affine, 64>(stream, owned, params, maps, shift);
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_type_and_interpolation_equals_the_twin_at_odd_sizes_strides_and_addresses() {
    let stream = stream();
    let mut random = Random::new(5);
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for ty in TYPES {
                for layout in [Layout::Nchw, Layout::Nhwc] {
                    for (frame, tensor) in [((65, 33), (13, 11)), ((17, 9), (16, 20)), ((1, 1), (3, 2))] {
                        seed += 1;
                        let params = PreprocParams {
                            width: tensor.0,
                            height: tensor.1,
                            interpolation,
                            ty,
                            layout,
                            channels: ORDERS[seed as usize % 3],
                            mean: [0.4, -0.5, 0.6],
                            std: [0.2, 0.3, -0.25],
                            quant_scale: 0.02,
                            zero_point: if ty == TensorType::UInt8 { 100 } else { -3 },
                            padding: padding(pixels, &mut random),
                            ..PreprocParams::default()
                        };
                        let maps: Vec<Affine> =
                            (0..1 + random.below(5)).map(|_| map(&mut random, frame, tensor)).collect();
                        let owned = Owned::noise(format(pixels, frame, seed), seed as usize % 4 * 5, seed);
                        assert_equals_twin(&stream, &owned, &params, &maps, seed as usize % 5);
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_frames_and_regions_equal_the_twin() {
    let stream = stream();
    let mut random = Random::new(6);
    for (i, pixels) in PixelFormat::ALL.into_iter().enumerate() {
        for (frame, tensor) in [((1281, 721), (224, 224)), ((16_384, 40), (160, 97))] {
            let params = PreprocParams {
                width: tensor.0,
                height: tensor.1,
                interpolation: INTERPOLATIONS[i % 3],
                ty: TYPES[i % 5],
                ..PreprocParams::default()
            };
            let mut maps: Vec<Affine> = (0..3).map(|_| map(&mut random, frame, tensor)).collect();
            // The whole frame.
            let whole = [frame.0 as f64 / tensor.0 as f64, frame.1 as f64 / tensor.1 as f64];
            maps.push(Affine::upright(whole, [0.0, 0.0]));
            let owned = Owned::noise(format(pixels, frame, i as u64), 0, i as u64);
            assert_equals_twin(&stream, &owned, &params, &maps, 0);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_number_of_regions_is_made_in_a_launch_for_each_64() {
    let stream = stream();
    let mut random = Random::new(7);
    let params = PreprocParams { width: 20, height: 7, ty: TensorType::Float16, ..PreprocParams::default() };
    let owned = Owned::noise(format(PixelFormat::Nv12, (320, 180), 2), 0, 1);
    let maps: Vec<Affine> = (0..300).map(|_| map(&mut random, (320, 180), (20, 7))).collect();
    for (n, launches) in [(0, 0), (1, 1), (7, 1), (64, 1), (65, 2), (300, 5)] {
        let before = stream.counters().launches.get();
        assert_equals_twin(&stream, &owned, &params, &maps[..n], 0);
        assert_eq!(stream.counters().launches.get(), before + launches, "{n}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_does_not_fit_is_refused_and_nothing_enqueued() {
    let stream = stream();
    let owned = Owned::noise(format(PixelFormat::Gray8, (16, 16), 2), 0, 1);
    let params = PreprocParams { width: 8, height: 8, resize: Resize::Letterbox, ..PreprocParams::default() };
    let mean = PreprocParams { padding: Padding::Mean, ..params.clone() };
    assert_eq!(CudaRegionPreproc::new(owned.format, mean, &stream).unwrap_err(), PreprocError::GreyRegions);
    let regions = CudaRegionPreproc::new(owned.format, params, &stream).unwrap();
    let memories = planes(&stream, &owned, 0);
    let frame = DeviceFrame::new(&owned.format, &[DevicePlane::new(memories[0].slice(), 16)]).unwrap();
    let bytes = regions.bytes();
    let tensor = upload(&stream, &vec![POISON; 2 * bytes]);
    let bad = [Affine::IDENTITY, Affine { offset: [f64::NAN, 0.0], ..Affine::IDENTITY }];
    assert_eq!(regions.run(&stream, &frame, &bad, tensor.slice()).unwrap_err(), PreprocError::Region(1));
    let wanted = PreprocError::Tensor { wanted: bytes, given: 2 * bytes };
    assert_eq!(regions.run(&stream, &frame, &bad[..1], tensor.slice()).unwrap_err(), wanted);
    let odd = tensor.slice().after(1).first(bytes);
    let error = regions.run(&stream, &frame, &bad[..1], odd).unwrap_err();
    assert!(matches!(error, PreprocError::Unaligned { .. }), "{error}");
    assert!(download(&stream, tensor.slice()).iter().all(|byte| *byte == POISON));
}
