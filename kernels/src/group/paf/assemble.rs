//! From scored lines to instances, on the host for both devices.

use super::lines::{Connection, LimbLine};
use super::plan::PafPlan;
use super::{PafConvention, Parts, deeplabcut};
use crate::associate::{Pair, assign_full, assign_most};
use crate::group::{Keypoint, Pose, select};

/// From scores, row by row, and the numbers of rows and columns to the pairs of the largest sum.
type Assign = fn(&[f32], usize, usize) -> Vec<(usize, usize)>;

/// The lines of an edge that are kept.
struct EdgeConnections {
    ends: [usize; 2],
    /// Whether they may begin an instance.
    begins: bool,
    connections: Vec<Connection>,
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
    lines: impl FnMut(usize, &mut Vec<LimbLine>),
) -> usize {
    let params = &plan.params;
    let (edges, non_finite) = connections(plan, parts, lines);
    match params.convention {
        PafConvention::DeepLabCut => {
            let links: Vec<Connection> = edges.into_iter().flat_map(|edge| edge.connections).collect();
            let animals = deeplabcut::animals(parts, params.points, &links, params.max_poses);
            poses.extend(animals.iter().map(|animal| pose(parts, &animal.parts, animal.score())));
        }
        PafConvention::Sleap | PafConvention::OpenPose => {
            let mut people: Vec<Person> = Vec::new();
            for EdgeConnections { ends, begins, connections } in edges {
                for connection in connections {
                    connect(&mut people, params.points, ends, connection, begins);
                }
            }
            poses.extend(people.iter().map(|person| pose(parts, &person.parts, person.score)));
        }
    }
    if params.convention == PafConvention::OpenPose {
        for pose in poses.iter_mut() {
            let of_points: f32 = pose.points.iter().flatten().map(|point| point.score).sum();
            pose.score = (pose.score + of_points) / pose.found() as f32;
        }
    }
    select(poses, params.min_points, params.min_score);
    non_finite
}

/// The lines of each edge that are kept, in the plan's order, and how many of all lines' samples are not finite.
fn connections(
    plan: &PafPlan,
    parts: &Parts,
    mut lines: impl FnMut(usize, &mut Vec<LimbLine>),
) -> (Vec<EdgeConnections>, usize) {
    let params = &plan.params;
    let (mut kept, mut matrix, mut non_finite) = (Vec::new(), Vec::new(), 0);
    for (edge, begins) in &plan.order {
        let ends = params.edges[*edge];
        if ends.iter().any(|point| parts.of(*point).is_empty()) {
            continue;
        }
        matrix.clear();
        lines(*edge, &mut matrix);
        non_finite += matrix.iter().map(|line| line.non_finite()).sum::<usize>();
        let connections = match params.convention {
            PafConvention::Sleap => {
                let ranks = ends.map(|point| in_scan_order(parts, point));
                assigned(plan, parts, ends, ranks, &matrix, assign_finite)
            }
            PafConvention::DeepLabCut => {
                // The Assembler counts them as 0, and so as pairs.
                matrix.iter_mut().filter(|line| line.score.is_nan()).for_each(|line| line.score = 0.0);
                let ranks = ends.map(|point| strongest(parts, point, params.max_poses));
                assigned(plan, parts, ends, ranks, &matrix, assign_full)
            }
            PafConvention::OpenPose => greedy(plan, parts, ends, &matrix),
        };
        kept.push(EdgeConnections { ends, begins: *begins, connections });
    }
    (kept, non_finite)
}

/// The instance of these peaks.
fn pose(parts: &Parts, of_points: &[Option<usize>], score: f32) -> Pose {
    let peak = |part: &Option<usize>| {
        let (peak, _) = parts.found.get((*part)?)?;
        Some(Keypoint { x: peak.x, y: peak.y, z: None, score: peak.score })
    };
    Pose { score, points: of_points.iter().map(peak).collect(), identity: None }
}

/// The ranks of a channel's peaks in the order of their cells. As in the reference programs, that order decides between equals.
fn in_scan_order(parts: &Parts, point: usize) -> Vec<usize> {
    let of_point = parts.of(point);
    let mut ranks: Vec<usize> = (0..of_point.len()).collect();
    ranks.sort_unstable_by_key(|rank| of_point[*rank].1.cell);
    ranks
}

/// The ranks of a channel's strongest peaks, that many at most.
fn strongest(parts: &Parts, point: usize, most: usize) -> Vec<usize> {
    let of_point = parts.of(point);
    let mut ranks: Vec<usize> = (0..of_point.len()).collect();
    // Stable: equals stay in their order.
    ranks.sort_by(|a, b| of_point[*b].0.score.total_cmp(&of_point[*a].0.score));
    ranks.truncate(most);
    ranks
}

/// Assigns the lines between peaks of these ranks so that the sum of scores is the largest, and keeps the lines that are good
/// enough.
fn assigned(
    plan: &PafPlan,
    parts: &Parts,
    [from, to]: [usize; 2],
    [rows, columns]: [Vec<usize>; 2],
    lines: &[LimbLine],
    assign: Assign,
) -> Vec<Connection> {
    let width = parts.of(to).len();
    let line = |row: usize, column: usize| lines[rows[row] * width + columns[column]].score;
    let all = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |column| (row, column)));
    let scores: Vec<f32> = all.map(|(row, column)| line(row, column)).collect();
    let pairs = assign(&scores, rows.len(), columns.len()).into_iter();
    let pairs = pairs.map(|(row, column)| Connection {
        from: parts.starts[from] + rows[row],
        to: parts.starts[to] + columns[column],
        score: line(row, column),
    });
    pairs.filter(|pair| pair.score >= plan.params.min_line_score).collect()
}

/// The same assignment where scores may be NaN, which forbids a pair.
fn assign_finite(scores: &[f32], rows: usize, columns: usize) -> Vec<(usize, usize)> {
    let pair = |(at, score): (usize, &f32)| Pair { row: at / columns, col: at % columns, score: *score };
    let pairs: Vec<Pair> = scores.iter().enumerate().map(pair).collect();
    assign_most(&pairs, rows, columns)
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
