//! Masks painted by the operation `draw`: the same bytes as the CPU's, padding included.

use cudainfer_kernels::draw::{CudaCanvas, DrawError, Mask, MaskData, MaskInk, MaskOutline, Rgb};
use cudainfer_kernels::frame::PixelFormat;
use cudainfer_kernels::geometry::Rect;

use super::draw::{DRAWABLE, Picture, format};
use super::{Random, download, stream, upload};

/// Up to `count` masks of random bytes, anywhere on a frame of `size` and beyond it.
fn scene(random: &mut Random, size: (usize, usize), count: usize) -> Vec<Mask<Vec<u8>>> {
    let mut mask = |_| {
        let (width, height) = (1 + random.below(90), 1 + random.below(70));
        let most = 1 + random.below(256);
        let (w, h) = (size.0 as f32, size.1 as f32);
        let rect = match random.below(3) {
            0 => Rect { x: 0.0, y: 0.0, w, h },
            1 => Rect { x: -0.2 * w, y: -0.1 * h, w: 1.5 * w, h: 1.3 * h },
            _ => Rect {
                x: random.range(-0.5, 1.0) * w,
                y: random.range(-0.5, 1.0) * h,
                w: random.range(0.0, 1.5) * w,
                h: random.range(0.0, 1.5) * h,
            },
        };
        let color = Rgb(random.next() as u8, random.next() as u8, random.next() as u8);
        let ink = match random.below(4) {
            0 => MaskInk::Classes { background: Some(random.below(3) as u8) },
            1 => MaskInk::Classes { background: None },
            2 => MaskInk::Solid(color),
            _ => MaskInk::Cover(color),
        };
        let data = (0..width * height).map(|_| random.below(most) as u8).collect();
        let outline = MaskOutline { width: random.below(4) as u32, opacity: random.next() as u8 };
        Mask { data, width, height, rect, ink, opacity: random.next() as u8, outline, into_alpha: false }
    };
    (0..count).map(&mut mask).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_and_odd_size_gets_the_same_bytes_as_on_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(11));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    for pixels in DRAWABLE {
        let with_alpha = matches!(pixels, PixelFormat::Rgba | PixelFormat::Bgra);
        for size in [(1, 1), (9, 1), (1, 17), (64, 16), (65, 17), (321, 241), (640, 480)] {
            for (padding, count) in [(0, 1), (3, 5), (64, 40)] {
                for into_alpha in [false, true].into_iter().take(1 + usize::from(with_alpha)) {
                    let mut masks = scene(&mut random, size, count);
                    masks.iter_mut().for_each(|mask| mask.into_alpha = into_alpha);
                    let mut picture = Picture::new(format(pixels, size.0, size.1), padding, &mut random);
                    let frame = upload(&stream, &picture.bytes);
                    // By turns on the device, and on the host to be uploaded.
                    let memories: Vec<_> =
                        masks.iter().step_by(2).map(|mask| upload(&stream, &mask.data)).collect();
                    let there: Vec<_> = masks
                        .iter()
                        .enumerate()
                        .map(|(i, mask)| {
                            mask.with_data(match i % 2 {
                                0 => MaskData::Device(memories[i / 2].slice()),
                                _ => MaskData::Host(&mask.data),
                            })
                        })
                        .collect();
                    let before = stream.counters().launches.get();
                    canvas.paint_masks(&stream, &picture.format, &picture.frame(&frame), &there).unwrap();
                    assert!(
                        stream.counters().launches.get() <= before + 2,
                        "one that fetches what is painted, and one for all"
                    );
                    let got = download(&stream, frame.slice());
                    let here: Vec<_> =
                        masks.iter().map(|mask| mask.with_data(mask.data.as_slice())).collect();
                    picture.paint(&here);
                    if let Some(at) = (0..got.len()).find(|&i| got[i] != picture.bytes[i]) {
                        let (now, was) = (got[at], picture.bytes[at]);
                        panic!("{:?} {:?}: byte {at} is {now}, not {was}", picture.format, picture.planes);
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn nothing_to_paint_launches_nothing_and_a_mask_that_does_not_fit_is_refused() {
    let (stream, mut random) = (stream(), Random::new(12));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    let picture = Picture::new(format(PixelFormat::I420, 33, 17), 0, &mut random);
    let memory = upload(&stream, &picture.bytes);
    let frame = picture.frame(&memory);
    let rect = Rect { x: 40.0, y: 0.0, w: 9.0, h: 9.0 };
    let outside = Mask {
        data: MaskData::Host(&[1, 2]),
        width: 2,
        height: 1,
        rect,
        ink: MaskInk::Solid(Rgb::WHITE),
        opacity: 255,
        outline: MaskOutline::default(),
        into_alpha: false,
    };
    canvas.paint_masks(&stream, &picture.format, &frame, &[outside]).unwrap();
    assert_eq!(stream.counters().launches.get(), 0);
    let refused = canvas.paint_masks(&stream, &picture.format, &frame, &[Mask { width: 3, ..outside }]);
    assert_eq!(refused, Err(DrawError::Mask { width: 3, height: 1, bytes: 2 }));
}
