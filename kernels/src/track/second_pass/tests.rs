use proptest::prelude::*;

use super::*;

fn sighting(frame: u64, x: f32, y: f32) -> Sighting {
    Sighting { frame, rect: Rect { x, y, w: 20.0, h: 40.0 }, confidence: Some(0.5) }
}

/// Somebody who walks `dx`, `dy` pixels a frame from `x`, `y` in frame 0.
fn walk(id: u64, frames: std::ops::Range<u64>, [x, y]: [f32; 2], [dx, dy]: [f32; 2]) -> Piece {
    let seen = frames.map(|frame| sighting(frame, x + dx * frame as f32, y + dy * frame as f32));
    Piece { id, class: 0, seen: seen.collect() }
}

#[test]
fn gaps_are_filled_on_straight_lines_of_boxes_and_confidences_up_to_a_length() {
    let before = sighting(4, 10.0, 0.0);
    let after =
        Sighting { frame: 8, rect: Rect { x: 18.0, y: -2.0, w: 24.0, h: 40.0 }, confidence: Some(0.9) };
    let found: Vec<_> = filled(&before, &after, 3).collect();
    let wanted = [(5, 12.0, -0.5, 21.0, 0.6), (6, 14.0, -1.0, 22.0, 0.7), (7, 16.0, -1.5, 23.0, 0.8)];
    assert_eq!(found.len(), wanted.len());
    for (found, (frame, x, y, w, confidence)) in found.iter().zip(wanted) {
        assert_eq!((found.frame, found.rect), (frame, Rect { x, y, w, h: 40.0 }));
        // Of float32 between 0 and 1.
        assert!((found.confidence.unwrap() - confidence).abs() < 1e-6);
    }
    assert_eq!(filled(&before, &after, 2).count(), 0, "the gap has three frames");
    assert_eq!(filled(&before, &sighting(5, 0.0, 0.0), 9).count(), 0, "there is no gap");
    assert_eq!(filled(&after, &before, 9).count(), 0, "time does not go back");
    let unknown = Sighting { confidence: None, ..after };
    assert!(filled(&before, &unknown, 3).all(|filled| filled.confidence.is_none()));
}

#[test]
fn pieces_that_lead_to_each_other_are_joined_and_others_are_not() {
    let before = walk(1, 0..20, [0.0, 0.0], [3.0, 0.0]);
    let after = walk(7, 30..50, [0.0, 0.0], [3.0, 0.0]);
    let alone = [0, 1];
    let joins = |after: &Piece, gap| joined(&[before.clone(), after.clone()], gap);
    assert_eq!(joins(&after, 10), [0, 0]);
    assert_eq!(joins(&after, 9), alone, "ten frames lie between");
    assert_eq!(joined(&[after.clone(), before.clone()], 10), [1, 1], "in whichever order they are listed");
    assert_eq!(joins(&Piece { class: 1, ..after.clone() }, 10), alone, "of another class");
    assert_eq!(joins(&walk(7, 30..50, [0.0, 60.0], [3.0, 0.0]), 10), alone, "elsewhere");
    assert_eq!(joins(&walk(7, 30..50, [180.0, 0.0], [-3.0, 0.0]), 10), alone, "it comes from the other side");
    assert_eq!(joins(&walk(7, 15..50, [0.0, 0.0], [3.0, 0.0]), 10), alone, "both are there in frame 15");
    assert_eq!(joins(&walk(7, 30..32, [0.0, 0.0], [3.0, 0.0]), 10), alone, "too short");
    let mut near = after.clone();
    for seen in &mut near.seen {
        (seen.rect.h, seen.rect.y) = (80.0, -20.0);
    }
    assert_eq!(joins(&near, 10), alone, "twice as high");
}

#[test]
fn of_several_that_may_be_the_same_the_nearest_is_and_three_pieces_can_be_one_object() {
    let whole = [0.0, 0.0];
    let speed = [2.0, 0.0];
    let pieces = [
        walk(1, 0..20, whole, speed),
        walk(2, 25..40, [0.0, 12.0], speed),
        walk(3, 26..40, whole, speed),
        walk(4, 44..60, whole, speed),
    ];
    assert_eq!(joined(&pieces, 15), [0, 1, 0, 0]);
    assert_eq!(joined(&[], 15), [0; 0]);
}

#[test]
fn pieces_without_boxes_or_numbers_are_left_alone() {
    let broken = |rect: Rect| {
        let seen = (30..50).map(|frame| Sighting { frame, rect, confidence: None });
        Piece { id: 2, class: 0, seen: seen.collect() }
    };
    for side in [f32::NAN, f32::INFINITY, 0.0, -4.0] {
        let rect = Rect { x: 60.0, y: 0.0, w: side, h: 40.0 };
        assert_eq!(joined(&[walk(1, 0..20, [0.0; 2], [2.0, 0.0]), broken(rect)], 15), [0, 1], "{side}");
    }
    assert_eq!(joined(&[Piece { id: 1, class: 0, seen: vec![] }], 15), [0]);
}

proptest! {
    /// Whatever the pieces are, those of one object follow each other in time, within the gap.
    #[test]
    fn joined_pieces_never_overlap_in_time_and_keep_within_the_gap(
        starts in prop::collection::vec((0..60_u64, 1..30_u64, -40.0..40.0_f32, -2.0..2.0_f32), 0..12),
        gap in 0..20_u32,
    ) {
        let pieces: Vec<_> = starts
            .iter()
            .enumerate()
            .map(|(i, (start, length, x, speed))| walk(i as u64, *start..start + length, [*x, 0.0], [*speed, 0.0]))
            .collect();
        let first = joined(&pieces, gap);
        for object in 0..pieces.len() {
            let mut of_object: Vec<_> = (0..pieces.len()).filter(|i| first[*i] == object).map(|i| &pieces[i]).collect();
            of_object.sort_by_key(|piece| piece.seen[0].frame);
            prop_assert_eq!(of_object.is_empty(), first[object] != object);
            for pair in of_object.windows(2) {
                let (last, next) = (pair[0].seen.last().unwrap().frame, pair[1].seen[0].frame);
                prop_assert!(last < next && next - last <= u64::from(gap) + 1);
            }
        }
    }
}
