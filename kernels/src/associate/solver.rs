//! Shortest augmenting paths over the allowed pairs: how [`super::assign`] pairs rows and columns.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps that one call of [`assign`] makes at most. Crowds of thousands make some hundred thousand; only heaps of thousands
/// of boxes in one place, where no pairing is better than another, reach this limit and are then paired greedily.
const MOST_STEPS: usize = 50_000_000;

/// A column that a row may go with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) col: usize,
    /// What the pair adds to the sum; above 0.
    pub(super) gain: f64,
}

/// A column in the state of a search.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// Its row.
    row: Option<usize>,
    /// Its dual variable; 0 as long as it is free.
    price: f64,
    /// The search that saw it last, the length of the shortest way to it there, and the row and the gain of the last step.
    search: usize,
    distance: f64,
    from: usize,
    gain: f64,
}

/// The best pairing of the rows that have been added so far.
#[derive(Debug)]
pub(super) struct Solver<'a> {
    /// Each row's partner.
    rows: Vec<Option<Edge>>,
    /// The rows' dual variables.
    wishes: Vec<f64>,
    edges: Vec<&'a [(usize, Edge)]>,
    cols: Vec<Column>,
    steps: usize,
    searches: usize,
}

/// Where a search ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// At a free column.
    Free(usize),
    /// With a row that stays alone from now on.
    Alone(usize),
}

impl<'a> Solver<'a> {
    /// Each row's partner, where `edges` are by ascending row.
    pub(super) fn solve(edges: &'a [(usize, Edge)], rows: usize, cols: usize) -> Vec<Option<Edge>> {
        let mut solver = Self::new(rows, cols);
        for edges_of_row in edges.chunk_by(|a, b| a.0 == b.0) {
            solver.add(edges_of_row);
        }
        solver.rows
    }

    fn new(rows: usize, cols: usize) -> Self {
        let free = Column { row: None, price: 0.0, search: 0, distance: 0.0, from: 0, gain: 0.0 };
        Self {
            rows: vec![None; rows],
            wishes: vec![0.0; rows],
            edges: vec![&[]; rows],
            cols: vec![free; cols],
            steps: 0,
            searches: 0,
        }
    }

    /// Adds the row that these edges are of; it has at least one.
    fn add(&mut self, edges: &'a [(usize, Edge)]) {
        let Some(&(row, _)) = edges.first() else { return };
        self.edges[row] = edges;
        if self.steps > MOST_STEPS {
            let free = edges.iter().map(|(_, edge)| *edge).filter(|edge| self.cols[edge.col].row.is_none());
            if let Some(best) = free.max_by(|a, b| a.gain.total_cmp(&b.gain)) {
                self.rows[row] = Some(best);
                self.cols[best.col].row = Some(row);
            }
            return;
        }
        // The cost of a pair is minus its gain. The wish makes the row's cheapest edge cost nothing.
        let cost = |edge: &Edge| -edge.gain - self.cols[edge.col].price;
        self.wishes[row] = edges.iter().map(|(_, edge)| cost(edge)).fold(0.0, f64::min);
        let (end, length, passed) = self.search(row);
        for col in passed {
            let Column { row: partner, distance, .. } = self.cols[col];
            self.cols[col].price -= length - distance;
            if let Some(partner) = partner {
                self.wishes[partner] += length - distance;
            }
        }
        self.wishes[row] += length;
        self.turn(row, end);
    }

    /// The shortest way (Dijkstra's) from an unmatched row to an end, its length, and the columns that lie nearer.
    fn search(&mut self, start: usize) -> (End, f64, Vec<usize>) {
        self.searches += 1;
        let mut near: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut passed = Vec::new();
        let (mut row, mut length) = (start, 0.0);
        let mut alone = (f64::INFINITY, start);
        // Columns beyond the nearest end found so far do not matter.
        let mut limit = f64::INFINITY;
        loop {
            let wish = self.wishes[row];
            if length - wish < alone.0 {
                alone = (length - wish, row);
                limit = limit.min(alone.0);
            }
            self.steps += self.edges[row].len();
            for &(_, Edge { col: index, gain }) in self.edges[row] {
                let col = &mut self.cols[index];
                // Rounding may make the way a hair shorter than it was before this step.
                let distance = length + (-gain - wish - col.price).max(0.0);
                if (col.search < self.searches || distance < col.distance) && distance <= limit {
                    *col = Column { search: self.searches, distance, from: row, gain, ..*col };
                    if col.row.is_none() {
                        limit = distance;
                    }
                    // The bits of positive numbers have the order of the numbers.
                    near.push(Reverse((distance.to_bits(), index)));
                }
            }
            let next = loop {
                match near.pop() {
                    // A column that has become nearer meanwhile is in the heap twice.
                    Some(Reverse((bits, index))) if bits != self.cols[index].distance.to_bits() => (),
                    other => break other.map(|Reverse((_, index))| index),
                }
            };
            let Some(index) = next.filter(|index| self.cols[*index].distance <= alone.0) else {
                return (End::Alone(alone.1), alone.0, passed);
            };
            length = self.cols[index].distance;
            match self.cols[index].row {
                None => return (End::Free(index), length, passed),
                Some(partner) => row = partner,
            }
            passed.push(index);
        }
    }

    /// Gives each row on the way to `end` the column that follows it there.
    fn turn(&mut self, start: usize, end: End) {
        let (mut row, mut col) = match end {
            End::Free(col) => (self.cols[col].from, Some(col)),
            End::Alone(row) => (row, None),
        };
        loop {
            let edge = col.map(|col| Edge { col, gain: self.cols[col].gain });
            let before = std::mem::replace(&mut self.rows[row], edge);
            if let Some(col) = col {
                self.cols[col].row = Some(row);
            }
            let Some(before) = before.filter(|_| row != start) else { return };
            (row, col) = (self.cols[before.col].from, Some(before.col));
        }
    }
}
