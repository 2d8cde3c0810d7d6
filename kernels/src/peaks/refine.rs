//! Where between the cells a peak lies.

use super::cells::Cells;
use super::dark::{self, Blur};
use super::{PeakParams, Refinement};

/// The offset of the peak from the centre of cell (`x`, `y`) of `channel`, in cells.
pub(super) fn offset(
    cells: &Cells<'_>,
    activate: impl Fn(f32) -> f32,
    params: &PeakParams,
    [channel, x, y]: [usize; 3],
) -> (f64, f64) {
    // `None` where there is no finite cell.
    let raw = |dx: isize, dy: isize| {
        let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
        cells.get(channel, x, y).filter(|v| v.is_finite())
    };
    // The activated value, as f64.
    let at = |dx: isize, dy: isize| Some(f64::from(activate(raw(dx, dy)?)));
    match params.refinement {
        // Offsets are in another tensor, which offsets.rs reads.
        Refinement::None | Refinement::Offsets => (0.0, 0.0),
        Refinement::Quadratic => {
            (vertex([at(-1, 0), at(0, 0), at(1, 0)]), vertex([at(0, -1), at(0, 0), at(0, 1)]))
        }
        Refinement::Integral => {
            let (mut sum, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
            for dy in -2..=2 {
                for dx in -2..=2 {
                    let Some(v) = at(dx, dy) else { continue };
                    sum += v;
                    sum_x += v * dx as f64;
                    sum_y += v * dy as f64;
                }
            }
            if sum <= 0.0 {
                return (0.0, 0.0);
            }
            // Negative values can carry the mean out of the neighbourhood it was taken over.
            ((sum_x / sum).clamp(-2.0, 2.0), (sum_y / sum).clamp(-2.0, 2.0))
        }
        // Without the activation, because large logits have the same score.
        Refinement::Shift => (quarter(raw(-1, 0), raw(1, 0)), quarter(raw(0, -1), raw(0, 1))),
        Refinement::Dark | Refinement::DarkUdp => {
            let sides = [[x, cells.width - 1 - x], [y, cells.height - 1 - y]];
            dark::offset(at, sides, &Blur::new(params), params.refinement == Refinement::DarkUdp)
        }
    }
}

/// A quarter of a cell towards the greater of two neighbours.
fn quarter(before: Option<f32>, after: Option<f32>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) if after > before => 0.25,
        (Some(before), Some(after)) if after < before => -0.25,
        _ => 0.0,
    }
}

/// The place of the maximum of the parabola through values at -1, 0 and 1.
fn vertex(samples: [Option<f64>; 3]) -> f64 {
    let [Some(before), Some(here), Some(after)] = samples else { return 0.0 };
    let curvature = before - 2.0 * here + after;
    // Not a maximum: flat, or (with Mode::Global next to a cell that is not finite) bent upwards.
    if curvature >= 0.0 {
        return 0.0;
    }
    (0.5 * (before - after) / curvature).clamp(-0.5, 0.5)
}
