//! The trackers' behaviour, seen from outside: life cycle, identities, odd input.

mod poses;

use super::*;
use crate::geometry::{Affine, Rect};
use proptest::prelude::*;

fn seen(x: f32, y: f32, confidence: f32) -> Detection {
    Detection { rect: Rect { x, y, w: 40.0, h: 90.0 }, confidence, class: 0 }
}

fn tracker(params: Params) -> Tracker {
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

fn every() -> [Params; 6] {
    Algorithm::ALL.map(Params::of)
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
    let mut tracker = tracker(Params::bytetrack());
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
        let mut tracker = tracker(Params::bytetrack());
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
    let mut tracker = tracker(Params::sort());
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
    let mut tracker = tracker(Params::bytetrack());
    assert_eq!(ids(&mut tracker, &[seen(5.0, 5.0, 0.9), seen(300.0, 5.0, 0.3)]), [1, 0]);
    for step in 1..8u8 {
        let x = 5.0 + f32::from(step);
        assert_eq!(ids(&mut tracker, &[seen(x, 5.0, 0.2), seen(300.0, 5.0, 0.3)]), [1, 0]);
    }
    // Between the two thresholds: confident enough to be matched first, not to start a track.
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.65), seen(300.0, 5.0, 0.65)]), [1, 0]);
    assert_eq!(tracker.tracks().count(), 1);
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.05)]), [0], "below min_confidence");
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.2)]), [0], "a lost one does not take a weak detection");
    assert_eq!(ids(&mut tracker, &[seen(12.0, 5.0, 0.9)]), [1]);
}

#[test]
fn ocsort_finds_who_stopped_out_of_sight_where_it_was_last_seen() {
    let after_a_stop = |params: Params| {
        let mut tracker = tracker(params);
        for step in 0..10u8 {
            assert_eq!(ids(&mut tracker, &[seen(20.0 * f32::from(step), 5.0, 0.9)]), [1]);
        }
        for _ in 0..6 {
            ids(&mut tracker, &[]);
        }
        // The filter expects it 140 pixels further, where it would have gone.
        [(); 5].map(|()| ids(&mut tracker, &[seen(185.0, 5.0, 0.9)])[0])
    };
    assert_eq!(after_a_stop(Params::ocsort()), [0, 0, 1, 1, 1], "the same, after hits in a row");
    let of_sort = after_a_stop(Params { max_lost: 30, ..Params::sort() });
    assert_eq!(of_sort, [0, 0, 0, 2, 2], "another");
}

#[test]
fn of_two_that_overlap_alike_ocsort_takes_the_one_straight_on() {
    let found = |momentum| {
        let mut tracker = tracker(Params { momentum, ..Params::ocsort() });
        // Jerks forth and back that the filter evens out, ending with a way down.
        for (x, y) in [(100.0, 100.0), (100.0, 110.0), (100.0, 120.0), (100.0, 130.0)] {
            ids(&mut tracker, &[seen(x, y, 0.9)]);
        }
        let rect = tracker.tracks().next().unwrap().rect;
        // Both as far from where it is expected: one lies behind, overlapping a little more, one ahead.
        ids(&mut tracker, &[seen(rect.x, rect.y - 20.0, 0.9), seen(rect.x, rect.y + 40.0, 0.9)])
    };
    assert_eq!(found(0.0).iter().position(|&id| id == 1), Some(0));
    assert_eq!(found(1.0).iter().position(|&id| id == 1), Some(1));
}

#[test]
fn cbiou_follows_who_moves_by_more_than_its_width() {
    let all = |params: Params| {
        let mut tracker = tracker(params);
        // By 50 pixels at a time, from rest; it is 40 wide.
        let of_frame = |step: u8| ids(&mut tracker, &[seen(50.0 * f32::from(step), 5.0, 0.9)])[0];
        (0..8u8).map(of_frame).collect::<Vec<u64>>()
    };
    assert_eq!(all(Params::cbiou()), [1; 8]);
    assert_ne!(all(Params::bytetrack()), [1; 8]);
    let narrow = Params { buffer: 0.0, buffer_wide: 0.0, ..Params::cbiou() };
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
fn classes_match_only_their_own_unless_told_otherwise() {
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
        // Everything as the first time, but for the identities that have been given.
        let later =
            first.map(|ids| ids.into_iter().map(|id| if id > 0 { id + most } else { 0 }).collect::<Vec<_>>());
        assert_eq!(run(&mut tracker), later);
    }
}

fn told(tracker: &mut Tracker, frame: &Frame<'_>) -> Vec<u64> {
    let mut tracks = Vec::new();
    tracker.update_frame(frame, &mut tracks);
    tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect()
}

#[test]
fn missing_frames_are_passed_over_by_the_time_that_they_took() {
    let at = |frame: f32| [seen(20.0 * frame, 10.0, 0.9)];
    for params in every() {
        // SORT has to lose sight of it within the gap, if it is told nothing.
        for (elapsed, found) in [(6.0, 1), (1.0, 0)] {
            let mut tracker = tracker(params.clone());
            for frame in 0..20u8 {
                assert_eq!(ids(&mut tracker, &at(f32::from(frame))), [1]);
            }
            let after = at(25.0);
            let got = told(&mut tracker, &Frame { elapsed, ..Frame::of(&after) })[0];
            assert_eq!(got == 1, found == 1, "{:?}, told {elapsed}: {got}", params.algorithm);
        }
    }
}

#[test]
fn the_same_path_at_another_rate_gives_the_same_velocity_by_time() {
    let mut tracker = tracker(Params::bytetrack());
    for frame in 0..60u8 {
        // Now one, now three frames on.
        let time = 2.0 * f32::from(frame) + f32::from(frame % 2);
        let detections = [seen(2.0 * time, 10.0 + time, 0.9)];
        let elapsed = if frame % 2 == 1 { 3.0 } else { 1.0 };
        assert_eq!(told(&mut tracker, &Frame { elapsed, ..Frame::of(&detections) }), [1]);
    }
    let [vx, vy] = tracker.tracks().next().unwrap().velocity;
    assert!((vx - 2.0).abs() < 0.01 && (vy - 1.0).abs() < 0.01, "{vx} {vy}");
}

#[test]
fn after_a_gap_of_more_than_a_second_nobody_is_known() {
    for params in every() {
        let longest = params.max_lost.max(30);
        for (elapsed, id) in
            [(f64::from(longest) + 1.0, true), (f64::from(longest) + 1.5, false), (1e300, false)]
        {
            let mut tracker = tracker(params.clone());
            let still = [seen(5.0, 5.0, 0.9)];
            for _ in 0..9 {
                told(&mut tracker, &Frame::of(&still));
            }
            let known = told(&mut tracker, &Frame { elapsed, ..Frame::of(&still) }) == [1];
            assert_eq!(known, id, "{:?} after {elapsed}", params.algorithm);
        }
    }
}

#[test]
fn a_time_that_is_none_counts_as_a_frame() {
    let run = |times: [f64; 6]| {
        let mut tracker = tracker(Params::bytetrack());
        let mut tracks = Vec::new();
        for (elapsed, x) in times.into_iter().zip([0.0, 4.0, 9.0, 12.0, 15.0, 21.0]) {
            tracker.update_frame(&Frame { elapsed, ..Frame::of(&[seen(x, 5.0, 0.9)]) }, &mut tracks);
        }
        tracks
    };
    assert_eq!(run([1.0; 6]), run([f64::NAN, 0.0, -3.0, f64::INFINITY, 1.0, f64::NEG_INFINITY]));
}

#[test]
fn who_moves_with_the_camera_is_found_where_the_camera_shows_it() {
    let camera = Some(Affine::upright([1.0, 1.0], [150.0, -40.0]));
    for params in every() {
        let found = |camera| {
            let mut tracker = tracker(params.clone());
            for _ in 0..9 {
                told(&mut tracker, &Frame::of(&[seen(100.0, 100.0, 0.9)]));
            }
            let after = [seen(250.0, 60.0, 0.9)];
            told(&mut tracker, &Frame { camera, ..Frame::of(&after) })[0]
        };
        assert_eq!(found(camera), 1, "{:?}", params.algorithm);
        assert_ne!(found(None), 1, "{:?}: the test shows nothing", params.algorithm);
        let broken = Affine { skew: [f64::NAN, 0.0], ..Affine::IDENTITY };
        assert_ne!(found(Some(broken)), 1);
    }
}

#[test]
fn rotated_boxes_tell_apart_who_share_a_centre() {
    // Two bars that cross, turning; their upright boxes are the same.
    let bar = Detection { rect: Rect { x: 0.0, y: 45.0, w: 100.0, h: 10.0 }, confidence: 0.9, class: 0 };
    let mut tracker = tracker(Params::bytetrack());
    for frame in 0..30u8 {
        let angle = 0.05 * f32::from(frame);
        let angles = [angle, angle + std::f32::consts::FRAC_PI_2];
        let (order, ids) = if frame % 2 == 0 { (angles, [1, 2]) } else { ([angles[1], angles[0]], [2, 1]) };
        let bars = [bar, bar];
        let frame = Frame { angles: &order, ..Frame::of(&bars) };
        assert_eq!(told(&mut tracker, &frame), ids);
    }
    assert!((tracker.tracks().next().unwrap().angle - 1.45).abs() < 1e-5);
}

#[test]
fn looks_decide_where_places_do_not() {
    // Two that stand side by side and swap places from one frame to the next, as no filter expects.
    let (left, right) = (seen(100.0, 5.0, 0.9), seen(110.0, 5.0, 0.9));
    let (red, blue) = ([1.0, 0.0, 0.1], [0.0, 1.0, 0.1]);
    let swapped = |values: Option<&[f32]>| {
        let mut tracker = tracker(Params::botsort());
        let embeddings = Embeddings { values: &[red, blue].concat(), length: 3 };
        for _ in 0..5 {
            told(&mut tracker, &Frame { embeddings, ..Frame::of(&[left, right]) });
        }
        let embeddings = Embeddings { values: values.unwrap_or_default(), length: 3 };
        told(&mut tracker, &Frame { embeddings, ..Frame::of(&[left, right]) })
    };
    assert_eq!(swapped(Some(&[blue, red].concat())), [2, 1]);
    assert_eq!(swapped(None), [1, 2]);
    assert_eq!(swapped(Some(&[f32::NAN; 6])), [1, 2]);
}

#[test]
fn looks_of_another_kind_are_not_compared_with_those_before() {
    let (left, right) = (seen(100.0, 5.0, 0.9), seen(110.0, 5.0, 0.9));
    let mut tracker = tracker(Params::botsort());
    let show = |tracker: &mut Tracker, values: &[f32]| {
        told(tracker, &Frame { embeddings: Embeddings { values, length: 2 }, ..Frame::of(&[left, right]) })
    };
    for _ in 0..5 {
        assert_eq!(show(&mut tracker, &[1.0, 0.0, 0.0, 1.0]), [1, 2]);
    }
    // Another model, that says the same of who stands there the other way round.
    tracker.change_looks(0.25).unwrap();
    assert_eq!(show(&mut tracker, &[0.0, 1.0, 1.0, 0.0]), [1, 2]);
    assert_eq!(show(&mut tracker, &[1.0, 0.0, 0.0, 1.0]), [2, 1], "it is known by the new one");
    assert!(tracker.change_looks(f32::NAN).is_err());
}

#[test]
fn a_hundred_thousand_boxes_in_one_place_take_a_bounded_time_and_the_best_are_kept() {
    let heap: Vec<Detection> = (0..100_000u32)
        .map(|i| seen((i % 7) as f32, (i % 11) as f32, 0.7 + 0.3 * (i % 1000) as f32 / 1e3))
        .collect();
    for params in every() {
        let mut tracker = tracker(Params { max_lost: 1, ..params });
        let mut tracks = Vec::new();
        let start = std::time::Instant::now();
        for _ in 0..2 {
            assert_eq!(tracker.update_frame(&Frame::of(&heap), &mut tracks), heap.len() - MOST_DETECTIONS);
        }
        // Seconds without optimisation; without the bounds it would be days.
        assert!(start.elapsed().as_secs() < 100, "{:?}", start.elapsed());
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
    let mut byte = tracker(Params::bytetrack());
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

    let mut sort = tracker(Params::sort());
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
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.name().parse(), Ok(algorithm));
    }
    let unknown = "deepsort".parse::<Algorithm>().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "There is no tracking algorithm 'deepsort': use 'auto', 'sort', 'bytetrack', 'ocsort', 'botsort' or 'cbiou'."
    );
    assert_eq!(
        [State::Tentative, State::Tracked, State::Lost].map(State::name),
        ["tentative", "tracked", "lost"]
    );
    for wrong in [-0.1, 1.5, f32::NAN] {
        let error = Tracker::new(Params { iou_low: wrong, ..Params::bytetrack() }).map(|_| ()).unwrap_err();
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
        let params = Params::of(Algorithm::ALL[algorithm]);
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
