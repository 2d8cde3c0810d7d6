//! Times that are missing or go back, frames that change their size, zones that change, and objects that are forgotten.

use super::*;

/// An object that is inside in all frames but the last.
fn visit(times: &[FrameTime], usual: Option<u64>) -> Option<u64> {
    let mut counter = counter(at_once(vec![square()]));
    counter.set_frame([100, 100], usual);
    let mut dwell = None;
    for (i, time) in times.iter().enumerate() {
        let x = if i + 1 == times.len() { 25.0 } else { 15.0 };
        let report = counter.update(*time, &[dot(1, [x, 15.0])]);
        if let Some(EventKind::Leave { dwell: of, .. }) = report.events.first().map(|event| event.what) {
            dwell = of;
        }
    }
    assert_eq!(counter.totals(0).unwrap().all.left, 1);
    dwell
}

#[test]
fn dwell_is_by_time_stamps_else_by_durations_else_there_is_none() {
    let pts = |ms: u64| FrameTime { pts: Some(ms * MS), duration: Some(40 * MS) };
    assert_eq!(visit(&[pts(0), pts(40), pts(1000)], None), Some(1000 * MS), "not by the number of frames");
    let blind = FrameTime::default();
    let lasting = FrameTime { duration: Some(40 * MS), ..blind };
    assert_eq!(visit(&[lasting; 4], None), Some(120 * MS));
    assert_eq!(visit(&[blind; 4], Some(20 * MS)), Some(60 * MS), "by the caps' frame rate");
    assert_eq!(visit(&[blind; 4], None), None);
    assert_eq!(visit(&[pts(0), blind, pts(80), pts(120)], Some(40 * MS)), Some(120 * MS), "one is missing");
    assert_eq!(visit(&[pts(0), FrameTime { duration: None, ..pts(100) }, blind], None), None);
}

#[test]
fn times_that_go_back_make_nobody_stay_for_ages() {
    let pts = |ms: u64| FrameTime { pts: Some(ms * MS), duration: Some(40 * MS) };
    assert_eq!(visit(&[pts(9000), pts(9040), pts(0), pts(40)], None), Some(120 * MS));
}

#[test]
fn without_times_patience_goes_by_thirty_frames_a_second() {
    let mut counter = counter(at_once(vec![square()]));
    let mut left = None;
    for frame in 0..200 {
        let objects = if frame == 0 { vec![dot(1, [15.0, 15.0])] } else { vec![] };
        let report = counter.update(FrameTime::default(), &objects);
        if let Some(EventKind::Leave { .. }) = report.events.first().map(|event| event.what) {
            left = Some(frame);
        }
    }
    assert_eq!(left, Some(91), "3 s");
}

#[test]
fn who_is_gone_is_forgotten() {
    let mut counter =
        counter(ZoneParams { patience: 1000 * MS, ..at_once(vec![square(), line([[0.0; 2], [9.0; 2]])]) });
    for frame in 0..5000 {
        counter.update(at(frame), &[dot(frame, [15.0, 15.0]), dot(frame + 10_000, [50.0, 50.0])]);
        assert!(counter.remembered() <= 22, "{} after {frame} frames", counter.remembered());
    }
    assert_eq!(counter.totals(0).unwrap().all.entered, 5000);
}

#[test]
fn one_identity_twice_in_a_frame_is_the_first_and_no_numbers_are_not_seen() {
    let mut counter = counter(at_once(vec![square()]));
    let twice = [dot(1, [15.0, 15.0]), dot(1, [50.0, 50.0])];
    let report = counter.update(at(0), &twice);
    assert_eq!((report.events.len(), report.stays[0].len(), report.stays[1].len()), (1, 1, 0));
    for nowhere in [f64::NAN, f64::INFINITY] {
        assert!(counter.update(at(1), &[dot(1, [nowhere, 15.0])]).events.is_empty());
        assert_eq!(counter.totals(0).unwrap().all.occupancy, 1);
    }
}

#[test]
fn fractions_fit_frames_of_every_size_and_keep_who_is_inside() {
    let outline = vec![[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]];
    let zones = vec![Zone::new("middle", ZoneKind::Polygon, outline), line([[0.5, 0.0], [0.5, 1.0]])];
    let mut counter = counter(ZoneParams { units: Units::Fraction, ..at_once(zones) });
    counter.set_frame([100, 100], None);
    counter.update(at(0), &[dot(1, [60.0, 50.0])]);
    assert_eq!(counter.totals(0).unwrap().all.occupancy, 1);
    counter.set_frame([400, 200], None);
    assert_eq!(counter.points(0)[2], [300.0, 150.0]);
    // The same place.
    assert_eq!(counter.update(at(1), &[dot(1, [240.0, 100.0])]).events, []);
    // Across the line to the left, and out of the middle.
    let events = counter.update(at(2), &[dot(1, [80.0, 100.0])]).events.clone();
    let what: Vec<_> = events.iter().map(|event| event.what).collect();
    let left = EventKind::Leave { vanished: false, dwell: Some(200 * MS) };
    assert_eq!(what, [left, EventKind::Cross(Direction::In)]);
}

#[test]
fn pixels_stay_where_they_are_and_nobody_crosses_because_the_frame_has_grown() {
    let mut counter = counter(at_once(vec![line([[50.0, 0.0], [50.0, 400.0]])]));
    counter.set_frame([100, 100], None);
    counter.update(at(0), &[dot(1, [40.0, 50.0]), dot(2, [10.0, 50.0])]);
    counter.set_frame([400, 400], None);
    // The second one has gone from 10, which is 40 now, to 60.
    assert_eq!(counter.update(at(1), &[dot(1, [160.0, 200.0]), dot(2, [60.0, 200.0])]).events, []);
    assert_eq!(counter.update(at(2), &[dot(1, [40.0, 200.0])]).events.len(), 1);
}

#[test]
fn zones_that_stay_keep_their_counts_when_others_come_and_go() {
    let mut counter = counter(at_once(vec![line([[0.0; 2], [9.0; 2]]), square()]));
    along(&mut counter, &[5.0, 15.0]);
    let other = Zone { name: "other".into(), ..square() };
    counter.replace(at_once(vec![square(), other])).unwrap();
    assert_eq!([0, 1].map(|zone| counter.totals(zone).unwrap().all.entered), [1, 0]);
    let events = counter.update(at(2), &[dot(1, [15.0, 15.0])]).events.clone();
    assert_eq!(events.len(), 1, "it is in the first already: {events:?}");
    assert_eq!((events[0].zone, events[0].what), (1, EventKind::Enter { appeared: true }));
    let before = counter.params().clone();
    let wrong = at_once(vec![Zone::new("", ZoneKind::Line, vec![])]);
    assert!(counter.replace(wrong).is_err());
    assert_eq!(counter.params(), &before);
}

#[test]
fn to_clear_sets_the_counts_back_and_to_reset_forgets_the_objects_too() {
    let mut counter = counter(at_once(vec![square()]));
    along(&mut counter, &[15.0, 25.0, 15.0]);
    counter.clear();
    let totals = counter.totals(0).unwrap();
    assert_eq!(totals.all, Counts { occupancy: 1, ..Counts::default() });
    assert_eq!((totals.longest_dwell, totals.mean_dwell()), (None, None));
    counter.reset();
    assert_eq!(counter.totals(0), Some(&Totals::default()));
    assert_eq!(along(&mut counter, &[15.0]), [(0, EventKind::Enter { appeared: true })]);
}
