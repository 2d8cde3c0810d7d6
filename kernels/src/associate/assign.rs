//! The best one-to-one pairing of rows and columns.

use super::solver::{Edge, Solver};

/// A pairing: which row goes with which column, and which rows and columns are left over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// `(row, column)` pairs, by ascending row; no row and no column occurs twice.
    pub matches: Vec<(usize, usize)>,
    /// Rows in no pair, ascending.
    pub unmatched_rows: Vec<usize>,
    /// Columns in no pair, ascending.
    pub unmatched_cols: Vec<usize>,
}

/// The lowest score at which a pair is kept, and when it is applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// Worse pairs are forbidden: the best pairing is sought among the others, so a pair that would not be kept never
    /// takes a partner away from one that would.
    Before(f32),
    /// The best pairing is sought among all pairs, and the worse ones are then dropped from it. SORT's authors do this.
    After(f32),
}

impl Gate {
    /// The lowest score to optimise over, and the lowest to keep.
    fn limits(self) -> (f32, f32) {
        match self {
            Self::Before(score) => (score, score),
            Self::After(score) => (0.0, score),
        }
    }
}

/// A row and a column that may be paired.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index of the row.
    pub row: usize,
    /// Index of the column.
    pub col: usize,
    /// How well they fit; higher is better.
    pub score: f32,
}

/// Pairs rows with columns so that the sum of the pairs' scores is the largest possible.
///
/// `pairs` are the allowed pairs, by ascending row. A score that is 0, negative, NaN or infinite forbids a pair, and so
/// do `gate` and a row or column out of range. A row or column without an allowed partner stays unmatched. Equal inputs
/// give equal results.
///
/// By shortest augmenting paths, as Jonker and Volgenant ("A shortest augmenting path algorithm for dense and sparse linear
/// assignment problems", Computing 1987), over the allowed pairs alone; a row may also stay alone, at score 0. A search sees
/// only the rows that compete for columns, in a video almost always one or two: n rows take time proportional to the pairs.
pub fn assign(pairs: &[Pair], rows: usize, cols: usize, gate: Gate, out: &mut Assignment) {
    let (floor, keep) = gate.limits();
    let allowed = |pair: &&Pair| {
        let in_range = pair.row < rows && pair.col < cols;
        in_range && pair.score.is_finite() && pair.score > 0.0 && pair.score >= floor
    };
    let edges: Vec<(usize, Edge)> = pairs
        .iter()
        .filter(allowed)
        .map(|pair| (pair.row, Edge { col: pair.col, gain: f64::from(pair.score) }))
        .collect();
    out.matches.clear();
    for (row, partner) in Solver::solve(&edges, rows, cols).into_iter().enumerate() {
        let kept = partner.filter(|edge| edge.gain >= f64::from(keep));
        out.matches.extend(kept.map(|edge| (row, edge.col)));
    }
    leftovers(rows, out.matches.iter().map(|m| m.0), &mut out.unmatched_rows);
    leftovers(cols, out.matches.iter().map(|m| m.1), &mut out.unmatched_cols);
}

/// As many pairs as there can be, and of all such pairings the one with the largest sum: `(row, column)`, by ascending row.
///
/// `pairs` are the allowed pairs, by ascending row. Scores may be negative; one that is not finite forbids a pair, and so does
/// a row or column out of range. Equal inputs give equal results. For matrices without forbidden pairs the result is that of
/// scipy's `linear_sum_assignment` with `maximize`, save that it may be another one of several best pairings.
pub(crate) fn assign_most(pairs: &[Pair], rows: usize, cols: usize) -> Vec<(usize, usize)> {
    let allowed = || pairs.iter().filter(|pair| pair.row < rows && pair.col < cols && pair.score.is_finite());
    let scores = || allowed().map(|pair| f64::from(pair.score));
    let (low, high) =
        scores().fold((0.0, 0.0), |(low, high): (f64, f64), score| (low.min(score), high.max(score)));
    // One pair more gains more than any choice among the others does. A power of two, so that equal sums stay equal.
    let lift = ((high - low + 1.0) * (rows.min(cols) + 1) as f64).log2().ceil().exp2();
    let edges: Vec<(usize, Edge)> = allowed()
        .map(|pair| (pair.row, Edge { col: pair.col, gain: f64::from(pair.score) + lift }))
        .collect();
    let partners = Solver::solve(&edges, rows, cols).into_iter().enumerate();
    partners.filter_map(|(row, edge)| Some((row, edge?.col))).collect()
}

/// All of `0..count` that is not in `taken`, ascending.
fn leftovers(count: usize, taken: impl Iterator<Item = usize>, out: &mut Vec<usize>) {
    let mut free = vec![true; count];
    for index in taken {
        if let Some(slot) = free.get_mut(index) {
            *slot = false;
        }
    }
    out.clear();
    out.extend((0..count).filter(|&i| free.get(i) == Some(&true)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pairs of a row-major matrix.
    fn pairs(scores: &[f32], cols: usize) -> Vec<Pair> {
        let pair = |(at, &score): (usize, &f32)| Pair { row: at / cols, col: at % cols, score };
        scores.iter().enumerate().map(pair).collect()
    }

    fn run(scores: &[f32], rows: usize, cols: usize, min_score: f32) -> Assignment {
        let mut out = Assignment::default();
        assign(&pairs(scores, cols.max(1)), rows, cols, Gate::Before(min_score), &mut out);
        out
    }

    /// The largest total over all pairings, by trying them all: `row` takes any free column or none.
    fn brute_force(scores: &[f32], cols: usize, min_score: f32, row: usize, used: &mut Vec<bool>) -> f64 {
        if (row + 1) * cols > scores.len() || cols == 0 {
            return 0.0;
        }
        let mut best = brute_force(scores, cols, min_score, row + 1, used);
        for col in 0..cols {
            let score = scores[row * cols + col];
            if !used[col] && score.is_finite() && score > 0.0 && score >= min_score {
                used[col] = true;
                best = best.max(f64::from(score) + brute_force(scores, cols, min_score, row + 1, used));
                used[col] = false;
            }
        }
        best
    }

    #[test]
    fn the_sum_decides_not_the_greedy_choice() {
        // Greedy takes 0.9 and leaves 0.1; the best total is 0.8 + 0.7.
        let found = run(&[0.9, 0.8, 0.7, 0.1], 2, 2, 0.05);
        assert_eq!(found.matches, [(0, 1), (1, 0)]);
    }

    #[test]
    fn a_gated_pair_takes_no_partner_away() {
        // Without the gate the best total is 0.6 + 0.25 across; with it (0.3) only the 0.7 or the 0.6 can be kept.
        let found = run(&[0.7, 0.25, 0.6, 0.0], 2, 2, 0.3);
        assert_eq!(
            found,
            Assignment { matches: vec![(0, 0)], unmatched_rows: vec![1], unmatched_cols: vec![1] }
        );
    }

    #[test]
    fn a_gate_applied_after_drops_pairs_of_the_best_total() {
        // The best total is 0.7 + 0.1 or 0.65 + 0.2: the latter, of which only 0.65 reaches the gate. Gated before, 0.7.
        let scores = [0.7, 0.65, 0.2, 0.1];
        let mut after = Assignment::default();
        assign(&pairs(&scores, 2), 2, 2, Gate::After(0.3), &mut after);
        assert_eq!(
            after,
            Assignment { matches: vec![(0, 1)], unmatched_rows: vec![1], unmatched_cols: vec![0] }
        );
        assert_eq!(run(&scores, 2, 2, 0.3).matches, [(0, 0)]);
    }

    #[test]
    fn nothing_allowed_leaves_all_unmatched() {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.29] {
            let found = run(&[bad; 6], 2, 3, 0.3);
            assert_eq!(found.matches, []);
            assert_eq!((found.unmatched_rows, found.unmatched_cols), (vec![0, 1], vec![0, 1, 2]));
        }
    }

    #[test]
    fn empty_sides_and_pairs_out_of_range_are_fine() {
        assert_eq!(run(&[], 0, 0, 0.3), Assignment::default());
        assert_eq!(run(&[], 0, 2, 0.3).unmatched_cols, [0, 1]);
        assert_eq!(run(&[], 2, 0, 0.3).unmatched_rows, [0, 1]);
        let short = run(&[0.5, 0.6], 2, 2, 0.3);
        assert_eq!((short.matches, short.unmatched_rows), (vec![(0, 1)], vec![1]));
        let beyond = run(&[0.5, 0.6, 0.7, 0.8], 1, 2, 0.3);
        assert_eq!((beyond.matches, beyond.unmatched_cols), (vec![(0, 1)], vec![0]));
        assert_eq!(run(&[0.5; 4], 2, 2, f32::NAN).matches, []);
    }

    #[test]
    fn a_large_matrix_of_equal_scores_is_paired_in_full() {
        let found = run(&vec![0.5; 200 * 150], 200, 150, 0.3);
        assert_eq!(
            (found.matches.len(), found.unmatched_rows.len(), found.unmatched_cols.len()),
            (150, 50, 0)
        );
    }

    #[test]
    fn the_most_pairs_come_first_and_then_the_largest_sum() {
        // 0.9 alone is the larger sum, but two pairs are preferred.
        let two = pairs(&[0.9, -0.2, -0.3, f32::NAN], 2);
        assert_eq!(assign_most(&two, 2, 2), [(0, 1), (1, 0)]);
        // All scores are negative.
        assert_eq!(assign_most(&pairs(&[-3.0, -1.0, -1.0, -3.0, -2.0, -2.0], 2), 3, 2), [(0, 1), (1, 0)]);
        assert_eq!(assign_most(&pairs(&[f32::NAN, f32::INFINITY], 2), 1, 2), []);
        assert_eq!(assign_most(&[], 0, 3), []);
        assert_eq!(assign_most(&two, 1, 1), [(0, 0)]);
    }

    /// The most pairs and the largest sum of that many pairs, by trying all pairings.
    fn brute_force_most(scores: &[f32], cols: usize, row: usize, used: &mut Vec<bool>) -> (usize, f64) {
        if (row + 1) * cols > scores.len() || cols == 0 {
            return (0, 0.0);
        }
        let mut best = brute_force_most(scores, cols, row + 1, used);
        for col in 0..cols {
            let score = scores[row * cols + col];
            if !used[col] && score.is_finite() {
                used[col] = true;
                let (count, sum) = brute_force_most(scores, cols, row + 1, used);
                used[col] = false;
                let with = (count + 1, sum + f64::from(score));
                if with.0 > best.0 || (with.0 == best.0 && with.1 > best.1) {
                    best = with;
                }
            }
        }
        best
    }

    /// A matrix of 0..6 rows and columns with forbidden, NaN and infinite entries, and many ties.
    fn matrix() -> impl Strategy<Value = (usize, usize, Vec<f32>)> {
        let entry = prop_oneof![
            3 => Just(0.0f32),
            1 => Just(f32::NAN),
            1 => Just(f32::INFINITY),
            4 => 0.0f32..1.0,
            3 => (0u8..5).prop_map(|v| f32::from(v) / 4.0),
        ];
        (0usize..7, 0usize..7)
            .prop_flat_map(move |(r, c)| (Just(r), Just(c), prop::collection::vec(entry.clone(), r * c)))
    }

    proptest! {
        #[test]
        fn the_total_is_that_of_the_best_of_all_pairings((rows, cols, scores) in matrix(), gate in 0f32..0.6) {
            let found = run(&scores, rows, cols, gate);
            let total: f64 = found.matches.iter().map(|&(i, j)| f64::from(scores[i * cols + j])).sum();
            let best = brute_force(&scores, cols, gate, 0, &mut vec![false; cols]);
            prop_assert!((total - best).abs() < 1e-9, "{total} against {best}: {found:?}");
            for &(i, j) in &found.matches {
                prop_assert!(scores[i * cols + j] >= gate && scores[i * cols + j] > 0.0);
            }
            let mut all_rows: Vec<_> = found.matches.iter().map(|m| m.0).chain(found.unmatched_rows).collect();
            let mut all_cols: Vec<_> = found.matches.iter().map(|m| m.1).chain(found.unmatched_cols).collect();
            all_rows.sort_unstable();
            all_cols.sort_unstable();
            prop_assert_eq!(all_rows, (0..rows).collect::<Vec<_>>());
            prop_assert_eq!(all_cols, (0..cols).collect::<Vec<_>>());
        }

        #[test]
        fn no_pairing_has_more_pairs_or_as_many_with_a_larger_sum((rows, cols, mut scores) in matrix(), low in -2f32..0.5) {
            for score in &mut scores {
                *score += low;
            }
            let found = assign_most(&pairs(&scores, cols.max(1)), rows, cols);
            let total: f64 = found.iter().map(|&(i, j)| f64::from(scores[i * cols + j])).sum();
            let (count, best) = brute_force_most(&scores, cols, 0, &mut vec![false; cols]);
            prop_assert_eq!(found.len(), count);
            prop_assert!((total - best).abs() < 1e-9, "{} against {}: {:?}", total, best, found);
            let mut of_cols: Vec<_> = found.iter().map(|pair| pair.1).collect();
            of_cols.sort_unstable();
            of_cols.dedup();
            prop_assert!(found.is_sorted_by(|a, b| a.0 < b.0) && of_cols.len() == found.len());
        }
    }
}
