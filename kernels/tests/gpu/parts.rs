//! The operation `preproc`, parts of a frame: equal to the CPU twin bit by bit, which the crate's own tests compare with a
//! reference in f64, with OpenCV and with Pillow.

use cudainfer_kernels::device::{CudaStream, Memory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{
    CudaPartPreproc, Layout, Padding, Part, PartPreproc, PreprocError, PreprocParams, Resize,
};
use cudainfer_kernels::tensor::TensorType;

use super::preproc::reference::Owned;
use super::preproc::{INTERPOLATIONS, ORDERS, RESIZES, frame};
use super::{Random, download, stream, upload};

const TYPES: [TensorType; 4] =
    [TensorType::Float32, TensorType::Float16, TensorType::UInt8, TensorType::Int8];

fn format(pixels: PixelFormat, (width, height): (usize, usize)) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

/// A part of any size, anywhere.
fn part(random: &mut Random, (width, height): (usize, usize)) -> Part {
    let mut side = |most: usize| {
        let begin = random.below(most);
        (begin, 1 + random.below(most - begin))
    };
    let ((x, width), (y, height)) = (side(width), side(height));
    Part { x, y, width, height }
}

fn planes(stream: &CudaStream, owned: &Owned) -> Vec<Memory> {
    owned.planes.iter().map(|(data, _)| upload(stream, data)).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_interpolation_and_resize_equals_the_twin() {
    let stream = stream();
    let mut random = Random::new(9);
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for resize in RESIZES {
                for ty in TYPES {
                    seed += 1;
                    let size = (1 + random.below(90), 1 + random.below(70));
                    let params = PreprocParams {
                        width: 1 + random.below(40),
                        height: 1 + random.below(40),
                        interpolation,
                        resize,
                        crop_ratio: f64::from(random.range(0.5, 1.0)),
                        ty,
                        layout: if seed % 2 == 0 { Layout::Nchw } else { Layout::Nhwc },
                        channels: ORDERS[seed % 3],
                        padding: if seed % 3 == 0 { Padding::Mean } else { Padding::Pixel(90) },
                        mean: [0.4, -0.5, 0.6],
                        std: [0.2, 0.3, -0.25],
                        quant_scale: 0.02,
                        zero_point: if ty == TensorType::UInt8 { 100 } else { -3 },
                        ..PreprocParams::default()
                    };
                    let owned = Owned::noise(format(pixels, size), seed % 4 * 5, seed as u64);
                    let parts: Vec<Part> =
                        (0..1 + random.below(70)).map(|_| part(&mut random, size)).collect();
                    let twin = PartPreproc::new(owned.format, params.clone()).unwrap();
                    let mut wanted = vec![0; parts.len() * twin.bytes()];
                    twin.run(&owned.frame(), &parts, &mut wanted).unwrap();
                    let mut preproc = CudaPartPreproc::new(owned.format, params.clone(), &stream).unwrap();
                    let memories = planes(&stream, &owned);
                    let tensor = upload(&stream, &vec![0xcd; wanted.len()]);
                    preproc.run(&stream, &frame(&owned, &memories), &parts, tensor.slice()).unwrap();
                    let got = download(&stream, tensor.slice());
                    let wrong = got.iter().zip(&wanted).filter(|(a, b)| a != b).count();
                    assert!(wrong == 0, "{wrong} bytes differ: {:?} {params:?}", owned.format);
                    for part in &parts {
                        assert_eq!(preproc.affine(part).unwrap(), twin.affine(part).unwrap());
                    }
                }
            }
        }
    }
}

/// Tables of one frame are not overwritten by those of the next, however many are under way.
#[test]
#[ignore = "needs a CUDA device"]
fn frames_one_after_the_other_keep_their_own_parts() {
    let stream = stream();
    let mut random = Random::new(10);
    let size = (320, 180);
    let owned = Owned::noise(format(PixelFormat::Nv12, size), 0, 1);
    let params =
        PreprocParams { width: 64, height: 128, resize: Resize::Stretch, ..PreprocParams::default() };
    let twin = PartPreproc::new(owned.format, params.clone()).unwrap();
    let mut preproc = CudaPartPreproc::new(owned.format, params, &stream).unwrap();
    let memories = planes(&stream, &owned);
    let frame = frame(&owned, &memories);
    let mut runs = Vec::new();
    for n in [1, 5, 0, 40, 3, 100, 2, 7, 1] {
        let parts: Vec<Part> = (0..n).map(|_| part(&mut random, size)).collect();
        let tensor = stream.allocate((n * twin.bytes()).max(1)).unwrap();
        preproc.run(&stream, &frame, &parts, tensor.slice().first(n * twin.bytes())).unwrap();
        runs.push((parts, tensor));
    }
    for (parts, tensor) in runs {
        let mut wanted = vec![0; parts.len() * twin.bytes()];
        twin.run(&owned.frame(), &parts, &mut wanted).unwrap();
        assert!(download(&stream, tensor.slice().first(wanted.len())) == wanted, "{} parts", parts.len());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_does_not_fit_is_refused_as_the_twin_refuses_it() {
    let stream = stream();
    let owned = Owned::noise(format(PixelFormat::Gray8, (16, 16)), 0, 1);
    let params = PreprocParams { width: 8, height: 8, ..PreprocParams::default() };
    let mut preproc = CudaPartPreproc::new(owned.format, params, &stream).unwrap();
    let memories = planes(&stream, &owned);
    let frame = frame(&owned, &memories);
    let good = Part { x: 0, y: 0, width: 16, height: 16 };
    let bytes = preproc.bytes();
    let tensor = upload(&stream, &vec![0xcd; 2 * bytes]);
    let error = preproc.run(&stream, &frame, &[good, Part { y: 1, ..good }], tensor.slice()).unwrap_err();
    assert_eq!(error, PreprocError::Part(1));
    let error = preproc.run(&stream, &frame, &[good], tensor.slice()).unwrap_err();
    assert_eq!(error, PreprocError::Tensor { wanted: bytes, given: 2 * bytes });
    let odd = tensor.slice().after(1).first(bytes);
    let error = preproc.run(&stream, &frame, &[good], odd).unwrap_err();
    assert!(matches!(error, PreprocError::Unaligned { .. }), "{error}");
    assert!(download(&stream, tensor.slice()).iter().all(|byte| *byte == 0xcd));
}
