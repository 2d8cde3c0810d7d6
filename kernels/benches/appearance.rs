//! Appearance of boxes, on one core: a hundred boxes of the size of people in a 1080p frame, each of them sampled at 32x64
//! pixels. The throughput is that of boxes.
//!
//! `cargo bench -p cudainfer-kernels --bench appearance`

#![allow(clippy::expect_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use cudainfer_kernels::appearance::Describer;
use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

/// A gradient under noise.
fn planes(format: &FrameFormat) -> Vec<(Vec<u8>, usize)> {
    let mut state = 0x2545_f491_u32;
    (0..format.pixels.planes())
        .map(|plane| {
            let stride = format.pixels.row_bytes(plane, format.width).next_multiple_of(64);
            let data = (0..stride * format.pixels.rows(plane, format.height)).map(|i| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (i % stride * 128 / stride) as u8 + (state >> 26) as u8
            });
            (data.collect(), stride)
        })
        .collect()
}

fn appearance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("appearance 1920x1080");
    let rect = |i: u8| {
        let (i, j) = (f32::from(i % 25), f32::from(i / 25));
        Rect { x: 70.0 * i + 3.7, y: 230.0 * j + 11.2, w: 60.0 + 3.0 * i, h: 130.0 + 40.0 * j }
    };
    let boxes: Vec<_> = (0..100).map(rect).collect();
    let mut found = Vec::new();
    group.throughput(Throughput::Elements(100));
    for pixels in [PixelFormat::Nv12, PixelFormat::I420, PixelFormat::Rgb, PixelFormat::Bgrx] {
        let (width, height) = (1920, 1080);
        let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
        let planes = planes(&format);
        let views: Vec<_> = planes.iter().map(|(data, stride)| (data.as_slice(), *stride)).collect();
        let frame = Frame::new(&format, &views).expect("planes of the format's size");
        let describer = Describer::new(format).expect("a valid size");
        group.bench_function(format!("100 boxes, {pixels:?}"), |b| {
            b.iter(|| describer.run(&frame, &boxes, &mut found).expect("sizes fit"));
        });
    }
    group.finish();
}

criterion_group!(benches, appearance);
criterion_main!(benches);
