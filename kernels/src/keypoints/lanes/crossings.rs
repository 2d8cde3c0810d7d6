//! Lanes by the cells in which they cross rows and columns of the picture: Ultra-Fast-Lane-Detection. In both versions a cell's middle
//! is at `(cell + 0.5) / (cells - 1)` of the picture, as the training has it (`_grid_pts` in data/dataset.py) and the evaluation on
//! TuSimple. For CULane the first version's demo.py adds 1 instead of 0.5 and subtracts a pixel.

use std::ops::Range;

use crate::keypoints::identities::softmax;

/// The rows or columns of an output, and their cells.
#[derive(Debug)]
pub(super) struct Crossings {
    /// Along each row or column.
    pub cells: usize,
    /// Where the rows or columns are, as fractions of the picture.
    pub anchors: Vec<f32>,
    pub lanes: usize,
}

/// Where a lane crosses a row or column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// Where the row or column is, as a fraction of the picture.
    pub anchor: f32,
    /// Where on it.
    pub along: f32,
    pub score: f32,
}

impl Crossings {
    /// Those of a lane whose last cell stands for none, in `values` `[cells + 1, anchors, lanes]`: the mean of all cells by their
    /// probabilities. The score is the probability of all cells together. Values that are not finite are counted, and cross nothing.
    pub fn with_none(&self, values: &[f32], lane: usize, non_finite: &mut usize) -> Vec<Option<Crossing>> {
        let crossing = |index: usize| {
            let all = self.of(values, [index, lane], non_finite)?;
            let (none, cells) = all.split_last()?;
            if cells.iter().all(|cell| cell < none) {
                return None;
            }
            self.crossing(index, cells, 0..self.cells, 1.0 - softmax(&all).last()?)
        };
        (0..self.anchors.len()).map(crossing).collect()
    }

    /// Those of a lane in `values` `[cells, anchors, lanes]` where `exists` `[2, anchors, lanes]` says that there are any: the mean of
    /// the highest cell and its neighbours. The score is that of the existence.
    pub fn with_existence(
        &self,
        [values, exists]: [&[f32]; 2],
        lane: usize,
        non_finite: &mut usize,
    ) -> Vec<Option<Crossing>> {
        let crossing = |index: usize| {
            let exists = self.of(exists, [index, lane], non_finite)?;
            let [no, yes] = exists[..] else { return None };
            if yes <= no {
                return None;
            }
            let cells = self.of(values, [index, lane], non_finite)?;
            let higher =
                |highest: usize, cell: usize| if cells[cell] > cells[highest] { cell } else { highest };
            let highest = (0..cells.len()).reduce(higher)?;
            let near = highest.saturating_sub(1)..(highest + 2).min(cells.len());
            self.crossing(index, &cells, near, softmax(&exists)[1])
        };
        (0..self.anchors.len()).map(crossing).collect()
    }

    /// The numbers of a row or column for a lane, unless some are not finite, which are counted.
    fn of(&self, values: &[f32], [index, lane]: [usize; 2], non_finite: &mut usize) -> Option<Vec<f32>> {
        let (first, step) = (index * self.lanes + lane, self.anchors.len() * self.lanes);
        let numbers: Vec<f32> = values.iter().skip(first).step_by(step).copied().collect();
        let bad = numbers.iter().filter(|number| !number.is_finite()).count();
        *non_finite += bad;
        (bad == 0).then_some(numbers)
    }

    fn crossing(&self, index: usize, cells: &[f32], range: Range<usize>, score: f32) -> Option<Crossing> {
        let probabilities = softmax(cells.get(range.clone())?);
        let mean: f32 = probabilities.iter().zip(range).map(|(p, cell)| p * cell as f32).sum();
        let along = (mean + 0.5) / (self.cells - 1) as f32;
        Some(Crossing { anchor: *self.anchors.get(index)?, along, score })
    }
}
