//! What the second pass has made of tracks.

use std::collections::BTreeMap;

use cudainfer_kernels::track::second_pass::{Piece, Sighting, filled};

use super::PassCounts;
use crate::publish::tracks::{End, Path, Position, Track, centre};

/// The tracks of a stream, of which several identities may have become one.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    objects: BTreeMap<u64, Followed>,
    /// Presentation times of frames.
    times: Vec<(u64, Option<u64>)>,
    tracks: Vec<(Track, End)>,
}

/// Where an object was.
#[derive(Debug, Default)]
struct Followed {
    /// Its identities, in the order of time.
    ids: Vec<u64>,
    /// In the order of frames.
    boxes: Vec<Placed>,
}

/// An object in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub sighting: Sighting,
    /// Whether nobody has seen it.
    pub is_filled: bool,
}

impl Passed {
    /// Puts pieces together, whose objects have these identities, and fills their gaps.
    pub(super) fn of(
        mut pieces: Vec<Piece>,
        first_ids: &[u64],
        fill_gap: u32,
        times: Vec<(u64, Option<u64>)>,
        tracks: Vec<(Track, End)>,
        counts: &mut PassCounts,
    ) -> Self {
        let mut ordered: Vec<_> = pieces.iter_mut().zip(first_ids.iter().copied()).collect();
        ordered.sort_by_key(|(piece, _)| piece.seen.first().map(|seen| seen.frame));
        let mut objects = BTreeMap::<u64, Followed>::new();
        for (piece, first) in ordered {
            let object = objects.entry(first).or_default();
            object.ids.push(piece.id);
            // Taken, so that no more than one piece is there twice.
            for sighting in std::mem::take(&mut piece.seen) {
                if let Some(last) = object.boxes.last().copied() {
                    let (gap, before) = (filled(&last.sighting, &sighting, fill_gap), object.boxes.len());
                    object.boxes.extend(gap.map(|sighting| Placed { sighting, is_filled: true }));
                    counts.filled += (object.boxes.len() - before) as u64;
                }
                object.boxes.push(Placed { sighting, is_filled: false });
            }
        }
        Self { objects, times, tracks }
    }

    /// All boxes with their identities, in the order of frames.
    pub(super) fn boxes(&self) -> Vec<(u64, Placed)> {
        let boxes = |(id, object): (&u64, &Followed)| {
            let id = *id;
            object.boxes.iter().map(|found| (id, *found)).collect::<Vec<_>>()
        };
        let mut all: Vec<_> = self.objects.iter().flat_map(boxes).collect();
        all.sort_by_key(|(id, found)| (found.sighting.frame, *id));
        all
    }

    /// The tracks, with what was joined to them and filled in; each with the reason for which the last of it has ended.
    pub fn tracks(self) -> Vec<(Track, End)> {
        let Self { objects, times, tracks } = self;
        let mut by_id = BTreeMap::<u64, Vec<(Track, End)>>::new();
        for (track, end) in tracks {
            by_id.entry(track.id).or_default().push((track, end));
        }
        let mut all = Vec::new();
        for object in objects.into_values() {
            let parts = object.ids.iter().filter_map(|id| by_id.remove(id)).flatten();
            let whole = parts.reduce(|(mut track, _), (later, end)| {
                track.absorb(later);
                (track, end)
            });
            all.extend(whole.map(|(track, end)| (with_path(track, &object, &times), end)));
        }
        // Those without a box that was gathered: an early pass has had them.
        all.extend(by_id.into_values().flatten());
        all.sort_by_key(|(track, _)| (track.last.frame, track.id));
        all
    }
}

/// The track with the path of an object's boxes.
fn with_path(mut track: Track, object: &Followed, times: &[(u64, Option<u64>)]) -> Track {
    let pts = |frame: u64| {
        let found = times.binary_search_by_key(&frame, |(frame, _)| *frame);
        found.ok().and_then(|place| times.get(place)?.1)
    };
    let begin = object.boxes.first().map_or(u64::MAX, |first| first.sighting.frame);
    let last = track.last.frame;
    let boxes = object.boxes.iter().filter(|found| found.sighting.frame <= last);
    let interpolated = boxes.clone().filter(|found| found.is_filled).count();
    let places = boxes.map(|found| Position {
        frame: found.sighting.frame,
        pts: pts(found.sighting.frame),
        centre: centre(&found.sighting.rect),
        is_interpolated: found.is_filled,
    });
    // What was before an early pass.
    let earlier = track.path.places().copied().filter(|place| place.frame < begin);
    if let Some(path) = Path::of(earlier.chain(places)) {
        track.path = path;
    }
    (track.joined, track.interpolated) = (object.ids.clone(), interpolated as u64);
    track
}
