//! The best pairing of a full matrix, of several the one that scipy's `linear_sum_assignment` finds. DeepLabCut assigns affinities in
//! thousandths with it, of which equal sums are common.
//!
//! By shortest augmenting paths: Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions on Aerospace and
//! Electronic Systems 2016. What decides between equals is that the shorter side's members are added in their order, that columns are
//! looked at from the last on, with the last one in the place of one that is passed, and that a free column comes before one that is
//! taken.

/// As many pairs as there are rows or columns, with the largest sum of scores: `(row, column)`, by ascending row. `scores`, row by
/// row, are finite.
pub(crate) fn assign_full<T: Copy + Into<f64>>(
    scores: &[T],
    rows: usize,
    cols: usize,
) -> Vec<(usize, usize)> {
    let cost = |row: usize, col: usize| -scores[row * cols + col].into();
    if rows <= cols {
        let costs = (0..rows).map(|row| (0..cols).map(|col| cost(row, col)).collect()).collect();
        return Pairing::of(costs, cols);
    }
    let costs = (0..cols).map(|col| (0..rows).map(|row| cost(row, col)).collect()).collect();
    let turned = Pairing::of(costs, rows).into_iter();
    let mut pairs: Vec<(usize, usize)> = turned.map(|(col, row)| (row, col)).collect();
    pairs.sort_unstable();
    pairs
}

/// The best pairing of the rows that have been added so far, with dual variables.
struct Pairing {
    costs: Vec<Vec<f64>>,
    row_prices: Vec<f64>,
    col_prices: Vec<f64>,
    col_of: Vec<Option<usize>>,
    row_of: Vec<Option<usize>>,
}

impl Pairing {
    /// The pairs of all rows, of which there are no more than columns.
    fn of(costs: Vec<Vec<f64>>, cols: usize) -> Vec<(usize, usize)> {
        let rows = costs.len();
        let mut pairing = Self {
            costs,
            row_prices: vec![0.0; rows],
            col_prices: vec![0.0; cols],
            col_of: vec![None; rows],
            row_of: vec![None; cols],
        };
        (0..rows).for_each(|row| pairing.add(row));
        pairing.col_of.into_iter().enumerate().filter_map(|(row, col)| Some((row, col?))).collect()
    }

    /// Adds a row by the shortest way to a free column.
    fn add(&mut self, start: usize) {
        let cols = self.row_of.len();
        let (mut distances, mut from) = (vec![f64::INFINITY; cols], vec![start; cols]);
        let mut open: Vec<usize> = (0..cols).rev().collect();
        let (mut passed, mut row, mut length) = (Vec::new(), start, 0.0);
        let end = loop {
            let (mut nearest, mut lowest) = (0, f64::INFINITY);
            for (at, col) in open.iter().copied().enumerate() {
                let through = length + self.costs[row][col] - self.row_prices[row] - self.col_prices[col];
                if through < distances[col] {
                    (distances[col], from[col]) = (through, row);
                }
                let is_free = self.row_of[col].is_none();
                if distances[col] < lowest || (distances[col] == lowest && is_free) {
                    (nearest, lowest) = (at, distances[col]);
                }
            }
            length = lowest;
            let col = open.swap_remove(nearest);
            passed.push(col);
            match self.row_of[col] {
                Some(partner) => row = partner,
                None => break col,
            }
        };
        self.row_prices[start] += length;
        for col in passed {
            if let Some(partner) = self.row_of[col] {
                self.row_prices[partner] += length - distances[col];
            }
            self.col_prices[col] -= length - distances[col];
        }
        self.turn(start, end, &from);
    }

    /// Gives each row on the way to `end` the column that follows it there.
    fn turn(&mut self, start: usize, end: usize, from: &[usize]) {
        let mut col = Some(end);
        while let Some(next) = col {
            let row = from[next];
            self.row_of[next] = Some(row);
            col = self.col_of[row].replace(next).filter(|_| row != start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Matrices of small numbers, in which most sums are equal, and what scipy 1.17.1 makes of them: rows, columns, scores, the
    /// column of each row or 9.
    const SCIPY: &str = include_str!("full.txt");

    #[test]
    fn equal_sums_are_decided_as_scipy_does() {
        for line in SCIPY.lines() {
            let digits = |word: &str| word.bytes().map(|digit| usize::from(digit - b'0')).collect::<Vec<_>>();
            let [size, scores, wanted] =
                <[&str; 3]>::try_from(line.split(' ').collect::<Vec<_>>()).unwrap().map(digits);
            let scores: Vec<f32> = scores.into_iter().map(|score| score as f32 / 1000.0).collect();
            let wanted: Vec<(usize, usize)> =
                wanted.into_iter().enumerate().filter(|(_, col)| *col < 9).collect();
            assert_eq!(assign_full(&scores, size[0], size[1]), wanted, "{line}");
        }
    }

    #[test]
    fn nothing_pairs_with_nothing() {
        assert_eq!(assign_full::<f32>(&[], 0, 3), []);
        assert_eq!(assign_full::<f32>(&[], 3, 0), []);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_other_solver(scores in prop::collection::vec(-1.0f32..1.0, 36), rows in 1usize..7, cols in 1usize..7) {
            let scores = &scores[..rows * cols];
            let all = scores.iter().enumerate();
            let pairs: Vec<_> = all.map(|(at, score)| crate::associate::Pair { row: at / cols, col: at % cols, score: *score }).collect();
            let sum = |pairs: Vec<(usize, usize)>| pairs.iter().map(|(row, col)| f64::from(scores[row * cols + col])).sum::<f64>();
            let found = assign_full(scores, rows, cols);
            prop_assert_eq!(found.len(), rows.min(cols));
            prop_assert!((sum(found) - sum(crate::associate::assign_most(&pairs, rows, cols))).abs() < 1e-9);
        }
    }
}
