//! The operation `associate`: wall clock time of the CPU, which compares poses that are near, and of the GPU, which compares
//! all, copies and waiting included. Poses in one place show from which number on the GPU is faster; others lie all over a
//! 1080p frame.

use std::hint::black_box;
use std::time::Instant;

use cudainfer_kernels::associate::{COCO_SIGMAS, CudaSimilarity, Pose, oks_pairs};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::track::AREA_OF_BOX;

use crate::measure::{Times, row, row_of};

const COUNTS: [usize; 11] = [5, 10, 15, 20, 30, 50, 75, 100, 200, 500, 1000];

pub fn run(stream: &CudaStream) {
    let mut similarity = CudaSimilarity::new(stream).unwrap();
    let mut numbers = (1u32..).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 65536.0);
    let mut unit = || numbers.next().unwrap();
    let mut crossover = None;
    for (place, size) in [("in one place", [0.0; 2]), ("over 1080p", [1880.0, 990.0])] {
        for n in COUNTS {
            let mut pose = |_| -> Vec<(f32, f32)> {
                let [x, y] = size.map(|size| size * unit());
                (0..17).map(|_| (x + 40.0 * unit(), y + 90.0 * unit())).collect()
            };
            let points: Vec<_> = (0..2 * n).map(&mut pose).collect();
            let poses: Vec<_> =
                points.iter().map(|points| Pose { points, area: AREA_OF_BOX * 40.0 * 90.0 }).collect();
            let (a, b) = poses.split_at(n);
            let mut pairs = Vec::new();
            let cpu = wall(n, || oks_pairs(a, b, &COCO_SIGMAS, |_, _| true, &mut pairs));
            let gpu = wall(n, || _ = black_box(similarity.oks(stream, a, b, &COCO_SIGMAS).unwrap()));
            report(&format!("oks {n}x{n} {place}"), n * n * 4 + n * 276, &cpu, &gpu);
            if size[0] == 0.0 {
                crossover = crossover.or((gpu.median < cpu.median).then_some(n));
            }
        }
    }
    let n = crossover.map_or_else(|| "null".to_owned(), |n: usize| n.to_string());
    println!("{{\"row\": \"oks: the GPU is faster from\", \"who\": \"cudainfer\", \"objects\": {n}}}");
}

fn report(name: &str, bytes: usize, cpu: &Times, gpu: &Times) {
    row(&format!("associate {name}, wall clock"), gpu, bytes, 1.0, None);
    row_of("cudainfer on the CPU", &format!("associate {name}, wall clock"), cpu, bytes, 0.0, None);
}

/// Microseconds a call, measured on the host.
fn wall(n: usize, mut work: impl FnMut()) -> Times {
    let calls = (40_000_000 / (n * n * 20)).clamp(5, 500);
    (0..calls.min(20)).for_each(|_| work());
    let mut times: Vec<f64> = (0..calls)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Times { median: times[calls / 2], p95: times[calls * 95 / 100] }
}
