//! The best one-to-one pairing of rows and columns.

/// A pairing: which row goes with which column, and who is left over.
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

/// Pairs rows with columns so that the sum of the pairs' scores is the largest possible.
///
/// `scores` is row-major `[rows, cols]`; higher is better. A score that is 0, negative, NaN or infinite forbids the pair,
/// and so does `gate`; rows and columns without an allowed partner stay unmatched. The matrix may have any shape,
/// including none; entries that a too short `scores` lacks are forbidden. Equal inputs give equal results.
///
/// The allowed pairs are split into connected groups (in a video almost always of one or two boxes), and each is solved
/// with the shortest augmenting path algorithm of Jonker and Volgenant in Crouse's rectangular form ("On implementing 2D
/// rectangular assignment algorithms", IEEE TAES 2016), the one of scipy's `linear_sum_assignment`. Worst case, one group
/// of n rows and columns: O(n^3).
pub fn assign(scores: &[f32], rows: usize, cols: usize, gate: Gate, out: &mut Assignment) {
    let (floor, keep) = gate.limits();
    let allowed = |row: usize, col: usize| -> Option<f64> {
        let score = *scores.get(row * cols + col)?;
        (score.is_finite() && score > 0.0 && score >= floor).then_some(f64::from(score))
    };
    out.matches.clear();
    let mut groups = Groups::new(rows + cols);
    for row in 0..rows {
        for col in 0..cols {
            if allowed(row, col).is_some() {
                groups.join(row, rows + col);
            }
        }
    }
    let members = groups.into_members();
    for group in members.chunk_by(|a, b| a.0 == b.0) {
        // Members are ascending, so a group's rows come before its columns.
        let (group_rows, group_cols) = group.split_at(group.partition_point(|&(_, node)| node < rows));
        let row_of = |i: usize| group_rows.get(i).map(|&(_, node)| node);
        let col_of = |j: usize| group_cols.get(j).map(|&(_, node)| node - rows);
        for (i, j) in solve(group_rows.len(), group_cols.len(), |i, j| allowed(row_of(i)?, col_of(j)?)) {
            out.matches.extend(row_of(i).zip(col_of(j)));
        }
    }
    out.matches.retain(|&(row, col)| scores.get(row * cols + col).is_some_and(|&score| score >= keep));
    out.matches.sort_unstable();
    leftovers(rows, out.matches.iter().map(|m| m.0), &mut out.unmatched_rows);
    leftovers(cols, out.matches.iter().map(|m| m.1), &mut out.unmatched_cols);
}

/// The best pairs of one group, as indices into it.
fn solve(rows: usize, cols: usize, score: impl Fn(usize, usize) -> Option<f64>) -> Vec<(usize, usize)> {
    if rows == 0 || cols == 0 {
        return Vec::new();
    }
    if rows == 1 && cols == 1 {
        return vec![(0, 0)]; // alone together: they are a group because the pair is allowed
    }
    // The solver pairs up the whole shorter side. A forbidden pair gains nothing, so it is only a placeholder for "not
    // matched", and is dropped from the answer.
    let gains: Vec<f64> = (0..rows * cols).map(|k| score(k / cols, k % cols).unwrap_or(0.0)).collect();
    // It fails only for values that are not finite, which the gate has kept out.
    let (paired_rows, paired_cols) = lsap::solve(rows, cols, &gains, true).unwrap_or_default();
    paired_rows.into_iter().zip(paired_cols).filter(|&(i, j)| score(i, j).is_some()).collect()
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

/// Disjoint sets over the nodes `0..n` (union-find with path halving).
struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    fn new(nodes: usize) -> Self {
        Self { parent: (0..nodes).collect() }
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] != node {
            self.parent[node] = self.parent[self.parent[node]];
            node = self.parent[node];
        }
        node
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        // The smaller index leads, so that the result does not depend on the order of joining.
        self.parent[a.max(b)] = a.min(b);
    }

    /// `(group, node)` for every node, sorted.
    fn into_members(mut self) -> Vec<(usize, usize)> {
        let mut members: Vec<_> = (0..self.parent.len()).map(|node| (self.root(node), node)).collect();
        members.sort_unstable();
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(scores: &[f32], rows: usize, cols: usize, min_score: f32) -> Assignment {
        let mut out = Assignment::default();
        assign(scores, rows, cols, Gate::Before(min_score), &mut out);
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
        assign(&scores, 2, 2, Gate::After(0.3), &mut after);
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
    fn empty_sides_and_short_input_are_fine() {
        assert_eq!(run(&[], 0, 0, 0.3), Assignment::default());
        assert_eq!(run(&[], 0, 2, 0.3).unmatched_cols, [0, 1]);
        assert_eq!(run(&[], 2, 0, 0.3).unmatched_rows, [0, 1]);
        let short = run(&[0.5, 0.6], 2, 2, 0.3);
        assert_eq!((short.matches, short.unmatched_rows), (vec![(0, 1)], vec![1]));
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
    }
}
