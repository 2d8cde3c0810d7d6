//! What the numbers of a box are.

use std::sync::Arc;

use crate::detect::{AnchorFormula, BoxFormat, Hints, SizeUnit};

use super::table::Field;

/// The numbers of a box: four, if nothing else is said.
#[derive(Clone, Debug)]
pub(in crate::detect) enum Coding {
    /// Corners, or a corner or the centre with the size.
    Plain(BoxCoding),
    /// Centre from the corner of the cell, in cells, and the logarithm of width and height in cells (YOLOX).
    Grid,
    /// For each side the logits of that many bins of its distance from the cell's point, in cells (DFL).
    Distances {
        /// Bins of a side.
        bins: usize,
        /// Where the point lies in the cell, in cells.
        point: f32,
    },
    /// Sizes around a cell's point.
    Centers(Centers),
    /// The distances of left, top, right and bottom from the corner of the cell, in cells.
    Sides,
    /// Offsets from prior boxes.
    Priors {
        /// Centre and size of each anchor's prior box in tensor pixels.
        boxes: Arc<[[f32; 4]]>,
        /// Factors on the offsets of the centre, and on the numbers of the size.
        variances: [f32; 2],
        /// Whether the numbers of the size are multiples of the prior box's, not logarithms of them.
        linear: bool,
    },
    /// Multiples of anchors' sizes.
    Anchored {
        /// What a box is made by.
        formula: AnchorFormula,
        /// Width, height and scale of the centre of each anchor of a cell, level by level.
        sizes: Arc<[[f32; 4]]>,
    },
}

/// How boxes lie around cells' points.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct Centers {
    /// Numbers of a size: 2, width and height, or 4, the distances of left, top, right and bottom.
    pub sides: usize,
    /// Their unit.
    pub unit: SizeUnit,
    /// Tensor pixels of 1 in [`SizeUnit::Pixels`].
    pub pixels: f32,
    /// Whether y comes before x, height before width, top before left.
    pub y_first: bool,
    /// Where the point lies in the cell, in cells.
    pub point: f32,
    /// What is added to it, x and y in cells; in the same order of dimensions as the boxes.
    pub offsets: Option<Field>,
    /// Whether each class of a cell has a box of its own, after that of the class before.
    pub of_each_class: bool,
}

/// Format and unit of a model's boxes.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct BoxCoding {
    /// What the four numbers are.
    pub format: BoxFormat,
    /// Tensor pixels per unit, in x and y.
    pub unit: [f32; 2],
}

impl BoxCoding {
    /// As the hints say, and where they do not, `format` and `normalized`.
    pub fn new(hints: &Hints, format: BoxFormat, normalized: bool, input: [usize; 2]) -> Self {
        let unit =
            if hints.normalized.unwrap_or(normalized) { input.map(|side| side as f32) } else { [1.0, 1.0] };
        Self { format: hints.box_format.unwrap_or(format), unit }
    }

    /// Whether they are in 0..1 of the tensor, not in its pixels.
    pub fn is_normalized(&self) -> bool {
        self.unit != [1.0, 1.0]
    }

    /// Of centre and size, in the same unit.
    pub fn centered(self) -> Self {
        Self { format: BoxFormat::CenterSize, ..self }
    }
}
