//! Connected areas of a map, as far as their smallest rectangles need them: the first and the last cell of each row.

/// The cells at both ends of each row of each area, x and y of their centres counted from the first cell's. Areas are connected
/// over sides or corners, and come in the order of their first cells, row by row.
pub(super) fn outlines(map: &[f32], width: usize, is_inside: impl Fn(f32) -> bool) -> Vec<Vec<[f64; 2]>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut joined = Joined::default();
    // The runs of the row before.
    let mut above = 0..0;
    for (y, row) in map.chunks_exact(width.max(1)).enumerate() {
        let first = runs.len();
        let mut candidates = above.clone();
        let mut x = 0;
        while let Some(start) = row[x..].iter().position(|cell| is_inside(*cell)).map(|skip| x + skip) {
            let end = row[start..].iter().position(|cell| !is_inside(*cell)).map_or(width, |n| start + n);
            let run = joined.add();
            // Ends are one after the last cell: runs touch over a corner where one begins at the other's end.
            while candidates.start < candidates.end && runs[candidates.start].end < start {
                candidates.start += 1;
            }
            for other in candidates.clone().take_while(|other| runs[*other].start <= end) {
                joined.join(run, other);
            }
            runs.push(Run { y, start, end });
            x = end;
        }
        above = first..runs.len();
    }
    let mut areas: Vec<Vec<[f64; 2]>> = Vec::new();
    let mut number = vec![usize::MAX; runs.len()];
    for (index, run) in runs.iter().enumerate() {
        let root = joined.root(index);
        if number[root] == usize::MAX {
            number[root] = areas.len();
            areas.push(Vec::new());
        }
        let outline = &mut areas[number[root]];
        outline.push([run.start as f64, run.y as f64]);
        outline.push([(run.end - 1) as f64, run.y as f64]);
    }
    areas
}

/// Neighbouring cells of a row.
struct Run {
    y: usize,
    start: usize,
    /// One after the last.
    end: usize,
}

/// Which runs are of one area: a forest whose roots are the first of their areas.
#[derive(Default)]
struct Joined(Vec<usize>);

impl Joined {
    fn add(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn root(&mut self, mut index: usize) -> usize {
        while self.0[index] != index {
            self.0[index] = self.0[self.0[index]];
            index = self.0[index];
        }
        index
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}
