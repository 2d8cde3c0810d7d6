//! The cells of a detector's heads: one grid a stride, each `ceil(width / stride)` by `ceil(height / stride)`.

/// The cells of one stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Tensor pixels a cell is wide and high.
    pub stride: usize,
    /// Cells in a row.
    pub columns: usize,
    /// Cells of this level.
    pub cells: usize,
    /// Anchor of its first cell.
    pub first: usize,
}

impl Level {
    /// Column and row of the level's `cell`.
    pub fn position(&self, cell: usize) -> (f32, f32) {
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
    /// The grid over an input tensor of `[width, height]`; strides are above 0.
    pub fn new(input: [usize; 2], strides: &[usize]) -> Self {
        let mut first = 0;
        let levels = strides
            .iter()
            .map(|&stride| {
                let columns = input[0].div_ceil(stride);
                let level = Level { stride, columns, cells: columns * input[1].div_ceil(stride), first };
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
