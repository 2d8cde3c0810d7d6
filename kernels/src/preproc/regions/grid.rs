//! Where the samples of a region lie in the frame, in fixed point.

use crate::geometry::Affine;
use crate::preproc::Interpolation;

/// How far from the frame's origin a region may reach, in pixels.
pub(super) const REACH: f64 = (1 << 24) as f64;

/// The most samples of a tensor pixel, on an axis.
const MOST: f64 = 64.0;

/// A point that is nearer to a pixel's far edge than this counts as beyond it, because rounding may have kept it before the
/// edge. So nearest neighbours of points on edges are those of exact arithmetic.
pub(super) const NUDGE: f64 = 1.0 / (1 << 17) as f64;

/// The fixed point's unit: 2^-32 pixel. Over [`super::super::MAX_SIDE`] pixels of at most 64 samples, the error of rounded steps
/// adds up to less than 2^-12 pixel, and to less than 2^-18 with one sample a pixel.
pub(super) const UNIT: f64 = (1u64 << 32) as f64;

/// A map from a tensor's pixels to those of a frame.
pub trait RegionMap {
    /// The samples of a region.
    type Grid: SampleGrid + Copy + Default + std::fmt::Debug;

    /// The operation in cuda/ whose kernels follow such grids.
    const OPERATION: &'static str;

    /// The samples of a tensor of `size` (width, height); none where the map cannot be followed.
    fn grid(&self, size: [usize; 2], interpolation: Interpolation) -> Option<Self::Grid>;
}

impl RegionMap for Affine {
    type Grid = Grid;

    const OPERATION: &'static str = "regions";

    fn grid(&self, size: [usize; 2], interpolation: Interpolation) -> Option<Grid> {
        Grid::new(self, size, interpolation)
    }
}

/// A grid of samples over a region, in 2^-32 frame pixels: the kernel's `Grid`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    first: [i64; 2],
    along: [i64; 2],
    across: [i64; 2],
    counts: Counts,
}

/// How many samples a tensor pixel has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Along the tensor's rows.
    pub columns: u16,
    /// Across the tensor's rows.
    pub rows: u16,
    /// 1 / (columns * rows).
    pub inverse: f32,
}

impl Counts {
    /// For the lengths in frame pixels of the steps from one tensor pixel to the next, along and across the tensor's rows: one sample for each
    /// frame pixel, with a margin for scales that rounding has made a little too large.
    pub fn new(along: f64, across: f64, interpolation: Interpolation) -> Self {
        let samples = |step: f64| match interpolation {
            Interpolation::Area => (step - 1e-6).ceil().clamp(1.0, MOST),
            _ => 1.0,
        };
        let (columns, rows) = (samples(along), samples(across));
        Self { columns: columns as u16, rows: rows as u16, inverse: (1.0 / (columns * rows)) as f32 }
    }
}

/// A grid of samples over a region, however the region lies in the frame.
pub trait SampleGrid {
    /// How many samples a tensor pixel has.
    fn counts(&self) -> Counts;

    /// The sample at `column` and `row` of the grid.
    fn position(&self, column: usize, row: usize) -> Position;
}

/// A sample's pixel (the first of two by two where samples are interpolated), which need not lie in the frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    pub x: i32,
    pub y: i32,
    /// Weights of the second pixels in x and y.
    pub weights: [f32; 2],
}

impl Grid {
    /// The samples of a tensor of `size` (width, height) that lies in the frame as `to_frame` says; none where that is
    /// not finite or reaches too far.
    pub fn new(to_frame: &Affine, size: [usize; 2], interpolation: Interpolation) -> Option<Self> {
        let Affine { scale, skew, offset } = *to_frame;
        let [width, height] = size.map(|n| n as f64);
        let (along, across) = ([scale[0], skew[1]], [skew[0], scale[1]]);
        let corners = [(0.0, 0.0), (width, 0.0), (0.0, height), (width, height)];
        let reachable =
            |a: usize| corners.iter().all(|(x, y)| (along[a] * x + across[a] * y + offset[a]).abs() <= REACH);
        // Also true for NaN.
        if !(reachable(0) && reachable(1)) {
            return None;
        }
        let counts = Counts::new(along[0].hypot(along[1]), across[0].hypot(across[1]), interpolation);
        let (columns, rows) = (f64::from(counts.columns), f64::from(counts.rows));
        let shift = if interpolation == Interpolation::Nearest { NUDGE } else { -0.5 };
        let (along, across) = (along.map(|v| v / columns), across.map(|v| v / rows));
        let fixed = |v: f64| (v * UNIT).round() as i64;
        Some(Self {
            first: [0, 1].map(|a| fixed(offset[a] + 0.5 * (along[a] + across[a]) + shift)),
            along: along.map(fixed),
            across: across.map(fixed),
            counts,
        })
    }
}

impl SampleGrid for Grid {
    fn counts(&self) -> Counts {
        self.counts
    }

    fn position(&self, column: usize, row: usize) -> Position {
        // At most MAX_SIDE times 64.
        let (column, row) = (column as i64, row as i64);
        Position::new([0, 1].map(|a| self.first[a] + column * self.along[a] + row * self.across[a]))
    }
}

impl Position {
    /// Of a place in 2^-32 frame pixels.
    pub fn new(at: [i64; 2]) -> Self {
        // The first 24 bits of the fraction, which a float holds.
        let weights = at.map(|v| ((v as u32) >> 8) as f32 * (1.0 / 16_777_216.0));
        Self { x: (at[0] >> 32) as i32, y: (at[1] >> 32) as i32, weights }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preproc::{Interpolation, MAX_SIDE};

    const INTERPOLATIONS: [Interpolation; 3] =
        [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Area];

    #[test]
    fn positions_are_exact_at_the_far_end_of_the_largest_frames() {
        let (last, side) = (MAX_SIDE - 1, [MAX_SIDE; 2]);
        for (angle, scale) in
            [(0.0f64, 1.0), (0.1, 0.99), (1.0, 1.0 / 3.0), (2.0, 1.7), (3.0, 7.3), (0.3, 70.0)]
        {
            let (sin, cos) = angle.sin_cos();
            let map = Affine {
                scale: [scale * cos, scale * cos],
                skew: [-scale * sin, scale * sin],
                offset: [1234.567, 8.9],
            };
            for interpolation in INTERPOLATIONS {
                let grid = Grid::new(&map, side, interpolation).unwrap();
                let samples = usize::from(grid.counts.columns);
                let wanted =
                    if interpolation == Interpolation::Area { scale.ceil().clamp(1.0, 64.0) } else { 1.0 };
                assert_eq!((samples as f64, grid.counts.rows), (wanted, grid.counts.columns));
                for (i, j) in [(0, 0), (last, 0), (0, last), (last, last), (last, last / 3)] {
                    let (column, row) = (i * samples + samples - 1, j * samples);
                    let u = (column as f64 + 0.5) / samples as f64;
                    let v = (row as f64 + 0.5) / samples as f64;
                    let shift = if interpolation == Interpolation::Nearest { 0.0 } else { 0.5 };
                    let x = map.scale[0] * u + map.skew[0] * v + map.offset[0] - shift;
                    let y = map.skew[1] * u + map.scale[1] * v + map.offset[1] - shift;
                    let got = grid.position(column, row);
                    let error = |pixel: i32, weight: f32, wanted: f64| {
                        (f64::from(pixel) + f64::from(weight) - wanted).abs()
                    };
                    let worst = error(got.x, got.weights[0], x).max(error(got.y, got.weights[1], y));
                    // The documented error, plus the nudge of nearest neighbours and the 24 bits of weights.
                    let most = if samples == 1 { 1.0 / 65_536.0 } else { 1.0 / 4096.0 };
                    assert!(worst < most, "{worst} at {i}, {j}: {map:?} {interpolation:?}");
                }
            }
        }
    }

    #[test]
    fn maps_that_cannot_be_followed_have_no_samples() {
        let good = Affine::IDENTITY;
        assert!(Grid::new(&good, [8, 8], Interpolation::Area).is_some());
        for bad in [f64::NAN, f64::INFINITY, 1e8, -1e300] {
            for map in [
                Affine { scale: [bad, 1.0], ..good },
                Affine { skew: [0.0, bad], ..good },
                Affine { offset: [0.0, bad], ..good },
            ] {
                assert!(Grid::new(&map, [8, 8], Interpolation::Area).is_none(), "{map:?}");
            }
        }
    }
}
