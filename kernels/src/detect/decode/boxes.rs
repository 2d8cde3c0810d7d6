//! The four numbers of a box, whatever they mean, to corners in tensor pixels.

use super::super::rotated::Rotated;
use super::super::{BoxFormat, Hints};

/// Format and unit of a model's boxes.
#[derive(Clone, Copy, Debug)]
pub struct BoxCoding {
    format: BoxFormat,
    /// Tensor pixels per unit, in x and y.
    unit: [f32; 2],
}

impl BoxCoding {
    /// As the hints say, and where they do not, `format` and `normalized`.
    pub fn new(hints: &Hints, format: BoxFormat, normalized: bool, input: [usize; 2]) -> Self {
        let unit =
            if hints.normalized.unwrap_or(normalized) { input.map(|side| side as f32) } else { [1.0, 1.0] };
        Self { format: hints.box_format.unwrap_or(format), unit }
    }

    /// Format, and tensor pixels per unit in x and y.
    pub fn parts(&self) -> (BoxFormat, [f32; 2]) {
        (self.format, self.unit)
    }

    /// Whether they are in 0..1 of the tensor, not in its pixels.
    pub fn is_normalized(&self) -> bool {
        self.unit != [1.0, 1.0]
    }

    /// Of centre and size, in the same unit.
    pub fn centered(self) -> Self {
        Self { format: BoxFormat::CenterSize, ..self }
    }

    /// The box of this centre and size that is rotated by `angle`.
    pub fn rotated(&self, [x, y, w, h]: [f32; 4], angle: f32) -> Rotated {
        let [ux, uy] = self.unit;
        Rotated { center: [x * ux, y * uy], size: [w * ux, h * uy], angle }
    }

    /// x1, y1, x2, y2 in tensor pixels.
    pub fn corners(&self, [a, b, c, d]: [f32; 4]) -> [f32; 4] {
        let [x1, y1, x2, y2] = match self.format {
            BoxFormat::Corners => [a, b, c, d],
            BoxFormat::CornersYx => [b, a, d, c],
            BoxFormat::TopLeftSize => [a, b, a + c, b + d],
            BoxFormat::CenterSize => centered(a, b, c, d),
        };
        let [ux, uy] = self.unit;
        [x1 * ux, y1 * uy, x2 * ux, y2 * uy]
    }
}

/// Corners of the box of this centre and size.
pub fn centered(x: f32, y: f32, w: f32, h: f32) -> [f32; 4] {
    [x - w * 0.5, y - h * 0.5, x + w * 0.5, y + h * 0.5]
}
