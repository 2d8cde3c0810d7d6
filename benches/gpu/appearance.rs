//! The operation `appearance`: boxes of the size of people in 1080p frames, by each variant, on the device alone; and wall
//! clock time with the wait and the embeddings, beside the CPU. Calls read frames in turn: about 128 MB of them, more than the
//! cache holds.

use std::hint::black_box;
use std::time::Instant;

use cudainfer_kernels::appearance::{CudaDescriber, Describer, LENGTH, Variant};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

use crate::measure::{Times, measure, row, row_of};
use crate::preproc::{frame, planes};

const FRAMES: usize = 40;
const COUNTS: [usize; 9] = [1, 10, 20, 50, 75, 100, 200, 480, 1000];

fn people(count: usize) -> Vec<Rect> {
    let mut numbers = (1u32..).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as f32 / 65536.0);
    let mut unit = || numbers.next().unwrap();
    let mut rect = |_| {
        let [x, y, w, h] = [0; 4].map(|_| unit());
        Rect { x: 1800.0 * x, y: 900.0 * y, w: 40.0 + 110.0 * w, h: 100.0 + 260.0 * h }
    };
    (0..count).map(&mut rect).collect()
}

pub fn run(stream: &CudaStream) {
    let format = FrameFormat {
        pixels: PixelFormat::Nv12,
        width: 1920,
        height: 1080,
        matrix: Matrix::Bt709,
        range: Range::Limited,
    };
    let mut state = 0x2545_f491;
    let memories: Vec<_> = (0..FRAMES).map(|_| planes(stream, &format, &mut state)).collect();
    let frames: Vec<_> = memories.iter().map(|planes| frame(&format, planes)).collect();
    let host = [vec![0u8; 1920 * 1080], vec![0u8; 1920 * 540]].map(|mut plane| {
        for (i, byte) in plane.iter_mut().enumerate() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (i % 1920 / 15) as u8 + (state >> 26) as u8;
        }
        plane
    });
    let cpu = Describer::new(format).unwrap();
    let cpu_frame = Frame::new(&format, &[(&host[0], 1920), (&host[1], 1920)]).unwrap();
    for count in COUNTS {
        let boxes = people(count);
        let name = format!("appearance of {count} boxes of NV12 1080p");
        // Each sample is 3 bytes; the counts come on top.
        let (bytes, launches) = (count * (32 * 64 * 3 + 2 * LENGTH), count.div_ceil(480) as f64);
        for (who, variant) in [
            ("cudainfer", Variant::Shared),
            ("cudainfer, global", Variant::Global),
            ("cudainfer, chunked", Variant::Chunked),
        ] {
            let mut gpu = CudaDescriber::with_variant(format, variant, stream).unwrap();
            let times = measure(stream, |i| gpu.start(stream, &frames[i % FRAMES], &boxes).unwrap());
            let goal = (variant == Variant::Shared && count == 100).then_some(15.0);
            row_of(who, &name, &times, bytes, launches, goal);
        }
        let name = format!("{name}, wall clock");
        let mut gpu = CudaDescriber::new(format, stream).unwrap();
        let mut found = Vec::new();
        let times = wall(200, |i| {
            gpu.start(stream, &frames[i % FRAMES], &boxes).unwrap();
            gpu.finish(stream, &mut found).unwrap();
            black_box(&found);
        });
        row(&name, &times, bytes, launches, None);
        let times = wall(20, |_| {
            cpu.run(&cpu_frame, &boxes, &mut found).unwrap();
            black_box(&found);
        });
        row_of("cudainfer on the CPU", &name, &times, bytes, 0.0, None);
    }
}

/// Microseconds a call, measured on the host.
fn wall(calls: usize, mut work: impl FnMut(usize)) -> Times {
    (0..calls / 4).for_each(&mut work);
    let mut times: Vec<f64> = (0..calls)
        .map(|i| {
            let start = Instant::now();
            work(i);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    Times { median: times[calls / 2], p95: times[calls * 95 / 100] }
}
