//! Which cells of a map lie in the frame, and which of them a pixel of video shows: in whole numbers, so that host and device
//! agree.

use super::MapError;
use super::shape::MOST;
use crate::geometry::Affine;

/// Fractional bits of places in the map, in cells.
const FRACTION: u32 = 32;
/// Added to places, in units of the last bit: more than rounding errors sum up to, and less than an interpolation's weight
/// shows.
const EDGE: i64 = 1 << 15;
/// Cells, or parts of one, that rounding errors may amount to.
const TOLERANCE: f64 = 1e-6;

/// Cells of a map: those that lie in the frame. A letterbox's bars are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first column and row.
    pub first: [usize; 2],
    /// How many columns and rows, at least one of each.
    pub size: [usize; 2],
}

impl Region {
    /// The cells whose centres lie in a frame of `frame` pixels, of a map of `size` cells over a network's input of `input`
    /// pixels; at least the one in the middle of the frame.
    ///
    /// # Errors
    /// [`MapError::Place`].
    pub fn inside(
        size: [usize; 2],
        input: [usize; 2],
        to_frame: &Affine,
        frame: [usize; 2],
    ) -> Result<Self, MapError> {
        let (mut first, mut count) = ([0; 2], [0; 2]);
        for axis in 0..2 {
            let cells = Line::new(axis, size, input, to_frame, frame)?;
            let most = size[axis] as f64;
            let start = (cells.at(0.0) - 0.5 - TOLERANCE).ceil().clamp(0.0, most);
            let end = ((cells.at(frame[axis] as f64) - 0.5 + TOLERANCE).floor() + 1.0).clamp(0.0, most);
            let middle = cells.at(0.5 * frame[axis] as f64).floor().clamp(0.0, most - 1.0);
            let (start, end) = if end > start { (start, end) } else { (middle, middle + 1.0) };
            // Both are whole numbers from 0 to 32768.
            (first[axis], count[axis]) = (start as usize, (end - start) as usize);
        }
        Ok(Self { first, size: count })
    }
}

/// From frame pixels to cells along one axis, both continuous: `step * pixel + start`.
struct Line {
    step: f64,
    start: f64,
}

impl Line {
    fn new(
        axis: usize,
        size: [usize; 2],
        input: [usize; 2],
        to_frame: &Affine,
        frame: [usize; 2],
    ) -> Result<Self, MapError> {
        let refused = MapError::Place { from: size, frame };
        if [size, input, frame].as_flattened().iter().any(|side| !(1..=MOST).contains(side)) {
            return Err(refused);
        }
        let Affine { scale, skew, offset } = to_frame;
        let step = size[axis] as f64 / input[axis] as f64 / scale[axis];
        let start = -offset[axis] * step;
        let farthest = step * frame[axis] as f64 + start.abs();
        // 2^29 cells leave two bits of an i64 to spare. False for NaN.
        let fits = step > 0.0 && farthest < f64::from(1 << 29) && *skew == [0.0; 2];
        if fits { Ok(Self { step, start }) } else { Err(refused) }
    }

    fn at(&self, pixel: f64) -> f64 {
        self.step * pixel + self.start
    }
}

/// Where the centres of a row's or column's pixels lie in the map: `step * pixel + start`, in cells with 32 fractional
/// bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub step: i64,
    pub start: i64,
    /// The cells that pixels show, from the first to the last.
    pub first: usize,
    pub last: usize,
    /// How many cells the map has.
    pub cells: usize,
}

/// The two cells between whose centres a pixel lies, and the weight of the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Taps {
    pub first: usize,
    pub second: usize,
    pub weight: f32,
}

impl Axis {
    /// The taps of this pixel; none outside of the map.
    pub fn taps(&self, pixel: usize) -> Option<Taps> {
        let place = self.step * i64::try_from(pixel).ok()? + self.start;
        usize::try_from(place >> FRACTION).ok().filter(|cell| *cell < self.cells)?;
        let place = place - (1 << (FRACTION - 1));
        let cell = place >> FRACTION;
        let clamp = |cell: i64| usize::try_from(cell).unwrap_or(0).clamp(self.first, self.last);
        // 16 bits are exact in float32.
        let weight = ((place >> 16) & 0xffff) as f32 / 65536.0;
        Some(Taps { first: clamp(cell), second: clamp(cell + 1), weight })
    }
}

/// Which cells the pixels of video show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The video's width and height.
    pub size: [usize; 2],
    /// The cells that it shows.
    pub(super) region: Region,
    pub(super) axes: [Axis; 2],
}

impl Place {
    /// A pixel for each cell of `region`, of a map of `size` cells.
    pub fn of_cells(size: [usize; 2], region: Region) -> Self {
        let axis = |axis: usize| {
            let first = region.first[axis];
            let centre = i64::try_from(first).unwrap_or(i64::MAX >> 33);
            Axis {
                step: 1 << FRACTION,
                start: (centre << FRACTION) + (1 << (FRACTION - 1)) + EDGE,
                first,
                last: (first + region.size[axis]).saturating_sub(1),
                cells: size[axis],
            }
        };
        Self { size: region.size, region, axes: [axis(0), axis(1)] }
    }

    /// A pixel for each of the frame's; the other arguments are those of [`Region::inside`].
    ///
    /// # Errors
    /// [`MapError::Place`].
    pub fn of_frame(
        size: [usize; 2],
        input: [usize; 2],
        to_frame: &Affine,
        frame: [usize; 2],
    ) -> Result<Self, MapError> {
        let region = Region::inside(size, input, to_frame, frame)?;
        let axis = |axis: usize| -> Result<Axis, MapError> {
            let cells = Line::new(axis, size, input, to_frame, frame)?;
            let fixed = |v: f64| (v * f64::exp2(f64::from(FRACTION))).round() as i64;
            let first = region.first[axis];
            Ok(Axis {
                step: fixed(cells.step),
                start: fixed(cells.at(0.5)) + EDGE,
                first,
                last: first + region.size[axis] - 1,
                cells: size[axis],
            })
        };
        Ok(Self { size: frame, region, axes: [axis(0)?, axis(1)?] })
    }
}
