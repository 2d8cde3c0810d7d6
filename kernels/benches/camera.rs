//! The camera's motion, on one core: shrinking a 1080p frame, and comparing its picture with the previous one, which is either
//! the same, or turned and shifted.
//!
//! `cargo bench -p cudainfer-kernels --bench camera`

#![allow(clippy::expect_used)]

use criterion::{Criterion, criterion_group, criterion_main};
use cudainfer_kernels::camera::{Estimator, Picture, Shrink};
use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::{Affine, Rect};

const FRAME: [usize; 2] = [1920, 1080];
const SIZE: [usize; 2] = [480, 270];

/// Smooth shapes of several sizes under a little noise: corners in every cell.
fn picture(degrees: f32, shift: [f32; 2], seed: u32) -> Vec<u8> {
    let mut state = seed;
    let (sin, cos) = degrees.to_radians().sin_cos();
    let waves = [(0.21, 0.13), (-0.17, 0.29), (0.43, -0.31), (0.05, 0.47), (-0.37, -0.11), (0.023, -0.031)];
    let pixels = (0..SIZE[0] * SIZE[1]).map(|i| {
        let (x, y) = ((i % SIZE[0]) as f32 - 240.0, (i / SIZE[0]) as f32 - 135.0);
        let (x, y) = (cos * x - sin * y + shift[0], sin * x + cos * y + shift[1]);
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let value: f32 = waves.iter().map(|(u, v)| (u * x + v * y + 3.0 * (0.01 * x * v).sin()).sin()).sum();
        (128.0 + 19.0 * value) as u8 + (state >> 30) as u8
    });
    pixels.collect()
}

fn camera(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("camera 1920x1080");
    for pixels in [PixelFormat::Nv12, PixelFormat::Bgrx] {
        let format = FrameFormat {
            pixels,
            width: FRAME[0],
            height: FRAME[1],
            matrix: Matrix::Bt709,
            range: Range::Limited,
        };
        let planes: Vec<(Vec<u8>, usize)> = (0..pixels.planes())
            .map(|plane| {
                let stride = pixels.row_bytes(plane, FRAME[0]);
                ((0..stride * pixels.rows(plane, FRAME[1])).map(|i| (i * 7 % 251) as u8).collect(), stride)
            })
            .collect();
        let views: Vec<_> = planes.iter().map(|(data, stride)| (data.as_slice(), *stride)).collect();
        let frame = Frame::new(&format, &views).expect("planes of the format's size");
        let mut shrink = Shrink::new(format).expect("a valid size");
        group.bench_function(format!("shrink, {pixels:?}"), |b| {
            b.iter(|| shrink.run(&frame).expect("sizes fit").pixels()[1000]);
        });
    }
    let views = [picture(0.0, [0.0, 0.0], 1), picture(0.5, [3.3, -1.6], 2)];
    let views = views.each_ref().map(|pixels| Picture::new(pixels, SIZE, FRAME).expect("a valid size"));
    let at = |i: u8| (f32::from(i % 10) * 190.0, f32::from(i / 10) * 210.0);
    let boxes: Vec<_> = (0..50).map(|i| Rect { x: at(i).0, y: at(i).1, w: 80.0, h: 120.0 }).collect();
    let mut estimator = Estimator::new();
    for (name, boxes) in [("moving", &[][..]), ("moving, 50 boxes", &boxes)] {
        group.bench_function(name, |b| {
            let mut turn = views.iter().cycle();
            b.iter(|| turn.next().map(|view| estimator.update(view, boxes)));
        });
        let found = views.iter().cycle().take(3).map(|view| estimator.update(view, boxes)).last();
        assert!(found.flatten().is_some_and(|found| found != Affine::IDENTITY), "the motion is found");
    }
    group.bench_function("standing", |b| b.iter(|| estimator.update(&views[0], &[])));
    group.finish();
}

criterion_group!(benches, camera);
criterion_main!(benches);
