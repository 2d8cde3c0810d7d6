//! A known number of individuals: identities that stay.

use super::*;

fn limited(params: TrackParams, max_tracks: u32) -> Tracker {
    tracker(TrackParams { max_tracks, ..params })
}

/// Frames without anything.
fn nothing(tracker: &mut Tracker, frames: usize) {
    (0..frames).for_each(|_| assert_eq!(ids(tracker, &[]), []));
}

#[test]
fn who_comes_back_after_hundreds_of_frames_is_who_it_was() {
    for params in every() {
        let mut tracker = limited(params, 2);
        let (near, far) = (seen(20.0, 20.0, 0.9), seen(600.0, 20.0, 0.9));
        for _ in 0..20 {
            assert_eq!(ids(&mut tracker, &[near, far]), [1, 2]);
        }
        nothing(&mut tracker, 400);
        let lost: Vec<_> = tracker.lost().map(|track| (track.id, track.rect)).collect();
        assert_eq!(lost, [(1, near.rect), (2, far.rect)], "nothing is expected any more");
        // Both have moved by more than their size, and they come in the other order.
        let (near, far) = (seen(150.0, 60.0, 0.9), seen(480.0, 0.0, 0.9));
        assert_eq!(ids(&mut tracker, &[far, near]), [2, 1]);
        assert_eq!(ids(&mut tracker, &[near, far]), [1, 2]);
    }
}

#[test]
fn a_break_of_one_frame_leaves_no_hole() {
    for params in every() {
        let mut tracker = limited(params, 1);
        for frame in 0..40u8 {
            // After each break it has moved on by nearly its diagonal, so that no algorithm finds it by its box.
            let x = 60.0 * f32::from(frame / 4);
            let visible: &[Detection] = if frame % 4 == 3 { &[] } else { &[seen(x, 20.0, 0.9)] };
            assert_eq!(ids(&mut tracker, visible), [1; 1][..visible.len()], "frame {frame}");
        }
    }
}

#[test]
fn who_comes_back_somewhere_else_at_once_is_taken_for_it_when_the_algorithm_is_sure() {
    for params in every() {
        let hits = params.min_hits as usize;
        let mut tracker = limited(params, 1);
        for _ in 0..20 {
            assert_eq!(ids(&mut tracker, &[seen(0.0, 0.0, 0.9)]), [1]);
        }
        for _ in 0..hits {
            assert_eq!(ids(&mut tracker, &[seen(900.0, 700.0, 0.9)]).len(), 1);
        }
        assert_eq!(ids(&mut tracker, &[seen(900.0, 700.0, 0.9)]), [1]);
    }
}

#[test]
fn a_false_detection_uses_no_identity_up() {
    for params in every() {
        // One is in the first frame, where all are believed at once, and others come and go.
        let mut tracker = limited(params, 2);
        let flies = [seen(100.0, 100.0, 0.9), seen(500.0, 100.0, 0.9)];
        let wrong = seen(300.0, 400.0, 0.85);
        assert_eq!(ids(&mut tracker, &[wrong, flies[0]]), [1, 2]);
        for frame in 0..60u8 {
            let found = match frame {
                20 | 33 => ids(&mut tracker, &[flies[0], wrong, flies[1]]),
                _ => ids(&mut tracker, &flies),
            };
            let of = |at: usize| *found.get(at).unwrap_or(&0);
            if frame >= 6 {
                assert_eq!((of(0), found.iter().filter(|id| **id == 0).count()), (2, found.len() - 2));
                assert_eq!(found.last(), Some(&1), "frame {frame}");
            }
        }
    }
}

#[test]
fn of_one_more_than_there_are_the_weakest_has_no_identity() {
    for params in every() {
        let mut tracker = limited(params, 2);
        let three = [seen(100.0, 0.0, 0.8), seen(300.0, 0.0, 0.95), seen(500.0, 0.0, 0.9)];
        for _ in 0..50 {
            assert_eq!(ids(&mut tracker, &three), [0, 1, 2]);
            assert_eq!(tracker.above_max_tracks(), 1);
        }
        // Who has an identity keeps it, whoever is more confident.
        let three = [seen(100.0, 0.0, 0.99), seen(300.0, 0.0, 0.9), seen(500.0, 0.0, 0.85)];
        for _ in 0..50 {
            assert_eq!(ids(&mut tracker, &three), [0, 1, 2]);
        }
        assert_eq!(ids(&mut tracker, &three[1..]), [1, 2]);
        assert_eq!(tracker.above_max_tracks(), 0);
    }
}

#[test]
fn the_choice_among_the_lost_is_the_best_one_and_not_who_comes_first() {
    for params in every() {
        let mut tracker = limited(params, 2);
        for _ in 0..10 {
            assert_eq!(ids(&mut tracker, &[seen(0.0, 0.0, 0.9), seen(400.0, 0.0, 0.9)]), [1, 2]);
        }
        nothing(&mut tracker, 200);
        // The first detection is nearer to both places than the second is; all are within reach but one pair.
        let there = [seen(280.0, 0.0, 0.9), seen(690.0, 0.0, 0.9)];
        assert_eq!(ids(&mut tracker, &there), [1, 2]);
    }
}

#[test]
fn a_lost_individual_takes_no_double_of_another() {
    for params in every() {
        let mut tracker = limited(params, 2);
        let (one, other) = (seen(100.0, 100.0, 0.9), seen(240.0, 100.0, 0.9));
        for _ in 0..10 {
            assert_eq!(ids(&mut tracker, &[one, other]), [1, 2]);
        }
        // A detector that finds the same one twice, while the other is out of sight.
        let double = seen(102.0, 100.0, 0.88);
        for _ in 0..10 {
            assert_eq!(ids(&mut tracker, &[one, double]), [1, 0]);
        }
        assert_eq!(ids(&mut tracker, &[one, double, other]), [1, 0, 2]);
    }
}

#[test]
fn weak_detections_bring_a_lost_individual_back_where_it_was() {
    for params in every() {
        let (weak, hidden) = (params.min_confidence + 0.01, params.max_lost as usize + 5);
        let mut tracker = limited(params, 1);
        for _ in 0..20 {
            assert_eq!(ids(&mut tracker, &[seen(0.0, 0.0, 0.95)]), [1]);
        }
        nothing(&mut tracker, hidden);
        assert_eq!(ids(&mut tracker, &[seen(10.0, 0.0, weak)]), [1]);
        assert_eq!(ids(&mut tracker, &[seen(15.0, 0.0, weak), seen(5000.0, 0.0, weak)]), [1, 0]);
    }
}

#[test]
fn classes_have_their_own_individuals_unless_set_otherwise() {
    for params in every() {
        for class_aware in [true, false] {
            let mut tracker = limited(TrackParams { class_aware, ..params.clone() }, 1);
            for _ in 0..10 {
                assert_eq!(ids(&mut tracker, &[seen(0.0, 0.0, 0.9)]), [1]);
            }
            nothing(&mut tracker, 100);
            let other = Detection { class: 5, ..seen(5.0, 0.0, 0.9) };
            assert_eq!(ids(&mut tracker, &[other]), [u64::from(!class_aware)]);
        }
    }
}

#[test]
fn identities_are_given_again_after_a_reset() {
    for params in every() {
        let mut tracker = limited(params, 2);
        let (a, b) = (seen(0.0, 0.0, 0.9), seen(400.0, 0.0, 0.9));
        for _ in 0..10 {
            assert_eq!(ids(&mut tracker, &[a, b]), [1, 2]);
        }
        tracker.reset();
        assert_eq!(tracker.tracks().count(), 0);
        assert_eq!(ids(&mut tracker, &[b, a]), [1, 2], "there are no others, and nobody is known");
        assert_eq!(ids(&mut tracker.fresh(), &[a]), [1]);
    }
}

#[test]
fn appearance_tells_apart_who_comes_back() {
    let (a, b) = (seen(0.0, 0.0, 0.9), seen(400.0, 0.0, 0.9));
    let looks = [1.0, 0.0, 0.0, 1.0];
    for params in every() {
        let show = |tracker: &mut Tracker, values: &[f32], detections: &[Detection]| {
            let embeddings = Embeddings { values, length: 2 };
            let mut tracks = Vec::new();
            tracker.update_frame(&TrackerInput { embeddings, ..TrackerInput::of(detections) }, &mut tracks);
            tracks.iter().map(|track| track.map_or(0, |track| track.id)).collect::<Vec<_>>()
        };
        let back = |forget: bool| {
            let mut tracker = limited(params.clone(), 2);
            for _ in 0..10 {
                assert_eq!(show(&mut tracker, &looks, &[a, b]), [1, 2]);
            }
            nothing(&mut tracker, 2000);
            if forget {
                tracker.change_appearance(0.25, true).unwrap();
            }
            // They have changed places: neither is where one of its looks was, so the algorithm has to be sure of it.
            let shown = (0..=params.min_hits).map(|_| show(&mut tracker, &[0.0, 1.0, 1.0, 0.0], &[a, b]));
            shown.last().unwrap()
        };
        assert_eq!(back(false), [2, 1]);
        assert_eq!(back(true), [1, 2]);
    }
}

#[test]
fn places_move_with_the_camera_and_time_is_that_of_the_frames() {
    for params in every() {
        let mut tracker = limited(params, 2);
        let two = [seen(100.0, 0.0, 0.9), seen(200.0, 0.0, 0.9)];
        for _ in 0..10 {
            assert_eq!(ids(&mut tracker, &two), [1, 2]);
        }
        nothing(&mut tracker, 60);
        // The camera turns by the distance of the two.
        let camera = Some(Affine::upright([1.0, 1.0], [100.0, 0.0]));
        tracker.update_frame(&TrackerInput { camera, ..TrackerInput::of(&[]) }, &mut Vec::new());
        assert_eq!(ids(&mut tracker, &[seen(200.0, 0.0, 0.9)]), [1]);
        // A gap after which no algorithm knows anybody.
        let mut tracks = Vec::new();
        let back = [seen(320.0, 0.0, 0.9), seen(220.0, 0.0, 0.9)];
        tracker.update_frame(&TrackerInput { elapsed: 1000.0, ..TrackerInput::of(&back) }, &mut tracks);
        assert_eq!(tracks.iter().flatten().map(|track| track.id).collect::<Vec<_>>(), [2, 1]);
    }
}

#[test]
fn more_individuals_than_can_be_are_refused() {
    let of = |max_tracks| Tracker::new(TrackParams { max_tracks, ..TrackParams::auto() }).map(|_| ());
    assert_eq!(of(MOST_INDIVIDUALS), Ok(()));
    let error = of(MOST_INDIVIDUALS + 1).unwrap_err().to_string();
    assert!(error.contains("max_tracks is 1001") && error.contains("set 0"), "{error}");
}

#[test]
fn a_track_has_the_age_and_the_hits_of_its_individual() {
    let mut tracker = limited(TrackParams::bytetrack(), 1);
    let still = [seen(0.0, 0.0, 0.9)];
    (0..10).for_each(|_| drop(ids(&mut tracker, &still)));
    nothing(&mut tracker, 90);
    ids(&mut tracker, &still);
    let track = tracker.tracks().next().unwrap();
    assert_eq!((track.id, track.age, track.hits, track.state), (1, 100, 11, State::Tracked));
}

proptest! {
    #[test]
    fn any_input_gives_no_more_identities_than_individuals_and_the_same_twice(
        frames in frames(), algorithm in 0..Algorithm::ALL.len(), max_tracks in 1u32..5, blind in any::<bool>(),
        reset in 0usize..20,
    ) {
        let params = TrackParams { class_aware: !blind, ..TrackParams::of(Algorithm::ALL[algorithm]) };
        let [mut one, mut two] = [(); 2].map(|()| limited(params.clone(), max_tracks));
        for (number, frame) in frames.iter().enumerate() {
            if number == reset {
                one.reset();
                two.reset();
            }
            let found = ids(&mut one, frame);
            prop_assert_eq!(&found, &ids(&mut two, frame));
            let mut used: Vec<u64> = found.into_iter().filter(|&id| id > 0).collect();
            used.sort_unstable();
            prop_assert!(used.windows(2).all(|pair| pair[0] < pair[1]), "an id twice in one frame");
            prop_assert!(used.iter().all(|&id| id <= u64::from(max_tracks)), "{used:?}");
            let known: Vec<u64> = one.tracks().map(|track| track.id).filter(|&id| id > 0).collect();
            prop_assert!(known.windows(2).all(|pair| pair[0] < pair[1]) && known.len() <= max_tracks as usize);
        }
    }

    /// Animals that walk at random, are found nearly always, and are now and then out of sight for long.
    #[test]
    fn walkers_far_from_each_other_keep_their_identities(
        seed in any::<u64>(), algorithm in 0..Algorithm::ALL.len(), number in 1u8..5,
    ) {
        let mut tracker = limited(TrackParams::of(Algorithm::ALL[algorithm]), u32::from(number));
        let mut state = seed | 1;
        // Xorshift, 0 to 1.
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        // Each has its own place, which is wider than it moves in the time.
        let mut walkers: Vec<(f32, f32, u16)> = (0..number).map(|n| (2000.0 * f32::from(n), 0.0, 0)).collect();
        for frame in 0..300u16 {
            let (mut detections, mut expected) = (Vec::new(), Vec::new());
            for (walker, id) in walkers.iter_mut().zip(1u64..) {
                walker.0 += 6.0 * random() - 3.0;
                walker.1 += 6.0 * random() - 3.0;
                if frame > 10 && random() < 0.02 {
                    walker.2 = 1 + (100.0 * random()) as u16;
                }
                walker.2 = walker.2.saturating_sub(1);
                if walker.2 == 0 {
                    detections.push(seen(walker.0, walker.1, 0.75 + 0.2 * random()));
                    expected.push(id);
                }
            }
            let found = ids(&mut tracker, &detections);
            for (found, expected) in found.iter().zip(&expected) {
                prop_assert!(found == expected || *found == 0, "frame {}: {:?}", frame, found);
            }
            if frame > 10 {
                prop_assert_eq!(found, expected, "frame {}", frame);
            }
        }
    }
}
