//! The CPU side against the definition in f64, and what a descriptor must be: alike for the same, unlike for others.

mod definition;
#[path = "../../preproc/tests/reference.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod frames;

use proptest::prelude::*;

use super::{AppearanceError, Describer, LENGTH, embed};
use crate::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use crate::geometry::Rect;
use crate::preproc::{ChannelOrder, Interpolation, MAX_SIDE, Padding, PreprocParams, Resize};
use frames::Owned;

fn format(pixels: PixelFormat, width: usize, height: usize) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
    Rect { x, y, w, h }
}

fn counts(owned: &Owned, rects: &[Rect]) -> Vec<u16> {
    let mut counts = vec![7; 3];
    Describer::new(owned.format).unwrap().counts(&owned.frame(), rects, &mut counts).unwrap();
    assert_eq!(counts.len(), rects.len() * LENGTH);
    counts
}

fn embeddings(owned: &Owned, rects: &[Rect]) -> Vec<f32> {
    let mut found = vec![7.0; 3];
    Describer::new(owned.format).unwrap().run(&owned.frame(), rects, &mut found).unwrap();
    found
}

/// The cosine of two embeddings, whose length is 1 or 0.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The cosine of the descriptors of two boxes of a frame.
fn similarity(owned: &Owned, a: Rect, b: Rect) -> f32 {
    let found = embeddings(owned, &[a, b]);
    let (a, b) = found.split_at(LENGTH);
    cosine(a, b)
}

/// An RGB frame by the colour of each pixel.
fn painted(width: usize, height: usize, color: impl Fn(usize, usize) -> [u8; 3]) -> Owned {
    let data = (0..width * height).flat_map(|i| color(i % width, i / width)).collect();
    Owned { format: format(PixelFormat::Rgb, width, height), planes: vec![(data, 3 * width)] }
}

const RED: [u8; 3] = [200, 30, 30];
const BLUE: [u8; 3] = [30, 40, 190];
const GREY: [u8; 3] = [90, 90, 90];

#[test]
fn what_is_not_in_the_frame_has_zeros_and_is_like_nothing() {
    let owned = Owned::noise(format(PixelFormat::Nv12, 64, 48), 0, 1);
    let nan = f32::NAN;
    let none = [
        rect(64.0, 0.0, 10.0, 10.0),
        rect(-10.0, 5.0, 10.0, 10.0),
        rect(5.0, 48.0, 10.0, 10.0),
        rect(5.0, 5.0, 0.0, 10.0),
        rect(5.0, 5.0, 10.0, -1.0),
        rect(nan, 5.0, 10.0, 10.0),
        rect(5.0, nan, 10.0, 10.0),
        rect(5.0, 5.0, nan, 10.0),
        rect(5.0, 5.0, 10.0, nan),
        rect(f32::NEG_INFINITY, 5.0, f32::INFINITY, 10.0),
        rect(5.0, 5.0, f32::INFINITY, 10.0),
        rect(f32::MAX, 5.0, f32::MAX, 10.0),
    ];
    let found = embeddings(&owned, &none);
    assert_eq!(found, vec![0.0; none.len() * LENGTH]);
    let some = embeddings(&owned, &[rect(5.0, 5.0, 20.0, 20.0)]);
    assert_eq!(cosine(&some, &found[..LENGTH]), 0.0);
    assert!(embeddings(&owned, &[]).is_empty());
}

#[test]
fn a_box_beyond_the_edge_is_its_part_inside() {
    let owned = Owned::noise(format(PixelFormat::I420, 65, 33), 3, 2);
    for (outside, inside) in [
        (rect(-20.0, -9.0, 40.0, 30.0), rect(0.0, 0.0, 20.0, 21.0)),
        (rect(50.0, 20.0, 500.0, 500.0), rect(50.0, 20.0, 15.0, 13.0)),
        (rect(-1e30, -1e30, 2e30, 2e30), rect(0.0, 0.0, 65.0, 33.0)),
        // A box stands for the pixels that it touches.
        (rect(10.9, 10.9, 1.2, 0.05), rect(10.0, 10.0, 3.0, 1.0)),
    ] {
        assert_eq!(counts(&owned, &[outside]), counts(&owned, &[inside]), "{outside:?}");
    }
}

#[test]
fn other_colours_are_unlike_and_so_are_the_same_in_another_order() {
    // 20 wide boxes: red; blue; red over blue; blue over red; grey.
    let owned = painted(100, 60, |x, y| match (x / 20, y < 30) {
        (0, _) | (2, true) | (3, false) => RED,
        (1, _) | (2, false) | (3, true) => BLUE,
        _ => GREY,
    });
    let part = |i: u8| rect(20.0 * f32::from(i), 0.0, 20.0, 60.0);
    assert!((similarity(&owned, part(0), part(0)) - 1.0).abs() < 1e-6);
    assert!(similarity(&owned, part(0), part(1)) < 0.1, "{}", similarity(&owned, part(0), part(1)));
    assert!(similarity(&owned, part(0), part(4)) < 0.1);
    assert!(similarity(&owned, part(2), part(3)) < 0.2, "{}", similarity(&owned, part(2), part(3)));
    let half = similarity(&owned, part(0), part(2));
    assert!((0.35..0.65).contains(&half), "{half}");
}

#[test]
fn the_middle_weighs_more_than_the_sides() {
    // The same person before two backgrounds, and another before one of them.
    let owned = painted(96, 64, |x, _| match (x / 32, (8..24).contains(&(x % 32))) {
        (0 | 1, true) => RED,
        (2, true) => GREY,
        (0 | 2, false) => [20, 120, 20],
        _ => [230, 230, 230],
    });
    let part = |i: u8| rect(32.0 * f32::from(i), 0.0, 32.0, 64.0);
    let (person, background) = (similarity(&owned, part(0), part(1)), similarity(&owned, part(0), part(2)));
    assert!(person > 0.7 && background < 0.3, "{person} {background}");
}

#[test]
fn stripes_across_and_along_are_distinguished_by_gradients() {
    let owned = painted(64, 64, |x, y| if (if x < 32 { x } else { y }) % 4 < 2 { [70; 3] } else { [90; 3] });
    let across = similarity(&owned, rect(0.0, 0.0, 32.0, 64.0), rect(32.0, 0.0, 32.0, 64.0));
    // Colours are 4 of 5 counts, and the same; without gradients it would be 1. Counters that edges of one direction share
    // with the colour add up to a fifteenth (the root of 4/5 x 1/5, over 6 stripes) each.
    assert!((0.79..0.9).contains(&across), "{across}");
}

#[test]
fn a_format_must_have_sides_and_a_frame_its_format() {
    for (width, height) in [(0, 5), (5, 0), (MAX_SIDE + 1, 5), (5, MAX_SIDE + 1)] {
        let wrong = Describer::new(format(PixelFormat::Rgb, width, height)).unwrap_err();
        assert_eq!(wrong, AppearanceError::Size { width, height });
    }
    let describer = Describer::new(format(PixelFormat::Rgb, 8, 8)).unwrap();
    let small = Owned::noise(format(PixelFormat::Rgb, 8, 7), 0, 1);
    let all = [rect(0.0, 0.0, 8.0, 8.0)];
    let wrong = describer.run(&small.frame(), &all, &mut Vec::new()).unwrap_err();
    assert!(matches!(wrong, AppearanceError::Frame(_)), "{wrong}");
    assert!(describer.counts(&small.frame(), &all, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn the_same_pixels_elsewhere_have_the_same_counts(
        w in 1usize..50, h in 1usize..90, x in 0usize..40, y in 0usize..40, seed in 0u64..1000
    ) {
        let owned = Owned::noise(format(PixelFormat::Bgr, w, h), 0, seed);
        let (data, stride) = &owned.planes[0];
        let pixel = |px: usize, py: usize| {
            let inside = (x..x + w).contains(&px) && (y..y + h).contains(&py);
            // BGR to RGB.
            let at = |c| data[(py - y) * stride + 3 * (px - x) + 2 - c];
            if inside { [at(0), at(1), at(2)] } else { GREY }
        };
        let moved = painted(100, 140, pixel);
        let [x, y, w, h] = [x, y, w, h].map(|v| v as f32);
        prop_assert_eq!(counts(&owned, &[rect(0.0, 0.0, w, h)]), counts(&moved, &[rect(x, y, w, h)]));
    }

    #[test]
    fn nearness_does_not_matter(times in 1usize..6, seed in 0u64..1000) {
        let times = 2 * times + 1;
        let owned = Owned::noise(format(PixelFormat::Gray8, 32, 64), 0, seed);
        let (width, height) = (32 * times, 64 * times);
        let data = (0..width * height).map(|i| owned.planes[0].0[i / width / times * 32 + i % width / times]);
        let planes = vec![(data.collect(), width)];
        let near = Owned { format: format(PixelFormat::Gray8, width, height), planes };
        let all = [rect(0.0, 0.0, 9e3, 9e3)];
        prop_assert_eq!(counts(&owned, &all), counts(&near, &all));
    }

    #[test]
    fn an_embedding_is_as_long_as_1_and_like_itself(
        x in -50f32..150.0, y in -50f32..150.0, w in 0f32..200.0, h in 0f32..200.0, seed in 0u64..1000
    ) {
        let owned = Owned::noise(format(PixelFormat::Yuy2, 99, 77), 0, seed);
        let found = embeddings(&owned, &[rect(x, y, w, h), rect(40.0, 30.0, 31.0, 17.0)]);
        let (a, b) = found.split_at(LENGTH);
        let length = cosine(a, a);
        prop_assert!((length - 1.0).abs() < 1e-6 || a.iter().all(|v| *v == 0.0), "{}", length);
        let both = cosine(a, b);
        prop_assert!((0.0..=1.0 + 1e-6).contains(&both));
    }
}

#[test]
fn embeddings_are_the_roots_of_shares() {
    let mut counts = vec![0; 2 * LENGTH];
    counts[3] = 1;
    counts[100] = 3;
    counts[LENGTH] = u16::MAX;
    let mut found = vec![9.0];
    embed(&counts, &mut found);
    assert_eq!(found.len(), 1 + 2 * LENGTH);
    assert_eq!((found[0], found[4], found[101], found[1 + LENGTH]), (9.0, 0.5, 0.75f32.sqrt(), 1.0));
    assert_eq!(found.iter().filter(|v| **v == 0.0).count(), 2 * LENGTH - 3);
}
