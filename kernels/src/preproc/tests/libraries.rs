//! Against what Pillow and OpenCV make of the same noise (tests/references/preproc.py): at most 1 grey level apart, and
//! Pillow's filters not at all.

use super::*;

const LINES: &str = include_str!("references.txt");

/// What a library made.
struct Made {
    what: &'static str,
    frame: (usize, usize),
    numbers: Vec<f64>,
    tensor: (usize, usize),
    pixels: Vec<u8>,
}

/// All lines of which `of` says so; there are `n`.
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
        let params = Params {
            channels: ChannelOrder::Gray,
            resize: Resize::Stretch,
            interpolation: filter(made.what),
            ..plain(made.tensor)
        };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 % 9 + 1), &params)), 0.0);
    }
    for made in made(2, |what| what.ends_with("-rgb")) {
        let owned = Owned::noise(format(PixelFormat::Rgb, made.frame), 0, 3);
        let params = Params {
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
        let params = Params {
            channels: ChannelOrder::Gray,
            resize: Resize::CenterCrop,
            crop_ratio: made.numbers[0],
            interpolation: filter(made.what),
            ..plain(made.tensor)
        };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 / 2 + 1), &params)), 0.0);
    }
}

/// OpenCV rounds to 8 bits, with weights of 11: 0.5, and a little.
#[test]
fn a_letterbox_at_the_top_left_equals_yoloxs() {
    for (i, made) in made(3, |what| what == "yolox").iter().enumerate() {
        let params =
            Params { channels: ChannelOrder::Gray, resize: Resize::LetterboxTopLeft, ..plain(made.tensor) };
        assert_near(made, &floats(&run(&gray(made.frame, i as u64 + 1), &params)), 1.0);
    }
}
