//! Zones that are refused.

use super::*;

fn refused(zones: Vec<Zone>) -> String {
    Counter::new(at_once(zones)).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_a_zone_is_reported_with_its_name() {
    let polygon = |points: &[[f64; 2]]| Zone::new("yard", ZoneKind::Polygon, points.to_vec());
    let straight = |points: &[[f64; 2]]| Zone::new("door", ZoneKind::Line, points.to_vec());
    for (zone, parts) in [
        (polygon(&[[0.0, 0.0], [1.0, 1.0]]), &["'yard'", "three different points", "2"][..]),
        (polygon(&[[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), &["three different points", "2"]),
        (polygon(&[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [5.0, 5.0]]), &["one straight line"]),
        (
            polygon(&[[0.0, 0.0], [9.0, 9.0], [9.0, 0.0], [0.0, 9.0]]),
            &["meets itself", "from point 1 to 2", "from point 3 to 4"],
        ),
        (polygon(&[[0.0, 0.0], [f64::NAN, 9.0], [9.0, 0.0]]), &["point 2", "NaN"]),
        (polygon(&[[0.0, 0.0], [1.0, 9.0], [f64::INFINITY, 0.0]]), &["point 3", "infinite"]),
        (straight(&[[0.0, 0.0]]), &["'door'", "two points, but this one has 1"]),
        (straight(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]), &["this one has 3", "each piece"]),
        (straight(&[[4.0, 5.0], [4.0, 5.0]]), &["same point"]),
        (Zone { name: " ".into(), ..square() }, &["number 1 has no name"]),
    ] {
        let error = refused(vec![zone]);
        for part in parts {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    }
    assert!(refused(vec![square(), square()]).contains("two zones are called 'square'"));
}

#[test]
fn an_outline_that_is_closed_by_hand_is_the_same() {
    let mut closed = square();
    closed.points.push([10.0, 10.0]);
    closed.points.insert(1, [10.0, 10.0]);
    let counter = counter(at_once(vec![closed]));
    assert_eq!(counter.points(0), square().points);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let zones = vec![square()];
    let of = |change: fn(&mut ZoneParams)| {
        let mut params = at_once(zones.clone());
        change(&mut params);
        Counter::new(params).map(|_| ()).unwrap_err()
    };
    assert_eq!(of(|p| p.min_frames = 0), ZoneError::MinFrames);
    assert_eq!(of(|p| p.margin = -0.1), ZoneError::Margin(-0.1));
    assert!(matches!(of(|p| p.margin = f64::NAN), ZoneError::Margin(_)));
}
