//! Against the reference, with a tolerance of 2e-3 of 0..255: float32 is exact to 3e-5 there, a few operations and area sums
//! of a few dozen terms lose less than ten times that, and on noise any mistake in geometry or colour makes a far larger
//! difference.

mod colour;
mod elements;
mod geometry;
mod libraries;
mod limits;
mod reference;
mod regions;
mod warp;

use super::*;
use crate::frame::{Matrix, PixelFormat, Range};
use crate::tensor::TensorType;
use reference::{Owned, pixels};

const TOLERANCE: f64 = 2e-3;

const TYPES: [TensorType; 5] =
    [TensorType::Float32, TensorType::Float16, TensorType::UInt8, TensorType::Int8, TensorType::Int32];
/// Filters work on colours of 8 bits: a value that is a half but for the last bits of its conversion may be rounded either way.
const FILTER_TOLERANCE: f64 = 1.0 + TOLERANCE;

const RESIZES: [Resize; 5] =
    [Resize::Letterbox, Resize::LetterboxTopLeft, Resize::Stretch, Resize::CenterCrop, Resize::Pad];
const INTERPOLATIONS: [Interpolation; 5] = [
    Interpolation::Bilinear,
    Interpolation::Nearest,
    Interpolation::Area,
    Interpolation::PilBilinear,
    Interpolation::PilBicubic,
];

fn format(pixels: PixelFormat, (width, height): (usize, usize)) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

/// Parameters whose elements are pixel values.
fn plain((width, height): (usize, usize)) -> PreprocParams {
    PreprocParams { width, height, scale: 1.0, ..PreprocParams::default() }
}

fn run(owned: &Owned, params: &PreprocParams) -> Vec<u8> {
    let mut preproc = Preproc::new(owned.format, params.clone()).unwrap();
    let mut tensor = vec![0xaa; preproc.bytes()];
    preproc.run(&owned.frame(), &mut tensor).unwrap();
    // Again, over the first result: nothing of the previous frame may remain.
    let first = tensor.clone();
    tensor.fill(0x55);
    preproc.run(&owned.frame(), &mut tensor).unwrap();
    assert!(first == tensor, "the second run differs");
    tensor
}

fn floats(tensor: &[u8]) -> Vec<f32> {
    tensor.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

#[track_caller]
fn assert_equals_reference(owned: &Owned, params: &PreprocParams) {
    let (ours, theirs) = (floats(&run(owned, params)), pixels(owned, params));
    assert_eq!(ours.len(), theirs.len());
    let filter = reference::is_filter(params.interpolation);
    let most = if filter { FILTER_TOLERANCE } else { TOLERANCE };
    for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        let close = (f64::from(*a) - b).abs() < most;
        assert!(close, "element {i} is {a}, not {b}: {:?} {params:?}", owned.format);
    }
    // There are few such halves, but one may reach several elements.
    let equal = |(a, b): &(&f32, &f64)| (f64::from(**a) - **b).abs() < TOLERANCE;
    let others = ours.iter().zip(&theirs).filter(|pair| !equal(pair)).count();
    assert!(others <= 6 + ours.len() / 16, "{others} of {}: {:?} {params:?}", ours.len(), owned.format);
}

#[test]
fn every_format_resize_and_interpolation_equals_the_reference_at_odd_sizes() {
    // Same size, enlarging, shrinking by odd, even, fractional and large factors, one pixel, opposite aspects.
    let shapes = [
        ((1, 1), (1, 1)),
        ((1, 1), (9, 17)),
        ((9, 17), (1, 1)),
        ((9, 17), (9, 17)),
        ((9, 17), (33, 20)),
        ((65, 33), (9, 17)),
        ((65, 33), (17, 65)),
        ((65, 33), (13, 11)),
        ((33, 18), (64, 65)),
        ((2, 65), (65, 2)),
        ((64, 36), (32, 18)),
        ((63, 27), (21, 9)),
        ((8, 18), (2, 26)),
    ];
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for resize in RESIZES {
            for interpolation in INTERPOLATIONS {
                for (frame, tensor) in shapes {
                    seed += 1;
                    let owned = Owned::noise(format(pixels, frame), seed as usize % 3 * 5, seed);
                    assert_equals_reference(
                        &owned,
                        &PreprocParams { resize, interpolation, ..plain(tensor) },
                    );
                }
            }
        }
    }
}

#[test]
fn every_matrix_range_and_channel_order_equals_the_reference() {
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for matrix in Matrix::ALL {
            for range in [Range::Limited, Range::Full] {
                for channels in [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray] {
                    for tensor in [(11, 7), (40, 21)] {
                        seed += 1;
                        let source = FrameFormat { matrix, range, ..format(pixels, (17, 9)) };
                        let owned = Owned::noise(source, 3, seed);
                        assert_equals_reference(&owned, &PreprocParams { channels, ..plain(tensor) });
                    }
                }
            }
        }
    }
}

#[test]
fn area_over_hundreds_of_rows_and_columns_equals_the_reference() {
    let owned = Owned::noise(format(PixelFormat::Nv12, (401, 223)), 1, 5);
    let area = PreprocParams { interpolation: Interpolation::Area, resize: Resize::Stretch, ..plain((3, 2)) };
    assert_equals_reference(&owned, &area);
}
