//! Lanes as lines, of which several may be the same lane: CLRNet, as `get_lanes` and `predictions_to_pred` of its clr_head.py and its
//! nms_kernel.cu read them. Its makers then draw a spline through the points, which is left to who draws.

use super::params::LaneParams;
use crate::keypoints::identities::softmax;
use crate::peaks::Outcome;
use crate::tensor::TensorDesc;

/// Numbers of a line before its x on each row.
const HEAD: usize = 6;

/// How the lines of an output are read.
#[derive(Debug)]
pub(super) struct Lines {
    /// On each of which a line has an x.
    pub rows: usize,
    /// The least mean distance between two lanes, as a fraction of the input's width.
    nms_distance: f32,
    max_lanes: usize,
}

/// A line that is likely to be a lane.
struct Line<'a> {
    score: f32,
    /// The row that it begins on, counted from the bottom; it may be below.
    start: f32,
    /// Its length in rows.
    length: f32,
    /// As fractions of the input's width, from the bottom row to the top one.
    xs: &'a [f32],
}

/// The points of a lane.
pub(super) struct Polyline {
    pub score: f32,
    /// As fractions of the input's width and height.
    pub places: Vec<Option<[f32; 2]>>,
}

impl Lines {
    /// Of an output `[1, N, 6 + rows]`, if it is one.
    pub fn new(output: &TensorDesc, width: usize, params: &LaneParams) -> Option<Self> {
        let [None | Some(1), _, Some(numbers)] = output.dims[..] else { return None };
        let rows = numbers.checked_sub(HEAD).filter(|rows| *rows > 1)?;
        let pixels = (width.max(2) - 1) as f32;
        Some(Self { rows, nms_distance: params.nms_distance / pixels, max_lanes: params.max_lanes })
    }

    /// The lanes, the surest first.
    pub fn read(&self, values: &[f32], min_score: f32) -> (Vec<Polyline>, Outcome) {
        let mut outcome = Outcome::default();
        let mut lines = Vec::new();
        for line in values.chunks_exact(HEAD + self.rows) {
            let bad = line.iter().filter(|number| !number.is_finite()).count();
            outcome.non_finite += bad;
            let (head, xs) = line.split_at(HEAD);
            let score = softmax(&head[..2])[1];
            if bad == 0 && score >= min_score {
                lines.push(Line { score, start: head[2] * self.last(), length: head[5] * self.last(), xs });
            }
        }
        // Stable: equals stay in the network's order.
        lines.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut kept: Vec<Line<'_>> = Vec::new();
        for line in lines {
            if kept.iter().any(|other| self.are_same(&line, other)) {
                continue;
            }
            if kept.len() == self.max_lanes {
                outcome.limited = true;
                break;
            }
            kept.push(line);
        }
        let lanes = kept.iter().map(|line| Polyline { score: line.score, places: self.places(line) });
        (lanes.filter(|lane| lane.places.iter().flatten().count() > 1).collect(), outcome)
    }

    /// The number of the top row.
    fn last(&self) -> f32 {
        (self.rows - 1) as f32
    }

    /// Whether two lines are near each other on the rows that both are on.
    fn are_same(&self, a: &Line<'_>, b: &Line<'_>) -> bool {
        // Rounded as a conversion to an integer of C does.
        let start = |line: &Line<'_>| (line.start + 0.5).trunc();
        let end = |line: &Line<'_>| {
            let below = if line.length < 1.0 { 1.0 } else { 0.0 };
            (start(line) + line.length - 0.5 - below).trunc()
        };
        let (first, last) = (start(a).max(start(b)).max(0.0), end(a).min(end(b)).min(self.last()));
        if last < first {
            return false;
        }
        let rows = first as usize..=last as usize;
        let count = (last - first + 1.0) * self.nms_distance;
        rows.map(|row| (a.xs[row] - b.xs[row]).abs()).sum::<f32>() < count
    }

    /// From the row that the line begins on to the one that it ends on, and below until it leaves the input.
    fn places(&self, line: &Line<'_>) -> Vec<Option<[f32; 2]>> {
        let is_inside = |x: &f32| (0.0..=1.0).contains(x);
        let start = line.start.round_ties_even().clamp(0.0, self.last());
        let end = start + line.length.round_ties_even() - 1.0;
        let start = start as usize;
        let below = line.xs[..start].iter().rev().take_while(|x| is_inside(x)).count();
        let place = |(row, x): (usize, &f32)| {
            let is_there = row >= start - below && row as f32 <= end && is_inside(x);
            is_there.then_some([*x, 1.0 - row as f32 / self.last()])
        };
        line.xs.iter().enumerate().map(place).collect()
    }
}
