//! Points in polygons and ways over lines, against other methods.

use proptest::prelude::*;

use super::super::geometry::{
    contains, crossing_edges, distance, distance_to_outline, edges, orientation, passes,
};

/// Whether a point is in a polygon by how often the outline winds around it: a method without rays.
fn winds_around(polygon: &[[f64; 2]], p: [f64; 2]) -> bool {
    let turns: f64 = edges(polygon)
        .map(|(a, b)| {
            let (a, b) = ([a[0] - p[0], a[1] - p[1]], [b[0] - p[0], b[1] - p[1]]);
            (a[0] * b[1] - a[1] * b[0]).atan2(a[0] * b[0] + a[1] * b[1])
        })
        .sum();
    turns.abs() > std::f64::consts::PI
}

/// A polygon around 100,100 whose points go around it once, near and far: concave, and never meeting itself.
fn star() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec((5.0..95.0f64, 0.1..0.9f64), 3..12).prop_map(|points| {
        let step = std::f64::consts::TAU / points.len() as f64;
        let place = |(i, (far, turn)): (usize, &(f64, f64))| {
            let angle = step * (i as f64 + turn);
            [100.0 + far * angle.cos(), 100.0 + far * angle.sin()]
        };
        points.iter().enumerate().map(place).collect()
    })
}

fn grid() -> impl Strategy<Value = [f64; 2]> {
    [-8i32..=8, -8..=8].prop_map(|p| p.map(f64::from))
}

proptest! {
    #[test]
    fn a_point_is_inside_where_the_outline_winds_around_it(polygon in star(), p in [0.0..200.0f64, 0.0..200.0f64]) {
        prop_assume!(distance_to_outline(&polygon, p) > 1e-6);
        prop_assert_eq!(contains(&polygon, p), winds_around(&polygon, p));
        let backwards: Vec<_> = polygon.iter().rev().copied().collect();
        prop_assert_eq!(contains(&backwards, p), contains(&polygon, p), "the direction says nothing");
    }

    /// The corners and the points are whole numbers, so that many points lie on edges and corners.
    #[test]
    fn of_two_halves_of_a_polygon_exactly_one_has_each_of_its_points(
        [a, c] in [grid(), grid()], left in 1..9i32, right in 1..9i32, p in grid()
    ) {
        // A kite along a-c: b to the right of it, d to the left.
        let across = [-(c[1] - a[1]), c[0] - a[0]];
        prop_assume!(across != [0.0, 0.0]);
        let beside = |by: f64| [a[0] + by * across[0] + (c[0] - a[0]), a[1] + by * across[1] + (c[1] - a[1])];
        let (b, d) = (beside(f64::from(right)), beside(-f64::from(left)));
        let halves = [vec![a, b, c], vec![a, c, d]];
        let inside = halves.iter().filter(|half| contains(half, p)).count();
        prop_assert_eq!(inside, usize::from(contains(&[a, b, c, d], p)));
    }

    /// A way on whole numbers, cut where it is at its half or at a fourth, which floating point knows exactly.
    #[test]
    fn a_way_in_pieces_passes_a_line_as_often_as_the_whole([a, b, p, q] in [grid(), grid(), grid(), grid()]) {
        prop_assume!(a != b);
        let net = |p, q| {
            let [from, to] = [p, q].map(|at| orientation(a, b, at) >= 0.0);
            if from == to || !passes(a, b, p, q, to) { 0 } else if to { 1 } else { -1 }
        };
        let middle = |p: [f64; 2], q: [f64; 2]| [(p[0] + q[0]) / 2.0, (p[1] + q[1]) / 2.0];
        let half = middle(p, q);
        prop_assert_eq!(net(p, q), net(p, half) + net(half, q));
        let fourth = middle(p, half);
        prop_assert_eq!(net(p, q), net(p, fourth) + net(fourth, half) + net(half, q));
        prop_assert_eq!(net(p, q), -net(q, p), "and back as often as there");
    }

    #[test]
    fn a_star_does_not_meet_itself_and_does_when_two_of_its_points_change_places(polygon in star()) {
        prop_assert_eq!(crossing_edges(&polygon), None);
        if polygon.len() <= 4 {
            return Ok(());
        }
        let mut twisted = polygon.clone();
        twisted.swap(1, 2);
        // Around the centre the outline now goes to and fro; all pairs of edges are checked one by one.
        let all: Vec<_> = edges(&twisted).collect();
        let meet = |i: usize, j: usize| {
            let steps = (0..=400).map(|k| f64::from(k) / 400.0);
            let on = |t: f64| [0, 1].map(|k| all[i].0[k] + t * (all[i].1[k] - all[i].0[k]));
            steps.map(on).any(|p| distance(all[j].0, all[j].1, p) < 1e-9)
        };
        let n = all.len();
        let apart = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| (i + 1) % n != *j && (j + 1) % n != *i && i != j);
        if crossing_edges(&twisted).is_none() {
            prop_assert!(apart.into_iter().all(|(i, j)| !meet(i, j)));
        }
    }
}

#[test]
fn left_and_upper_edges_are_inside_right_and_lower_ones_are_not() {
    let square = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]];
    for (p, wanted) in [
        ([0.0, 5.0], true),
        ([5.0, 0.0], true),
        ([0.0, 0.0], true),
        ([10.0, 5.0], false),
        ([5.0, 10.0], false),
        ([10.0, 0.0], false),
        ([0.0, 10.0], false),
    ] {
        assert_eq!(contains(&square, p), wanted, "{p:?}");
    }
}

#[test]
fn a_horseshoe_has_nothing_between_its_ends() {
    let horseshoe = [
        [0.0, 0.0],
        [30.0, 0.0],
        [30.0, 30.0],
        [20.0, 30.0],
        [20.0, 10.0],
        [10.0, 10.0],
        [10.0, 30.0],
        [0.0, 30.0],
    ];
    for (p, wanted) in [([5.0, 20.0], true), ([15.0, 20.0], false), ([25.0, 20.0], true), ([15.0, 5.0], true)]
    {
        assert_eq!(contains(&horseshoe, p), wanted, "{p:?}");
    }
}

#[test]
fn outlines_that_meet_themselves_are_found() {
    for (points, wanted) in [
        (vec![[0.0, 0.0], [10.0, 10.0], [10.0, 0.0], [0.0, 10.0]], Some((0, 2))),
        // A spike: there and back.
        (vec![[0.0, 0.0], [10.0, 0.0], [5.0, 0.0], [5.0, 9.0]], Some((0, 1))),
        // The last edge goes back over the first.
        (vec![[0.0, 0.0], [10.0, 0.0], [10.0, 9.0], [5.0, 0.0]], Some((0, 2))),
        // Touches itself in a corner.
        (vec![[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [4.0, 0.0], [0.0, 9.0]], Some((0, 2))),
        (vec![[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [5.0, 1.0], [0.0, 10.0]], None),
        // A point in the middle of an edge.
        (vec![[0.0, 0.0], [5.0, 0.0], [10.0, 0.0], [10.0, 10.0]], None),
    ] {
        assert_eq!(crossing_edges(&points), wanted, "{points:?}");
    }
}
