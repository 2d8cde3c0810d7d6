//! Clean-up against the definition, cell by cell.

use proptest::prelude::*;

use super::super::SegmentParams;
use super::super::clean::Cleaner;

fn cleaned(mask: &[u8], width: usize, params: SegmentParams) -> Vec<u8> {
    let mut mask = mask.to_vec();
    Cleaner::new(width, &params).run(&mut mask);
    mask
}

/// The least or greatest (`pick`) of the square around each cell, as far as it lies in the mask.
fn spread(mask: &[u8], width: usize, radius: usize, pick: fn(u8, u8) -> u8) -> Vec<u8> {
    let height = mask.len() / width;
    let around = |at: usize, size: usize| at.saturating_sub(radius)..(at + radius + 1).min(size);
    let cell = |i: usize| {
        let rows = around(i / width, height);
        let cells = rows.flat_map(|y| around(i % width, width).map(move |x| mask[y * width + x]));
        cells.reduce(pick).unwrap()
    };
    (0..mask.len()).map(cell).collect()
}

fn opened(mask: &[u8], width: usize, radius: usize, soft: bool) -> Vec<u8> {
    let result = spread(&spread(mask, width, radius, u8::min), width, radius, u8::max);
    let kept = mask.iter().zip(&result).map(|(class, stays)| if *stays > 0 { *class } else { 0 });
    if soft { result } else { kept.collect() }
}

fn closed(mask: &[u8], width: usize, radius: usize, soft: bool) -> Vec<u8> {
    let grown = spread(mask, width, radius, u8::max);
    let result = spread(&grown, width, radius, u8::min);
    if soft {
        return result;
    }
    let filled = |i: usize| if mask[i] == 0 && result[i] > 0 { grown[i] } else { mask[i] };
    (0..mask.len()).map(filled).collect()
}

/// Flood fill.
fn without_small(mask: &[u8], width: usize, least: usize, soft: bool) -> Vec<u8> {
    let class = |i: usize| if soft { u8::from(mask[i] >= 128) } else { mask[i] };
    let (mut out, mut seen) = (mask.to_vec(), vec![false; mask.len()]);
    for start in 0..mask.len() {
        if seen[start] || class(start) == 0 {
            continue;
        }
        let (mut area, mut next) = (vec![start], 0);
        seen[start] = true;
        while let Some(&i) = area.get(next) {
            next += 1;
            for (other, seen) in seen.iter_mut().enumerate() {
                let near =
                    (i / width).abs_diff(other / width) <= 1 && (i % width).abs_diff(other % width) <= 1;
                if near && !*seen && class(other) == class(start) {
                    *seen = true;
                    area.push(other);
                }
            }
        }
        if area.len() < least {
            area.iter().for_each(|i| out[*i] = 0);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn clean_up_is_what_its_definition_says(
        width in 1usize..24,
        height in 1usize..16,
        seed in prop::collection::vec(0u8..6, 24 * 16),
        opening in 0u32..4,
        closing in 0u32..4,
        min_area in 0u32..9,
        soft: bool,
    ) {
        let levels = if soft { [0, 60, 127, 128, 200, 255] } else { [0, 0, 1, 1, 2, 7] };
        let mask: Vec<u8> = seed[..width * height].iter().map(|i| levels[usize::from(*i)]).collect();
        let params = SegmentParams { opening, closing, min_area, soft, ..SegmentParams::default() };
        let mut wanted = opened(&mask, width, opening as usize, soft);
        wanted = closed(&wanted, width, closing as usize, soft);
        wanted = without_small(&wanted, width, min_area as usize, soft);
        prop_assert_eq!(cleaned(&mask, width, params), wanted);
    }
}

/// A mask drawn with `.` for 0.
fn drawn(rows: &[&str]) -> Vec<u8> {
    rows.iter().flat_map(|row| row.bytes()).map(|b| if b == b'.' { 0 } else { b - b'0' }).collect()
}

#[test]
fn opening_takes_lines_away_and_keeps_the_classes_of_what_stays() {
    let mask = drawn(&["1122..3", "1122..3", "1122..3", ".......", "..4444.", "..4444.", "..4444."]);
    let wanted = drawn(&["1122...", "1122...", "1122...", ".......", "..4444.", "..4444.", "..4444."]);
    assert_eq!(cleaned(&mask, 7, SegmentParams { opening: 1, ..SegmentParams::default() }), wanted);
}

#[test]
fn closing_fills_a_gap_with_the_greater_class_beside_it() {
    let got = cleaned(
        &drawn(&["11.22", "11.22", "11.22"]),
        5,
        SegmentParams { closing: 1, ..SegmentParams::default() },
    );
    assert_eq!(got, drawn(&["11222", "11222", "11222"]));
}

#[test]
fn areas_of_two_classes_that_touch_are_two_and_corners_connect() {
    let mask = drawn(&["1.2..", ".1.22", "..1.."]);
    let small = |min_area| cleaned(&mask, 5, SegmentParams { min_area, ..SegmentParams::default() });
    assert_eq!(small(3), mask);
    assert_eq!(small(4), vec![0; 15]);
    assert_eq!(
        cleaned(&drawn(&["1122", "1122"]), 4, SegmentParams { min_area: 5, ..SegmentParams::default() }),
        vec![0; 8]
    );
}
