use std::collections::BTreeMap;

use cudainfer_kernels::geometry::Rect;

use super::*;
use crate::meta::object::{DetectionParam, Object, TrackingParam};
use crate::publish::clock::Moment;
use crate::publish::tracks::{End, Tracks};

const MS: u64 = 1_000_000;
const JOIN: PassParams =
    PassParams { of_tracks: false, join: true, fill_gap: 8, join_gap: 15, max_gathered: 1000 };

fn now(frame: u64) -> Moment {
    Moment::for_test(frame, Some(frame * 40 * MS))
}

/// Somebody who walks two pixels a frame, under this identity.
fn walker(id: u64, frame: u64) -> Object {
    let rect = Rect { x: 2.0 * frame as f32, y: 10.0, w: 20.0, h: 40.0 };
    let tracking = TrackingParam { id, rect, state: "tracked".into(), ..TrackingParam::default() };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    Object { label: "person".into(), detection, tracking: Some(tracking), ..Object::default() }
}

/// What is gathered of frames in which somebody has the identity that is listed.
fn gathered(frames: impl IntoIterator<Item = (u64, Option<u64>)>, params: &PassParams) -> Gathered {
    let (mut gathered, mut tracks) = (Gathered::default(), Tracks::default());
    for (frame, id) in frames {
        let objects: Vec<_> = id.map(|id| walker(id, frame)).into_iter().collect();
        if params.of_tracks {
            let ended = tracks.see(&objects, now(frame), 200 * MS);
            ended.into_iter().for_each(|track| gathered.end(track, End::Vanished));
        }
        gathered.see(&objects, now(frame), params);
    }
    tracks.end().into_iter().for_each(|track| gathered.end(track, End::Eos));
    gathered
}

/// Nobody in frames 10 to 12, and another identity from 30 on, after eight frames without anybody.
fn scene() -> impl Iterator<Item = (u64, Option<u64>)> {
    (0..50).map(|frame| {
        let id = match frame {
            10..=12 | 22..=29 => None,
            0..30 => Some(1),
            _ => Some(4),
        };
        (frame, id)
    })
}

fn text(passed: &Passed) -> Vec<String> {
    rows(passed).map(|rows| String::from_utf8(rows).unwrap()).collect()
}

#[test]
fn rows_of_gaps_are_filled_and_marked_and_those_of_joined_tracks_have_one_identity() {
    let mut counts = PassCounts::default();
    let rows = text(&gathered(scene(), &JOIN).pass(&JOIN, &mut counts));
    assert_eq!(counts, PassCounts { joined: 1, filled: 11, early: 0 });
    assert_eq!(rows.len(), 50);
    for (frame, row) in rows.iter().enumerate() {
        let seen = if matches!(frame, 10..=12 | 22..=29) { 0 } else { -1 };
        let x = 2 * frame;
        assert_eq!(*row, format!("{},1,{x}.00,10.00,20.00,40.00,0.5000,-1,{seen},-1", frame + 1));
    }
    let fill = PassParams { join: false, ..JOIN };
    let mut counts = PassCounts::default();
    let rows = text(&gathered(scene(), &fill).pass(&fill, &mut counts));
    assert_eq!(counts, PassCounts { joined: 0, filled: 3, early: 0 });
    assert_eq!((rows.len(), rows[41].starts_with("50,4,")), (42, true), "{rows:?}");
}

#[test]
fn a_joined_track_is_one_with_all_identities_and_the_times_of_the_frames_in_between() {
    let params = PassParams { of_tracks: true, ..JOIN };
    let mut counts = PassCounts::default();
    let tracks = gathered(scene(), &params).pass(&params, &mut counts).tracks();
    let [(track, end)] = &tracks[..] else { panic!("{tracks:?}") };
    assert_eq!((track.id, &track.joined, *end), (1, &vec![1, 4], End::Eos));
    assert_eq!((track.first, track.last), (now(0), now(49)));
    assert_eq!((track.frames, track.interpolated), (39, 11));
    let path: BTreeMap<_, _> = track.path.places().map(|place| (place.frame, place)).collect();
    assert_eq!(path.len(), 50);
    for (frame, place) in path {
        assert_eq!(place.pts, now(frame).pts);
        assert_eq!(place.centre, [2.0 * frame as f64 + 10.0, 30.0]);
        assert_eq!(place.is_interpolated, matches!(frame, 10..=12 | 22..=29), "{frame}");
    }
}

#[test]
fn after_an_early_pass_later_boxes_belong_to_the_identity_that_was_joined() {
    let mut counts = PassCounts::default();
    let mut gathered = gathered(scene(), &JOIN);
    assert!(gathered.size() >= 39);
    assert_eq!(text(&gathered.pass(&JOIN, &mut counts)).len(), 50);
    assert_eq!(gathered.size(), 0);
    gathered.see(&[walker(4, 50), walker(5, 50)], now(50), &JOIN);
    let rows = text(&gathered.pass(&JOIN, &mut counts));
    assert_eq!(rows.len(), 1);
    let ids: Vec<_> = rows[0].lines().map(|row| row.split(',').nth(1).unwrap()).collect();
    assert_eq!(ids, ["1", "5"]);
}

#[test]
fn a_track_that_goes_on_after_an_early_pass_keeps_its_path() {
    let params = PassParams { of_tracks: true, ..JOIN };
    let (mut gathered, mut tracks) = (Gathered::default(), Tracks::default());
    for frame in 0..20 {
        let objects = [walker(1, frame)];
        assert_eq!(tracks.see(&objects, now(frame), 200 * MS), []);
        gathered.see(&objects, now(frame), &params);
        if frame == 9 {
            let early = gathered.pass(&params, &mut PassCounts::default()).tracks();
            assert_eq!(early.len(), 0);
        }
    }
    tracks.end().into_iter().for_each(|track| gathered.end(track, End::Eos));
    let tracks = gathered.pass(&params, &mut PassCounts::default()).tracks();
    let [(track, _)] = &tracks[..] else { panic!("{tracks:?}") };
    let frames: Vec<_> = track.path.places().map(|place| place.frame).collect();
    assert_eq!(frames, (0..20).collect::<Vec<_>>());
}

#[test]
fn nobody_in_the_picture_takes_no_memory() {
    let params = PassParams { of_tracks: true, ..JOIN };
    let mut gathered = gathered((0..1000).map(|frame| (frame, (frame < 5).then_some(1))), &params);
    assert!(gathered.size() < 200, "{}", gathered.size());
    let [(track, _)] = &gathered.pass(&params, &mut PassCounts::default()).tracks()[..] else { panic!() };
    assert_eq!((track.frames, track.interpolated), (5, 0));
}
