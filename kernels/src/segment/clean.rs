//! Clean-up of a mask on the CPU: opening, closing, small areas.

use super::SegmentParams;

/// Keeps its scratch memory from frame to frame.
#[derive(Debug)]
pub(super) struct Cleaner {
    width: usize,
    params: SegmentParams,
    rows: Vec<u8>,
    first: Vec<u8>,
    second: Vec<u8>,
    areas: Areas,
}

impl Cleaner {
    pub fn new(width: usize, params: &SegmentParams) -> Self {
        let (rows, first, second, areas) = Default::default();
        Self { width, params: *params, rows, first, second, areas }
    }

    /// Cleans `mask`, dense.
    pub fn run(&mut self, mask: &mut [u8]) {
        let SegmentParams { opening, closing, min_area, soft, .. } = self.params;
        let Self { width, rows, first, second, .. } = self;
        let (least, greatest) = (|a: u8, b: u8| a.min(b), |a: u8, b: u8| a.max(b));
        if opening > 0 {
            spread(mask, *width, opening, least, rows, first);
            spread(first, *width, opening, greatest, rows, second);
            for (cell, opened) in mask.iter_mut().zip(second.iter()) {
                *cell = if soft || *opened == 0 { *opened } else { *cell };
            }
        }
        if closing > 0 {
            spread(mask, *width, closing, greatest, rows, first);
            spread(first, *width, closing, least, rows, second);
            for ((cell, grown), closed) in mask.iter_mut().zip(first.iter()).zip(second.iter()) {
                *cell = match (soft, *cell, *closed) {
                    (true, _, _) => *closed,
                    (false, 0, 1..) => *grown,
                    (false, class, _) => class,
                };
            }
        }
        if min_area > 1 {
            self.areas.remove_small(mask, self.width, min_area, soft);
        }
    }
}

/// Each cell of `to` becomes the `pick` of the square of `radius` around it, as far as it lies in the mask; by rows, then by
/// columns.
pub(crate) fn spread(
    from: &[u8],
    width: usize,
    radius: u32,
    pick: impl Fn(u8, u8) -> u8,
    rows: &mut Vec<u8>,
    to: &mut Vec<u8>,
) {
    let radius = radius as usize;
    let merge = |to: &mut [u8], from: &[u8]| to.iter_mut().zip(from).for_each(|(a, b)| *a = pick(*a, *b));
    rows.clear();
    rows.extend_from_slice(from);
    for (row, from) in rows.chunks_exact_mut(width).zip(from.chunks_exact(width)) {
        for far in 1..=radius.min(width - 1) {
            merge(&mut row[..width - far], &from[far..]);
            merge(&mut row[far..], &from[..width - far]);
        }
    }
    to.clear();
    to.extend_from_slice(rows);
    let height = from.len() / width;
    for (y, row) in to.chunks_exact_mut(width).enumerate() {
        for other in y.saturating_sub(radius)..(y + radius + 1).min(height) {
            merge(row, &rows[other * width..][..width]);
        }
    }
}

/// Cells of one class side by side in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    class: u8,
}

/// Connected areas, found as runs of cells that are joined with those of the row above (union-find).
#[derive(Debug, Default)]
struct Areas {
    runs: Vec<Run>,
    /// By run, a run that it is connected to: itself or an earlier one. Only runs that are their own parents have sizes.
    parents: Vec<usize>,
    sizes: Vec<usize>,
}

impl Areas {
    fn remove_small(&mut self, mask: &mut [u8], width: usize, min_area: u32, soft: bool) {
        let Self { runs, parents, sizes } = self;
        runs.clear();
        parents.clear();
        let mut above = 0..0;
        for (y, row) in mask.chunks_exact(width).enumerate() {
            let first = runs.len();
            let mut x = 0;
            let class = |v: u8| if soft { v >> 7 } else { v };
            for cells in row.chunk_by(|a, b| class(*a) == class(*b)) {
                let start = y * width + x;
                x += cells.len();
                if class(cells[0]) != 0 {
                    runs.push(Run { start, end: y * width + x, class: class(cells[0]) });
                    parents.push(parents.len());
                }
            }
            let mut from = above.start;
            for i in first..runs.len() {
                let run = runs[i];
                while from < above.end && runs[from].end + width < run.start {
                    from += 1;
                }
                // Corners count, so a run touches those that begin or end one cell beyond its ends.
                let mut other = from;
                while other < above.end && runs[other].start + width <= run.end {
                    if runs[other].class == run.class {
                        join(parents, i, other);
                    }
                    other += 1;
                }
            }
            above = first..runs.len();
        }
        sizes.clear();
        sizes.resize(runs.len(), 0);
        for (i, run) in runs.iter().enumerate() {
            sizes[root(parents, i)] += run.end - run.start;
        }
        for (i, run) in runs.iter().enumerate() {
            if sizes[root(parents, i)] < min_area as usize {
                mask[run.start..run.end].fill(0);
            }
        }
    }
}

fn root(parents: &mut [usize], mut i: usize) -> usize {
    while parents[i] != i {
        parents[i] = parents[parents[i]];
        i = parents[i];
    }
    i
}

fn join(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b)] = a.min(b);
}
