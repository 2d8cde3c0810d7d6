//! Rectangles against OpenCV's `minAreaRect` of `findContours` (tools/cudainfer_tools/reference/db.py), within 0.001 of a cell, the digits that it
//! printed; the rest against values calculated by hand.

use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};

use super::*;

const WIDTH: usize = 160;
const HEIGHT: usize = 120;

/// A painted rectangle: centre, half sides, axis, value.
type Painted = ([f64; 2], [f64; 2], [f64; 2], f32);

/// The map of db.py.
fn painted(lines: &[Painted]) -> Vec<f32> {
    let mut map = vec![0.0; WIDTH * HEIGHT];
    for ([cx, cy], [half_w, half_h], [ax, ay], value) in lines {
        for (i, cell) in map.iter_mut().enumerate() {
            let (x, y) = ((i % WIDTH) as f64 - cx, (i / WIDTH) as f64 - cy);
            if (x * ax + y * ay).abs() <= *half_w && (x * ay - y * ax).abs() <= *half_h {
                *cell = *value;
            }
        }
    }
    map
}

const READING: Reading = Reading { threshold: 0.3, unclip: 0.0 };

const TILTED: Painted = ([70.25, 60.25], [45.0, 7.0], [0.8, 0.6], 0.8);

/// Centre, longer and shorter side, and the longer one's angle from 0 to below half a turn.
fn shape(region: &Region) -> ([f32; 4], f32) {
    let Rotated { center: [x, y], size: [w, h], angle } = region.rotated;
    let angle = if w >= h { angle } else { angle + FRAC_PI_2 };
    ([x, y, w.max(h), w.min(h)], angle.rem_euclid(2.0 * FRAC_PI_2))
}

#[test]
fn the_rectangle_of_an_area_is_the_one_that_opencv_finds() {
    let half = 0.5;
    for (line, wanted, slope) in [
        (([50.25, 30.25], [40.0, 6.0], [1.0, 0.0], 0.9), [50.5, 30.5, 79.0, 11.0], 0.0),
        (TILTED, [70.18, 60.26, 89.8, 13.8], 0.75f32.atan()),
        (
            ([70.25, 60.25], [45.0, 7.0], [0.8, -0.6], 0.8),
            [70.26, 60.18, 89.8, 13.8],
            (-0.75f32).atan() + 2.0 * FRAC_PI_2,
        ),
        (
            ([70.25, 60.25], [40.0, 6.0], [0.28, 0.96], 0.95),
            [70.2568, 60.2376, 79.96, 11.96],
            (0.96f32 / 0.28).atan(),
        ),
    ] {
        let (found, non_finite) = regions(&painted(&[line]), WIDTH, READING);
        let ([region], 0) = (&found[..], non_finite) else { panic!("{found:?}") };
        let ([x, y, long, short], angle) = shape(region);
        // A cell's centre is half a cell from its corner, from which ours count.
        for (got, wanted) in [x - half, y - half, long, short].iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-3, "{region:?}, not {wanted:?}");
        }
        assert!((angle - slope).abs() < 1e-4, "{angle}, not {slope}");
        // All cells inside have the value, but for few at the edge.
        assert!((region.score - line.3).abs() < 0.02, "{}", region.score);
    }
}

#[test]
fn lines_are_widened_by_their_area_and_perimeter() {
    let reading = Reading { unclip: 1.5, ..READING };
    let (found, _) = regions(&painted(&[TILTED]), WIDTH, reading);
    let ([.., long, short], _) = shape(&found[0]);
    // 89.8 * 13.8 * 1.5 / (2 * (89.8 + 13.8)) = 8.9713 on all sides.
    assert!((long - 107.7427).abs() < 1e-3 && (short - 31.7427).abs() < 1e-3, "{long} {short}");
}

#[test]
fn areas_are_joined_over_corners_and_low_or_weak_ones_are_none() {
    let map = |rows: &[&str]| -> (Vec<f32>, usize) {
        let cell = |letter: char| f32::from(u8::try_from(letter.to_digit(10).unwrap()).unwrap()) / 10.0;
        (rows.iter().flat_map(|row| row.chars().map(cell)).collect(), rows[0].len())
    };
    // Two squares that touch over a corner; in between, a run above joins two below it.
    let (cells, width) = map(&[
        "99990000", "99990000", "99990000", "99990000", "00009999", "00009999", "00009999", "00009999",
    ]);
    assert_eq!(regions(&cells, width, READING).0.len(), 1);
    let (cells, width) = map(&["9999000999", "9999000999", "9999000999", "9999000999", "9999999999"]);
    let (found, _) = regions(&cells, width, READING);
    let [region] = &found[..] else { panic!("{found:?}") };
    assert_eq!(region.rotated.size, [9.0, 4.0]);
    // 38 of 50 cells have 0.9.
    assert!((region.score - 0.684).abs() < 1e-6, "{}", region.score);
    // Three rows of cells are two from centre to centre; four are three.
    let (cells, width) =
        map(&["00000", "09999", "09999", "09999", "00000", "33333", "33333", "33333", "33333"]);
    assert!(regions(&cells, width, READING).0.is_empty());
    assert!(regions(&[], 0, READING).0.is_empty());
    let (cells, width) = map(&["9"]);
    assert!(regions(&cells, width, READING).0.is_empty());
}

#[test]
fn lines_come_in_the_order_of_their_first_cells_and_cells_that_are_no_numbers_are_counted() {
    let low: Painted = ([30.0, 90.0], [20.0, 5.0], [1.0, 0.0], 0.5);
    let high: Painted = ([100.0, 20.0], [20.0, 5.0], [1.0, 0.0], 0.75);
    let mut map = painted(&[low, high]);
    map[20 * WIDTH + 100] = f32::NAN;
    map[90 * WIDTH + 30] = f32::INFINITY;
    let (found, non_finite) = regions(&map, WIDTH, READING);
    assert_eq!(found.iter().map(|region| region.score).collect::<Vec<_>>(), [0.75, 0.5]);
    assert_eq!(found[1].rotated.center, [30.5, 90.5]);
    assert_eq!(non_finite, 2);
}

#[test]
fn a_box_is_turned_so_that_its_text_runs_along_its_width() {
    let found = |w: f32, h: f32, angle: f32| {
        let rect = Rect { x: 50.0 - w / 2.0, y: 40.0 - h / 2.0, w, h };
        let Oriented { rect, angle } = readable(Oriented { rect, angle });
        assert_eq!((rect.x + rect.w / 2.0, rect.y + rect.h / 2.0), (50.0, 40.0));
        (rect.w, rect.h, angle)
    };
    assert_eq!(found(30.0, 10.0, 0.0), (30.0, 10.0, 0.0));
    assert_eq!(found(30.0, 10.0, 0.5), (30.0, 10.0, 0.5));
    // Raised to the right: an angle below 0.
    assert_eq!(found(10.0, 30.0, FRAC_PI_2 - 0.5), (30.0, 10.0, -0.5));
    // A line from the top to the bottom, and one that leans.
    assert_eq!(found(10.0, 30.0, 0.0), (30.0, 10.0, FRAC_PI_2));
    assert_eq!(found(30.0, 10.0, FRAC_PI_4 + 0.25), (30.0, 10.0, FRAC_PI_4 + 0.25));
    // Single characters are not laid down.
    assert_eq!(found(10.0, 14.0, 0.0), (10.0, 14.0, 0.0));
}
