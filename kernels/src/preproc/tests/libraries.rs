//! Against the results of Pillow and OpenCV for the same noise (tools/cudainfer_tools/reference/preproc.py): at most 1 grey level apart, and
//! Pillow's filters exactly.

use super::*;
use crate::geometry::Rect;

const LINES: &str = include_str!("references.txt");

/// A library's result.
struct Made {
    what: &'static str,
    frame: (usize, usize),
    numbers: Vec<f64>,
    tensor: (usize, usize),
    pixels: Vec<u8>,
}

/// All results for which `of` is true; there must be `n`.
fn made(n: usize, of: impl Fn(&str) -> bool) -> Vec<Made> {
    let all: Vec<Made> = LINES
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let size = |at: usize| (words[at].parse().unwrap(), words[at + 1].parse().unwrap());
            let end = words.len() - 3;
            let (digits, _) = words[end + 2].as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            Made {
                what: words[0],
                frame: size(1),
                numbers: words[3..end].iter().map(|word| word.parse().unwrap()).collect(),
                tensor: size(end),
                pixels: digits.iter().map(byte).collect(),
            }
        })
        .filter(|made| of(made.what))
        .collect();
    assert_eq!(all.len(), n);
    all
}

/// Grey noise whose pixels are taken as they are.
fn gray(size: (usize, usize), seed: u64) -> Owned {
    Owned::noise(FrameFormat { range: Range::Full, ..format(PixelFormat::Gray8, size) }, 0, seed)
}

fn filter(what: &str) -> Interpolation {
    if what.contains("bicubic") { Interpolation::PilBicubic } else { Interpolation::PilBilinear }
}

#[track_caller]
fn assert_near(made: &Made, got: &[f32], most: f64) {
    assert_eq!(got.len(), made.pixels.len());
    for (i, (a, b)) in got.iter().zip(&made.pixels).enumerate() {
        let (a, b) = (f64::from(*a), f64::from(*b));
        assert!(
            (a - b).abs() <= most,
            "{} of {:?} to {:?}, {i}: {a}, not {b}",
            made.what,
            made.frame,
            made.tensor
        );
    }
}

#[test]
fn filters_equal_pillows_to_the_bit() {
    let lines = made(18, |what| matches!(what, "pil-bilinear" | "pil-bicubic"));
    for (i, made) in lines.iter().enumerate() {
        let params = PreprocParams {
            channels: ChannelOrder::Gray,
            resize: Resize::Stretch,
            interpolation: filter(made.what),
            ..plain(made.tensor)
        };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 % 9 + 1), &params)), 0.0);
    }
    for made in made(2, |what| what.ends_with("-rgb")) {
        let owned = Owned::noise(format(PixelFormat::Rgb, made.frame), 0, 3);
        let params = PreprocParams {
            layout: Layout::Nhwc,
            resize: Resize::Stretch,
            interpolation: filter(made.what),
            ..plain(made.tensor)
        };
        assert_near(&made, &floats(&run(&owned, &params)), 0.0);
    }
}

#[test]
fn a_centre_crop_equals_resize_and_center_crop_of_a_pil_image() {
    for (i, made) in made(20, |what| what.starts_with("crop-")).iter().enumerate() {
        let params = PreprocParams {
            channels: ChannelOrder::Gray,
            resize: Resize::CenterCrop,
            crop_ratio: made.numbers[0],
            interpolation: filter(made.what),
            ..plain(made.tensor)
        };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 / 2 + 1), &params)), 0.0);
    }
}

/// OpenCV rounds to 8 bits, with weights of 11 bits: the tolerance is 0.5 and a little.
#[test]
fn a_letterbox_at_the_top_left_equals_yoloxs() {
    for (i, made) in made(3, |what| what == "yolox").iter().enumerate() {
        let params = PreprocParams {
            channels: ChannelOrder::Gray,
            resize: Resize::LetterboxTopLeft,
            ..plain(made.tensor)
        };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 + 1), &params)), 1.0);
    }
}

/// The box of a line.
fn outline(made: &Made) -> Rect {
    let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|i| made.numbers[i] as f32);
    Rect::from_corners(x1, y1, x2, y2)
}

#[test]
fn a_part_equals_boxmots_crop_and_pillows() {
    let owned = gray((64, 48), 7);
    let lines = made(12, |what| what == "boxmot" || what.starts_with("part-"));
    for made in &lines {
        let opencv = made.what == "boxmot";
        let interpolation = if opencv { Interpolation::Bilinear } else { filter(made.what) };
        let params = PreprocParams {
            channels: ChannelOrder::Gray,
            resize: Resize::Stretch,
            interpolation,
            ..plain(made.tensor)
        };
        let preproc = PartPreproc::new(owned.format, params).unwrap();
        let part = part(outline(made), 1.0, [64, 48]).unwrap();
        let mut tensor = vec![0xaa; preproc.bytes()];
        preproc.run(&owned.frame(), &[part], &mut tensor).unwrap();
        assert_near(made, &floats(&tensor), if opencv { 1.0 } else { 0.0 });
    }
}

/// The reference is exact but for rounding to bytes; ours has positions of 2^-24 pixel.
#[test]
fn a_region_as_mmpose_cuts_it_equals_its_warp() {
    let owned = gray((64, 48), 7);
    for made in made(8, |what| what.starts_with("mmpose")) {
        let params =
            PreprocParams { channels: ChannelOrder::Gray, padding: Padding::Pixel(0), ..plain(made.tensor) };
        let mut regions = RegionPreproc::new(owned.format, params).unwrap();
        let size = [made.tensor.0, made.tensor.1];
        let map = region(outline(&made), 0.0, 1.25, Fit::Letterbox, size, [64, 48]).unwrap();
        let map = as_mmpose(&map, made.what == "mmpose-udp", size);
        let mut tensor = vec![0xaa; regions.bytes()];
        regions.run(&owned.frame(), &[map], &mut tensor).unwrap();
        assert_near(&made, &floats(&tensor), 0.5 + 2e-3);
    }
}

#[test]
fn a_part_in_any_format_and_resize_equals_its_pixels_as_a_frame() {
    let (width, height) = (40, 30);
    for pixels in [PixelFormat::Rgb, PixelFormat::Nv12, PixelFormat::Yuy2, PixelFormat::P010Le] {
        let owned = Owned::noise(format(pixels, (width, height)), 3, 11);
        // Odd and even origins, an edge, a pixel, the whole frame.
        let parts = [(3, 5, 20, 11), (2, 4, 17, 26), (39, 0, 1, 30), (0, 0, 40, 30)]
            .map(|(x, y, width, height)| Part { x, y, width, height });
        for (resize, interpolation) in
            RESIZES.into_iter().flat_map(|resize| INTERPOLATIONS.map(|interpolation| (resize, interpolation)))
        {
            let params = PreprocParams { resize, interpolation, crop_ratio: 0.8, ..plain((13, 17)) };
            let preproc = PartPreproc::new(owned.format, params.clone()).unwrap();
            let mut tensor = vec![0xaa; parts.len() * preproc.bytes()];
            preproc.run(&owned.frame(), &parts, &mut tensor).unwrap();
            for (part, got) in parts.iter().zip(tensor.chunks(preproc.bytes())) {
                let own = reference::pixels_of(&owned, &params, [part.x, part.y, part.width, part.height]);
                let most = if reference::is_filter(interpolation) { FILTER_TOLERANCE } else { TOLERANCE };
                for (i, (a, b)) in floats(got).iter().zip(own).enumerate() {
                    let close = (f64::from(*a) - b).abs() < most;
                    assert!(close, "element {i} is {a}, not {b}: {pixels:?} {part:?} {params:?}");
                }
                let map = preproc.affine(part).unwrap();
                let whole = FrameFormat { width: part.width, height: part.height, ..owned.format };
                let alone = Preproc::new(whole, params.clone()).unwrap().affine();
                let moved = [alone.offset[0] + part.x as f64, alone.offset[1] + part.y as f64];
                assert!(map.scale == alone.scale);
                assert!((0..2).all(|a| (map.offset[a] - moved[a]).abs() < 1e-9), "{map:?} {moved:?}");
            }
        }
    }
}

#[test]
fn parts_are_rounded_clamped_and_refused() {
    let cut = |x: f32, y: f32, w: f32, h: f32| part(Rect { x, y, w, h }, 1.0, [64, 48]);
    let some = |x, y, width, height| Some(Part { x, y, width, height });
    // Halves go to the even pixel.
    assert_eq!(cut(0.5, 1.5, 10.0, 10.0), some(0, 2, 10, 10));
    assert_eq!(cut(-7.0, 40.0, 20.0, 20.0), some(0, 40, 13, 8));
    assert_eq!(part(Rect { x: 10.0, y: 10.0, w: 8.0, h: 4.0 }, 1.5, [64, 48]), some(8, 9, 12, 6));
    for nothing in [cut(64.0, 0.0, 5.0, 5.0), cut(3.0, 3.0, 0.3, 5.0), cut(f32::NAN, 0.0, 5.0, 5.0)] {
        assert_eq!(nothing, None);
    }
    assert_eq!(cut(0.0, 0.0, f32::INFINITY, 5.0), None);
    let owned = gray((64, 48), 1);
    let preproc = PartPreproc::new(owned.format, plain((4, 4))).unwrap();
    let good = Part { x: 0, y: 0, width: 64, height: 48 };
    for bad in [Part { x: 1, ..good }, Part { height: 0, ..good }, Part { y: usize::MAX, ..good }] {
        let mut tensor = vec![0; 2 * preproc.bytes()];
        let error = preproc.run(&owned.frame(), &[good, bad], &mut tensor).unwrap_err();
        assert_eq!(error, PreprocError::Part(1));
    }
}
