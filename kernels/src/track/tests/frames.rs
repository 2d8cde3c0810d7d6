//! Input besides boxes: time, the camera's motion, angles and embeddings.

use super::*;

fn ids_in(tracker: &mut Tracker, frame: &TrackerInput<'_>) -> Vec<u64> {
    let mut tracks = Vec::new();
    tracker.update_frame(frame, &mut tracks);
    tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect()
}

#[test]
fn missing_frames_are_passed_over_by_the_time_that_they_took() {
    let at = |frame: f32| [seen(20.0 * frame, 10.0, 0.9)];
    for params in every() {
        // SORT has to lose sight of it within the gap, if it gets no time.
        for (elapsed, found) in [(6.0, 1), (1.0, 0)] {
            let mut tracker = tracker(params.clone());
            for frame in 0..20u8 {
                assert_eq!(ids(&mut tracker, &at(f32::from(frame))), [1]);
            }
            let after = at(25.0);
            let got = ids_in(&mut tracker, &TrackerInput { elapsed, ..TrackerInput::of(&after) })[0];
            assert_eq!(got == 1, found == 1, "{:?}, elapsed {elapsed}: {got}", params.algorithm);
        }
    }
}

#[test]
fn the_same_path_at_another_rate_gives_the_same_velocity_by_time() {
    let mut tracker = tracker(TrackParams::bytetrack());
    for frame in 0..60u8 {
        // By turns one and three frames on.
        let time = 2.0 * f32::from(frame) + f32::from(frame % 2);
        let detections = [seen(2.0 * time, 10.0 + time, 0.9)];
        let elapsed = if frame % 2 == 1 { 3.0 } else { 1.0 };
        assert_eq!(ids_in(&mut tracker, &TrackerInput { elapsed, ..TrackerInput::of(&detections) }), [1]);
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
                ids_in(&mut tracker, &TrackerInput::of(&still));
            }
            let known = ids_in(&mut tracker, &TrackerInput { elapsed, ..TrackerInput::of(&still) }) == [1];
            assert_eq!(known, id, "{:?} after {elapsed}", params.algorithm);
        }
    }
}

#[test]
fn a_time_that_is_none_counts_as_a_frame() {
    let run = |times: [f64; 6]| {
        let mut tracker = tracker(TrackParams::bytetrack());
        let mut tracks = Vec::new();
        for (elapsed, x) in times.into_iter().zip([0.0, 4.0, 9.0, 12.0, 15.0, 21.0]) {
            tracker.update_frame(
                &TrackerInput { elapsed, ..TrackerInput::of(&[seen(x, 5.0, 0.9)]) },
                &mut tracks,
            );
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
                ids_in(&mut tracker, &TrackerInput::of(&[seen(100.0, 100.0, 0.9)]));
            }
            let after = [seen(250.0, 60.0, 0.9)];
            ids_in(&mut tracker, &TrackerInput { camera, ..TrackerInput::of(&after) })[0]
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
    let mut tracker = tracker(TrackParams::bytetrack());
    for frame in 0..30u8 {
        let angle = 0.05 * f32::from(frame);
        let angles = [angle, angle + std::f32::consts::FRAC_PI_2];
        let (order, ids) = if frame % 2 == 0 { (angles, [1, 2]) } else { ([angles[1], angles[0]], [2, 1]) };
        let bars = [bar, bar];
        let frame = TrackerInput { angles: &order, ..TrackerInput::of(&bars) };
        assert_eq!(ids_in(&mut tracker, &frame), ids);
    }
    assert!((tracker.tracks().next().unwrap().angle - 1.45).abs() < 1e-5);
}

#[test]
fn appearance_decides_where_boxes_do_not() {
    // Two objects that stand side by side and swap places from one frame to the next, as no filter expects.
    let (left, right) = (seen(100.0, 5.0, 0.9), seen(110.0, 5.0, 0.9));
    let (red, blue) = ([1.0, 0.0, 0.1], [0.0, 1.0, 0.1]);
    let swapped = |values: Option<&[f32]>| {
        let mut tracker = tracker(TrackParams::botsort());
        let embeddings = Embeddings { values: &[red, blue].concat(), length: 3 };
        for _ in 0..5 {
            ids_in(&mut tracker, &TrackerInput { embeddings, ..TrackerInput::of(&[left, right]) });
        }
        let embeddings = Embeddings { values: values.unwrap_or_default(), length: 3 };
        ids_in(&mut tracker, &TrackerInput { embeddings, ..TrackerInput::of(&[left, right]) })
    };
    assert_eq!(swapped(Some(&[blue, red].concat())), [2, 1]);
    assert_eq!(swapped(None), [1, 2]);
    assert_eq!(swapped(Some(&[f32::NAN; 6])), [1, 2]);
}

#[test]
fn appearances_of_another_kind_are_not_compared_with_those_before() {
    let (left, right) = (seen(100.0, 5.0, 0.9), seen(110.0, 5.0, 0.9));
    let mut tracker = tracker(TrackParams::botsort());
    let show = |tracker: &mut Tracker, values: &[f32]| {
        ids_in(
            tracker,
            &TrackerInput {
                embeddings: Embeddings { values, length: 2 },
                ..TrackerInput::of(&[left, right])
            },
        )
    };
    for _ in 0..5 {
        assert_eq!(show(&mut tracker, &[1.0, 0.0, 0.0, 1.0]), [1, 2]);
    }
    // Another model, which gives the two objects each other's embedding.
    tracker.change_appearance(0.25, true).unwrap();
    assert_eq!(show(&mut tracker, &[0.0, 1.0, 1.0, 0.0]), [1, 2]);
    assert_eq!(show(&mut tracker, &[1.0, 0.0, 0.0, 1.0]), [2, 1], "it is known by the new one");
    assert!(tracker.change_appearance(f32::NAN, true).is_err());
}
