//! Twenty boxes of a frame made unrecognisable. The bytes that must move are their pixels, read and written once (only written
//! where they are filled); two or three launches take longer.

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::draw::blur::{BlurMode, CudaBlur, blur};
use cudainfer_kernels::frame::PixelFormat;
use cudainfer_kernels::geometry::Rect;

use crate::draw::{FRAMES, frames, memories, picture, twin};
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
    let (format, sizes) = picture(pixels);
    let memories = memories(stream, &sizes);
    let frames = frames(stream, &format, &sizes, &memories);
    let (twin_us, _) = twin(&format, &sizes, |frame| {
        blur(&format, frame, mode, 8, boxes).unwrap();
    });

    let area: f32 = boxes.iter().map(Rect::area).sum();
    let moved = area as f64 * if pixels == PixelFormat::Nv12 { 1.5 } else { 4.0 };
    let moved = moved as usize * if mode == BlurMode::Fill { 1 } else { 2 };
    let mut hide = CudaBlur::new(stream).unwrap();
    let times = measure(stream, |i| {
        hide.blur(stream, &format, &frames[i % FRAMES], mode, 8, boxes).unwrap();
    });
    row(&name, &times, moved, 2.0, None);
    println!("{{\"row\": \"{name}: host\", \"who\": \"cudainfer\", \"cpu_twin_us\": {:.1}}}", twin_us);
}
