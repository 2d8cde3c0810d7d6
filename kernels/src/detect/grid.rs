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

    /// Where the cell of the level's `anchor` has its corner, in tensor pixels.
    pub fn corner(&self, anchor: usize) -> [f32; 2] {
        let (column, row) = self.position(anchor);
        [column * self.stride as f32, row * self.stride as f32]
    }

    /// The neighbours of a cell, eight at most; of one anchor a cell.
    pub fn around(&self, cell: usize) -> impl Iterator<Item = usize> {
        let (column, row) = (cell % self.columns, cell / self.columns);
        let columns = column.saturating_sub(1)..(column + 2).min(self.columns);
        let rows = row.saturating_sub(1)..(row + 2).min(self.rows());
        let width = self.columns;
        let all = rows.flat_map(move |row| columns.clone().map(move |column| row * width + column));
        all.filter(move |other| *other != cell)
    }

    /// Rows of cells.
    pub fn rows(&self) -> usize {
        self.cells / self.per_cell / self.columns.max(1)
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

    /// Of one stride, a row of which has that many cells, an anchor each.
    pub fn of_one(cells: usize, columns: usize, stride: usize) -> Self {
        Self { levels: vec![Level { stride, columns, cells, per_cell: 1, first: 0 }], cells }
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
