//! Preprocessing on one core. The throughput is that of the bytes that must move: the frame once, the tensor once.
//!
//! `cargo bench -p cudainfer-kernels --bench preproc`

#![allow(clippy::expect_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::preproc::{
    Fit, Interpolation, Layout, Preproc, PreprocParams, RegionPreproc, Resize, region,
};
use cudainfer_kernels::tensor::TensorType;

/// Planes with 64-byte rows of a diagonal gradient under noise: neither constant nor random alone.
fn planes(format: &FrameFormat) -> Vec<(Vec<u8>, usize)> {
    let mut state = 0x2545_f491_u32;
    (0..format.pixels.planes())
        .map(|plane| {
            let stride = format.pixels.row_bytes(plane, format.width).next_multiple_of(64);
            let rows = format.pixels.rows(plane, format.height);
            let data = (0..stride * rows)
                .map(|i| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let gradient = (i % stride * 128 / stride + i / stride * 64 / rows) as u8;
                    gradient + (state >> 26) as u8
                })
                .collect();
            (data, stride)
        })
        .collect()
}

fn bench(c: &mut Criterion, name: &str, pixels: PixelFormat, size: (usize, usize), params: PreprocParams) {
    let (width, height) = size;
    let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
    let planes = planes(&format);
    let views: Vec<_> = planes.iter().map(|(data, stride)| (data.as_slice(), *stride)).collect();
    let frame = Frame::new(&format, &views).expect("planes of the format's size");
    let tensor_size = format!("{}x{}", params.width, params.height);
    let mut preproc = Preproc::new(format, params).expect("valid parameters");
    let mut tensor = vec![0; preproc.bytes()];
    let rows = |plane| pixels.row_bytes(plane, width) * pixels.rows(plane, height);
    let moved = (0..pixels.planes()).map(rows).sum::<usize>() + tensor.len();
    let mut group = c.benchmark_group("preproc");
    group.throughput(Throughput::Bytes(moved as u64));
    let id = BenchmarkId::new(name, format!("{pixels:?}-{width}x{height}-to-{tensor_size}"));
    group.bench_function(id, |b| b.iter(|| preproc.run(&frame, &mut tensor).expect("sizes fit")));
    group.finish();
}

/// Ten regions of 224x224 of a 1080p frame, upright or turned, enlarging or shrinking. The throughput is that of tensor
/// pixels.
fn regions(c: &mut Criterion) {
    let format = FrameFormat {
        pixels: PixelFormat::Nv12,
        width: 1920,
        height: 1080,
        matrix: Matrix::Bt709,
        range: Range::Limited,
    };
    let planes = planes(&format);
    let views: Vec<_> = planes.iter().map(|(data, stride)| (data.as_slice(), *stride)).collect();
    let frame = Frame::new(&format, &views).expect("planes of the format's size");
    let mut group = c.benchmark_group("regions");
    for (name, angle, side) in
        [("upright", 0.0, 300.0), ("turned", 0.7, 300.0), ("enlarging", 0.0, 90.0), ("area", 0.0, 700.0)]
    {
        let interpolation = if name == "area" { Interpolation::Area } else { Interpolation::Bilinear };
        let params = PreprocParams { width: 224, height: 224, interpolation, ..PreprocParams::default() };
        let maps: Vec<_> = (0..10u8)
            .filter_map(|i| {
                let rect = Rect { x: 100.0 * f32::from(i), y: 50.0 * f32::from(i), w: side, h: side };
                region(rect, angle, 1.0, Fit::Letterbox, [224, 224], [format.width, format.height])
            })
            .collect();
        let mut regions = RegionPreproc::new(format, params).expect("valid parameters");
        let mut tensor = vec![0; maps.len() * regions.bytes()];
        group.throughput(Throughput::Elements(maps.len() as u64 * 224 * 224));
        group.bench_function(name, |b| {
            b.iter(|| regions.run(&frame, &maps, &mut tensor).expect("sizes fit"));
        });
    }
    group.finish();
}

fn all(c: &mut Criterion) {
    let stretch =
        PreprocParams { width: 416, height: 416, resize: Resize::Stretch, ..PreprocParams::default() };
    let letterbox = PreprocParams { width: 640, height: 640, ..PreprocParams::default() };
    let (sd, hd) = ((768, 576), (1920, 1080));
    for pixels in PixelFormat::ALL {
        bench(c, "stretch", pixels, sd, stretch.clone());
    }
    let f16_nhwc = PreprocParams { ty: TensorType::Float16, layout: Layout::Nhwc, ..stretch.clone() };
    bench(c, "stretch-f16-nhwc", PixelFormat::Nv12, sd, f16_nhwc);
    let int8 = PreprocParams { ty: TensorType::Int8, scale: 1.0, zero_point: -128, ..stretch.clone() };
    bench(c, "stretch-int8", PixelFormat::Nv12, sd, int8);
    let area = PreprocParams { interpolation: Interpolation::Area, ..stretch.clone() };
    bench(c, "stretch-area", PixelFormat::Nv12, sd, area);
    let nearest = PreprocParams { interpolation: Interpolation::Nearest, ..stretch };
    bench(c, "stretch-nearest", PixelFormat::Nv12, sd, nearest);
    bench(c, "letterbox", PixelFormat::Nv12, hd, letterbox.clone());
    // A scale that is no odd integer, so that every tensor pixel mixes four.
    bench(c, "letterbox", PixelFormat::Nv12, (1280, 720), letterbox.clone());
    let area = PreprocParams { interpolation: Interpolation::Area, ..letterbox.clone() };
    bench(c, "letterbox-area", PixelFormat::Nv12, hd, area);
    for (name, interpolation) in [
        ("letterbox-pil-bilinear", Interpolation::PilBilinear),
        ("letterbox-pil-bicubic", Interpolation::PilBicubic),
    ] {
        bench(c, name, PixelFormat::Nv12, hd, PreprocParams { interpolation, ..letterbox.clone() });
    }
    let crop = PreprocParams { resize: Resize::CenterCrop, width: 224, height: 224, ..letterbox.clone() };
    bench(c, "centre-crop", PixelFormat::Nv12, hd, crop);
    bench(c, "letterbox-enlarging", PixelFormat::Nv12, (384, 384), letterbox);
}

criterion_group!(benches, all, regions);
criterion_main!(benches);
