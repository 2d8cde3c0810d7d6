//! Which cells a window looks at.

use super::Window;

impl Window {
    /// The cell of a tap for an output along an axis (0: rows, 1: columns) of a length; none outside of the image.
    pub fn cell(&self, axis: usize, output: usize, tap: usize, length: usize) -> Option<usize> {
        usize::try_from(self.position(axis, output, tap)).ok().filter(|cell| *cell < length)
    }

    /// Whether a tap's cell is in the image or in its padding along an axis of a length, and not still farther away.
    pub fn is_padding(&self, axis: usize, output: usize, tap: usize, length: usize) -> bool {
        let cell = self.position(axis, output, tap);
        cell >= -self.begin[axis] && cell < length.cast_signed() + self.end[axis]
    }

    fn position(&self, axis: usize, output: usize, tap: usize) -> isize {
        let cells = output * self.strides[axis] + tap * self.dilations[axis];
        cells.cast_signed() - self.begin[axis]
    }
}
