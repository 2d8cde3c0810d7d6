//! The trackers' behaviour, seen from outside: life cycle, identities, odd input.

mod appearance;
mod frames;
mod individuals;
mod passed;
mod poses;

use super::*;
use crate::geometry::{Affine, Rect};
use crate::words::Words as _;
use proptest::prelude::*;

fn seen(x: f32, y: f32, confidence: f32) -> Detection {
    Detection { rect: Rect { x, y, w: 40.0, h: 90.0 }, confidence, class: 0 }
}

fn tracker(params: TrackParams) -> Tracker {
    Tracker::new(params).unwrap()
}

/// One frame; the ids, 0 where there is no track.
fn ids(tracker: &mut Tracker, detections: &[Detection]) -> Vec<u64> {
    let mut tracks = Vec::new();
    tracker.update(detections, &mut tracks);
    assert_eq!(tracks.len(), detections.len());
    assert!(tracks.iter().flatten().all(|track| track.id > 0 && track.state == State::Tracked));
    tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect()
}

fn every() -> Vec<TrackParams> {
    Algorithm::ALL.iter().copied().map(TrackParams::of).collect()
}

#[test]
fn the_first_frames_are_believed_at_once() {
    for params in every() {
        assert_eq!(ids(&mut tracker(params), &[seen(0.0, 0.0, 0.9), seen(300.0, 0.0, 0.9)]), [1, 2]);
    }
}

#[test]
fn a_later_arrival_is_confirmed_after_its_hits() {
    for params in every() {
        let hits = params.min_hits;
        let mut tracker = tracker(params);
        for _ in 0..10 {
            ids(&mut tracker, &[]);
        }
        for _ in 0..hits {
            assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]), [0]);
            assert_eq!(
                tracker.tracks().map(|t| (t.id, t.state)).collect::<Vec<_>>(),
                [(0, State::Tentative)]
            );
        }
        assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]), [1]);
        assert_eq!(tracker.tracks().map(|t| t.age).collect::<Vec<_>>(), [hits]);
    }
}

#[test]
fn an_unconfirmed_object_of_bytetrack_dies_of_one_miss_and_spends_no_id() {
    let mut tracker = tracker(TrackParams::bytetrack());
    ids(&mut tracker, &[]);
    assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]), [0]);
    ids(&mut tracker, &[]);
    assert_eq!(tracker.tracks().count(), 0);
    ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]);
    assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]), [1]);
}

#[test]
fn a_lost_track_comes_back_with_its_id_until_it_expires() {
    for gap in [30, 31] {
        let mut tracker = tracker(TrackParams::bytetrack());
        ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]);
        for missed in 1..=gap {
            ids(&mut tracker, &[]);
            let lost: Vec<_> = tracker.lost().collect();
            assert_eq!(lost.len(), usize::from(missed <= 30));
            assert!(lost.iter().all(|t| (t.id, t.age, t.state) == (1, missed, State::Lost)));
        }
        let expected = if gap == 30 { 1 } else { 0 };
        assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9)]), [expected], "after {gap} frames");
    }
}

#[test]
fn sort_forgives_one_missed_frame_but_asks_for_new_hits() {
    let mut tracker = tracker(TrackParams::sort());
    let object = [seen(5.0, 5.0, 0.9)];
    for _ in 0..5 {
        assert_eq!(ids(&mut tracker, &object), [1]);
    }
    ids(&mut tracker, &[]);
    assert_eq!(tracker.lost().map(|t| t.id).collect::<Vec<_>>(), [1]);
    // The paper's program counts hits in a row again after a miss: published from the third on, same identity.
    assert_eq!([(); 4].map(|()| ids(&mut tracker, &object)[0]), [0, 0, 1, 1]);
    ids(&mut tracker, &[]);
    ids(&mut tracker, &[]);
    assert_eq!(tracker.tracks().count(), 0);
}

#[test]
fn a_weak_detection_keeps_a_track_alive_but_starts_none() {
    let mut tracker = tracker(TrackParams::bytetrack());
    assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9), seen(300.0, 5.0, 0.3)]), [1, 0]);
    for step in 1..8u8 {
        let x = 5.0 + f32::from(step);
        assert_eq!(ids(&mut tracker, &[seen(x, 5.0, 0.2), seen(300.0, 5.0, 0.3)]), [1, 0]);
    }
    // Confidences between the two thresholds: enough to be matched first, but not to start a track.
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.65), seen(300.0, 5.0, 0.65)]), [1, 0]);
    assert_eq!(tracker.tracks().count(), 1);
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.05)]), [0], "below min_confidence");
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.2)]), [0], "a lost one does not take a weak detection");
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.9)]), [1]);
}

#[test]
fn ocsort_finds_who_stopped_out_of_sight_where_it_was_last_seen() {
    let after_a_stop = |params: TrackParams| {
        let mut tracker = tracker(params);
        for step in 0..10u8 {
            assert_eq!(ids(&mut tracker, &[seen(20.0 * f32::from(step), 5.0, 0.9)]), [1]);
        }
        for _ in 0..6 {
            ids(&mut tracker, &[]);
        }
        // The filter expects the object 140 pixels further on its way.
        [(); 5].map(|()| ids(&mut tracker, &[seen(185.0, 5.0, 0.9)])[0])
    };
    assert_eq!(after_a_stop(TrackParams::ocsort()), [0, 0, 1, 1, 1], "the same, after hits in a row");
    let of_sort = after_a_stop(TrackParams { max_lost: 30, ..TrackParams::sort() });
    assert_eq!(of_sort, [0, 0, 0, 2, 2], "another");
}

#[test]
fn of_two_that_overlap_alike_ocsort_takes_the_one_straight_on() {
    let found = |momentum| {
        let mut tracker = tracker(TrackParams { momentum, ..TrackParams::ocsort() });
        // Jerks forth and back that the filter evens out, ending with a way down.
        for (x, y) in [(100.0, 100.0), (100.0, 110.0), (100.0, 120.0), (100.0, 130.0)] {
            ids(&mut tracker, &[seen(x, y, 0.9)]);
        }
        let rect = tracker.tracks().next().unwrap().rect;
        // Both are as far from the expected place: one lies back, overlapping a little more, one ahead.
        ids(&mut tracker, &[seen(rect.x, rect.y - 20.0, 0.9), seen(rect.x, rect.y + 40.0, 0.9)])
    };
    assert_eq!(found(0.0).iter().position(|&id| id == 1), Some(0));
    assert_eq!(found(1.0).iter().position(|&id| id == 1), Some(1));
}

#[test]
fn cbiou_follows_who_moves_by_more_than_its_width() {
    let all = |params: TrackParams| {
        let mut tracker = tracker(params);
        // The object moves by 50 pixels at a time, from rest; it is 40 wide.
        let of_frame = |step: u8| ids(&mut tracker, &[seen(50.0 * f32::from(step), 5.0, 0.9)])[0];
        (0..8u8).map(of_frame).collect::<Vec<u64>>()
    };
    assert_eq!(all(TrackParams::cbiou()), [1; 8]);
    assert_ne!(all(TrackParams::bytetrack()), [1; 8]);
    let narrow = TrackParams { buffer: 0.0, buffer_wide: 0.0, ..TrackParams::cbiou() };
    assert_ne!(all(narrow), [1; 8], "without buffers");
}

#[test]
fn crossing_objects_keep_their_ids() {
    for params in every() {
        let mut tracker = tracker(params);
        for frame in 0..60u8 {
            let way = 6.0 * f32::from(frame);
            let (right, left) = (seen(way, 100.0, 0.9), seen(354.0 - way, 112.0, 0.9));
            // Detections arrive in any order: it must not matter.
            let found = if frame % 2 == 0 {
                ids(&mut tracker, &[right, left])
            } else {
                ids(&mut tracker, &[left, right]).into_iter().rev().collect()
            };
            assert_eq!(found, [1, 2], "frame {frame}");
        }
    }
}

#[test]
fn classes_match_only_their_own_unless_set_otherwise() {
    for mut params in every() {
        let car = Detection { class: 2, ..seen(5.0, 5.0, 0.9) };
        let mut aware = tracker(params.clone());
        assert_eq!(ids(&mut aware, &[seen(5.0, 5.0, 0.9)]), [1]);
        assert_ne!(ids(&mut aware, &[car]), [1]);
        params.class_aware = false;
        let mut blind = tracker(params);
        assert_eq!(ids(&mut blind, &[seen(5.0, 5.0, 0.9)]), [1]);
        assert_eq!(ids(&mut blind, &[car]), [1]);
    }
}

#[test]
fn unusable_detections_belong_to_no_track_and_disturb_none() {
    for params in every() {
        let mut tracker = tracker(params);
        let bad = |x, y, w, h, confidence| Detection { rect: Rect { x, y, w, h }, confidence, class: 0 };
        let frame = [
            bad(f32::NAN, 5.0, 40.0, 90.0, 0.9),
            seen(5.0, 5.0, 0.9),
            bad(5.0, 5.0, f32::NAN, 90.0, 0.9),
            bad(5.0, 5.0, 0.0, 90.0, 0.9),
            bad(5.0, 5.0, 40.0, -90.0, 0.9),
            bad(f32::INFINITY, 5.0, 40.0, 90.0, 0.9),
            bad(5.0, 5.0, 40.0, 90.0, f32::NAN),
        ];
        for _ in 0..6 {
            assert_eq!(ids(&mut tracker, &frame), [0, 1, 0, 0, 0, 0, 0]);
        }
        assert_eq!(tracker.tracks().count(), 1);
    }
}

#[test]
fn reset_forgets_objects_and_goes_on_with_identities() {
    for params in every() {
        let mut tracker = tracker(params);
        let frames = [vec![seen(5.0, 5.0, 0.9), seen(200.0, 5.0, 0.8)], vec![], vec![seen(7.0, 5.0, 0.9)]];
        let run = |tracker: &mut Tracker| frames.each_ref().map(|frame| ids(tracker, frame));
        let first = run(&mut tracker);
        let most = *first.iter().flatten().max().unwrap();
        tracker.reset();
        assert_eq!(tracker.tracks().count(), 0);
        // All is as the first time, except for the identities, which are not given again.
        let later =
            first.map(|ids| ids.into_iter().map(|id| if id > 0 { id + most } else { 0 }).collect::<Vec<_>>());
        assert_eq!(run(&mut tracker), later);
    }
}

#[test]
fn of_a_hundred_thousand_boxes_in_one_place_only_the_best_are_looked_at() {
    let heap: Vec<Detection> = (0..100_000u32)
        .map(|i| seen((i % 7) as f32, (i % 11) as f32, 0.7 + 0.3 * (i % 1000) as f32 / 1e3))
        .collect();
    // Without the bound this would take days.
    for params in every() {
        let mut tracker = tracker(TrackParams { max_lost: 1, ..params });
        let mut tracks = Vec::new();
        for _ in 0..2 {
            assert_eq!(
                tracker.update_frame(&TrackerInput::of(&heap), &mut tracks),
                heap.len() - MOST_DETECTIONS
            );
        }
        let least = heap.iter().zip(&tracks).filter(|(_, track)| track.is_some()).map(|(d, _)| d.confidence);
        assert!(least.fold(1.0, f32::min) >= 0.96, "the most confident are kept");
    }
}

#[test]
fn thousands_of_detections_are_all_followed() {
    for params in every() {
        let mut tracker = tracker(params);
        let grid = |shift: f32| -> Vec<Detection> {
            let place = |i: u16| seen(30.0 * f32::from(i % 60) + shift, 100.0 * f32::from(i / 60), 0.9);
            (0..3000).map(place).collect() // neighbours in a row overlap: groups of 60
        };
        let expected: Vec<u64> = (1..=3000).collect();
        for frame in 0..2u8 {
            assert_eq!(ids(&mut tracker, &grid(f32::from(frame))), expected);
        }
    }
}

/// Two people walk to the right, a third arrives, one is half hidden and then gone for a while, one leaves.
#[test]
fn a_small_scene_gives_the_known_tracks() {
    let scene = || {
        (0..14u8).map(|frame| {
            let t = f32::from(frame);
            let mut found = vec![seen(10.0 + 4.0 * t, 20.0, 0.95)];
            match frame {
                0..4 => found.push(seen(200.0 + 3.0 * t, 30.0, 0.9)),
                4..6 => found.push(seen(200.0 + 3.0 * t, 30.0, 0.35)),
                9.. => found.push(seen(200.0 + 3.0 * t, 30.0, 0.8)),
                _ => {}
            }
            if frame >= 7 {
                found.push(seen(400.0, 200.0 - 2.0 * t, 0.85));
            }
            found
        })
    };
    let mut byte = tracker(TrackParams::bytetrack());
    let found: Vec<_> = scene().map(|frame| ids(&mut byte, &frame)).collect();
    let expected: [&[u64]; 14] = [
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1],
        &[1, 0],
        &[1, 3], // the third is confirmed
        &[1, 2, 3],
        &[1, 2, 3],
        &[1, 2, 3],
        &[1, 2, 3],
        &[1, 2, 3],
    ];
    assert_eq!(found, expected);

    let mut sort = tracker(TrackParams::sort());
    let found: Vec<_> = scene().map(|frame| ids(&mut sort, &frame)).collect();
    let expected: [&[u64]; 14] = [
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1, 2],
        &[1, 0],
        &[1, 0],
        &[1],
        &[1, 0],
        &[1, 0], // 2 is given up
        &[1, 0, 0],
        &[1, 0, 3],
        &[1, 0, 3],
        &[1, 4, 3],
        &[1, 4, 3],
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_published_box_follows_its_detections() {
    for params in every() {
        let mut tracker = tracker(params);
        let mut tracks = Vec::new();
        for frame in 0..40u8 {
            let detection = seen(3.0 * f32::from(frame), 10.0 + f32::from(frame), 0.9);
            tracker.update(&[detection], &mut tracks);
            let track = tracks[0].unwrap();
            assert_eq!(track.age, u32::from(frame));
            assert!(track.rect.iou(&detection.rect) > 0.9, "frame {frame}: {:?}", track.rect);
        }
    }
}

#[test]
fn names_are_read_back_and_wrong_values_are_named() {
    for &algorithm in Algorithm::ALL {
        assert_eq!(algorithm.word().parse(), Ok(algorithm));
    }
    let unknown = "deepsort".parse::<Algorithm>().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "There is no tracking algorithm 'deepsort': use one of auto, sort, bytetrack, ocsort, botsort, cbiou."
    );
    assert_eq!(
        [State::Tentative, State::Tracked, State::Lost].map(State::name),
        ["tentative", "tracked", "lost"]
    );
    for wrong in [-0.1, 1.5, f32::NAN] {
        let error =
            Tracker::new(TrackParams { iou_low: wrong, ..TrackParams::bytetrack() }).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("iou_low"), "{error}");
    }
}

fn frames() -> impl Strategy<Value = Vec<Vec<Detection>>> {
    let side = prop_oneof![8 => 1f32..200.0, 1 => Just(0.0), 1 => Just(f32::NAN), 1 => Just(1e30f32), 1 => Just(1e-30f32)];
    let place = prop_oneof![12 => -50f32..400.0, 1 => Just(f32::MAX), 1 => Just(f32::NEG_INFINITY)];
    let one = (place.clone(), place, side.clone(), side, 0f32..1.0, 0u32..3).prop_map(
        |(x, y, w, h, confidence, class)| Detection { rect: Rect { x, y, w, h }, confidence, class },
    );
    prop::collection::vec(prop::collection::vec(one, 0..9), 1..12)
}

proptest! {
    #[test]
    fn any_input_gives_unique_dense_ids_and_the_same_result_twice(frames in frames(), algorithm in 0..Algorithm::ALL.len()) {
        let params = TrackParams::of(Algorithm::ALL[algorithm]);
        let mut one = tracker(params.clone());
        let mut two = tracker(params);
        let mut highest = 0;
        for frame in &frames {
            let found = ids(&mut one, frame);
            prop_assert_eq!(&found, &ids(&mut two, frame));
            let mut used: Vec<u64> = found.into_iter().filter(|&id| id > 0).collect();
            used.sort_unstable();
            prop_assert!(used.windows(2).all(|pair| pair[0] < pair[1]), "an id twice in one frame");
            let fresh: Vec<u64> = used.into_iter().filter(|&id| id > highest).collect();
            for id in fresh {
                prop_assert_eq!(id, highest + 1);
                highest = id;
            }
        }
    }
}
