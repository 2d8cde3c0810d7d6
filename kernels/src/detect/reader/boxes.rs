//! The numbers of a box, whatever they mean, to corners in tensor pixels.

use crate::detect::grid::Level;
use crate::detect::layout::{BoxCoding, Centers, Coding, Layout};
use crate::detect::rotated::Rotated;
use crate::detect::{Activation, AnchorFormula, BoxFormat, SizeUnit};

/// The numbers of an anchor's box by their places among them, and the two offsets of its centre, which are 0 where there are none.
pub struct Numbers<V, O> {
    pub value: V,
    pub offset: O,
}

/// Left, top, right, bottom of the box of an anchor of a level, which is one of `levels` by its number.
pub fn corners<V: Fn(usize) -> f32, O: Fn(usize) -> f32>(
    layout: &Layout,
    level: &Level,
    number: usize,
    anchor: usize,
    numbers: Numbers<V, O>,
) -> [f32; 4] {
    let Numbers { value, offset } = numbers;
    let stride = level.stride as f32;
    let four = || [value(0), value(1), value(2), value(3)];
    match &layout.coding {
        Coding::Plain(coding) => plain(coding, four()),
        Coding::Grid => {
            let ([x, y, w, h], (column, row)) = (four(), level.position(anchor));
            centered((x + column) * stride, (y + row) * stride, w.exp() * stride, h.exp() * stride)
        }
        Coding::Distances { bins, point } => {
            let (column, row) = level.position(anchor);
            let (x, y) = ((column + point) * stride, (row + point) * stride);
            let [left, top, right, bottom] =
                [0, 1, 2, 3].map(|side| expectation(*bins, |bin| value(side * bins + bin)) * stride);
            [x - left, y - top, x + right, y + bottom]
        }
        Coding::Centers(centers) => around_center(centers, level, anchor, value, offset),
        Coding::Sides => {
            let ([left, top, right, bottom], [x, y]) = (four(), level.corner(anchor));
            [x - left * stride, y - top * stride, x + right * stride, y + bottom * stride]
        }
        Coding::Priors { boxes, variances, linear } => match boxes.get(level.first + anchor) {
            Some(prior) => around_prior(prior, *variances, *linear, four()),
            None => [f32::NAN; 4],
        },
        Coding::Anchored { formula, sizes } => {
            let cells = level.cells / level.per_cell;
            match sizes.get(number * level.per_cell + anchor / cells) {
                Some(size) => of_anchor(*formula, size, level, anchor % cells, four()),
                None => [f32::NAN; 4],
            }
        }
    }
}

/// The box of this centre and size that is rotated by `angle`.
pub fn rotated(coding: &BoxCoding, [x, y, w, h]: [f32; 4], angle: f32) -> Rotated {
    let [ux, uy] = coding.unit;
    Rotated { center: [x * ux, y * uy], size: [w * ux, h * uy], angle }
}

/// Corners of a box that is coded so.
#[inline]
pub fn plain(coding: &BoxCoding, [a, b, c, d]: [f32; 4]) -> [f32; 4] {
    let [x1, y1, x2, y2] = match coding.format {
        BoxFormat::Corners => [a, b, c, d],
        BoxFormat::CornersYx => [b, a, d, c],
        BoxFormat::TopLeftSize => [a, b, a + c, b + d],
        BoxFormat::CenterSize => centered(a, b, c, d),
    };
    let [ux, uy] = coding.unit;
    [x1 * ux, y1 * uy, x2 * ux, y2 * uy]
}

/// Corners of the box of this centre and size.
fn centered(x: f32, y: f32, w: f32, h: f32) -> [f32; 4] {
    [x - w * 0.5, y - h * 0.5, x + w * 0.5, y + h * 0.5]
}

/// The mean bin under the softmax of that many logits; NaN if one is NaN or +infinity.
fn expectation(bins: usize, logit: impl Fn(usize) -> f32) -> f32 {
    let highest = (0..bins).map(&logit).fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    let (mut sum, mut weighted) = (0.0, 0.0);
    for bin in 0..bins {
        let weight = (logit(bin) - highest).exp();
        sum += weight;
        weighted += weight * bin as f32;
    }
    weighted / sum
}

/// A box around the point of a cell.
fn around_center(
    centers: &Centers,
    level: &Level,
    cell: usize,
    value: impl Fn(usize) -> f32,
    offset: impl Fn(usize) -> f32,
) -> [f32; 4] {
    let stride = level.stride as f32;
    let pair = |[a, b]: [f32; 2]| if centers.y_first { [b, a] } else { [a, b] };
    let [dx, dy] = pair([offset(0), offset(1)]);
    let (column, row) = level.position(cell);
    let (x, y) = ((column + dx + centers.point) * stride, (row + dy + centers.point) * stride);
    let size = |k: usize| match centers.unit {
        SizeUnit::Cells => value(k) * stride,
        SizeUnit::Pixels => value(k) * centers.pixels,
        SizeUnit::LogCells => value(k).exp() * stride,
    };
    let [a, b] = pair([size(0), size(1)]);
    if centers.sides == 2 {
        return centered(x, y, a, b);
    }
    let [c, d] = pair([size(2), size(3)]);
    [x - a, y - b, x + c, y + d]
}

/// Offsets from a prior box of this centre and size (Liu et al., "SSD", 2016, section 2.2): the centre moves by the first variance
/// times the size, the size changes by the exponential of the second variance times the number, or by that product where it is linear.
fn around_prior(
    [x, y, width, height]: &[f32; 4],
    [center, size]: [f32; 2],
    linear: bool,
    [a, b, c, d]: [f32; 4],
) -> [f32; 4] {
    let (x, y) = (x + a * (center * width), y + b * (center * height));
    let times = |number: f32| if linear { number * size } else { (number * size).exp() };
    centered(x, y, times(c) * width, times(d) * height)
}

/// The box of a cell's anchor of this size.
fn of_anchor(
    formula: AnchorFormula,
    [w, h, scale, _]: &[f32; 4],
    level: &Level,
    cell: usize,
    t: [f32; 4],
) -> [f32; 4] {
    let share = |t: f32| Activation::Sigmoid.probability(t);
    let stride = level.stride as f32;
    let [column, row] = [cell % level.columns, cell / level.columns].map(|n| n as f32);
    let [x, y, width, height] = match formula {
        AnchorFormula::Yolov3 => {
            let of = |t: f32| share(t) * scale - (scale - 1.0) * 0.5;
            [of(t[0]), of(t[1]), t[2].exp(), t[3].exp()]
        }
        AnchorFormula::Yolov5 => {
            let of = |t: f32| share(t) * 2.0 - 0.5;
            let [a, b] = [t[2], t[3]].map(|t| share(t) * 2.0);
            [of(t[0]), of(t[1]), a * a, b * b]
        }
        AnchorFormula::NewCoords => {
            let of = |v: f32| v * scale - (scale - 1.0) * 0.5;
            let [a, b] = [t[2] * 2.0, t[3] * 2.0];
            [of(t[0]), of(t[1]), a * a, b * b]
        }
    };
    centered((column + x) * stride, (row + y) * stride, width * w, height * h)
}
