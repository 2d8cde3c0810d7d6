//! A mask at a network's size, taken to the frame: in whole numbers, so that host and device agree.

use super::SegmentError;
use crate::geometry::Affine;

/// The greatest width and height, of masks and frames.
const MOST: usize = 1 << 15;
/// Fractional bits of places in the mask, in cells.
const FRACTION: u32 = 32;
/// Added to places, in units of the last bit: more than rounding errors sum up to, so that a point on the edge of two
/// cells always belongs to the later one.
const EDGE: i64 = 1 << 15;
/// Bits of an interpolation's weight.
const WEIGHT: u32 = 11;

/// From a mask that covers a network's input tensor to one that covers the frame.
///
/// Everything is continuous: the centre of frame pixel `i`, at `i + 0.5`, is looked up in the input tensor and there in
/// the mask, of whose `w` cells each covers `W / w` of the tensor's `W` pixels. Classes are those of the cell that the
/// point lies in; soft masks are interpolated bilinearly between the cells' centres, and beyond the outermost cells theirs are
/// repeated. Pixels that lie outside the tensor become 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// The mask's width and height in cells.
    pub from: [usize; 2],
    /// The input tensor's width and height in pixels.
    pub input: [usize; 2],
    /// From the input tensor's pixels to the frame's.
    pub to_frame: Affine,
    /// The frame's width and height in pixels.
    pub frame: [usize; 2],
    /// Whether to interpolate.
    pub soft: bool,
}

/// Where the centres of the frame's pixels lie in the mask: `u = by_x * x + by_y * y + at` across, likewise `v` down, in
/// cells with [`FRACTION`] fractional bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Map {
    pub u: [i64; 3],
    pub v: [i64; 3],
}

impl Resize {
    /// Writes every pixel of the frame's mask to `out`, whose rows begin `stride` bytes apart; `mask` is dense.
    ///
    /// # Errors
    /// [`SegmentError::Room`] where `mask` or `out` do not fit their sizes, [`SegmentError::Map`].
    pub fn run(&self, mask: &[u8], out: &mut [u8], stride: usize) -> Result<(), SegmentError> {
        let map = self.map(mask.len(), out.len(), stride)?;
        let cells = Cells { mask, size: self.from };
        let upright = map.u[1] == 0 && map.v[0] == 0;
        let columns = if upright && self.soft { Columns::new(&map, self) } else { Columns::default() };
        let mut sums = vec![0; self.from[0]];
        for (y, row) in out.chunks_mut(stride).take(self.frame[1]).enumerate() {
            let row = &mut row[..self.frame[0]];
            let start = |[_, by_y, at]: [i64; 3]| by_y * y as i64 + at;
            let (u, v) = (start(map.u), start(map.v));
            match (upright, self.soft) {
                (true, false) => cells.nearest_row(u, map.u[0], v, row),
                (true, true) => cells.soft_row(&columns, v, &mut sums, row),
                (false, soft) => {
                    for (x, out) in (0i64..).zip(row) {
                        let place = [u + map.u[0] * x, v + map.v[0] * x];
                        *out = if soft { cells.soft(place) } else { cells.nearest(place) };
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks everything.
    pub(super) fn map(&self, mask: usize, out: usize, stride: usize) -> Result<Map, SegmentError> {
        let Self { from, input, to_frame, frame, .. } = *self;
        let refused = SegmentError::Map { from, frame };
        if [from, input, frame].as_flattened().iter().any(|side| !(1..=MOST).contains(side)) {
            return Err(refused);
        }
        let room = |[width, height]: [usize; 2], bytes, stride| {
            Err(SegmentError::Room { width, height, bytes, stride })
        };
        if mask != from[0] * from[1] {
            return room(from, mask, from[0]);
        }
        let wanted = stride.checked_mul(frame[1] - 1).and_then(|n| n.checked_add(frame[0]));
        if stride < frame[0] || wanted.is_none_or(|n| n > out) {
            return room(frame, out, stride);
        }
        let Affine { scale: [sx, sy], skew: [kx, ky], offset: [ox, oy] } = to_frame;
        let determinant = sx * sy - kx * ky;
        // From frame to tensor, the inverse, and on to the mask.
        let line = |axis: usize, by_x: f64, by_y: f64| {
            let unit = from[axis] as f64 / input[axis] as f64 / determinant;
            let at = by_x * (0.5 - ox) + by_y * (0.5 - oy);
            let [by_x, by_y, at] = [by_x, by_y, at].map(|v| v * unit);
            let farthest = by_x.abs() * frame[0] as f64 + by_y.abs() * frame[1] as f64 + at.abs();
            // 2^29 cells leave two bits of an i64 to spare. False for NaN.
            (farthest < f64::from(1 << 29))
                .then(|| [by_x, by_y, at].map(|v| (v * f64::exp2(f64::from(FRACTION))).round() as i64))
        };
        let (Some(mut u), Some(mut v)) = (line(0, sy, -kx), line(1, -ky, sx)) else { return Err(refused) };
        u[2] += EDGE;
        v[2] += EDGE;
        Ok(Map { u, v })
    }
}

/// The mask, to look up places in.
struct Cells<'a> {
    mask: &'a [u8],
    size: [usize; 2],
}

/// The cell that a place lies in, out of `size`.
fn cell(place: i64, size: usize) -> Option<usize> {
    usize::try_from(place >> FRACTION).ok().filter(|cell| *cell < size)
}

/// The two cells between whose centres a place inside lies, and the weight of the second.
fn taps(place: i64, size: usize) -> (usize, usize, u32) {
    let place = place - (1 << (FRACTION - 1));
    let first = place >> FRACTION;
    let clamp = |cell: i64| usize::try_from(cell).unwrap_or(0).min(size - 1);
    let weight = (place >> (FRACTION - WEIGHT)) as u32 & ((1 << WEIGHT) - 1);
    (clamp(first), clamp(first + 1), weight)
}

/// `a` to `b`, not yet divided by the weights' sum.
fn between(a: u32, b: u32, weight: u32) -> u32 {
    a * ((1 << WEIGHT) - weight) + b * weight
}

/// Divides by the weights' sum of both axes, rounded.
fn rounded(sum: u32) -> u8 {
    ((sum + (1 << (2 * WEIGHT - 1))) >> (2 * WEIGHT)) as u8
}

impl Cells<'_> {
    fn nearest(&self, [u, v]: [i64; 2]) -> u8 {
        match (cell(u, self.size[0]), cell(v, self.size[1])) {
            (Some(x), Some(y)) => self.mask[y * self.size[0] + x],
            _ => 0,
        }
    }

    fn soft(&self, [u, v]: [i64; 2]) -> u8 {
        let [w, h] = self.size;
        if cell(u, w).is_none() || cell(v, h).is_none() {
            return 0;
        }
        let ((x0, x1, wx), (y0, y1, wy)) = (taps(u, w), taps(v, h));
        let row = |y: usize| {
            let row = &self.mask[y * w..][..w];
            between(row[x0].into(), row[x1].into(), wx)
        };
        rounded(between(row(y0), row(y1), wy))
    }

    /// The pixels of a row whose first lies at `u`, the next `step` on, all at `v`.
    fn nearest_row(&self, u: i64, step: i64, v: i64, out: &mut [u8]) {
        let Some(y) = cell(v, self.size[1]) else { return out.fill(0) };
        let row = &self.mask[y * self.size[0]..][..self.size[0]];
        let mut u = u;
        for out in out {
            // Left of the mask is far right, as an unsigned number.
            *out = row.get((u >> FRACTION) as usize).copied().unwrap_or(0);
            u += step;
        }
    }

    /// The pixels of a row, all at `v`. `sums` has room for a row of the mask, interpolated between two.
    fn soft_row(&self, columns: &Columns, v: i64, sums: &mut [u32], out: &mut [u8]) {
        let [w, h] = self.size;
        out.fill(0);
        if cell(v, h).is_none() {
            return;
        }
        let (y0, y1, weight) = taps(v, h);
        let [above, below] = [y0, y1].map(|y| &self.mask[y * w..][..w]);
        for ((sum, a), b) in sums.iter_mut().zip(above).zip(below) {
            *sum = between((*a).into(), (*b).into(), weight);
        }
        for (out, (x0, x1, weight)) in out[columns.first..].iter_mut().zip(&columns.taps) {
            *out = rounded(between(sums[*x0 as usize], sums[*x1 as usize], *weight));
        }
    }
}

/// The cells and weight of an upright soft mask's pixels, which are the same in all rows: from the first pixel in the mask to
/// the last.
#[derive(Debug, Default)]
struct Columns {
    first: usize,
    taps: Vec<(u32, u32, u32)>,
}

impl Columns {
    fn new(map: &Map, resize: &Resize) -> Self {
        let (w, width) = (resize.from[0], resize.frame[0]);
        let places = || (0i64..).take(width).map(|x| map.u[2] + map.u[0] * x);
        let inside = |place: &i64| cell(*place, w).is_some();
        let taps = |place: i64| {
            let (x0, x1, weight) = taps(place, w);
            (x0 as u32, x1 as u32, weight)
        };
        let first = places().position(|place| inside(&place)).unwrap_or(width);
        Self { first, taps: places().skip(first).take_while(inside).map(taps).collect() }
    }
}
