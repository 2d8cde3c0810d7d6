//! The cells of a detector's heads: one grid a stride, each `ceil(width / stride)` by `ceil(height / stride)`.

/// The cells of one stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Tensor pixels a cell is wide and high.
    pub stride: usize,
    /// Cells in a row.
    pub columns: usize,
    /// Anchors of this level: its cells, each as often as it has anchors.
    pub cells: usize,
    /// Anchors of a cell; they follow one another.
    pub per_cell: usize,
    /// Anchor of its first cell.
    pub first: usize,
}

impl Level {
    /// Column and row of the cell of the level's `anchor`.
    pub fn position(&self, anchor: usize) -> (f32, f32) {
        let cell = anchor / self.per_cell;
        ((cell % self.columns) as f32, (cell / self.columns) as f32)
    }
}

/// The cells of all strides, one level after the other, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// One for each stride, in the strides' order.
    pub levels: Vec<Level>,
    /// Cells of all levels.
    pub cells: usize,
}

impl Grid {
    /// The grid over an input tensor of `[width, height]`, an anchor a cell; strides are above 0.
    pub fn new(input: [usize; 2], strides: &[usize]) -> Self {
        Self::of_anchors(input, strides, |_| 1)
    }

    /// The same where each cell of a level, given by its number, has that many anchors, one at least.
    pub fn of_anchors(input: [usize; 2], strides: &[usize], per_cell: impl Fn(usize) -> usize) -> Self {
        let mut first = 0;
        let levels = strides
            .iter()
            .enumerate()
            .map(|(level, &stride)| {
                let (columns, per_cell) = (input[0].div_ceil(stride), per_cell(level).max(1));
                let cells = columns * input[1].div_ceil(stride) * per_cell;
                let level = Level { stride, columns, cells, per_cell, first };
                first += level.cells;
                level
            })
            .collect();
        Self { levels, cells: first }
    }

    /// The level that `anchor` is a cell of.
    pub fn level_of(&self, anchor: usize) -> Option<&Level> {
        self.levels.iter().find(|l| anchor < l.first + l.cells)
    }

    /// Whether every stride divides both sides, so that there is no doubt about the number of cells.
    pub fn is_even(&self, input: [usize; 2]) -> bool {
        self.levels.iter().all(|l| input[0].is_multiple_of(l.stride) && input[1].is_multiple_of(l.stride))
    }
}

/// Whether `cells` are those of some usual pyramid: neighbouring strides of 4, 8, ... 128 (P2 to P7), two at least.
/// Decoders that need no strides may thus recognise a model whose strides are not set.
pub(super) fn is_pyramid(cells: usize, input: [usize; 2]) -> bool {
    const STRIDES: [usize; 6] = [4, 8, 16, 32, 64, 128];
    (0..STRIDES.len())
        .any(|from| (from + 2..=STRIDES.len()).any(|to| Grid::new(input, &STRIDES[from..to]).cells == cells))
}
