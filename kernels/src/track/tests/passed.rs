//! Frames that no detector sees.

use super::*;

/// The tracks after some frames that nobody sees.
fn pass(tracker: &mut Tracker, tracks: &mut [Option<Track>], frames: usize) {
    for _ in 0..frames {
        tracker.pass_frame(&TrackerInput::of(&[]), tracks);
    }
}

#[test]
fn tracks_go_on_where_nobody_looks_and_nothing_counts_as_missed() {
    for params in every() {
        let mut tracker = tracker(params.clone());
        let mut tracks = Vec::new();
        // Every fourth frame is seen; SORT gives up after one miss.
        for look in 0..20u8 {
            let x = 8.0 * f32::from(look);
            tracker.update(&[seen(x, 10.0, 0.9)], &mut tracks);
            assert_eq!(tracks[0].map(|track| track.id), Some(1), "{:?}, look {look}", params.algorithm);
            pass(&mut tracker, &mut tracks, 3);
            let track = tracks[0].unwrap();
            assert_eq!((track.id, track.state), (1, State::Carried));
            if look > 10 {
                assert!(
                    (track.rect.x - x - 6.0).abs() < 1.0,
                    "{:?}: {} after {x}",
                    params.algorithm,
                    track.rect.x
                );
            }
        }
        assert_eq!(tracks[0].map(|track| (track.hits, track.age)), Some((20, 79)));
    }
}

#[test]
fn what_pixels_show_moves_a_track_and_where_it_is_sought() {
    for params in every() {
        let run = |flow: bool| {
            let mut tracker = tracker(params.clone());
            let mut tracks = Vec::new();
            for _ in 0..10 {
                tracker.update(&[seen(100.0, 10.0, 0.9)], &mut tracks);
            }
            // It jumps by two of its widths, which no detector sees.
            let places: Vec<_> = tracker.places().collect();
            assert_eq!(
                places.iter().map(|(number, track)| (*number, track.id)).collect::<Vec<_>>(),
                [(0, 1)]
            );
            for step in 1..=10u8 {
                let there = Rect { x: 100.0 + 8.0 * f32::from(step), ..seen(0.0, 10.0, 0.9).rect };
                let moved = [flow.then_some(there)];
                tracker.pass_frame(&TrackerInput { flow: &moved, ..TrackerInput::of(&[]) }, &mut tracks);
            }
            let x = tracks[0].unwrap().rect.x;
            tracker.update(&[seen(180.0, 10.0, 0.9)], &mut tracks);
            (x, tracks[0].map(|track| track.id))
        };
        let ((with, found), (without, lost)) = (run(true), run(false));
        assert!(with > 160.0 && (without - 100.0).abs() < 1.0, "{:?}: {with} {without}", params.algorithm);
        assert_eq!(found, Some(1), "{:?}", params.algorithm);
        assert_ne!(lost, Some(1), "{:?}", params.algorithm);
    }
}

#[test]
fn what_nobody_has_seen_for_longer_than_tracks_are_remembered_is_gone() {
    for params in every() {
        let mut tracker = tracker(params.clone());
        let longest = params.max_lost.max(30) as usize + 1;
        let mut tracks = Vec::new();
        for _ in 0..5 {
            tracker.update(&[seen(5.0, 5.0, 0.9)], &mut tracks);
        }
        pass(&mut tracker, &mut tracks, longest - 1);
        assert!(tracks[0].is_some() && tracker.unseen() < tracker.longest_gap());
        pass(&mut tracker, &mut tracks, 2);
        assert!(tracks[0].is_none() && tracker.unseen() > tracker.longest_gap());
        tracker.update(&[seen(5.0, 5.0, 0.9)], &mut tracks);
        assert_ne!(tracks[0].map(|track| track.id), Some(1), "{:?}", params.algorithm);
        assert_eq!(tracker.unseen(), 0.0);
    }
}

#[test]
fn a_known_number_of_individuals_keeps_its_names_where_nobody_looks() {
    for params in every() {
        let mut tracker = tracker(TrackParams { max_tracks: 2, ..params });
        let mut tracks = Vec::new();
        for look in 0..15u8 {
            let x = 6.0 * f32::from(look);
            tracker.update(&[seen(x, 10.0, 0.9), seen(x, 300.0, 0.9)], &mut tracks);
            let names: Vec<_> = tracks.iter().map(|track| track.map(|track| track.id)).collect();
            pass(&mut tracker, &mut tracks, 2);
            let carried: Vec<_> = tracks.iter().map(|track| track.map(|track| track.id)).collect();
            assert_eq!(carried, names);
            if look > 5 {
                assert_eq!(names, [Some(1), Some(2)]);
                assert!((tracks[1].unwrap().rect.x - x - 4.0).abs() < 1.0);
            }
        }
    }
}
