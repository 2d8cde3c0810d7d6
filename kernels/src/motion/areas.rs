//! Changed pixels that lie side by side.

/// Pixels at most this far apart, across and down, belong to one area: what moves has parts of the background's brightness.
const REACH: usize = 2;

/// An area of changed pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// How many.
    pub pixels: usize,
    /// Left, top, right and bottom edge of the box around it, in pixels of the picture.
    pub edges: [usize; 4],
}

/// Finds areas; keeps its memory.
#[derive(Debug, Default)]
pub(super) struct Areas {
    open: Vec<usize>,
    found: Vec<Area>,
}

impl Areas {
    /// The areas of at least `least` pixels in rows of `width`, the largest first, of equal ones the topmost. `changed` has none left then.
    pub fn find(&mut self, changed: &mut [bool], width: usize, least: usize) -> &[Area] {
        self.found.clear();
        for start in 0..changed.len() {
            if std::mem::take(&mut changed[start]) {
                let area = self.grow(changed, width, start);
                if area.pixels >= least {
                    self.found.push(area);
                }
            }
        }
        self.found.sort_by_key(|area| std::cmp::Reverse(area.pixels));
        &self.found
    }

    /// The area around a pixel.
    fn grow(&mut self, changed: &mut [bool], width: usize, start: usize) -> Area {
        let height = changed.len() / width;
        let [column, row] = [start % width, start / width];
        let mut area = Area { pixels: 0, edges: [column, row, column, row] };
        self.open.push(start);
        while let Some(at) = self.open.pop() {
            let [column, row] = [at % width, at / width];
            area.pixels += 1;
            let [left, top, right, bottom] = area.edges;
            area.edges = [left.min(column), top.min(row), right.max(column + 1), bottom.max(row + 1)];
            for near_row in row.saturating_sub(REACH)..(row + REACH + 1).min(height) {
                for near_column in column.saturating_sub(REACH)..(column + REACH + 1).min(width) {
                    let near = near_row * width + near_column;
                    if std::mem::take(&mut changed[near]) {
                        self.open.push(near);
                    }
                }
            }
        }
        area
    }
}
