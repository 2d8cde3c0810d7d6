//! Tracking by keypoints, seen from outside.

use super::*;
use proptest::prelude::*;

const SIZE: (f32, f32) = (40.0, 90.0);
const SIGMAS: [f32; 4] = [0.067; 4];
const NONE: (f32, f32) = (f32::NAN, 0.0);

/// Head, tail and two sides of an animal in a box of `SIZE` that begins at `x`; upside down if asked.
fn pose(x: f32, upside_down: bool) -> [(f32, f32); 4] {
    let (w, h) = SIZE;
    let upright = [(x + w / 2.0, 0.0), (x + w / 2.0, h), (x, h / 2.0), (x + w, h / 2.0)];
    if upside_down { [upright[1], upright[0], upright[3], upright[2]] } else { upright }
}

fn boxed(x: f32, confidence: f32) -> Detection {
    Detection { rect: Rect { x, y: 0.0, w: SIZE.0, h: SIZE.1 }, confidence, class: 0 }
}

/// One frame; the ids, 0 where there is no track.
fn ids(
    tracker: &mut Tracker,
    detections: &[Detection],
    points: &[[(f32, f32); 4]],
    sigmas: &[f32],
) -> Vec<u64> {
    let mut tracks = Vec::new();
    let poses = Poses { points: points.as_flattened(), sigmas, around_points: &[] };
    tracker.update_frame(&TrackerInput { poses, ..TrackerInput::of(detections) }, &mut tracks);
    tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect()
}

fn both() -> [Tracker; 2] {
    [TrackParams::sort(), TrackParams::bytetrack()].map(|params| Tracker::new(params).unwrap())
}

/// Two walk towards each other, meet in the same box and turn back, where their motion says that they pass.
#[test]
fn poses_keep_apart_whom_boxes_swap() {
    let meet = |tracker: &mut Tracker, sigmas: &[f32]| {
        let mut last = Vec::new();
        for frame in 0..50i16 {
            let away = 4.0 * f32::from((frame - 25).abs());
            let (left, right) = (200.0 - away, 200.0 + away);
            let detections = [boxed(left, 0.9), boxed(right, 0.9)];
            let points = [pose(left, false), pose(right, true)];
            last = ids(tracker, &detections, if sigmas.is_empty() { &[] } else { &points }, sigmas);
        }
        last
    };
    for mut tracker in both() {
        assert_eq!(meet(&mut tracker, &SIGMAS), [1, 2]);
        tracker.reset();
        assert_eq!(meet(&mut tracker, &[]), [4, 3], "boxes alone tell them apart: the test shows nothing");
    }
}

#[test]
fn a_pose_is_expected_where_its_box_has_moved() {
    let mut tracker = Tracker::new(TrackParams::bytetrack()).unwrap();
    for frame in 0..20u8 {
        let x = 4.0 * f32::from(frame);
        assert_eq!(ids(&mut tracker, &[boxed(x, 0.9)], &[pose(x, false)], &SIGMAS), [1]);
    }
    for _ in 20..26 {
        ids(&mut tracker, &[], &[], &SIGMAS);
    }
    // 28 pixels from where it was last seen: an OKS of exp(-28^2 / (8 x 0.067^2 x 0.53 x 40 x 90)), that is 1e-5, had it stayed.
    let x = 4.0 * 26.0;
    assert_eq!(ids(&mut tracker, &[boxed(x, 0.9)], &[pose(x, false)], &SIGMAS), [1]);
}

#[test]
fn missing_points_lower_the_similarity_and_missing_poses_leave_it_to_the_boxes() {
    for mut tracker in both() {
        let full = pose(0.0, false);
        let half = [full[0], full[1], NONE, NONE];
        let mut see = |pose| ids(&mut tracker, &[boxed(0.0, 0.9)], &[pose], &SIGMAS);
        for pose in [full, half, full, [NONE; 4], half, half, [NONE; 4], full] {
            assert_eq!(see(pose), [1], "{pose:?}");
        }
        // The same box with another pose: the object was last seen with points, whatever came in between.
        see([NONE; 4]);
        assert_ne!(see([full[1], full[0], full[3], full[2]]), [1]);
    }
}

#[test]
fn a_box_around_points_does_not_shrink_or_jump_when_points_are_missing() {
    for mut tracker in both() {
        let mut tracks = Vec::new();
        for frame in 0..30u8 {
            let x = 3.0 * f32::from(frame);
            let mut points = pose(x, false);
            let mut seen = boxed(x, 0.9);
            // From frame 10 on one side and the tail are missing, from 20 on more: the box of the others differs.
            if frame >= 10 {
                (points[1], points[3]) = (NONE, NONE);
                seen.rect = Rect { x, y: 0.0, w: 20.0, h: 45.0 };
            }
            if frame >= 20 {
                points[0] = NONE;
                seen.rect = Rect { x, y: 45.0, w: 1.0, h: 1.0 };
            }
            let poses = Poses { points: &points, sigmas: &SIGMAS, around_points: &[true] };
            tracker.update_frame(&TrackerInput { poses, ..TrackerInput::of(&[seen]) }, &mut tracks);
            let track = tracks[0].unwrap_or_else(|| panic!("lost in frame {frame}"));
            assert_eq!(track.id, 1);
            assert!(track.rect.iou(&boxed(x, 0.9).rect) > 0.8, "frame {frame}: {:?}", track.rect);
        }
    }
}

#[test]
fn points_that_are_seen_for_the_first_time_are_no_movement() {
    for mut tracker in both() {
        let whole = pose(0.0, false);
        let mut tracks = Vec::new();
        for frame in 0..8u8 {
            // One side alone, then all of it, then the other side and the tail.
            let (points, rect) = match frame {
                0..3 => ([NONE, NONE, whole[2], NONE], Rect { x: 0.0, y: 45.0, w: 1.0, h: 1.0 }),
                3 => (whole, boxed(0.0, 0.9).rect),
                _ => ([NONE, whole[1], NONE, whole[3]], Rect { x: 20.0, y: 45.0, w: 20.0, h: 45.0 }),
            };
            let poses = Poses { points: &points, sigmas: &SIGMAS, around_points: &[true] };
            let seen = Detection { rect, ..boxed(0.0, 0.9) };
            tracker.update_frame(&TrackerInput { poses, ..TrackerInput::of(&[seen]) }, &mut tracks);
            assert_eq!(tracks[0].map(|track| track.id), Some(1), "frame {frame}");
            if frame >= 3 {
                let rect = tracks[0].unwrap().rect;
                assert!(rect.iou(&boxed(0.0, 0.9).rect) > 0.95, "frame {frame}: {rect:?}");
            }
        }
    }
}

#[test]
fn keypoints_may_be_added_and_their_rows_may_be_cut_off() {
    for mut tracker in both() {
        let first = [pose(0.0, false), pose(300.0, true)];
        let detections = [boxed(0.0, 0.9), boxed(300.0, 0.9)];
        assert_eq!(ids(&mut tracker, &detections, &first, &SIGMAS), [1, 2]);
        let five: Vec<(f32, f32)> =
            first.iter().flat_map(|pose| pose.iter().copied().chain([(7.0, 7.0)])).collect();
        let mut tracks = Vec::new();
        let poses = Poses { points: &five, sigmas: &[0.067; 5], around_points: &[] };
        tracker.update_frame(&TrackerInput { poses, ..TrackerInput::of(&detections) }, &mut tracks);
        assert_eq!(tracks.iter().flatten().map(|track| track.id).collect::<Vec<_>>(), [1, 2]);
        // The second's row is not whole: its box counts.
        assert_eq!(ids(&mut tracker, &detections, &first[..1], &SIGMAS), [1, 2]);
    }
}

proptest! {
    #[test]
    fn any_points_give_unique_ids_and_the_same_result_twice(
        frames in prop::collection::vec(prop::collection::vec((0f32..300.0, 0usize..6, any::<bool>()), 0..6), 1..10),
    ) {
        let odd = [f32::NAN, f32::INFINITY, f32::MAX, -1e30];
        let run = |mut tracker: Tracker| -> Vec<Vec<u64>> {
            frames.iter().map(|frame| {
                let detections: Vec<_> = frame.iter().map(|&(x, ..)| boxed(x, 0.9)).collect();
                let points: Vec<_> = frame.iter().map(|&(x, wrong, turned)| {
                    let mut pose = pose(x, turned);
                    if let Some(odd) = odd.get(wrong) {
                        pose[wrong].0 = *odd;
                    }
                    pose
                }).collect();
                ids(&mut tracker, &detections, &points, &SIGMAS)
            }).collect()
        };
        for (one, two) in both().into_iter().zip(both()) {
            let found = run(one);
            prop_assert_eq!(&found, &run(two));
            for frame in found {
                let mut used: Vec<u64> = frame.into_iter().filter(|&id| id > 0).collect();
                used.sort_unstable();
                prop_assert!(used.windows(2).all(|pair| pair[0] < pair[1]), "an id twice in one frame");
            }
        }
    }
}

#[test]
fn poses_of_any_score_get_identities_at_once_and_other_thresholds_can_be_taken_later() {
    let weak = [boxed(0.0, 0.4)];
    for params in [
        TrackParams::auto(),
        TrackParams::bytetrack(),
        TrackParams::botsort(),
        TrackParams::cbiou(),
        TrackParams::sort(),
    ] {
        let of = |params: TrackParams| {
            ids(&mut Tracker::new(params).unwrap(), &weak, &[pose(0.0, false)], &SIGMAS)
        };
        assert_eq!(
            [of(params.clone()), of(params.clone().for_poses())],
            [[0], [1]],
            "{:?}",
            params.algorithm
        );
        let mut changed = Tracker::new(params.clone()).unwrap();
        let before = changed.start_confidence();
        changed.change_thresholds(&params.clone().for_poses()).unwrap();
        assert_eq!((before, changed.start_confidence() < 0.4), (params.start_confidence(), true));
        assert_eq!(ids(&mut changed, &weak, &[pose(0.0, false)], &SIGMAS), [1]);
        let wrong = TrackParams { new_confidence: 2.0, ..params };
        assert!(changed.change_thresholds(&wrong).is_err() && changed.start_confidence() < 0.4);
    }
}

#[test]
fn the_confidence_that_starts_a_track_is_the_one_that_has_adapted() {
    let mut tracker = Tracker::new(TrackParams::auto()).unwrap();
    for _ in 0..60 {
        ids(&mut tracker, &[boxed(0.0, 0.2), boxed(500.0, 0.5)], &[], &[]);
    }
    assert_eq!(tracker.start_confidence(), 0.5);
}
