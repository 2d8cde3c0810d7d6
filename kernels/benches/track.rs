//! The cost of one frame for a tracker. Objects walk through a 1920 x 1080 frame and their detections tremble by some pixels,
//! as a detector's do. The floor is one pass over the tracks x detections IoU matrix. The assignment alone is measured on
//! the overlaps of two such frames, and on those of objects that all stand in one place.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use cudainfer_kernels::associate::{Assignment, Gate, assign, iou_pairs};
use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track::{Algorithm, TrackParams, Tracker};
use cudainfer_kernels::words::Words as _;

/// A repeatable pseudo-random number in 0..1 (SplitMix64).
fn noise(seed: u64) -> f32 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
}

/// 64 frames there and 64 back, so that they can be repeated forever without a jump.
fn walk(objects: u64) -> Vec<Vec<Detection>> {
    let frame = |t: u64| {
        let time = t.min(127 - t) as f32;
        let object = |i: u64| {
            let at = |k: u64| noise(i * 8 + k);
            let tremble = |k: u64| 4.0 * noise(1_000_000 + (t * objects + i) * 8 + k) - 2.0;
            let rect = Rect {
                x: 1880.0 * at(0) + time * (6.0 * at(1) - 3.0) + tremble(0),
                y: 990.0 * at(2) + time * (2.0 * at(3) - 1.0) + tremble(1),
                w: 40.0 + tremble(2),
                h: 90.0 + tremble(3),
            };
            // A fifth of them is weak, like detections of hidden objects.
            Detection { rect, confidence: 0.5 + 0.5 * noise(2_000_000 + t * objects + i), class: 0 }
        };
        (0..objects).map(object).collect()
    };
    (0..128).map(frame).collect()
}

fn update(c: &mut Criterion) {
    let mut group = c.benchmark_group("track");
    for objects in [10, 100, 1000, 5000] {
        let frames = walk(objects);
        for params in Algorithm::ALL.iter().copied().map(TrackParams::of) {
            let name = params.algorithm.word();
            let Ok(mut tracker) = Tracker::new(params) else { continue };
            let mut tracks = Vec::new();
            let mut next = frames.iter().cycle();
            group.bench_function(BenchmarkId::new(name, objects), |b| {
                b.iter(|| {
                    if let Some(frame) = next.next() {
                        tracker.update(frame, &mut tracks);
                    }
                    tracks.len()
                });
            });
        }
    }
    group.finish();
}

fn pairing(c: &mut Criterion) {
    let mut group = c.benchmark_group("assign");
    for (name, spread, sizes) in
        [("video", 1.0, &[10, 100, 1000, 5000][..]), ("heap", 0.01, &[10, 100, 1000])]
    {
        for &objects in sizes {
            let boxes = |detections: &[Detection]| -> Vec<Rect> {
                let rects = detections.iter().map(|detection| detection.rect);
                rects.map(|rect| Rect { x: rect.x * spread, y: rect.y * spread, ..rect }).collect()
            };
            let frames = walk(objects);
            let [before, now] = [&frames[0], &frames[1]].map(|frame| boxes(frame));
            let mut pairs = Vec::new();
            iou_pairs(&before, &now, |_, _| true, &mut pairs);
            let mut found = Assignment::default();
            group.bench_function(BenchmarkId::new(name, objects), |b| {
                b.iter(|| {
                    assign(&pairs, before.len(), now.len(), Gate::Before(0.0), &mut found);
                    found.matches.len()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, update, pairing);
criterion_main!(benches);
