//! Peak search on maps as networks give them (gaussians over a little noise) and on noise alone, where every ninth
//! cell is a peak. The bytes that must move are the map's, read once: 17x96x72 float32 is 470 kB.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::peaks::{Mode, PeakFinder, PeakParams};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

/// `people` gaussians a channel over noise of the given height, channels first.
fn maps(c: usize, h: usize, w: usize, people: usize, noise: f32) -> Vec<f32> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let mut data: Vec<f32> = (0..c * h * w).map(|_| noise * random()).collect();
    for plane in data.chunks_exact_mut(h * w) {
        for _ in 0..people {
            let (px, py) = (w as f32 * random(), h as f32 * random());
            for (i, v) in plane.iter_mut().enumerate() {
                let (dx, dy) = ((i % w) as f32 - px, (i / w) as f32 - py);
                *v += 0.9 * (-(dx * dx + dy * dy) / 8.0).exp();
            }
        }
    }
    data
}

fn peaks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("peaks");
    for (name, [c, h, w], people, noise, mode) in [
        ("local 17x96x72, 3 people", [17, 96, 72], 3, 0.1, Mode::Local),
        ("global 17x96x72, 1 person", [17, 96, 72], 1, 0.1, Mode::Global),
        ("local 2x192x192, 10 people", [2, 192, 192], 10, 0.1, Mode::Local),
        ("local 17x96x72, noise", [17, 96, 72], 0, 1.0, Mode::Local),
    ] {
        let first = maps(c, h, w, people, noise);
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let (dims, data) = match layout {
                Layout::Nchw => ([1, c, h, w], first.clone()),
                Layout::Nhwc => {
                    let at = |i: usize| first[(i % c) * h * w + i / c];
                    ([1, h, w, c], (0..c * h * w).map(at).collect())
                }
            };
            let half: Vec<f16> = data.iter().map(|v| f16::from_f32(*v)).collect();
            let types = [
                (TensorType::Float32, bytemuck::cast_slice::<_, u8>(&data)),
                (TensorType::Float16, bytemuck::cast_slice(&half)),
            ];
            for (ty, bytes) in types {
                let desc = TensorDesc::fixed("maps", ty, &dims);
                let params = PeakParams { mode, layout: Some(layout), ..PeakParams::default() };
                let Ok(mut finder) = PeakFinder::new(&desc, [4 * w, 4 * h], params) else { continue };
                let Ok(view) = TensorView::new("maps", ty, &dims, bytes) else { continue };
                let mut found = Vec::new();
                group.throughput(Throughput::Bytes(bytes.len() as u64));
                group.bench_function(format!("{name} {layout:?} {ty}"), |b| {
                    b.iter(|| finder.run(black_box(&view), &Affine::IDENTITY, &mut found).is_ok());
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, peaks);
criterion_main!(benches);
