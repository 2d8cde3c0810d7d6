//! Which pieces are of one object.

use super::{Piece, Sighting};

/// Sightings at the end of a piece, and at the beginning of the next, that say how fast the object moves.
const FOR_VELOCITY: usize = 10;
/// Sightings that a piece must have to be joined: fewer are often false detections.
const LEAST_SIGHTINGS: usize = 3;
/// How far a prediction may miss, as a part of the object's size (the root of its area).
const GATE: f64 = 1.2;
/// By which factor the heights may differ.
const MOST_GROWTH: f64 = 1.5;

/// For each piece, the place in `pieces` of the first piece of its object: its own, if nothing was before.
///
/// Two pieces may be of one object if the second begins after the first has ended, with at most `max_gap` frames between, if they are
/// of one class and about as high, and if each is where the other's velocity leads to. Of several that may, those that miss least are
/// joined; so each piece has one before it and one after it at most, and no two of an object overlap in time.
pub fn joined(pieces: &[Piece], max_gap: u32) -> Vec<usize> {
    let ends: Vec<_> = pieces.iter().enumerate().filter_map(|(i, piece)| Ends::of(i, piece)).collect();
    let mut by_start: Vec<_> = ends.iter().collect();
    by_start.sort_by_key(|ends| (ends.first.frame, ends.index));
    let mut pairs = Vec::new();
    for before in &ends {
        let begun = by_start.partition_point(|after| after.first.frame <= before.last.frame);
        let latest = before.last.frame.saturating_add(u64::from(max_gap) + 1);
        let after = by_start.get(begun..).unwrap_or_default().iter();
        for after in after.take_while(|after| after.first.frame <= latest) {
            if before.class == after.class
                && let Some(miss) = miss(before, after)
            {
                pairs.push((miss, before.index, after.index));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut next = vec![None; pieces.len()];
    let mut previous = vec![None; pieces.len()];
    for (_, before, after) in pairs {
        if let (Some(next @ None), Some(previous @ None)) = (next.get_mut(before), previous.get_mut(after)) {
            (*next, *previous) = (Some(after), Some(before));
        }
    }
    let first = |mut piece: usize| {
        while let Some(Some(before)) = previous.get(piece) {
            piece = *before;
        }
        piece
    };
    (0..pieces.len()).map(first).collect()
}

/// What counts of a piece.
struct Ends {
    index: usize,
    class: u32,
    first: Sighting,
    last: Sighting,
    /// Of the centre, in pixels a frame, at the beginning and at the end.
    velocity: [[f64; 2]; 2],
}

impl Ends {
    /// None of a piece that is too short, or whose boxes are no boxes.
    fn of(index: usize, piece: &Piece) -> Option<Self> {
        let seen = &piece.seen;
        let (first, last) = (*seen.first()?, *seen.last()?);
        if seen.len() < LEAST_SIGHTINGS || !first.rect.is_usable() || !last.rect.is_usable() {
            return None;
        }
        let count = seen.len().min(FOR_VELOCITY);
        let velocity = [velocity(seen.get(..count)?), velocity(seen.get(seen.len() - count..)?)];
        Some(Self { index, class: piece.class, first, last, velocity })
    }
}

fn centre(seen: &Sighting) -> [f64; 2] {
    let r = &seen.rect;
    [f64::from(r.x) + f64::from(r.w) / 2.0, f64::from(r.y) + f64::from(r.h) / 2.0]
}

/// The slope of the straight line through the centres with the least squares of distances.
fn velocity(seen: &[Sighting]) -> [f64; 2] {
    let count = seen.len() as f64;
    // From the first, so that numbers of late frames lose no digits.
    let start = seen.first().map_or(0, |first| first.frame);
    let time = |seen: &Sighting| seen.frame.saturating_sub(start) as f64;
    let mean_time = seen.iter().map(time).sum::<f64>() / count;
    let spread: f64 = seen.iter().map(|one| (time(one) - mean_time).powi(2)).sum();
    [0, 1].map(|axis| {
        let slope: f64 = seen.iter().map(|one| (time(one) - mean_time) * centre(one)[axis]).sum();
        if spread > 0.0 { slope / spread } else { 0.0 }
    })
}

/// By how much the worse of the two predictions misses, in sizes of the object; none where these cannot be one object.
fn miss(before: &Ends, after: &Ends) -> Option<f64> {
    let frames = after.first.frame.saturating_sub(before.last.frame) as f64;
    let area = |seen: &Sighting| f64::from(seen.rect.w) * f64::from(seen.rect.h);
    let size = (area(&before.last) * area(&after.first)).powf(0.25);
    let growth = f64::from(after.first.rect.h) / f64::from(before.last.rect.h);
    let (from, to) = (centre(&before.last), centre(&after.first));
    let distance = |velocity: [f64; 2]| {
        let off = [0, 1].map(|axis| to[axis] - from[axis] - frames * velocity[axis]);
        off[0].hypot(off[1]) / size
    };
    let miss = distance(before.velocity[1]).max(distance(after.velocity[0]));
    (growth.max(1.0 / growth) <= MOST_GROWTH && miss <= GATE).then_some(miss)
}
