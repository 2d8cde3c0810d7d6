//! The search. It streams over the rows as they lie in memory, whatever the layout: a row of `[1, H, W, C]` holds all
//! channels side by side, so the neighbour to the right is `C` elements on; one of `[1, C, H, W]` holds one channel,
//! and it is 1 element on. The work on every element is branch-free and compiles to vector code; only cells that reach
//! the threshold are checked one by one.

use super::cells::Cells;
use super::choose::{Candidate, TensorPeak, activate, choose, gate};
use super::grid::MapShape;
use super::{Mode, Outcome, Peak, PeakParams, offsets, refine};
use crate::geometry::Affine;

/// Elements tested at once.
const CHUNK: usize = 64;

/// Memory kept from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    candidates: Vec<Candidate>,
    row_max: Vec<f32>,
}

/// Hands the peaks of `cells` to `emit`, by channel, score and scan order. `offsets` are those of all cells, where there are any.
pub(super) fn find(
    cells: &Cells<'_>,
    offsets: Option<&[f32]>,
    params: &PeakParams,
    shape: &MapShape,
    to_frame: &Affine,
    scratch: &mut Scratch,
    mut emit: impl FnMut(Peak, TensorPeak),
) -> Outcome {
    let Scratch { candidates, row_max } = scratch;
    candidates.clear();
    let non_finite = match params.mode {
        Mode::Local => local_maxima(cells, gate(params), candidates),
        Mode::Global => global_maxima(cells, gate(params), row_max, candidates),
    };
    if let Some(channels) = params.channels {
        candidates.retain(|found| found.channel < channels);
    }
    let offset = |found: &Candidate| {
        if let Some(values) = offsets {
            return offsets::in_cells(values, shape, params, found.channel, found.cell);
        }
        let place = [found.channel, found.cell % cells.width, found.cell / cells.width];
        refine::offset(cells, |v| activate(params.activation, v), params, place)
    };
    let emit = |peak, place, _: &Candidate| emit(peak, place);
    let truncated = choose(candidates, params, shape, to_frame, offset, emit);
    Outcome { non_finite, truncated, limited: false }
}

/// Whether any element reaches `gate`, and whether any is NaN or infinite. The flags are as wide as the elements: bools
/// would be packed to bytes at every step.
fn test(values: &[f32], gate: f32) -> (bool, bool) {
    let (high, bad) = values
        .iter()
        .fold((0, 0), |(high, bad), v| (high | u32::from(*v >= gate), bad | u32::from(!v.is_finite())));
    (high != 0, bad != 0)
}

fn count_non_finite(values: &[f32]) -> usize {
    values.iter().filter(|v| !v.is_finite()).count()
}

/// Collects every 3x3 maximum of at least `gate`; returns the number of cells that are not finite.
fn local_maxima(cells: &Cells<'_>, gate: f32, found: &mut Vec<Candidate>) -> usize {
    let step = cells.step;
    let len = cells.width * step;
    let mut non_finite = 0;
    for (plane, y, row) in cells.rows() {
        let start = (plane * cells.height + y) * len;
        let above = if y > 0 { &cells.values[start - len..start] } else { &[] };
        let below = if y + 1 < cells.height { &cells.values[start + len..start + 2 * len] } else { &[] };
        for (n, chunk) in row.chunks(CHUNK).enumerate() {
            let (high, bad) = test(chunk, gate);
            if bad {
                non_finite += count_non_finite(chunk);
            }
            if !high {
                continue;
            }
            for (i, v) in (n * CHUNK..).zip(chunk) {
                if *v >= gate && v.is_finite() && is_maximum([above, row, below], i, step, *v) {
                    let cell = y * cells.width + i / step;
                    found.push(Candidate { channel: plane * step + i % step, cell, value: *v, at: () });
                }
            }
        }
    }
    non_finite
}

/// Whether element `i`, of value `v`, of the middle row is above its neighbours `step` elements to either side. Rows
/// outside the map are empty.
fn is_maximum(rows: [&[f32]; 3], i: usize, step: usize, v: f32) -> bool {
    // An infinite neighbour does not count; NaN compares false anyway.
    let earlier = |n: f32| n >= v && n < f32::INFINITY;
    let later = |n: f32| n > v && n < f32::INFINITY;
    let [above, row, below] = rows;
    // Left of the first cell `checked_sub` fails, right of the last `get`.
    let left = i.checked_sub(step);
    let right = i + step;
    let at = |row: &[f32], i: Option<usize>| i.and_then(|i| row.get(i).copied()).unwrap_or(f32::NAN);
    !(earlier(at(row, left))
        || later(at(row, Some(right)))
        || earlier(at(above, Some(i)))
        || later(at(below, Some(i)))
        || earlier(at(above, left))
        || earlier(at(above, Some(right)))
        || later(at(below, left))
        || later(at(below, Some(right))))
}

/// Collects the greatest finite cell of each channel that reaches `gate`, the first of equals; returns the number of
/// cells that are not finite.
fn global_maxima(cells: &Cells<'_>, gate: f32, row_max: &mut Vec<f32>, found: &mut Vec<Candidate>) -> usize {
    let step = cells.step;
    let mut non_finite = 0;
    for (plane, y, row) in cells.rows() {
        if y == 0 {
            found.extend((0..step).map(|lane| Candidate {
                channel: plane * step + lane,
                cell: usize::MAX,
                value: f32::NEG_INFINITY,
                at: (),
            }));
        }
        // Most rows have no cell that reaches the gate; where a row is one channel, cells must also exceed its best so far.
        let best = if step == 1 { found[plane].value } else { f32::NEG_INFINITY };
        let (high, bad) = test(row, gate.max(best));
        if bad {
            non_finite += count_non_finite(row);
        }
        if !high {
            continue;
        }
        row_max.clear();
        row_max.resize(step, f32::NEG_INFINITY);
        if bad {
            for cell in row.chunks_exact(step) {
                for (max, v) in row_max.iter_mut().zip(cell) {
                    *max = if v.is_finite() && *v > *max { *v } else { *max };
                }
            }
        } else if step == 1 {
            row_max[0] = greatest(row);
        } else {
            for cell in row.chunks_exact(step) {
                for (max, v) in row_max.iter_mut().zip(cell) {
                    *max = if *v > *max { *v } else { *max };
                }
            }
        }
        for (lane, (best, max)) in found[plane * step..].iter_mut().zip(row_max.iter()).enumerate() {
            if *max > best.value {
                let x = row[lane..].iter().step_by(step).position(|v| v == max);
                best.cell = y * cells.width + x.unwrap_or(0);
                best.value = *max;
            }
        }
    }
    // A channel without a finite cell.
    found.retain(|c| c.cell != usize::MAX);
    non_finite
}

/// The greatest of finite values, with one running maximum a vector lane: a single one would be a chain of dependent
/// comparisons, which the compiler must not reorder.
fn greatest(values: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; 16];
    let (whole, rest) = values.as_chunks::<16>();
    for chunk in whole {
        for (max, v) in lanes.iter_mut().zip(chunk) {
            *max = if *v > *max { *v } else { *max };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max)
}
