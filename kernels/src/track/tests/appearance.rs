//! Appearance that counts where it tells objects apart.

use super::*;

/// Two that walk towards each other, meet and turn back, every hundred frames: what moves on would pass. `looks` are their embeddings, to
/// which some noise is added.
fn meetings(
    tracker: &mut Tracker,
    looks: [[f32; 3]; 2],
    frames: u16,
) -> (Vec<Vec<u64>>, Vec<AppearanceSwitch>) {
    let (mut found, mut switches, mut tracks) = (Vec::new(), Vec::new(), Vec::new());
    for frame in 0..frames {
        let apart = 4.0 * (f32::from(frame % 100) - 50.0).abs();
        let detections = [seen(300.0 - apart, 5.0, 0.9), seen(300.0 + apart, 5.0, 0.9)];
        let noise = |object: u16, value: u16| f32::from((frame * 7 + object * 5 + value * 3) % 11) / 55.0;
        let values: Vec<f32> = (0..2u16)
            .flat_map(|object| (0..3u16).map(move |value| (object, value)))
            .map(|(object, value)| looks[usize::from(object)][usize::from(value)] + noise(object, value))
            .collect();
        let embeddings = Embeddings { values: &values, length: 3 };
        let embeddings = if tracker.wants_embeddings() { embeddings } else { Embeddings::default() };
        tracker.update_frame(&TrackerInput { embeddings, ..TrackerInput::of(&detections) }, &mut tracks);
        found.push(tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect());
        switches.extend(tracker.take_appearance_switch());
    }
    (found, switches)
}

fn auto_appearance() -> TrackParams {
    TrackParams { auto_appearance: true, ..TrackParams::auto() }
}

const RED: [f32; 3] = [1.0, 0.0, 0.2];
const BLUE: [f32; 3] = [0.0, 1.0, 0.2];

#[test]
fn objects_that_differ_switch_appearance_on_and_keep_their_identities_where_they_meet() {
    let mut tracker = tracker(auto_appearance());
    let (found, switches) = meetings(&mut tracker, [RED, BLUE], 500);
    let [AppearanceSwitch { counts: true, over_time, neighbours }] = switches[..] else {
        panic!("{switches:?}")
    };
    assert!(neighbours > 0.3 && over_time < 0.05, "{neighbours} {over_time}");
    // It is on by the third meeting.
    assert!(found[220..].iter().all(|ids| *ids == found[220]), "{:?}", &found[220..]);
    // By where they are expected, they would have passed each other.
    let (by_place, _) = meetings(
        &mut super::tracker(TrackParams { proximity: 1.0, ..TrackParams::auto() }),
        [RED, BLUE],
        500,
    );
    assert_ne!(by_place[220], by_place[290]);
}

#[test]
fn alike_objects_leave_appearance_off_and_are_tracked_by_their_place() {
    let mut tracker = tracker(auto_appearance());
    let (found, switches) = meetings(&mut tracker, [RED, RED], 500);
    assert_eq!(switches, []);
    let mut without = Vec::new();
    let mut by_place = super::tracker(TrackParams::auto());
    for frame in 0..500u16 {
        let apart = 4.0 * (f32::from(frame % 100) - 50.0).abs();
        without.push(ids(&mut by_place, &[seen(300.0 - apart, 5.0, 0.9), seen(300.0 + apart, 5.0, 0.9)]));
    }
    assert_eq!(found, without);
}

#[test]
fn a_models_embeddings_count_at_first_and_no_longer_where_they_tell_nothing_apart() {
    let with_model = |looks| {
        let mut tracker = tracker(auto_appearance());
        tracker.change_appearance(0.25, true).unwrap();
        assert!(tracker.compares_appearance());
        let switches = meetings(&mut tracker, looks, 500).1;
        // A new start of the stream, and another stream, begin alike.
        tracker.reset();
        assert!(tracker.compares_appearance() && tracker.fresh().compares_appearance());
        switches.iter().map(|switch| switch.counts).collect::<Vec<_>>()
    };
    assert_eq!(with_model([RED, BLUE]), []);
    assert_eq!(with_model([RED, RED]), [false]);
}

#[test]
fn embeddings_are_asked_for_on_every_eighth_frame_while_they_do_not_count() {
    let mut tracker = tracker(auto_appearance());
    let wanted: Vec<bool> = (0..17)
        .map(|_| {
            let wants = tracker.wants_embeddings();
            ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]);
            wants
        })
        .collect();
    let asked: Vec<usize> =
        wanted.iter().enumerate().filter(|(_, wants)| **wants).map(|(frame, _)| frame).collect();
    assert_eq!(asked, [0, 8, 16]);
    assert!(super::tracker(TrackParams::auto()).wants_embeddings(), "they always count");
}
