//! Boxes in frames in which a track was not seen.

use super::Sighting;
use crate::geometry::Rect;

/// The boxes between two sightings of a track, on straight lines from one to the other, as is their confidence; none where more than
/// `max_gap` frames lie between.
pub fn filled(before: &Sighting, after: &Sighting, max_gap: u32) -> impl Iterator<Item = Sighting> + use<> {
    let (before, after) = (*before, *after);
    let apart = after.frame.saturating_sub(before.frame);
    let missing = apart.saturating_sub(1);
    let missing = if missing <= u64::from(max_gap) { missing } else { 0 };
    (1..=missing).map(move |step| {
        let share = step as f64 / apart as f64;
        let between = |a: f32, b: f32| (f64::from(a) + share * (f64::from(b) - f64::from(a))) as f32;
        let (a, b) = (before.rect, after.rect);
        let rect =
            Rect { x: between(a.x, b.x), y: between(a.y, b.y), w: between(a.w, b.w), h: between(a.h, b.h) };
        let confidence = before.confidence.zip(after.confidence).map(|(a, b)| between(a, b));
        Sighting { frame: before.frame + step, rect, confidence }
    })
}
