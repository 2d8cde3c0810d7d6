//! Where objects are in the world, and what is reported of their speed.

use super::*;
use crate::ground::{GroundMap, Metres};

/// A camera 6 m above the ground that looks 25 degrees down along y, with 1000 pixels of focal length, in a frame of 1920x1080.
fn seen([x, y]: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = 25f64.to_radians().sin_cos();
    let depth = y * cos + 6.0 * sin;
    [960.0 + 1000.0 * x / depth, 540.0 + 1000.0 * (6.0 * cos - y * sin) / depth]
}

fn road() -> GroundParams {
    let corners = [[-3.5, 40.0], [3.5, 40.0], [3.5, 8.0], [-3.5, 8.0]];
    let frame = corners.map(seen).to_vec();
    GroundParams {
        map: GroundMap::Points { frame, metres: Metres::Places(corners.to_vec()) },
        units: None,
        anchor: Anchor::BottomCenter,
    }
}

fn everywhere() -> Zone {
    Zone::new("road", ZoneKind::Polygon, vec![[0.0, 0.0], [1920.0, 0.0], [1920.0, 1080.0], [0.0, 1080.0]])
}

fn on_the_road(zones: Vec<Zone>) -> Counter {
    let mut counter = counter(ZoneParams { ground: Some(road()), ..at_once(zones) });
    counter.set_frame([1920, 1080], None);
    counter
}

/// A car whose wheels touch the ground there, 40 pixels wide.
fn car(id: u64, place: [f64; 2]) -> Sighting<'static> {
    let [x, y] = seen(place);
    let rect = Rect { x: (x - 20.0) as f32, y: (y - 30.0) as f32, w: 40.0, h: 30.0 };
    Sighting { id: Some(id), label: "car", class: Some(2), rect, ..Sighting::default() }
}

/// Where a car is that drives away at 15 m/s.
fn driving(frame: u64) -> [f64; 2] {
    [1.0, 12.0 + 1.5 * frame as f64]
}

#[test]
fn a_car_that_drives_is_where_it_is_and_as_fast_as_it_is() {
    let mut counter = on_the_road(vec![]);
    for frame in 0..25 {
        let report = counter.update(at(frame), &[car(1, driving(frame))]);
        let position = report.positions[0].unwrap();
        let wanted = driving(frame);
        // Boxes are single-precision.
        assert!((position.at[0] - wanted[0]).hypot(position.at[1] - wanted[1]) < 1e-2, "{position:?}");
        if frame > 9 {
            let motion = position.motion.unwrap();
            assert!((motion.speed - 15.0).abs() <= 0.02 * 15.0 && motion.is_sure(), "{frame}: {motion:?}");
            assert!((motion.direction.unwrap() - 90.0).abs() < 1.0, "{motion:?}");
        }
    }
}

#[test]
fn who_has_no_place_on_the_ground_is_nowhere() {
    let mut counter = on_the_road(vec![]);
    let beside_the_border = Rect { x: 900.0, y: 800.0, w: 60.0, h: 279.5 };
    let in_the_sky = Rect { x: 900.0, y: 10.0, w: 20.0, h: 20.0 };
    let objects = [
        car(1, driving(0)),
        Sighting { rect: beside_the_border, ..car(2, driving(0)) },
        Sighting { rect: in_the_sky, ..car(3, driving(0)) },
        Sighting { within_another: true, ..car(4, driving(0)) },
        Sighting { rect: Rect { x: f32::NAN, ..in_the_sky }, ..car(5, driving(0)) },
        Sighting { id: None, ..car(6, [0.0, 20.0]) },
    ];
    counter.update(at(0), &objects);
    let positions = counter.update(at(1), &objects).positions.clone();
    let known: Vec<_> = positions.iter().map(Option::is_some).collect();
    assert_eq!(known, [true, false, false, false, false, true]);
    // A place needs no identity, a speed does.
    assert!(positions[0].unwrap().motion.is_some() && positions[5].unwrap().motion.is_none());
    let mut without = super::counter(at_once(vec![]));
    assert_eq!(without.update(at(0), &objects[..1]).positions, [None], "no ground");
}

#[test]
fn the_nearest_other_object_is_named_with_its_distance_in_metres() {
    let mut counter = on_the_road(vec![]);
    let objects = [car(1, [0.0, 10.0]), car(2, [0.0, 30.0]), car(3, [3.0, 26.0])];
    let positions = counter.update(at(0), &objects).positions.clone();
    let nearest = |i: usize| {
        let nearest = positions[i].unwrap().nearest.unwrap();
        (nearest.object, (nearest.distance * 100.0).round() / 100.0)
    };
    assert_eq!([nearest(0), nearest(1), nearest(2)], [(2, 16.28), (2, 5.0), (1, 5.0)]);
    assert_eq!(counter.update(at(1), &objects[..1]).positions[0].unwrap().nearest, None, "it is alone");
}

#[test]
fn frames_in_which_nobody_looked_change_no_speed_and_a_stream_that_goes_back_begins_anew() {
    let mut counter = on_the_road(vec![]);
    let mut motion =
        |frame: u64, object: Sighting<'_>| counter.update(at(frame), &[object]).positions[0].unwrap().motion;
    let mut last = None;
    for frame in 0..20 {
        last = motion(frame, car(1, driving(frame)));
    }
    // The tracker's guess stands still.
    for frame in 20..22 {
        assert_eq!(motion(frame, Sighting { carried: true, ..car(1, driving(19)) }), last);
    }
    let after = motion(22, car(1, driving(22))).unwrap();
    assert!((after.speed - 15.0).abs() <= 0.3, "{after:?}");
    assert_eq!(motion(3, car(1, driving(23))), None, "a seek");
    counter.reset();
    assert_eq!(counter.update(at(0), &[car(1, driving(0))]).positions[0].unwrap().motion, None);
}

#[test]
fn who_is_not_seen_for_longer_than_patience_has_no_speed_when_it_returns() {
    let mut counter = on_the_road(vec![]);
    for frame in 0..10 {
        counter.update(at(frame), &[car(1, [0.0, 10.0 + 0.1 * frame as f64])]);
    }
    (10..45).for_each(|frame| drop(counter.update(at(frame), &[]).clone()));
    assert_eq!(counter.update(at(45), &[car(1, [0.0, 14.5])]).positions[0].unwrap().motion, None);
}

/// The speeds at which a car that drives at 15 m/s is reported in zones with these limits, frame by frame.
fn reported(least: Option<f64>, most: Option<f64>) -> Vec<(u64, f64)> {
    let zone = Zone { min_speed: least, max_speed: most, inertia: Some(3), ..everywhere() };
    let mut counter = on_the_road(vec![zone]);
    let mut found = Vec::new();
    for frame in 0..30 {
        let events = counter.update(at(frame), &[car(1, driving(frame))]).events.clone();
        found.extend(events.iter().filter_map(|event| match event.what {
            EventKind::Speed(motion) => Some((frame, motion.speed)),
            _ => None,
        }));
    }
    found
}

#[test]
fn a_speed_within_the_zones_limits_is_reported_once_when_it_is_sure() {
    for limits in [(Some(10.0), None), (None, Some(20.0)), (Some(14.0), Some(16.0))] {
        let [(frame, speed)] = reported(limits.0, limits.1)[..] else {
            panic!("{limits:?}: {:?}", reported(limits.0, limits.1))
        };
        assert!(frame > 3 && (speed - 15.0).abs() < 1.5, "{limits:?}: {frame} {speed}");
    }
    assert_eq!(reported(Some(16.5), None), []);
    assert_eq!(reported(None, Some(13.5)), []);
    assert_eq!(reported(None, None), []);
}

#[test]
fn limits_of_speed_that_cannot_be_are_refused() {
    let zone = |least, most| Zone { min_speed: least, max_speed: most, ..everywhere() };
    let refused = |zone: Zone, ground| {
        Counter::new(ZoneParams { ground, ..at_once(vec![zone]) }).unwrap_err().to_string()
    };
    for (zone, ground, parts) in [
        (zone(Some(5.0), None), None, &["'road'", "Add [ground]"][..]),
        (zone(Some(0.0), None), Some(road()), &["min-speed is 0 m/s", "above 0"]),
        (zone(None, Some(-1.0)), Some(road()), &["max-speed is -1 m/s"]),
        (zone(Some(f64::NAN), None), Some(road()), &["min-speed is NaN"]),
        (zone(Some(5.0), Some(5.0)), Some(road()), &["at least 5 m/s and at most 5 m/s"]),
        (
            Zone { min_speed: Some(1.0), ..line([[0.0, 0.0], [9.0, 0.0]]) },
            Some(road()),
            &["is a line", "no min-speed"],
        ),
        (Zone { loitering: Some(1), ..line([[0.0, 0.0], [9.0, 0.0]]) }, None, &["is a line", "no loitering"]),
    ] {
        let error = refused(zone, ground);
        for part in parts {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    }
    let flat = GroundParams { map: GroundMap::Matrix([[0.0; 3]; 3]), ..road() };
    assert!(refused(everywhere(), Some(flat)).starts_with("[ground]: its matrix is singular"));
}
