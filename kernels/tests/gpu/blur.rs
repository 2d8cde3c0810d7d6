//! Parts of frames made unrecognisable by the operation `draw`: the same bytes as the CPU's, padding included.

use cudainfer_kernels::draw::DrawError;
use cudainfer_kernels::draw::blur::{BlurMode, CudaBlur, MOST_CELLS};
use cudainfer_kernels::frame::PixelFormat;
use cudainfer_kernels::geometry::Rect;

use super::draw::{DRAWABLE, Picture, format};
use super::{Random, download, stream, upload};

const MODES: [BlurMode; 3] = [BlurMode::Pixelate, BlurMode::Gaussian, BlurMode::Fill];

/// Boxes anywhere on a frame of `size` and beyond it; now and then one that is nowhere.
fn boxes(random: &mut Random, (width, height): (usize, usize), count: usize) -> Vec<Rect> {
    let (w, h) = (width as f32, height as f32);
    let mut rect = |_| match random.below(30) {
        0 => Rect { x: f32::NAN, y: 0.0, w: 1.0, h: 1.0 },
        1 => Rect { x: -w, y: -h, w: 3.0 * w, h: 3.0 * h },
        2 => Rect { x: random.unit() * w, y: random.unit() * h, w: 0.0, h: 1.0 },
        _ => Rect {
            x: random.range(-0.5, 1.0) * w,
            y: random.range(-0.5, 1.0) * h,
            w: random.range(0.0, 0.7) * w,
            h: random.range(0.0, 0.7) * h,
        },
    };
    (0..count).map(&mut rect).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_mode_and_odd_size_gets_the_same_bytes_as_on_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(21));
    let mut blur = CudaBlur::new(&stream).unwrap();
    for pixels in DRAWABLE {
        for size in [(1, 1), (9, 1), (1, 17), (64, 16), (65, 17), (130, 63), (321, 241), (640, 480)] {
            for mode in MODES {
                for (padding, count) in [(0, 1), (3, 5), (64, 40)] {
                    let boxes = boxes(&mut random, size, count);
                    let cells = 1 + random.below(MOST_CELLS as usize) as u32;
                    let mut picture = Picture::new(format(pixels, size.0, size.1), padding, &mut random);
                    let memory = upload(&stream, &picture.bytes);
                    let (before, frame) = (stream.counters().launches.get(), picture.frame(&memory));
                    let count = blur.blur(&stream, &picture.format, &frame, mode, cells, &boxes).unwrap();
                    assert!(stream.counters().launches.get() <= before + 4);
                    let got = download(&stream, memory.slice());
                    assert_eq!(picture.blur(mode, cells, &boxes), count);
                    if let Some(at) = (0..got.len()).find(|&i| got[i] != picture.bytes[i]) {
                        let (now, was) = (got[at], picture.bytes[at]);
                        panic!(
                            "{:?} {mode:?} {cells} {:?}: byte {at} is {now}, not {was}: {boxes:?}",
                            picture.format, picture.planes
                        );
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_frames_and_more_boxes_than_there_is_room_for_at_first_are_the_same_too() {
    let (stream, mut random, size) = (stream(), Random::new(22), (3840, 2160));
    let mut blur = CudaBlur::new(&stream).unwrap();
    for (mode, count) in [(BlurMode::Gaussian, 700), (BlurMode::Pixelate, 3)] {
        let boxes = boxes(&mut random, size, count);
        let mut picture = Picture::new(format(PixelFormat::Nv12, size.0, size.1), 128, &mut random);
        let memory = upload(&stream, &picture.bytes);
        // Twice without waiting: what was covered is covered again.
        for _ in 0..2 {
            blur.blur(&stream, &picture.format, &picture.frame(&memory), mode, 16, &boxes).unwrap();
            picture.blur(mode, 16, &boxes);
        }
        assert!(download(&stream, memory.slice()) == picture.bytes);
    }
    let allocations = stream.counters().allocations.get();
    let picture = Picture::new(format(PixelFormat::Nv12, size.0, size.1), 0, &mut random);
    let (boxes, memory) = (boxes(&mut random, size, 700), upload(&stream, &picture.bytes));
    let after_upload = stream.counters().allocations.get() - allocations;
    blur.blur(&stream, &picture.format, &picture.frame(&memory), BlurMode::Pixelate, 16, &boxes).unwrap();
    assert_eq!(
        stream.counters().allocations.get() - allocations,
        after_upload,
        "the first frame's room is used again"
    );
}

#[test]
#[ignore = "needs a CUDA device"]
fn nothing_to_hide_launches_nothing_and_what_cannot_be_hidden_is_refused() {
    let (stream, mut random) = (stream(), Random::new(23));
    let mut blur = CudaBlur::new(&stream).unwrap();
    let picture = Picture::new(format(PixelFormat::I420, 33, 17), 0, &mut random);
    let memory = upload(&stream, &picture.bytes);
    let frame = picture.frame(&memory);
    let outside = Rect { x: 40.0, y: 0.0, w: 9.0, h: 9.0 };
    let mut hide = |format, boxes: &[Rect]| blur.blur(&stream, &format, &frame, BlurMode::Gaussian, 8, boxes);
    assert_eq!(hide(picture.format, &[outside]), Ok(0));
    assert_eq!(hide(picture.format, &[]), Ok(0));
    assert_eq!(stream.counters().launches.get(), 0);
    let refused = hide(format(PixelFormat::Yuy2, 33, 17), &[outside]);
    assert_eq!(refused, Err(DrawError::Format(PixelFormat::Yuy2)));
    assert!(matches!(hide(format(PixelFormat::I420, 33, 19), &[outside]), Err(DrawError::Frame(_))));
}
