//! The counts of a box on the CPU.

use super::bins::{GRID, LENGTH, color_slot, gradient_slot, position, stripe, weight};
use super::plan::{AppearancePlan, SampledBox};
use crate::frame::Frame;
use crate::geometry::Rect;

/// Y', Cb and Cr of the pixels of a row of the grid.
type GridRow = [[u8; 3]; GRID[0]];

/// The counts of the box `rect` of a frame that has been checked to be of the plan's format.
pub(super) fn counts(plan: &AppearancePlan, frame: &Frame<'_>, rect: Rect) -> [u16; LENGTH] {
    let mut counts = [0; LENGTH];
    let part = plan.sampled_box(rect);
    let [columns, rows] = [usize::from(part.width).min(GRID[0]), usize::from(part.height).min(GRID[1])];
    if columns == 0 {
        return counts;
    }
    let mut samples = [[[0; 3]; GRID[0]]; GRID[1]];
    read(plan, frame, part, &mut samples[..rows], columns);
    let weights: [u16; GRID[0]] = std::array::from_fn(|i| weight(i.min(columns - 1), columns));
    for row in 0..rows {
        let stripe = stripe(row, rows);
        let [above, here, below] =
            [row.saturating_sub(1), row, (row + 1).min(rows - 1)].map(|row| &samples[row]);
        for (column, weight) in weights[..columns].iter().enumerate() {
            let (slot, times) = color_slot(stripe, here[column]);
            counts[slot] += weight * times;
            let luma = |row: &GridRow, column: usize| i32::from(row[column][0]);
            let gx = luma(here, (column + 1).min(columns - 1)) - luma(here, column.saturating_sub(1));
            if let Some(slot) = gradient_slot(stripe, gx, luma(below, column) - luma(above, column)) {
                counts[slot] += weight;
            }
        }
    }
    counts
}

fn read(plan: &AppearancePlan, frame: &Frame<'_>, part: SampledBox, samples: &mut [GridRow], columns: usize) {
    let SampledBox { x, y, width, height } = part;
    let [x, y, width, height] = [x, y, width, height].map(usize::from);
    for (c, component) in plan.components.iter().enumerate() {
        let shift = u32::from(component.half_columns);
        let at: [usize; GRID[0]] = std::array::from_fn(|i| {
            ((x + position(i, width, GRID[0])) >> shift) * component.group + component.offset
        });
        for (row, samples) in samples.iter_mut().enumerate() {
            let y = (y + position(row, height, GRID[1])) >> u32::from(component.half_rows);
            let bytes = frame.row(component.plane, y);
            for (sample, at) in samples.iter_mut().zip(&at[..columns]) {
                sample[c] = bytes[*at];
            }
        }
    }
    if !plan.color.is_identity() {
        for sample in samples.iter_mut().flat_map(|row| &mut row[..columns]) {
            *sample = plan.color.convert(*sample);
        }
    }
}
