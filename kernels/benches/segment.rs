//! Masks from logits of 21 classes on 512x512 cells, the cost of clean-up, masks taken to a 1080p frame, and those of 20
//! objects. The bytes that must move are the logits', read once (11 MB of float16), and with smoothing the state's, read and
//! written.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{Activation, Prototypes, Resize, SegmentParams, Segmenter};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

/// Noise with one class above the others in each tile of 64x64 cells.
fn scene([c, h, w]: [usize; 3], layout: Layout, ty: TensorType) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let noise: Vec<f32> = (0..c * h * w).map(|_| 4.0 * random()).collect();
    let values = (0..c * h * w).map(|i| {
        let (class, cell) = match layout {
            Layout::Nchw => (i / (h * w), i % (h * w)),
            Layout::Nhwc => (i % c, i / c),
        };
        noise[i] + if class == (cell % w / 64 + 3 * (cell / w / 64)) % c { 3.5 } else { 0.0 }
    });
    match ty {
        TensorType::Float16 => values.flat_map(|v| f16::from_f32(v).to_ne_bytes()).collect(),
        _ => values.flat_map(f32::to_ne_bytes).collect(),
    }
}

fn segment(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("segment");
    group.sample_size(20);
    let argmax = SegmentParams::default();
    let smooth = SegmentParams { smoothing: 0.7, ..argmax };
    let clean = SegmentParams { opening: 1, closing: 1, min_area: 64, ..argmax };
    let alpha = SegmentParams { soft: true, activation: Activation::Softmax, channel: 1, ..argmax };
    for (name, dims, params) in [
        ("argmax 21x512x512", [21, 512, 512], argmax),
        ("argmax + smoothing 21x512x512", [21, 512, 512], smooth),
        ("argmax + clean-up 21x512x512", [21, 512, 512], clean),
        ("alpha 2x256x256", [2, 256, 256], alpha),
    ] {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in [TensorType::Float32, TensorType::Float16] {
                let [c, h, w] = dims;
                let shape = match layout {
                    Layout::Nchw => [1, c, h, w],
                    Layout::Nhwc => [1, h, w, c],
                };
                let bytes = scene(dims, layout, ty);
                let desc = TensorDesc::fixed("logits", ty, &shape);
                let params = SegmentParams { layout: Some(layout), ..params };
                let Ok(mut segmenter) = Segmenter::new(&desc, [w, h], params) else { continue };
                let Ok(view) = TensorView::new("logits", ty, &shape, &bytes) else { continue };
                let mut mask = vec![0; h * w];
                group.throughput(Throughput::Bytes(bytes.len() as u64));
                group.bench_function(format!("{name} {layout:?} {ty}"), |b| {
                    b.iter(|| segmenter.run(black_box(&view), &mut mask).is_ok());
                });
            }
        }
    }
    let mask: Vec<u8> = (0..512 * 512).map(|i| (i / 64 % 8 + i / 32_768) as u8).collect();
    let mut out = vec![0; 1920 * 1080];
    group.throughput(Throughput::Bytes(out.len() as u64));
    for (name, soft) in [("mask to 1080p", false), ("mask to 1080p bilinear", true)] {
        let to_frame = Affine::upright([3.75, 3.75], [0.0, -420.0]);
        let resize = Resize { from: [512, 512], input: [512, 512], to_frame, frame: [1920, 1080], soft };
        group.bench_function(name, |b| b.iter(|| resize.run(black_box(&mask), &mut out, 1920).is_ok()));
    }
    for ty in [TensorType::Float32, TensorType::Float16] {
        let (dims, bytes) = ([1, 32, 160, 160], scene([32, 160, 160], Layout::Nchw, ty));
        let Ok(plan) = Prototypes::new(&TensorDesc::fixed("protos", ty, &dims), [640, 640], None) else {
            continue;
        };
        let Ok(view) = TensorView::new("protos", ty, &dims, &bytes) else { continue };
        let boxes: Vec<Rect> = (0..20)
            .map(|i| Rect { x: (i * 37 % 500) as f32, y: (i * 61 % 450) as f32, w: 120.0, h: 180.0 })
            .collect();
        let coefficients: Vec<f32> = (0..20 * 32).map(|i| (i * 7919 % 201) as f32 / 100.0 - 1.0).collect();
        let mut regions = Vec::new();
        let mut masks = vec![0; plan.regions(&boxes, &mut regions)];
        group.throughput(Throughput::Bytes(masks.len() as u64));
        group.bench_function(format!("masks of 20 objects 32x160x160 {ty}"), |b| {
            b.iter(|| plan.run(black_box(&view), &coefficients, &regions, &mut masks).is_ok());
        });
    }
    group.finish();
}

criterion_group!(benches, segment);
criterion_main!(benches);
