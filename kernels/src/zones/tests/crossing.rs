//! Lines: which objects cross, and which do not.

use proptest::prelude::*;

use super::*;

/// A line upwards along x = 15, from y = 20 to 10: its left side has the smaller x.
fn post() -> Zone {
    line([[15.0, 20.0], [15.0, 10.0]])
}

const IN: EventKind = EventKind::Cross(Direction::In);
const OUT: EventKind = EventKind::Cross(Direction::Out);

#[test]
fn from_left_to_right_is_in_and_back_is_out() {
    let mut counter = counter(at_once(vec![post()]));
    assert_eq!(along(&mut counter, &[10.0, 20.0, 10.0, 20.0]), [(1, IN), (2, OUT), (3, IN)]);
    let totals = counter.totals(0).unwrap();
    assert_eq!((totals.all.crossed_in, totals.all.crossed_out), (2, 1));
    assert_eq!(totals.classes["person"], totals.all);
    // The example of the documentation: a line from left to right, crossed downwards.
    let mut counter = super::counter(at_once(vec![line([[100.0, 400.0], [500.0, 400.0]])]));
    assert_eq!(walk(&mut counter, &[Some([300.0, 390.0]), Some([300.0, 410.0])]), [(1, IN)]);
}

#[test]
fn around_the_end_of_a_line_is_not_across_it() {
    let mut counter = counter(at_once(vec![post()]));
    let around = [[10.0, 15.0], [10.0, 5.0], [20.0, 5.0], [20.0, 15.0]];
    assert_eq!(walk(&mut counter, &around.map(Some)), []);
    // And from there straight back.
    assert_eq!(walk(&mut counter, &[Some([10.0, 15.0])]), [(0, OUT)]);
}

#[test]
fn a_touch_is_no_crossing_and_a_way_with_a_stop_on_the_line_is_one() {
    let once = |xs: &[f64]| {
        along(&mut counter(ZoneParams { min_frames: 2, margin: 0.0, ..at_once(vec![post()]) }), xs)
    };
    assert_eq!(once(&[10.0, 15.0, 10.0, 10.0, 10.0]), [], "from the left");
    assert_eq!(once(&[20.0, 15.0, 20.0, 20.0, 20.0]), [], "from the right");
    assert_eq!(once(&[10.0, 15.0, 20.0, 20.0]), [(2, IN)]);
    assert_eq!(once(&[20.0, 15.0, 10.0, 10.0]), [(3, OUT)]);
    assert_eq!(once(&[15.0, 20.0, 20.0, 20.0]), [], "the line belongs to its right side");
}

#[test]
fn who_jitters_on_a_line_has_crossed_it_once() {
    let mut params = at_once(vec![post()]);
    (params.min_frames, params.margin) = (3, 0.0);
    let jitter: Vec<_> = (0..60).map(|i| if i % 3 == 2 { 16.0 } else { 14.0 }).collect();
    assert_eq!(along(&mut counter(params.clone()), &jitter), []);
    let through: Vec<_> = jitter.iter().copied().chain([16.0, 14.0, 16.0, 16.0, 16.0, 17.0]).collect();
    assert_eq!(along(&mut counter(params), &through), [(64, IN)]);
}

#[test]
fn who_sways_by_less_than_the_margin_does_not_cross() {
    let params = ZoneParams { margin: 0.1, ..at_once(vec![post()]) };
    let see = |counter: &mut Counter, frame, x: f32| {
        // 40 pixels high: the margin is 4.
        let rect = Rect { x: x - 5.0, y: -25.0, w: 10.0, h: 40.0 };
        let events = &counter.update(at(frame), &[Sighting { rect, ..dot(1, [0.0; 2]) }]).events;
        events.iter().map(|event| event.what).collect::<Vec<_>>()
    };
    let mut counter = counter(params);
    let sway = [11.5, 18.5, 18.5, 18.5, 11.5, 18.9].iter().zip(0..);
    for (x, frame) in sway {
        assert_eq!(see(&mut counter, frame, *x), [], "at {x}");
    }
    assert_eq!(see(&mut counter, 7, 19.0), [IN]);
    // The counterpart: without a margin every change of sides counts.
    let mut strict = super::counter(at_once(vec![post()]));
    let all: Vec<_> = [11.5, 18.5, 11.5].iter().zip(0..).map(|(x, f)| see(&mut strict, f, *x)).collect();
    assert_eq!(all, [vec![], vec![IN], vec![OUT]]);
}

#[test]
fn at_the_frames_border_no_margin_is_asked_for() {
    let crosses = |y: f32| {
        let params = ZoneParams { margin: 0.5, ..at_once(vec![line([[0.0, 190.0], [200.0, 190.0]])]) };
        let mut counter = counter(params);
        counter.set_frame([200, 200], None);
        let mut events = Vec::new();
        for (bottom, frame) in [(150.0, 0), (y, 1)] {
            let rect = Rect { x: 50.0, y: bottom - 100.0, w: 40.0, h: 100.0 };
            events.extend(counter.update(at(frame), &[Sighting { rect, ..dot(1, [0.0; 2]) }]).events.clone());
        }
        events.len()
    };
    assert_eq!((crosses(195.0), crosses(200.0)), (0, 1), "the feet cannot be 50 pixels below the line");
}

#[test]
fn who_was_lost_has_gone_straight_and_who_vanished_beyond_the_line_has_crossed() {
    let mut counter = counter(at_once(vec![post()]));
    let lost = [Some([10.0, 15.0]), None, None, Some([20.0, 15.0])];
    assert_eq!(walk(&mut counter, &lost), [(3, IN)]);
    for (margin, seen, wanted) in [(0.5, 3, vec![(34, IN)]), (0.5, 1, vec![])] {
        let params = ZoneParams { margin, min_frames: 3, ..at_once(vec![post()]) };
        let mut counter = super::counter(params);
        let mut events = Vec::new();
        for frame in 0..40u64 {
            // 20 pixels high, so that the margin is 10; it gets 5 beyond and vanishes.
            let x = if frame == 0 { 10.0 } else { 20.0 };
            let rect = Rect { x, y: -5.0, w: 0.0, h: 20.0 };
            let object = Sighting { rect, ..dot(1, [0.0; 2]) };
            let objects = if frame <= seen { vec![object] } else { vec![] };
            let report = counter.update(at(frame), &objects);
            events.extend(report.events.iter().map(|event| (frame, event.what)));
        }
        assert_eq!(events, wanted, "seen {seen} frames beyond");
    }
}

#[test]
fn only_classes_that_are_asked_for_cross_by_name_or_by_number() {
    let crossed = |classes: &[&str]| {
        let classes = classes.iter().map(|class| (*class).to_owned()).collect();
        let mut counter = counter(at_once(vec![Zone { classes, ..post() }]));
        along(&mut counter, &[10.0, 20.0]).len()
    };
    assert_eq!(crossed(&[]), 1);
    assert_eq!(crossed(&["car", "person"]), 1);
    assert_eq!(crossed(&["0"]), 1);
    assert_eq!(crossed(&["car", "1"]), 0);
    // Nor when they are lost beyond the line: their last class decides.
    let lost = |labels: [&'static str; 4]| {
        let zones = vec![Zone { classes: vec!["person".into()], ..post() }];
        // It is never far enough beyond the line to have crossed it before it is lost.
        let mut counter = counter(ZoneParams { zones, margin: 1.0, ..ZoneParams::default() });
        for (frame, label) in labels.into_iter().enumerate() {
            let rect = Rect { x: if frame == 0 { 10.0 } else { 14.0 }, y: 15.0, w: 4.0, h: 0.0 };
            counter.update(at(frame as u64), &[Sighting { label, class: None, rect, ..dot(1, [0.0; 2]) }]);
        }
        counter.update(at(1000), &[]).events.len()
    };
    assert_eq!(lost(["person"; 4]), 1);
    assert_eq!(lost(["car"; 4]), 0);
    assert_eq!(lost(["person", "person", "person", "car"]), 0);
}

#[test]
fn another_anchor_for_all_takes_nobody_across_a_line() {
    let level = |anchor| Zone { anchor, ..line([[100.0, 100.0], [0.0, 100.0]]) };
    let own = Zone { name: "own".into(), ..level(Some(Anchor::Center)) };
    let yard =
        Zone::new("yard", ZoneKind::Polygon, vec![[0.0, 90.0], [100.0, 90.0], [100.0, 100.0], [0.0, 100.0]]);
    let params = |anchor| ZoneParams { anchor, ..at_once(vec![level(None), own.clone(), yard.clone()]) };
    let mut counter = counter(params(Anchor::Center));
    let see = |counter: &mut Counter, frame, y| {
        let rect = Rect { x: 50.0, y, w: 10.0, h: 20.0 };
        let report = counter.update(at(frame), &[Sighting { rect, ..dot(1, [0.0; 2]) }]);
        report.events.iter().map(|event| (event.zone, event.what)).collect::<Vec<_>>()
    };
    assert_eq!(see(&mut counter, 0, 85.0), [(2, EventKind::Enter { appeared: true })]);
    counter.replace(params(Anchor::BottomCenter)).unwrap();
    // Its feet are below the line and outside of the yard, where its middle is not.
    let left = EventKind::Leave { vanished: false, dwell: Some(100 * MS) };
    assert_eq!(see(&mut counter, 1, 85.0), [(2, left)]);
    assert_eq!(counter.totals(2).unwrap().all.occupancy, 0);
    // The line with an anchor of its own has not forgotten on which side it was.
    counter.replace(params(Anchor::TopCenter)).unwrap();
    let moved = see(&mut counter, 2, 95.0);
    assert!(
        matches!(moved[..], [(1, EventKind::Cross(_)), (2, EventKind::Enter { appeared: false })]),
        "{moved:?}"
    );
}

#[test]
fn the_anchor_of_the_zone_counts_before_that_of_all() {
    let rect = |y: f32| Rect { x: 0.0, y, w: 10.0, h: 20.0 };
    let level = |anchor| Zone { anchor, ..line([[0.0, 100.0], [10.0, 100.0]]) };
    let crossed = |anchor, of_all| {
        let mut counter = counter(ZoneParams { anchor: of_all, ..at_once(vec![level(anchor)]) });
        for (frame, y) in [(0, 60.0), (1, 85.0)] {
            counter.update(at(frame), &[Sighting { rect: rect(y), ..dot(1, [0.0; 2]) }]);
        }
        counter.totals(0).unwrap().all.crossed_in
    };
    assert_eq!(crossed(None, Anchor::BottomCenter), 1, "from 80 to 105");
    assert_eq!(crossed(None, Anchor::Center), 0, "from 70 to 95");
    assert_eq!(crossed(Some(Anchor::BottomRight), Anchor::Center), 0, "the line's second end is not on it");
    assert_eq!(crossed(Some(Anchor::BottomLeft), Anchor::Center), 1, "its first is");
    for (anchor, wanted) in [
        (Anchor::TopLeft, [0.0, 1.0]),
        (Anchor::TopCenter, [5.0, 1.0]),
        (Anchor::TopRight, [10.0, 1.0]),
        (Anchor::CenterLeft, [0.0, 11.0]),
        (Anchor::Center, [5.0, 11.0]),
        (Anchor::CenterRight, [10.0, 11.0]),
        (Anchor::BottomLeft, [0.0, 21.0]),
        (Anchor::BottomCenter, [5.0, 21.0]),
        (Anchor::BottomRight, [10.0, 21.0]),
    ] {
        assert_eq!(anchor.of(&rect(1.0)), wanted, "{anchor:?}");
    }
}

fn ways() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec([0i32..30, 0i32..30].prop_map(|p| p.map(f64::from)), 1..30)
}

proptest! {
    /// Coordinates are whole numbers, so that ways often end on the line or go through its ends.
    #[test]
    fn a_way_cut_into_pieces_crosses_as_often(way in ways()) {
        let halves = |way: &[[f64; 2]]| {
            let mut cut = vec![way[0]];
            for pair in way.windows(2) {
                cut.extend([[(pair[0][0] + pair[1][0]) / 2.0, (pair[0][1] + pair[1][1]) / 2.0], pair[1]]);
            }
            cut
        };
        let count = |way: &[[f64; 2]]| {
            let mut counter = counter(at_once(vec![post()]));
            walk(&mut counter, &way.iter().copied().map(Some).collect::<Vec<_>>());
            let all = counter.totals(0).unwrap().all;
            (all.crossed_in, all.crossed_out)
        };
        let cut = halves(&way);
        prop_assert_eq!(count(&way), count(&cut));
        prop_assert_eq!(count(&way), count(&halves(&cut)));
    }

    /// Two lines end to end count as one line of their length does, also where a way goes through their common end.
    #[test]
    fn two_lines_end_to_end_are_as_good_as_one(way in ways()) {
        let places: Vec<_> = way.into_iter().map(Some).collect();
        let mut one = counter(at_once(vec![post()]));
        let second = Zone { name: "second".into(), ..line([[15.0, 15.0], [15.0, 10.0]]) };
        let mut two = counter(at_once(vec![line([[15.0, 20.0], [15.0, 15.0]]), second]));
        prop_assert_eq!(walk(&mut one, &places), walk(&mut two, &places));
    }
}
