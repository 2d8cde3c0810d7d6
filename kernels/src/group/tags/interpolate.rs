//! Values of an output on the cells of a finer one, as PyTorch's `interpolate` with `mode="bilinear"` and without `align_corners`
//! has them: both outputs cover the same area, and beyond the outermost cells' centres values stay theirs.

use crate::group::Field;
use crate::peaks::MapShape;

/// Two neighbours on an axis, and the weight of the second.
#[derive(Clone, Copy, Debug)]
struct Between {
    first: usize,
    second: usize,
    weight: f32,
}

impl Between {
    fn mix(self, at: impl Fn(usize) -> f32) -> f32 {
        let first = at(self.first);
        // What is not finite stays in the cells that it is in.
        if self.weight == 0.0 { first } else { first + (at(self.second) - first) * self.weight }
    }

    /// For each of `fine` cells of an axis the two of `coarse` cells that it lies between.
    fn axis(coarse: usize, fine: usize) -> Vec<Self> {
        let between = |cell: usize| {
            let at =
                ((cell as f64 + 0.5) * coarse as f64 / fine as f64 - 0.5).clamp(0.0, (coarse - 1) as f64);
            let first = at as usize;
            let second = (first + 1).min(coarse - 1);
            Self { first, second, weight: (at - first as f64) as f32 }
        };
        (0..fine).map(between).collect()
    }
}

/// An output's values on other cells.
#[derive(Debug)]
pub(super) struct Interpolated<'a> {
    field: Field<'a>,
    first: usize,
    rows: Vec<Between>,
    columns: Vec<Between>,
}

impl<'a> Interpolated<'a> {
    /// The channels from `first` on of an output of this shape, on `width` x `height` cells.
    pub fn new(values: &'a [f32], shape: &MapShape, first: usize, [width, height]: [usize; 2]) -> Self {
        Self {
            field: Field::new(values, shape),
            first,
            rows: Between::axis(shape.height, height),
            columns: Between::axis(shape.width, width),
        }
    }

    /// The value of a cell (`y * width + x`).
    pub fn at(&self, channel: usize, cell: usize) -> f32 {
        let (x, y) = (cell % self.columns.len(), cell / self.columns.len());
        let column = |column: usize| self.rows[y].mix(|row| self.field.at(self.first + channel, column, row));
        self.columns[x].mix(column)
    }

    /// Hands the values of a channel to `take`, row by row.
    pub fn each(&self, channel: usize, mut take: impl FnMut(f32)) {
        let mut line = vec![0.0; self.field.width];
        for row in &self.rows {
            for (column, value) in line.iter_mut().enumerate() {
                *value = row.mix(|row| self.field.at(self.first + channel, column, row));
            }
            self.columns.iter().for_each(|column| take(column.mix(|column| line[column])));
        }
    }
}
