//! What `motion=gate` costs a frame of 1080p: the small gray picture, and on the host the comparison with the background. The bytes that must
//! move are the luma plane, read once.

use std::time::Instant;

use cudainfer_kernels::camera::{CudaShrink, Picture, Shrink};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::frame::PixelFormat;
use cudainfer_kernels::motion::{Background, MotionParams, picture_size};

use crate::draw::{FRAMES, SIZE, frames, memories, picture, twin};
use crate::measure::{measure, row};

/// What a frame in which nothing moves may cost.
const GOAL_US: f64 = 4.0;

pub fn run(stream: &CudaStream) {
    let name = "picture for motion of Nv12 1080p";
    let (format, sizes) = picture(PixelFormat::Nv12);
    let memories = memories(stream, &sizes);
    let frames = frames(stream, &format, &sizes, &memories);
    let size = picture_size(SIZE[0], SIZE[1]);
    let small = CudaShrink::to(size, format, stream).unwrap();
    let times = measure(stream, |i| small.shrink(stream, &frames[i % FRAMES]).unwrap());
    row(name, &times, SIZE[0] * SIZE[1], 1.0, Some(GOAL_US));

    let mut shrink = Shrink::to(size, format).unwrap();
    let (_, planes) = twin(&format, &sizes, |_| ());
    let borrowed: Vec<_> =
        planes.iter().zip(&sizes).map(|(plane, (stride, _))| (&plane[..], *stride)).collect();
    let frame = cudainfer_kernels::frame::Frame::new(&format, &borrowed).unwrap();
    let mut shrunk = vec![];
    for _ in 0..100 {
        let start = Instant::now();
        shrink.run(&frame).unwrap();
        shrunk.push(start.elapsed());
    }
    let pixels: Vec<u8> = (0..size[0] * size[1]).map(|i| (i * 7919 % 200) as u8).collect();
    let small = Picture::new(&pixels, size, SIZE).unwrap();
    let mut background = Background::new(MotionParams::default());
    let mut compared = vec![];
    for _ in 0..100 {
        let start = Instant::now();
        background.update(&small, 0.04);
        compared.push(start.elapsed());
    }
    let median = |times: &mut Vec<std::time::Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e6
    };
    println!(
        "{{\"row\": \"{name}: host\", \"who\": \"cudainfer\", \"cpu_twin_us\": {:.1}, \"background_us\": {:.1}}}",
        median(&mut shrunk),
        median(&mut compared)
    );
}
