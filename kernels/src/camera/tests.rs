//! Textures that are moved by known transforms.

#[path = "../preproc/tests/reference.rs"]
#[allow(dead_code, clippy::duplicate_mod)]
mod frames;

mod belief;
mod pictures;

use proptest::prelude::*;

use super::ransac::Similarity;
use super::*;
use crate::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use crate::geometry::{Affine, Rect};
use crate::preproc::{ChannelOrder, Interpolation, Padding, PreprocParams, Resize};

const SIZE: [usize; 2] = [480, 270];

/// 0..1, the same for the same arguments.
fn hash(x: i64, y: i64, seed: u64) -> f64 {
    let mut z =
        (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (y as u64).wrapping_mul(0xD1B5_4A32_D192_ED03);
    z = (z ^ seed.wrapping_mul(0xA076_1D64_78BD_642F)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 32)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Value noise: smooth between random values on a grid of `pitch`.
fn noise(x: f64, y: f64, pitch: f64, seed: u64) -> f64 {
    let ease = |t: f64| t * t * t * (t * (6.0 * t - 15.0) + 10.0);
    let (u, v) = (x / pitch, y / pitch);
    let (i, j) = (u.floor(), v.floor());
    let (s, t) = (ease(u - i), ease(v - j));
    let at = |di, dj| hash(i as i64 + di, j as i64 + dj, seed);
    let (above, below) = (at(0, 0) + s * (at(1, 0) - at(0, 0)), at(0, 1) + s * (at(1, 1) - at(0, 1)));
    above + t * (below - above)
}

/// The grey level at a point: large and small shapes.
fn texture(x: f64, y: f64, seed: u64) -> f64 {
    let octaves = [(64.0, 90.0), (18.0, 70.0), (7.0, 50.0)];
    20.0 + octaves.map(|(pitch, height)| height * noise(x, y, pitch, seed)).iter().sum::<f64>()
}

fn rendered(size: [usize; 2], value: impl Fn(f64, f64) -> f64) -> Vec<u8> {
    let [width, height] = size;
    let pixels = (0..width * height).map(|i| value((i % width) as f64 + 0.5, (i / width) as f64 + 0.5));
    pixels.map(|value| value.round().clamp(0.0, 255.0) as u8).collect()
}

/// Turns and scales about the middle of `size`, then shifts.
fn motion(size: [usize; 2], degrees: f64, scale: f64, shift: [f64; 2]) -> Similarity {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (a, b) = (scale * cos, scale * sin);
    let [cx, cy] = size.map(|side| side as f64 / 2.0);
    let offset = [cx - a * cx + b * cy + shift[0], cy - b * cx - a * cy + shift[1]];
    Similarity { a, b, offset }
}

/// Where a point was before the motion.
fn before(motion: &Similarity, x: f64, y: f64) -> (f64, f64) {
    let (x, y) = (x - motion.offset[0], y - motion.offset[1]);
    let length = motion.a * motion.a + motion.b * motion.b;
    ((motion.a * x + motion.b * y) / length, (motion.a * y - motion.b * x) / length)
}

fn moved(size: [usize; 2], motion: &Similarity, seed: u64) -> Vec<u8> {
    rendered(size, |x, y| {
        let (x, y) = before(motion, x, y);
        texture(x, y, seed)
    })
}

fn still(size: [usize; 2], seed: u64) -> Vec<u8> {
    rendered(size, |x, y| texture(x, y, seed))
}

fn picture(pixels: &[u8], size: [usize; 2]) -> Picture<'_> {
    Picture::new(pixels, size, size).unwrap()
}

fn between(first: &[u8], second: &[u8], size: [usize; 2], boxes: &[Rect]) -> Option<Affine> {
    let mut estimator = Estimator::new();
    assert_eq!(estimator.update(&picture(first, size), boxes), None, "the first");
    estimator.update(&picture(second, size), boxes)
}

/// How far off an answer is at worst in the corners of a frame.
fn error(found: &Affine, wanted: &Similarity, [width, height]: [usize; 2]) -> f64 {
    let corners = [(0, 0), (width, 0), (0, height), (width, height)];
    let off = corners.map(|(x, y)| {
        let (fx, fy) = found.point(x as f32, y as f32);
        let [wx, wy] = wanted.point([x as f64, y as f64]);
        (f64::from(fx) - wx).hypot(f64::from(fy) - wy)
    });
    off.into_iter().fold(0.0, f64::max)
}

#[track_caller]
fn assert_found(found: Option<Affine>, wanted: &Similarity, size: [usize; 2], most: f64) {
    let found = found.unwrap_or_else(|| panic!("nothing found for {wanted:?}"));
    let error = error(&found, wanted, size);
    println!("{wanted:?}: {error:.4}");
    assert!(error <= most, "{error} px off: {found:?}, not {wanted:?}");
    assert_eq!(found.scale[0], found.scale[1], "a similarity");
    assert_eq!(found.skew[0], -found.skew[1], "a similarity");
}

#[test]
fn known_motion_is_found_to_a_fifth_of_a_pixel() {
    let first = still(SIZE, 1);
    let motions = [
        motion(SIZE, 0.0, 1.0, [5.0, -3.0]),
        motion(SIZE, 0.0, 1.0, [0.3, 0.45]),
        motion(SIZE, 0.0, 1.0, [-0.1, 0.07]),
        motion(SIZE, 0.0, 1.0, [20.4, -14.2]),
        motion(SIZE, 3.0, 1.0, [0.0, 0.0]),
        motion(SIZE, 0.0, 1.03, [0.0, 0.0]),
        motion(SIZE, 0.0, 0.97, [1.0, 2.0]),
        motion(SIZE, -2.0, 1.02, [6.5, 3.25]),
        motion(SIZE, 0.05, 1.0005, [0.5, 0.0]),
    ];
    for wanted in motions {
        let second = moved(SIZE, &wanted, 1);
        assert_found(between(&first, &second, SIZE, &[]), &wanted, SIZE, 0.2);
    }
}

#[test]
fn noise_brightness_and_contrast_do_not_matter() {
    let wanted = motion(SIZE, 1.0, 1.01, [4.2, -2.6]);
    let noisy = |pixels: &[u8], seed: u64| -> Vec<u8> {
        // Six uniform numbers make a deviation of 0.707; times 5 is 3.5 grey levels.
        let shake = |i: usize| 5.0 * ((0..6).map(|n| hash(i as i64, n, seed)).sum::<f64>() - 3.0);
        pixels.iter().enumerate().map(|(i, p)| (f64::from(*p) + shake(i)).round() as u8).collect()
    };
    let (first, second) = (still(SIZE, 2), moved(SIZE, &wanted, 2));
    let (first_noisy, second_noisy) = (noisy(&first, 1), noisy(&second, 2));
    assert_found(between(&first_noisy, &second_noisy, SIZE, &[]), &wanted, SIZE, 0.2);
    for (factor, summand) in [(1.0, 25.0), (0.6, 20.0), (1.2, -15.0)] {
        let lit: Vec<u8> = second.iter().map(|p| (f64::from(*p) * factor + summand).round() as u8).collect();
        assert_found(between(&first, &lit, SIZE, &[]), &wanted, SIZE, 0.2);
    }
}

/// Covers 30% of the picture by blocks that move by (`dx`, `dy`) against it.
fn with_blocks(camera: &Similarity, dx: f64, dy: f64, later: bool) -> Vec<u8> {
    rendered(SIZE, |x, y| {
        let (bx, by) = if later { (x - dx, y - dy) } else { (x, y) };
        let inside = blocks().iter().any(|r| {
            let (left, top) = (f64::from(r.x), f64::from(r.y));
            (left..left + f64::from(r.w)).contains(&bx) && (top..top + f64::from(r.h)).contains(&by)
        });
        if inside {
            return texture(bx, by, 77);
        }
        let (x, y) = if later { before(camera, x, y) } else { (x, y) };
        texture(x, y, 3)
    })
}

fn blocks() -> Vec<Rect> {
    // 6 of 72x90 are 30% of 480x270.
    let at = [(30.0, 20.0), (200.0, 10.0), (370.0, 40.0), (60.0, 150.0), (180.0, 140.0), (330.0, 160.0)];
    at.map(|(x, y)| Rect { x, y, w: 72.0, h: 90.0 }).to_vec()
}

#[test]
fn blocks_that_move_by_themselves_on_30_percent_are_outvoted() {
    let wanted = motion(SIZE, 0.5, 1.0, [-3.0, 2.0]);
    for (dx, dy) in [(9.0, 4.0), (-6.0, 0.0), (0.0, 0.0), (2.0, 2.0)] {
        let (first, second) = (with_blocks(&wanted, dx, dy, false), with_blocks(&wanted, dx, dy, true));
        assert_found(between(&first, &second, SIZE, &[]), &wanted, SIZE, 0.2);
    }
}

#[test]
fn boxes_keep_what_moves_out_of_it() {
    // One object covers most of the picture: without its box, its motion seems to be the camera's.
    let object = Rect { x: 110.0, y: 0.0, w: 370.0, h: 270.0 };
    let view = |shift: f64| {
        rendered(SIZE, |x, y| if x >= 110.0 { texture(x - shift, y, 5) } else { texture(x + shift, y, 6) })
    };
    let (first, second) = (view(0.0), view(3.0));
    let of_object = motion(SIZE, 0.0, 1.0, [3.0, 0.0]);
    assert_found(between(&first, &second, SIZE, &[]), &of_object, SIZE, 0.2);
    let of_background = motion(SIZE, 0.0, 1.0, [-3.0, 0.0]);
    assert_found(between(&first, &second, SIZE, &[object]), &of_background, SIZE, 0.5);
    let all = Rect { x: -10.0, y: -10.0, w: 1000.0, h: 1000.0 };
    assert_eq!(between(&first, &second, SIZE, &[all]), None, "nothing is left to follow");
}

#[test]
fn boxes_that_are_none_hide_nothing() {
    let wanted = motion(SIZE, 0.0, 1.0, [2.5, 1.5]);
    let (first, second) = (still(SIZE, 7), moved(SIZE, &wanted, 7));
    let without = between(&first, &second, SIZE, &[]);
    let (nan, infinite) = (f32::NAN, f32::INFINITY);
    let odd = [
        [nan, 0.0, 400.0, 200.0],
        [0.0, nan, 400.0, 200.0],
        [0.0, 0.0, nan, 200.0],
        [0.0, 0.0, 400.0, nan],
        [-infinite, 0.0, infinite, 200.0],
        [0.0, 0.0, infinite, 200.0],
        [0.0, 0.0, 0.0, 200.0],
        [300.0, 0.0, -300.0, 200.0],
        [1e9, 0.0, 10.0, 10.0],
        [-500.0, -500.0, 10.0, 10.0],
    ];
    let odd = odd.map(|[x, y, w, h]| Rect { x, y, w, h });
    assert_eq!(between(&first, &second, SIZE, &odd), without);
    assert_found(without, &wanted, SIZE, 0.2);
}

#[test]
fn a_still_scene_is_exactly_still_and_noise_does_not_shake_it() {
    let first = still(SIZE, 8);
    assert_eq!(between(&first, &first, SIZE, &[]), Some(Affine::IDENTITY));
    let mut estimator = Estimator::new();
    for frame in 0..70 {
        let shake = |i: usize| 4.0 * (hash(i as i64, frame, 9) + hash(i as i64, frame, 10) - 1.0);
        let noisy: Vec<u8> =
            first.iter().enumerate().map(|(i, p)| (f64::from(*p) + shake(i)).round() as u8).collect();
        let found = estimator.update(&picture(&noisy, SIZE), &[]);
        assert_eq!(found, (frame > 0).then_some(Affine::IDENTITY), "frame {frame}");
    }
}

#[test]
fn motion_too_slow_to_see_adds_up() {
    let mut estimator = Estimator::new();
    let mut sum = 0.0;
    let mut standing = 0;
    for frame in 0..=25 {
        let pixels = moved(SIZE, &motion(SIZE, 0.0, 1.0, [0.02 * f64::from(frame), 0.0]), 11);
        if let Some(found) = estimator.update(&picture(&pixels, SIZE), &[]) {
            sum += f64::from(found.point(240.0, 135.0).0) - 240.0;
            standing += i32::from(found == Affine::IDENTITY);
        }
    }
    assert!(standing >= 10, "{standing}");
    assert!((sum - 0.5).abs() < 0.06, "{sum}");
}

#[test]
fn small_pictures_are_no_trouble() {
    for size in [[1, 1], [1, 270], [480, 1], [2, 2], [13, 13], [14, 15], [24, 25], [33, 47], [16, 200]] {
        let first = still(size, 15);
        let found = between(&first, &moved(size, &motion(size, 0.0, 1.0, [1.0, 0.0]), 15), size, &[]);
        assert_eq!(found, None, "{size:?}: fewer than ten corners");
    }
}

#[test]
fn another_size_begins_anew() {
    let small = [320, 180];
    let mut estimator = Estimator::new();
    let (large_pixels, small_pixels) = (still(SIZE, 16), still(small, 16));
    let wanted = motion(small, 0.0, 1.0, [2.0, 1.0]);
    assert_eq!(estimator.update(&picture(&large_pixels, SIZE), &[]), None);
    assert_eq!(estimator.update(&picture(&small_pixels, small), &[]), None);
    let next = moved(small, &wanted, 16);
    let found = estimator.update(&picture(&next, small), &[]);
    assert_found(found, &wanted, small, 0.2);
    assert_eq!(found, between(&small_pixels, &next, small, &[]), "nothing is left of the larger");
    // The same picture of a larger frame counts as another size, too.
    let larger = Picture::new(&next, small, [640, 360]).unwrap();
    assert_eq!(estimator.update(&larger, &[]), None);
    assert_eq!(estimator.update(&larger, &[]), Some(Affine::IDENTITY));
    estimator.reset();
    assert_eq!(estimator.update(&larger, &[]), None);
}

#[test]
fn the_same_pictures_give_the_same_bits() {
    let wanted = motion(SIZE, 1.0, 1.01, [3.0, 1.0]);
    let (first, second) = (with_blocks(&wanted, 5.0, 5.0, false), with_blocks(&wanted, 5.0, 5.0, true));
    let alone = between(&first, &second, SIZE, &blocks());
    // What the estimator has seen before does not matter.
    let mut estimator = Estimator::new();
    for seed in 0..5 {
        estimator.update(&picture(&still(SIZE, seed), SIZE), &[]);
    }
    estimator.update(&picture(&first, SIZE), &blocks());
    assert_eq!(estimator.update(&picture(&second, SIZE), &blocks()), alone);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (first, second) = (first.clone(), second.clone());
            std::thread::spawn(move || between(&first, &second, SIZE, &blocks()))
        })
        .collect();
    assert!(alone.is_some());
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_moderate_similarity_is_found(
        seed in 0u64..1000,
        degrees in -3.0..3.0f64,
        scale in 0.97..1.03f64,
        x in -10.0..10.0f64,
        y in -10.0..10.0f64,
    ) {
        let size = [320, 240];
        let wanted = motion(size, degrees, scale, [x, y]);
        let found = between(&still(size, seed), &moved(size, &wanted, seed), size, &[]);
        let Some(found) = found else { return Err(TestCaseError::fail("nothing found")) };
        let error = error(&found, &wanted, size);
        prop_assert!(error <= 0.2, "{error}");
    }
}
