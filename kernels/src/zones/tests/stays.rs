//! Holes, inertia and loitering.

use super::*;

/// The square with a hole from 12 to 15 across and from 10 to 20 down, so that two strips are left.
fn with_a_hole() -> Zone {
    Zone { holes: vec![vec![[12.0, 10.0], [15.0, 10.0], [15.0, 20.0], [12.0, 20.0]]], ..square() }
}

#[test]
fn a_hole_does_not_belong_to_the_polygon_but_its_right_edge_does() {
    let mut counter = counter(at_once(vec![with_a_hole()]));
    let entered = EventKind::Enter { appeared: false };
    let left = |ms: u64| EventKind::Leave { vanished: false, dwell: Some(ms * MS) };
    let events = along(&mut counter, &[5.0, 11.9, 12.0, 14.9, 15.0, 19.0, 20.0]);
    assert_eq!(events, [(1, entered), (2, left(100)), (4, entered), (6, left(200))]);
    assert_eq!(counter.holes(0), with_a_hole().holes);
}

#[test]
fn who_steps_into_a_hole_has_left_when_it_is_the_margin_away() {
    let mut counter = counter(ZoneParams { margin: 0.1, ..at_once(vec![with_a_hole()]) });
    let mut see = |frame, x: f32| {
        let rect = Rect { x, y: 5.0, w: 0.0, h: 10.0 };
        let events = &counter.update(at(frame), &[Sighting { rect, ..dot(1, [0.0; 2]) }]).events;
        events.iter().map(|event| event.what).collect::<Vec<_>>()
    };
    assert_eq!(see(0, 11.0), [EventKind::Enter { appeared: true }]);
    assert_eq!(see(1, 12.5), [], "half a pixel of one");
    assert_eq!(see(2, 13.25), [EventKind::Leave { vanished: false, dwell: Some(100 * MS) }]);
}

#[test]
fn holes_that_take_nothing_or_everything_away_are_refused() {
    let of = |hole: &[[f64; 2]]| Zone { holes: vec![hole.to_vec()], ..square() };
    for (zone, parts) in [
        (of(&[[12.0, 12.0], [14.0, 14.0]]), &["zone 'square', hole 1", "three different points"][..]),
        (of(&[[12.0, 12.0], [14.0, 14.0], [16.0, 16.0]]), &["hole 1", "one straight line"]),
        (of(&[[12.0, 12.0], [18.0, 18.0], [18.0, 12.0], [12.0, 18.0]]), &["hole 1", "meets itself"]),
        (of(&[[12.0, f64::NAN], [14.0, 14.0], [16.0, 12.0]]), &["hole 1", "NaN"]),
        (of(&[[30.0, 30.0], [34.0, 30.0], [34.0, 34.0]]), &["hole 1", "outside the polygon"]),
        (of(&[[0.0, 0.0], [50.0, 0.0], [50.0, 50.0], [0.0, 50.0]]), &["hole 1", "covers the whole polygon"]),
        (of(&square().points), &["hole 1", "covers the whole polygon"]),
        (Zone { holes: vec![square().points], ..line([[0.0, 0.0], [9.0, 0.0]]) }, &["is a line", "no holes"]),
    ] {
        let error = Counter::new(at_once(vec![zone])).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    }
    // A hole may reach beyond the polygon, or share an edge with it.
    for hole in [[[15.0, 15.0], [40.0, 15.0], [40.0, 18.0]], [[20.0, 12.0], [20.0, 18.0], [18.0, 15.0]]] {
        assert!(Counter::new(at_once(vec![of(&hole)])).is_ok(), "{hole:?}");
    }
}

#[test]
fn a_zones_inertia_counts_before_the_elements_frames() {
    let zones = vec![Zone { inertia: Some(3), ..square() }, line([[15.0, 0.0], [15.0, 30.0]])];
    let mut counter = counter(at_once(zones));
    let mut see = |frame, x: f64| {
        let events = &counter.update(at(frame), &[dot(1, [x, 15.0])]).events;
        events.iter().map(|event| event.zone).collect::<Vec<_>>()
    };
    let xs = [5.0, 11.0, 16.0, 17.0, 18.0, 25.0, 26.0, 27.0];
    let zones: Vec<_> = xs.iter().zip(0..).map(|(x, frame)| see(frame, *x)).collect();
    // The line is crossed at once, and the square entered in the third frame inside.
    assert_eq!(zones, [vec![], vec![], vec![1], vec![0], vec![], vec![], vec![], vec![0]]);
}

/// The events of loitering of an object at these x, with a patience of 300 ms.
fn loitering(xs: &[f64]) -> Vec<(usize, u64)> {
    let zone = Zone { loitering: Some(500 * MS), ..square() };
    let mut counter = counter(ZoneParams { patience: 300 * MS, ..at_once(vec![zone]) });
    let events = along(&mut counter, xs).into_iter();
    events
        .filter_map(|(frame, what)| match what {
            EventKind::Loiter { dwell } => Some((frame, dwell / MS)),
            _ => None,
        })
        .collect()
}

#[test]
fn loitering_is_reported_once_a_stay_whose_short_breaks_do_not_count() {
    let (inside, outside) = (15.0, 30.0);
    assert_eq!(loitering(&[inside; 12]), [(5, 500)]);
    // 300 ms inside, then 200 ms outside, which is no end of the stay.
    let back = [[inside; 3].as_slice(), &[outside; 2], &[inside; 8]].concat();
    assert_eq!(loitering(&back), [(7, 500)]);
    // Outside for 500 ms: both are too short.
    let away = [[inside; 4].as_slice(), &[outside; 5], &[inside; 5]].concat();
    assert_eq!(loitering(&away), []);
    let twice = [[inside; 7].as_slice(), &[outside; 5], &[inside; 7]].concat();
    assert_eq!(loitering(&twice), [(5, 500), (17, 500)]);
    let once = [[inside; 7].as_slice(), &[outside; 2], &[inside; 7]].concat();
    assert_eq!(loitering(&once), [(5, 500)]);
}
