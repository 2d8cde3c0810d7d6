//! Tracks, by the best of their frames.

use super::super::{Followed, Identity, Unknowns};
use super::*;

/// A track that has been seen at these places.
fn seen(degrees: &[f64], gallery: &Gallery, unknowns: &mut Unknowns, params: &IdentifyParams) -> Followed {
    let mut track = Followed::default();
    for degrees in degrees {
        track.look(at(*degrees), Some(gallery), unknowns, params);
    }
    track
}

/// The cosine of an angle in degrees.
fn cosine(degrees: f64) -> f32 {
    degrees.to_radians().cos() as f32
}

#[track_caller]
fn assert_known(identity: Identity, wanted: usize, degrees: f64) {
    let Identity::Known { name, score } = identity else { panic!("{identity:?}") };
    // Two roundings to float32 and a product.
    assert!(name == wanted && (score - cosine(degrees)).abs() < 1e-6, "{identity:?}");
}

#[test]
fn the_best_of_the_last_frames_decides_and_an_earlier_one_is_forgotten() {
    let gallery = gallery(&[("ann", &[0.0]), ("bob", &[90.0])]);
    let params = IdentifyParams { frames: 3, ..params(0.5, 0.1) };
    let mut unknowns = Unknowns::new(10);
    let track = |degrees: &[f64], unknowns: &mut Unknowns| {
        seen(degrees, &gallery, unknowns, &params).identity(&params)
    };
    assert_known(track(&[20.0], &mut unknowns), 0, 20.0);
    assert_known(track(&[10.0, 40.0, 85.0], &mut unknowns), 1, 5.0);
    assert_known(track(&[2.0, 40.0, 85.0], &mut unknowns), 0, 2.0);
    assert_known(track(&[2.0, 40.0, 85.0, 88.0], &mut unknowns), 1, 2.0);
    assert_eq!(track(&[45.0, 45.0], &mut unknowns), Identity::Ambiguous);
    assert_known(track(&[45.0, 45.0, 30.0], &mut unknowns), 0, 30.0);
    assert_eq!(unknowns.count(), 0, "who is like several names is no stranger");
}

#[test]
fn a_stranger_gets_a_number_after_some_frames_and_keeps_it_while_it_is_unlike_itself() {
    let gallery = gallery(&[("ann", &[0.0])]);
    let params = IdentifyParams { min_frames: 3, ..params(0.9, 0.0) };
    let mut unknowns = Unknowns::new(10);
    let track = |degrees: &[f64], unknowns: &mut Unknowns| {
        seen(degrees, &gallery, unknowns, &params).identity(&params)
    };
    assert_eq!(track(&[90.0, 92.0], &mut unknowns), Identity::Nobody);
    assert_eq!(unknowns.count(), 0);
    assert_eq!(track(&[90.0, 92.0, 94.0], &mut unknowns), Identity::Unknown { number: 1, score: 1.0 });
    let Identity::Unknown { number, score } = track(&[94.0, 180.0], &mut unknowns) else { panic!() };
    assert!(number == 1 && score < 0.2, "another view of the same track is no second person: {score}");
    assert_eq!(unknowns.count(), 1);
    let Identity::Unknown { number, .. } = track(&[180.0, 181.0, 182.0], &mut unknowns) else { panic!() };
    assert_eq!(number, 2);
    assert_known(track(&[180.0, 181.0, 182.0, 5.0], &mut unknowns), 0, 5.0);
}

#[test]
fn another_gallery_names_who_is_there() {
    let (ann, both) = (gallery(&[("ann", &[0.0])]), gallery(&[("ann", &[0.0]), ("bob", &[90.0])]));
    let params = IdentifyParams { min_frames: 1, ..params(0.9, 0.0) };
    let mut track = seen(&[90.0], &ann, &mut Unknowns::new(10), &params);
    assert!(matches!(track.identity(&params), Identity::Unknown { number: 1, .. }));
    track.compare_again(Some(&both));
    assert_known(track.identity(&params), 1, 0.0);
    track.compare_again(None);
    assert!(matches!(track.identity(&params), Identity::Unknown { number: 1, .. }));
}

#[test]
fn who_is_not_tracked_gets_a_number_at_once_and_is_known_again() {
    let gallery = gallery(&[("ann", &[0.0])]);
    let (params, mut unknowns) = (params(0.9, 0.0), Unknowns::new(1));
    let mut of_one = |degrees| Identity::of_one(&at(degrees), Some(&gallery), &mut unknowns, &params);
    assert_known(of_one(10.0), 0, 10.0);
    assert_eq!(of_one(90.0), Identity::Unknown { number: 1, score: 1.0 });
    assert!(matches!(of_one(95.0), Identity::Unknown { number: 1, .. }));
    assert_eq!(of_one(180.0), Identity::Nobody, "there may be one");
    assert_eq!(unknowns.left_out(), 1);
}
