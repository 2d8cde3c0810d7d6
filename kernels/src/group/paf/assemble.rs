//! From scored lines to instances, on the host for both devices.

use super::lines::LimbLine;
use super::plan::PafPlan;
use super::{PafConvention, Parts};
use crate::associate::{Pair, assign_most};
use crate::group::{Keypoint, Pose, select};

/// A line that is kept, between the peaks of these numbers in [`Parts::found`].
#[derive(Clone, Copy, Debug)]
struct Connection {
    from: usize,
    to: usize,
    score: f32,
}

/// An instance that grows: the number of each point's peak.
#[derive(Debug)]
struct Person {
    parts: Vec<Option<usize>>,
    score: f32,
}

/// Replaces `poses`, which is empty, by the instances of a frame. `lines` appends an edge's lines, `[first ends, second ends]`
/// by the order of [`Parts`]. Returns how many of their samples are not finite.
pub(super) fn assemble(
    plan: &PafPlan,
    parts: &Parts,
    poses: &mut Vec<Pose>,
    mut lines: impl FnMut(usize, &mut Vec<LimbLine>),
) -> usize {
    let params = &plan.params;
    let mut people: Vec<Person> = Vec::new();
    let mut matrix = Vec::new();
    let mut non_finite = 0;
    for (edge, begins) in &plan.order {
        let ends = params.edges[*edge];
        if ends.iter().any(|point| parts.of(*point).is_empty()) {
            continue;
        }
        matrix.clear();
        lines(*edge, &mut matrix);
        non_finite += matrix.iter().map(|line| line.non_finite()).sum::<usize>();
        let connections = match params.convention {
            PafConvention::Sleap => assigned(plan, parts, ends, &matrix),
            PafConvention::OpenPose => greedy(plan, parts, ends, &matrix),
        };
        for connection in connections {
            connect(&mut people, params.points, ends, connection, *begins);
        }
    }
    poses.extend(people.iter().map(|person| {
        let points: Vec<Option<Keypoint>> = person
            .parts
            .iter()
            .map(|part| part.and_then(|part| parts.found.get(part)).map(|(peak, _)| *peak))
            .map(|peak| peak.map(|peak| Keypoint { x: peak.x, y: peak.y, score: peak.score }))
            .collect();
        let mut pose = Pose { score: person.score, points, identity: None };
        if params.convention == PafConvention::OpenPose {
            let of_points: f32 = pose.points.iter().flatten().map(|point| point.score).sum();
            pose.score = (pose.score + of_points) / pose.found() as f32;
        }
        pose
    }));
    select(poses, params.min_points, params.min_score);
    non_finite
}

/// The ranks of a channel's peaks in the order of their cells. As in the reference programs, that order decides between equals.
fn in_scan_order(parts: &Parts, point: usize) -> Vec<usize> {
    let of_point = parts.of(point);
    let mut ranks: Vec<usize> = (0..of_point.len()).collect();
    ranks.sort_unstable_by_key(|rank| of_point[*rank].1.cell);
    ranks
}

/// Assigns all lines so that the sum of scores is the largest, and keeps the lines that are good enough.
fn assigned(plan: &PafPlan, parts: &Parts, [from, to]: [usize; 2], lines: &[LimbLine]) -> Vec<Connection> {
    let [rows, columns] = [from, to].map(|point| in_scan_order(parts, point));
    let line = |row: usize, column: usize| lines[rows[row] * columns.len() + columns[column]].score;
    let all = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |col| (row, col)));
    let pairs: Vec<Pair> = all.map(|(row, col)| Pair { row, col, score: line(row, col) }).collect();
    let pairs = assign_most(&pairs, rows.len(), columns.len()).into_iter();
    let pairs = pairs.map(|(row, column)| Connection {
        from: parts.starts[from] + rows[row],
        to: parts.starts[to] + columns[column],
        score: line(row, column),
    });
    pairs.filter(|pair| pair.score >= plan.params.min_line_score).collect()
}

/// The best line, then the best of those that have no end in common with it, and so on.
fn greedy(plan: &PafPlan, parts: &Parts, [from, to]: [usize; 2], lines: &[LimbLine]) -> Vec<Connection> {
    let params = &plan.params;
    let high = |line: &LimbLine| line.high() as f32 > params.min_share * plan.samples.len() as f32;
    let [rows, columns] = [from, to].map(|point| in_scan_order(parts, point));
    let mut candidates = Vec::new();
    for row in &rows {
        for column in &columns {
            let line = &lines[row * columns.len() + column];
            if line.score.is_finite() && line.score > params.min_line_score && high(line) {
                candidates.push(Connection {
                    from: parts.starts[from] + row,
                    to: parts.starts[to] + column,
                    score: line.score,
                });
            }
        }
    }
    // Stable: equals stay in scan order.
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut taken = vec![false; parts.found.len()];
    candidates.retain(|pair| {
        let free = !taken[pair.from] && !taken[pair.to];
        if free {
            taken[pair.from] = true;
            taken[pair.to] = true;
        }
        free
    });
    candidates
}

/// Adds a connection to the instance that has one of its ends, merges two instances that have one end each and no point in
/// common, or begins an instance.
fn connect(
    people: &mut Vec<Person>,
    points: usize,
    [from, to]: [usize; 2],
    connection: Connection,
    begins: bool,
) {
    let ends = [(from, connection.from), (to, connection.to)];
    let [has_from, has_to] =
        ends.map(|(point, part)| people.iter().position(|person| person.parts[point] == Some(part)));
    match (has_from, has_to) {
        (Some(a), Some(b)) if a == b => people[a].score += connection.score,
        (Some(a), Some(b)) => {
            let both = people[a].parts.iter().zip(&people[b].parts).any(|(a, b)| a.is_some() && b.is_some());
            if !both {
                let other = people.remove(a.max(b));
                let person = &mut people[a.min(b)];
                for (part, others) in person.parts.iter_mut().zip(other.parts) {
                    *part = part.or(others);
                }
                person.score += other.score + connection.score;
            }
        }
        (Some(person), None) | (None, Some(person)) => {
            let (point, part) = ends[usize::from(has_from.is_some())];
            let person = &mut people[person];
            if person.parts[point].is_none() {
                person.parts[point] = Some(part);
                person.score += connection.score;
            }
        }
        (None, None) if begins => {
            let mut parts = vec![None; points];
            for (point, part) in ends {
                parts[point] = Some(part);
            }
            people.push(Person { parts, score: connection.score });
        }
        (None, None) => {}
    }
}
