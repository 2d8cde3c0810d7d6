//! The operation `associate`: wall clock of the CPU and of the GPU, copies and waiting included, by number of objects,
//! and from which number on the GPU is faster.

use std::hint::black_box;
use std::time::Instant;

use cudainfer_kernels::associate::{COCO_SIGMAS, CudaCosts, Pose, oks_matrix};
use cudainfer_kernels::device::Stream;

use crate::measure::{Times, row, row_of};

const COUNTS: [usize; 11] = [5, 10, 15, 20, 30, 50, 75, 100, 200, 500, 1000];

pub fn run(stream: &Stream) {
    let mut costs = CudaCosts::new(stream).unwrap();
    let mut numbers = (1u32..).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 65536.0);
    let mut unit = || numbers.next().unwrap();
    let mut crossover = None;
    for n in COUNTS {
        let points: Vec<(f32, f32)> = (0..2 * n * 17).map(|_| (100.0 * unit(), 100.0 * unit())).collect();
        let poses: Vec<_> = points.chunks(17).map(|points| Pose { points, area: 4000.0 }).collect();
        let (a, b) = poses.split_at(n);
        let mut matrix = Vec::new();
        let cpu = wall(n, || oks_matrix(a, b, &COCO_SIGMAS, &mut matrix));
        let gpu = wall(n, || _ = black_box(costs.oks(stream, a, b, &COCO_SIGMAS).unwrap()));
        report(&format!("oks {n}x{n}"), n * n * 4 + n * 276, &cpu, &gpu);
        crossover = crossover.or((gpu.median < cpu.median).then_some(n));
    }
    let n = crossover.map_or_else(|| "null".to_owned(), |n: usize| n.to_string());
    println!("{{\"row\": \"oks: the GPU is faster from\", \"who\": \"cudainfer\", \"objects\": {n}}}");
}

fn report(name: &str, bytes: usize, cpu: &Times, gpu: &Times) {
    row(&format!("associate {name}, wall clock"), gpu, bytes, 1.0, None);
    row_of("cudainfer on the CPU", &format!("associate {name}, wall clock"), cpu, bytes, 0.0, None);
}

/// Microseconds a call, seen by the host.
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
