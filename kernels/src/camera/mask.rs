//! Where boxes lie in a picture, in blocks of 4x4 pixels.

use crate::geometry::Rect;

/// The side of a block, in pixels.
pub(super) const BLOCK: usize = 4;

/// Pixels around a box that count as covered: the object shows in the windows of corners beside it.
const MARGIN: f32 = 2.0;

/// Which blocks boxes touch.
#[derive(Debug, Default)]
pub(super) struct Mask {
    columns: usize,
    covered: Vec<bool>,
}

impl Mask {
    /// For a picture of `size`, with `scale` frame pixels a pixel; `boxes` are in frame pixels. Boxes that are not finite
    /// cover nothing.
    pub fn set(&mut self, size: [usize; 2], scale: [f32; 2], boxes: &[Rect]) {
        let [columns, rows] = size.map(|side| side.div_ceil(BLOCK));
        self.columns = columns;
        self.covered.clear();
        self.covered.resize(columns * rows, false);
        for rect in boxes {
            let x = blocks(rect.x, rect.right(), scale[0], columns);
            let y = blocks(rect.y, rect.bottom(), scale[1], rows);
            let (Some((left, right)), Some((top, bottom))) = (x, y) else { continue };
            for row in self.covered.chunks_exact_mut(columns).take(bottom).skip(top) {
                row[left..right].fill(true);
            }
        }
    }

    /// The blocks of the row of pixels `y`, from left to right.
    pub fn row(&self, y: usize) -> &[bool] {
        let start = y / BLOCK * self.columns;
        self.covered.get(start..start + self.columns).unwrap_or_default()
    }

    /// Whether a point of the picture is covered.
    pub fn covers(&self, [x, y]: [f32; 2]) -> bool {
        // `as` saturates, and makes 0 of NaN.
        self.row(y as usize).get(x as usize / BLOCK).is_some_and(|covered| *covered)
    }
}

/// The first block that a box touches on an axis, and the one after its last; none for a box without extent.
fn blocks(from: f32, to: f32, scale: f32, blocks: usize) -> Option<(usize, usize)> {
    let block = BLOCK as f32 * scale;
    let margin = MARGIN * scale;
    let (first, last) = ((from - margin) / block, (to + margin) / block);
    // The comparison is false for NaN as well. An infinite edge beside a finite one is an edge far outside; `as` saturates.
    (to > from && first.is_finite() && last.is_finite())
        .then(|| (first.floor().max(0.0) as usize, (last.ceil().max(0.0) as usize).min(blocks)))
        .filter(|(first, last)| first < last)
}
