//! From boxes to regions: pure geometry.

use super::grid::Grid;
use crate::geometry::{Affine, Rect};
use crate::preproc::Interpolation;

/// How a box fills the tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// The whole box with its aspect kept, centred. What lies around it in the frame fills the rest.
    Letterbox,
    /// The box fills the tensor, whatever that does to its aspect.
    Stretch,
    /// One scale for all boxes: the tensor's longer side covers that many frame pixels, around the box's centre. Its size
    /// and the padding do not matter, it may even be a point.
    Fixed(f32),
}

/// The map from a tensor of `tensor` (width, height) pixels to the part of a frame of `frame` pixels that a box asks for.
///
/// The box is `rect` turned about its centre by `angle`, in radians, clockwise as seen in the frame, and made
/// `padding` times as wide and high. The tensor shows it upright.
///
/// None where there is nothing to show: a box that is empty (but for [`Fit::Fixed`]), of negative size or not finite, an
/// angle or padding that is not finite, a padding or fixed size that is not positive, a region wholly outside the frame.
pub fn region(
    rect: Rect,
    angle: f32,
    padding: f32,
    fit: Fit,
    tensor: [usize; 2],
    frame: [usize; 2],
) -> Option<Affine> {
    let [x, y, w, h, angle, padding] = [rect.x, rect.y, rect.w, rect.h, angle, padding].map(f64::from);
    let [tensor_w, tensor_h] = tensor.map(|n| n as f64);
    let (wide, high) = (w * padding / tensor_w, h * padding / tensor_h);
    let (sx, sy) = match fit {
        Fit::Letterbox => (wide.max(high), wide.max(high)),
        Fit::Stretch => (wide, high),
        Fit::Fixed(side) => {
            let scale = f64::from(side) / tensor_w.max(tensor_h);
            (scale, scale)
        }
    };
    // Also false for what is not a number.
    let sound = w >= 0.0 && h >= 0.0 && padding > 0.0 && sx > 0.0 && sy > 0.0;
    if !sound || (!matches!(fit, Fit::Fixed(_)) && !(w > 0.0 && h > 0.0)) {
        return None;
    }
    let (sin, cos) = angle.sin_cos();
    let (scale, skew) = ([cos * sx, cos * sy], [-sin * sy, sin * sx]);
    let center = [x + 0.5 * w, y + 0.5 * h];
    let offset = [
        center[0] - 0.5 * (scale[0] * tensor_w + skew[0] * tensor_h),
        center[1] - 0.5 * (skew[1] * tensor_w + scale[1] * tensor_h),
    ];
    let to_frame = Affine { scale, skew, offset };
    // What can be sampled, and is finite therefore.
    Grid::new(&to_frame, tensor, Interpolation::Bilinear)?;
    // Two rectangles overlap if they do along the axes of each.
    let [frame_w, frame_h] = frame.map(|n| n as f64);
    let corners = |w: f64, h: f64| [(0.0, 0.0), (w, 0.0), (0.0, h), (w, h)];
    let in_frame = corners(tensor_w, tensor_h)
        .map(|(x, y)| [scale[0] * x + skew[0] * y + offset[0], skew[1] * x + scale[1] * y + offset[1]]);
    let in_tensor = corners(frame_w, frame_h).map(|(x, y)| {
        let (dx, dy) = (x - offset[0], y - offset[1]);
        [(cos * dx + sin * dy) / sx, (cos * dy - sin * dx) / sy]
    });
    let overlap = |points: &[[f64; 2]; 4], axis: usize, length: f64| {
        points.iter().any(|p| p[axis] > 0.0) && points.iter().any(|p| p[axis] < length)
    };
    let seen = overlap(&in_frame, 0, frame_w)
        && overlap(&in_frame, 1, frame_h)
        && overlap(&in_tensor, 0, tensor_w)
        && overlap(&in_tensor, 1, tensor_h);
    seen.then_some(to_frame)
}
