//! Blurring frames in host memory: the reference for the kernels.

use super::BlurMode;
use super::area::{Area, Plane, areas, planes};
use crate::draw::canvas::Canvas;
use crate::draw::surface::Surface;
use crate::draw::{DrawError, Rgb};
use crate::frame::{FrameFormat, FrameMut};
use crate::geometry::Rect;

/// A cell's colour: three channels as the planes have them.
type Color = [u8; 3];

/// Makes the pixels in `boxes` unrecognisable on `frame`, which is of `format`. Boxes are in frame pixels, and have `cells` cells
/// along their longer side, 1 to [`super::MOST_CELLS`]. A box covers every pixel that it touches, and one more where it must end
/// on even pixels; one with a number that is not finite covers the whole frame. Alpha stays as it is. Returns how many of the
/// boxes are on the frame.
///
/// # Errors
/// [`DrawError`]; nothing is changed then.
pub fn blur(
    format: &FrameFormat,
    frame: &mut FrameMut<'_>,
    mode: BlurMode,
    cells: u32,
    boxes: &[Rect],
) -> Result<usize, DrawError> {
    let mut surface = Surface::new(format, frame)?;
    let layout = *surface.layout();
    let (areas, _) = areas(&layout, boxes, cells)?;
    let [first, second, third, _] = layout.ink(Rgb::BLACK).0;
    // All pixels are read before one is written.
    let colors: Vec<Vec<Color>> = areas
        .iter()
        .map(|area| match mode {
            BlurMode::Fill => vec![[first, second, third]; area.cells() as usize],
            BlurMode::Pixelate => means(&surface, area),
            BlurMode::Gaussian => smoothed(area, &means(&surface, area)),
        })
        .collect();
    for (area, colors) in areas.iter().zip(&colors) {
        for plane in planes(layout.samples) {
            match mode {
                BlurMode::Gaussian => interpolate(&mut surface, area, plane, colors),
                BlurMode::Pixelate | BlurMode::Fill => squares(&mut surface, area, plane, colors),
            }
        }
    }
    Ok(areas.len())
}

/// The mean of each cell's samples, rounded to the nearest.
fn means(surface: &Surface<'_, '_>, area: &Area) -> Vec<Color> {
    let [columns, rows] = area.count;
    let cell = |row, column| {
        let mut color = [0; 3];
        for plane in planes(surface.layout().samples) {
            let (stride, data) = (surface.frame.strides[plane.number], &surface.frame.planes[plane.number]);
            let (x, y) = (area.samples(0, column, plane.step), area.samples(1, row, plane.step));
            let count = (x.len() * y.len()) as u64;
            let mut sums = [0_u64; 3];
            for line in y {
                let start = line * stride;
                let samples = &data[start + x.start * plane.bytes..start + x.end * plane.bytes];
                for sample in samples.chunks_exact(plane.bytes) {
                    for (sum, value) in sums.iter_mut().zip(&sample[..plane.channels]) {
                        *sum += u64::from(*value);
                    }
                }
            }
            for (mean, sum) in color[plane.channel..].iter_mut().zip(&sums[..plane.channels]) {
                *mean = u8::try_from((sum + count / 2) / count.max(1)).unwrap_or(u8::MAX);
            }
        }
        color
    };
    (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| cell(r, c)).collect()
}

/// The cells' means, each mixed with those around it by the weights 1 4 6 4 1 across and down; the outermost cells are repeated
/// beyond the area.
fn smoothed(area: &Area, means: &[Color]) -> Vec<Color> {
    const WEIGHTS: [u32; 5] = [1, 4, 6, 4, 1];
    let [columns, rows] = area.count;
    let smooth = |row: i32, column: i32| {
        let mut sums = [0; 3];
        for (dy, down) in (-2..).zip(WEIGHTS) {
            for (dx, across) in (-2..).zip(WEIGHTS) {
                let (y, x) = ((row + dy).clamp(0, rows - 1), (column + dx).clamp(0, columns - 1));
                let mean = means[(y * columns + x) as usize];
                for (sum, value) in sums.iter_mut().zip(mean) {
                    *sum += down * across * u32::from(value);
                }
            }
        }
        sums.map(|sum| ((sum + 128) >> 8) as u8)
    };
    (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(r, c)| smooth(r, c))
        .collect()
}

/// Each cell in its colour.
fn squares(surface: &mut Surface<'_, '_>, area: &Area, plane: &Plane, colors: &[Color]) {
    let stride = surface.frame.strides[plane.number];
    let data = &mut surface.frame.planes[plane.number];
    let channels = plane.channel..plane.channel + plane.channels;
    for row in 0..area.count[1] {
        for line in area.samples(1, row, plane.step) {
            for column in 0..area.count[0] {
                let color = &colors[(row * area.count[0] + column) as usize][channels.clone()];
                let (x, start) = (area.samples(0, column, plane.step), line * stride);
                let samples = &mut data[start + x.start * plane.bytes..start + x.end * plane.bytes];
                for sample in samples.chunks_exact_mut(plane.bytes) {
                    sample[..plane.channels].copy_from_slice(color);
                }
            }
        }
    }
}

/// Where a sample's centre lies on one axis of the cells: the two whose centres it lies between, and how far it is from the first
/// to the second, in 256ths.
#[derive(Clone, Copy)]
struct Tap {
    between: [usize; 2],
    far: u32,
}

impl Tap {
    /// The tap of sample `index` of the plane.
    fn new(area: &Area, plane: &Plane, axis: usize, index: usize) -> Self {
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        // In half pixels from the centre of the first cell.
        let at = plane.step * (2 * index + 1) - 2 * area.origin[axis] - area.cell;
        let first = at.div_euclid(2 * area.cell);
        let rest = i64::from(at.rem_euclid(2 * area.cell));
        let cell = |i: i32| i.clamp(0, area.count[axis] - 1) as usize;
        Self {
            between: [cell(first), cell(first + 1)],
            far: u32::try_from(256 * rest / i64::from(2 * area.cell)).unwrap_or(0),
        }
    }
}

/// The colours, interpolated linearly between cells.
fn interpolate(surface: &mut Surface<'_, '_>, area: &Area, plane: &Plane, colors: &[Color]) {
    let stride = surface.frame.strides[plane.number];
    let data = &mut surface.frame.planes[plane.number];
    let columns = area.count[0] as usize;
    let whole = |axis: usize| {
        area.samples(axis, 0, plane.step).start..area.samples(axis, area.count[axis] - 1, plane.step).end
    };
    let across: Vec<_> = whole(0).map(|x| Tap::new(area, plane, 0, x)).collect();
    for y in whole(1) {
        let down = Tap::new(area, plane, 1, y);
        let start = y * stride + whole(0).start * plane.bytes;
        let samples = data[start..].chunks_mut(plane.bytes);
        for (sample, tap) in samples.zip(&across) {
            for (i, value) in sample[..plane.channels].iter_mut().enumerate() {
                let color = |row: usize, column: usize| {
                    u32::from(colors[down.between[row] * columns + tap.between[column]][plane.channel + i])
                };
                let row = |row| color(row, 0) * (256 - tap.far) + color(row, 1) * tap.far;
                *value = ((row(0) * (256 - down.far) + row(1) * down.far + (1 << 15)) >> 16) as u8;
            }
        }
    }
}
