//! Where the samples of a warped region lie in the frame.

use crate::homography::{Homography, corners};
use crate::preproc::Interpolation;
use crate::preproc::regions::grid::{Counts, NUDGE, Position, REACH, RegionMap, SampleGrid, UNIT};

/// The least w' at a corner of the tensor, as a share of the greatest: what would lie nearer to the camera is not followed. So the
/// error of a position in float64, which is about that of w', is less than 2^-16 pixel in the largest frames.
const NEAREST: f64 = 1e-6;

impl RegionMap for Homography {
    type Grid = WarpGrid;

    const OPERATION: &'static str = "warp";

    fn grid(&self, size: [usize; 2], interpolation: Interpolation) -> Option<WarpGrid> {
        WarpGrid::new(self, size, interpolation)
    }
}

/// A grid of samples over a region: the kernel's `Grid` in warp.cu. x' and y' are in 2^-32 frame pixels times w'.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct WarpGrid {
    /// x', y' and w' of the first sample.
    first: [f64; 3],
    /// What is added from one sample to the next, along the tensor's rows.
    along: [f64; 3],
    /// The same across the rows.
    across: [f64; 3],
    counts: Counts,
}

impl WarpGrid {
    /// The samples of a tensor of `size` (width, height) that lies in the frame as `to_frame` says; none where that is not finite,
    /// reaches too far, or comes to the camera.
    pub fn new(to_frame: &Homography, size: [usize; 2], interpolation: Interpolation) -> Option<Self> {
        let corners = corners(size).map(|corner| to_frame.homogeneous(corner));
        let greatest = corners.iter().fold(0.0, |greatest: f64, corner| greatest.max(corner[2]));
        let followed = |[x, y, w]: &[f64; 3]| {
            *w > NEAREST * greatest && w.is_finite() && x.abs() <= REACH * w && y.abs() <= REACH * w
        };
        // Between the corners, w' is between theirs, and places lie within the quadrilateral. Also false for NaN.
        if !corners.iter().all(followed) {
            return None;
        }
        let rows = to_frame.rows.map(|row| row.map(|v| v / greatest));
        // The length of the step to the next tensor pixel, where it is greatest.
        let step = |axis: usize| {
            let steps = corners.map(|[x, y, w]| {
                let [dx, dy, dw] = to_frame.rows.map(|row| row[axis]);
                ((dx - x / w * dw) / w).hypot((dy - y / w * dw) / w)
            });
            steps.into_iter().fold(0.0, f64::max)
        };
        let counts = Counts::new(step(0), step(1), interpolation);
        let (columns, lines) = (f64::from(counts.columns), f64::from(counts.rows));
        let shift = if interpolation == Interpolation::Nearest { NUDGE } else { -0.5 };
        // (x' + shift w') / w' = x' / w' + shift.
        let moved = |axis: usize, column: usize| (rows[axis][column] + shift * rows[2][column]) * UNIT;
        let column = |column: usize| [moved(0, column), moved(1, column), rows[2][column]];
        let (along, across) = (column(0).map(|v| v / columns), column(1).map(|v| v / lines));
        let origin = column(2);
        let first = [0, 1, 2].map(|k| origin[k] + 0.5 * (along[k] + across[k]));
        Some(Self { first, along, across, counts })
    }
}

impl SampleGrid for WarpGrid {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn position(&self, column: usize, row: usize) -> Position {
        let (column, row) = (column as f64, row as f64);
        let [x, y, w] = [0, 1, 2].map(|k| self.along[k] * column + (self.across[k] * row + self.first[k]));
        let inverse = 1.0 / w;
        // At most REACH.
        Position::new([(x * inverse) as i64, (y * inverse) as i64])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preproc::MAX_SIDE;

    #[test]
    fn positions_are_exact_in_the_largest_frames_and_in_steep_perspective() {
        let last = (MAX_SIDE - 1) as f64;
        let size = [MAX_SIDE, 333];
        for points in [
            [[0.25, 3.5], [last, 1.5], [last - 7.75, last], [12.0, last - 900.0]],
            // A road that leads to the horizon: w' at the bottom is 1 / 4000 of that at the top.
            [[8000.0, 100.0], [8001.0, 100.0], [10000.0, last], [6000.0, last]],
        ] {
            let map = Homography::between(&corners(size), &points);
            for (interpolation, shift) in [(Interpolation::Bilinear, 0.5), (Interpolation::Nearest, 0.0)] {
                let grid = WarpGrid::new(&map, size, interpolation).unwrap();
                for (i, j) in [(0, 0), (MAX_SIDE - 1, 0), (0, 332), (MAX_SIDE - 1, 332), (8192, 166)] {
                    let wanted = map.point([i as f64 + 0.5, j as f64 + 0.5]).map(|v| v - shift);
                    let got = grid.position(i, j);
                    let got = [(got.x, got.weights[0]), (got.y, got.weights[1])]
                        .map(|(pixel, weight)| f64::from(pixel) + f64::from(weight));
                    // The nudge of nearest neighbours, and the 24 bits of weights.
                    let worst = (got[0] - wanted[0]).abs().max((got[1] - wanted[1]).abs());
                    assert!(worst < 1.0 / 65_536.0, "{worst} at {i}, {j}: {points:?}");
                }
            }
        }
    }

    #[test]
    fn area_has_a_sample_for_each_frame_pixel_where_the_frame_is_shrunk_most() {
        let counts = |points: &[[f64; 2]; 4]| {
            let map = Homography::between(&corners([10, 10]), points);
            let Counts { columns, rows, .. } =
                WarpGrid::new(&map, [10, 10], Interpolation::Area).unwrap().counts();
            (columns, rows)
        };
        assert_eq!(counts(&[[0.0, 0.0], [20.0, 0.0], [20.0, 30.0], [0.0, 30.0]]), (2, 3));
        // At the lower corners, a step across is 2 pixels down and 1 to the side.
        assert_eq!(counts(&[[5.0, 0.0], [15.0, 0.0], [20.0, 10.0], [0.0, 10.0]]), (2, 3));
        assert_eq!(counts(&[[0.0, 0.0], [4e3, 0.0], [4e3, 4e3], [0.0, 4e3]]), (64, 64));
    }

    #[test]
    fn maps_that_cannot_be_followed_have_no_samples() {
        let good = Homography { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] };
        let is_followed = |map: &Homography| WarpGrid::new(map, [8, 8], Interpolation::Area).is_some();
        assert!(is_followed(&good));
        for bad in [f64::NAN, f64::INFINITY, 1e8, -1e300] {
            for (row, column) in [(0, 0), (1, 2), (2, 0), (2, 2)] {
                let mut map = good;
                map.rows[row][column] = bad;
                // A w' of 1e8 is fine.
                assert!(!is_followed(&map) || (bad, row, column) == (1e8, 2, 2), "{map:?}");
            }
        }
        for [g, h] in [[-0.125, 0.0], [0.0, -0.2], [-0.07, -0.06]] {
            let mut map = good;
            map.rows[2] = [g, h, 1.0];
            assert!(!is_followed(&map), "w' is 0 somewhere in the tensor: {g} {h}");
        }
        let mut map = good;
        map.rows[2] = [-0.1, 0.0, 1.0];
        assert!(is_followed(&map));
    }
}
