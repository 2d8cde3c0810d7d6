//! Twenty boxes of a frame made unrecognisable. What must move are their pixels, read and written once (written only, where they are
//! filled); two or three launches take longer.

use std::time::Instant;

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::draw::blur::{BlurMode, CudaBlur, blur};
use cudainfer_kernels::frame::{FrameFormat, FrameMut, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

use crate::draw::{FRAMES, SIZE, frames, memories};
use crate::measure::{measure, row};

pub fn run(stream: &CudaStream) {
    let boxes: Vec<_> = (0_u8..20)
        .map(|i| Rect {
            x: f32::from(i % 7) * 250.0 + 31.0,
            y: f32::from(i / 7) * 330.0 + 47.0,
            w: 170.0,
            h: 290.0,
        })
        .collect();
    for pixels in [PixelFormat::Nv12, PixelFormat::Bgrx] {
        for mode in [BlurMode::Pixelate, BlurMode::Gaussian, BlurMode::Fill] {
            one(stream, pixels, mode, &boxes);
        }
    }
}

fn one(stream: &CudaStream, pixels: PixelFormat, mode: BlurMode, boxes: &[Rect]) {
    let name = format!("hide 20 boxes by {mode:?} on {pixels:?} 1080p");
    let [width, height] = SIZE;
    let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
    let sizes: Vec<_> =
        (0..pixels.planes()).map(|i| (pixels.row_bytes(i, width), pixels.rows(i, height))).collect();
    let memories = memories(stream, &sizes);
    let frames = frames(stream, &format, &sizes, &memories);

    let mut planes: Vec<Vec<u8>> = sizes.iter().map(|(row, rows)| vec![90; row * rows]).collect();
    let borrowed = planes.iter_mut().zip(&sizes).map(|(plane, (stride, _))| (&mut plane[..], *stride));
    let mut frame = FrameMut::new(&format, borrowed.collect()).unwrap();
    let mut twin: Vec<f64> = (0..100)
        .map(|_| {
            let start = Instant::now();
            blur(&format, &mut frame, mode, 8, boxes).unwrap();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    twin.sort_by(f64::total_cmp);

    let area: f32 = boxes.iter().map(Rect::area).sum();
    let moved = area as f64 * if pixels == PixelFormat::Nv12 { 1.5 } else { 4.0 };
    let moved = moved as usize * if mode == BlurMode::Fill { 1 } else { 2 };
    let mut hide = CudaBlur::new(stream).unwrap();
    let times = measure(stream, |i| {
        hide.blur(stream, &format, &frames[i % FRAMES], mode, 8, boxes).unwrap();
    });
    row(&name, &times, moved, 1.0, None);
    println!("{{\"row\": \"{name}: host\", \"who\": \"cudainfer\", \"cpu_twin_us\": {:.1}}}", twin[50]);
}
