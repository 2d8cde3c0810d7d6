//! Polygons: which objects are inside, since when, and which have left.

use proptest::prelude::*;

use super::*;

#[test]
fn an_object_enters_and_leaves_with_the_time_that_it_was_inside() {
    let mut counter = counter(at_once(vec![square()]));
    let events = along(&mut counter, &[5.0, 12.0, 15.0, 18.0, 25.0, 30.0]);
    let left = EventKind::Leave { vanished: false, dwell: Some(300 * MS) };
    assert_eq!(events, [(1, EventKind::Enter { appeared: false }), (4, left)]);
    let totals = counter.totals(0).unwrap();
    assert_eq!((totals.all.entered, totals.all.left, totals.all.occupancy), (1, 1, 0));
    assert_eq!((totals.longest_dwell, totals.mean_dwell()), (Some(300 * MS), Some(300 * MS)));
}

#[test]
fn times_count_from_the_first_frame_inside_however_many_it_takes_to_be_sure() {
    let mut counter = counter(ZoneParams { min_frames: 3, ..at_once(vec![square()]) });
    let events = along(&mut counter, &[5.0, 12.0, 12.0, 15.0, 18.0, 25.0, 30.0, 31.0]);
    let left = EventKind::Leave { vanished: false, dwell: Some(400 * MS) };
    assert_eq!(events, [(3, EventKind::Enter { appeared: false }), (7, left)]);
}

#[test]
fn who_is_seen_first_inside_has_appeared_there() {
    let mut counter = counter(at_once(vec![square()]));
    assert_eq!(along(&mut counter, &[15.0, 25.0])[0], (0, EventKind::Enter { appeared: true }));
}

#[test]
fn a_frame_on_the_other_side_is_jitter() {
    let events =
        |xs: &[f64]| along(&mut counter(ZoneParams { min_frames: 2, ..at_once(vec![square()]) }), xs);
    let once = [(1, EventKind::Enter { appeared: true })];
    assert_eq!(events(&[15.0, 15.0, 25.0, 15.0, 25.0, 15.0, 25.0]), once);
    assert_eq!(events(&[5.0, 15.0, 5.0, 15.0, 5.0, 15.0]), []);
}

#[test]
fn who_stays_within_the_margin_has_not_left() {
    let mut counter = counter(ZoneParams { margin: 0.1, ..at_once(vec![square()]) });
    let mut see = |frame, x: f32| {
        let rect = Rect { x, y: -25.0, w: 0.0, h: 40.0 };
        let report = counter.update(at(frame), &[Sighting { rect, ..dot(1, [0.0; 2]) }]);
        (report.events.iter().map(|e| e.what).collect::<Vec<_>>(), report.stays[0].clone())
    };
    let stay = |ms: u64| vec![Stay { zone: 0, dwell: Some(ms * MS) }];
    assert_eq!(see(0, 15.0), (vec![EventKind::Enter { appeared: true }], stay(0)));
    assert_eq!(see(1, 16.0), (vec![], stay(100)));
    assert_eq!(see(2, 23.0), (vec![], stay(200)), "3 pixels outside, of 4");
    assert_eq!(see(3, 23.5), (vec![], stay(200)), "it may have left in the frame before");
    assert_eq!(see(4, 19.0), (vec![], stay(400)), "it has not");
    assert_eq!(see(5, 23.9), (vec![], stay(500)));
    assert_eq!(see(6, 24.0), (vec![EventKind::Leave { vanished: false, dwell: Some(500 * MS) }], vec![]));
}

#[test]
fn who_vanishes_inside_leaves_when_patience_ends_as_of_when_it_was_seen() {
    let mut places = vec![Some([15.0, 15.0]); 5];
    places.extend([None; 40]);
    let mut counter = counter(at_once(vec![square()]));
    let events = walk(&mut counter, &places);
    // Seen last in frame 4; 3 s are over in frame 34, and exceeded in 35.
    assert_eq!(events[1..], [(35, EventKind::Leave { vanished: true, dwell: Some(400 * MS) })]);
    assert_eq!(counter.totals(0).unwrap().all.occupancy, 0);
    // An object that is back in time has not left, and counts as inside all the while.
    let mut places = vec![Some([15.0, 15.0])];
    places.extend([None; 29]);
    places.extend([Some([15.0, 15.0]), Some([25.0, 15.0])]);
    let events = walk(&mut super::counter(at_once(vec![square()])), &places);
    assert_eq!(events[1..], [(31, EventKind::Leave { vanished: false, dwell: Some(3100 * MS) })]);
}

#[test]
fn an_object_keeps_the_class_that_it_came_with() {
    let mut counter = counter(at_once(vec![Zone { classes: vec!["car".into()], ..square() }]));
    let mut see = |frame, label, x| {
        counter.update(at(frame), &[Sighting { label, class: None, ..dot(1, [x, 15.0]) }]).events.clone()
    };
    assert_eq!(see(0, "truck", 15.0), [], "no car");
    assert_eq!(&*see(1, "car", 15.0)[0].label, "car");
    assert_eq!(see(2, "truck", 15.0), []);
    assert_eq!(&*see(3, "truck", 25.0)[0].label, "car");
    let totals = counter.totals(0).unwrap();
    let car = totals.classes["car"];
    assert_eq!((totals.classes.len(), car.entered, car.left, car.occupancy), (1, 1, 1, 0));
}

#[test]
fn long_visits_and_full_zones_are_reported_once() {
    let zone = Zone { dwell: Some(200 * MS), occupancy: Some(2), ..square() };
    let mut counter = counter(at_once(vec![zone]));
    let mut see = |frame, xs: &[f64]| {
        let objects: Vec<_> = xs.iter().zip(1..).map(|(x, id)| dot(id, [*x, 15.0])).collect();
        let events = &counter.update(at(frame), &objects).events;
        events.iter().map(|e| (e.id, e.what, e.occupancy)).collect::<Vec<_>>()
    };
    let entered = EventKind::Enter { appeared: true };
    assert_eq!(see(0, &[15.0]), [(Some(1), entered, 1)]);
    let full = (None, EventKind::Occupancy { reached: true }, 2);
    assert_eq!(see(1, &[15.0, 15.0]), [(Some(2), entered, 2), full]);
    assert_eq!(see(2, &[15.0, 15.0]), [(Some(1), EventKind::Dwell { dwell: 200 * MS }, 2)]);
    assert_eq!(see(3, &[15.0, 15.0]), [(Some(2), EventKind::Dwell { dwell: 200 * MS }, 2)]);
    let left = EventKind::Leave { vanished: false, dwell: Some(400 * MS) };
    let no_more = (None, EventKind::Occupancy { reached: false }, 1);
    assert_eq!(see(4, &[25.0, 15.0]), [(Some(1), left, 1), no_more]);
    assert_eq!(see(5, &[25.0, 15.0]), []);
}

#[test]
fn objects_without_an_identity_are_counted_frame_by_frame_where_that_is_asked_for() {
    let stranger = Sighting { id: None, ..dot(0, [15.0, 15.0]) };
    for (untracked, wanted) in [(true, [2, 1, 0]), (false, [0, 0, 0])] {
        let mut counter =
            counter(ZoneParams { untracked, ..at_once(vec![square(), line([[15.0, 9.0], [15.0, 9.9]])]) });
        let occupancy = [2, 1, 0].map(|n| {
            let report = counter.update(at(0), &vec![stranger; n]);
            assert!(report.events.is_empty());
            assert!(report.stays.iter().all(|stays| stays.len() == usize::from(untracked)));
            counter.totals(0).unwrap().all.occupancy
        });
        assert_eq!(occupancy, wanted);
    }
}

#[test]
fn who_stands_on_the_lower_border_of_the_frame_is_in_a_zone_that_reaches_there() {
    let outline = vec![[0.0, 0.0], [200.0, 0.0], [200.0, 100.0], [0.0, 100.0]];
    let mut counter = counter(at_once(vec![Zone::new("all", ZoneKind::Polygon, outline)]));
    counter.set_frame([200, 100], None);
    let corners = [[0.0, 0.0], [200.0, 100.0], [200.0, 0.0], [0.0, 100.0], [-5.0, 120.0]];
    let objects: Vec<_> = corners.iter().zip(1..).map(|(p, id)| dot(id, *p)).collect();
    counter.update(at(0), &objects);
    assert_eq!(counter.totals(0).unwrap().all.occupancy, 5);
}

proptest! {
    #[test]
    fn who_entered_and_has_not_left_is_there(
        // The places of five objects, frame by frame, where they are seen.
        ways in prop::collection::vec(prop::collection::vec(prop::option::of([0i32..30, 0i32..30]), 5), 1..60),
        (min_frames, margin, patience) in (1u32..4, 0.0..0.5f64, 0u64..1000),
    ) {
        let params = ZoneParams { min_frames, margin, patience: patience * MS, ..at_once(vec![square()]) };
        let mut counter = counter(params);
        let mut inside = std::collections::BTreeSet::new();
        for (frame, places) in ways.iter().enumerate() {
            let objects = places.iter().zip(1..).filter_map(|(place, id)| {
                let label = if (frame + usize::try_from(id).unwrap()).is_multiple_of(7) { "car" } else { "person" };
                Some(Sighting { label, ..dot(id, (*place)?.map(f64::from)) })
            });
            let objects: Vec<_> = objects.collect();
            let events = counter.update(at(frame as u64), &objects).events.clone();
            for event in events {
                match event.what {
                    EventKind::Enter { .. } => prop_assert!(inside.insert(event.id), "in twice"),
                    EventKind::Leave { .. } => prop_assert!(inside.remove(&event.id), "out without having been in"),
                    _ => {}
                }
            }
            let totals = counter.totals(0).unwrap();
            for counts in totals.classes.values().chain([&totals.all]) {
                prop_assert_eq!(counts.entered - counts.left, u64::from(counts.occupancy));
            }
            prop_assert_eq!(totals.all.occupancy as usize, inside.len());
            let sum: u32 = totals.classes.values().map(|counts| counts.occupancy).sum();
            prop_assert_eq!(sum, totals.all.occupancy);
        }
    }
}
