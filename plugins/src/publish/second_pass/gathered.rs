//! What is remembered of a stream until the second pass.

use std::collections::{BTreeMap, BTreeSet};

use cudainfer_kernels::track::second_pass::{Piece, Sighting, joined};

use super::{PassCounts, PassParams, Passed};
use crate::meta::object::Object;
use crate::publish::clock::Moment;
use crate::publish::format::PRESENT;
use crate::publish::tracks::{End, Path, TRACKED, Track};

/// The tracks of a stream, box by box.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pieces: BTreeMap<u64, Labelled>,
    /// The labels by their number, which is the class of a piece.
    labels: Vec<String>,
    /// The frames that tracks were seen in, or may be filled in, with their presentation times in ns.
    times: Vec<(u64, Option<u64>)>,
    /// Tracks that have ended, where records of tracks are written.
    tracks: Vec<(Track, End)>,
    /// Identities that an early pass has joined to others: what comes of them later is theirs, too.
    renamed: BTreeMap<u64, u64>,
    boxes: usize,
    last_seen: u64,
}

/// A piece, whose class is that of its most confident box.
#[derive(Debug)]
struct Labelled {
    piece: Piece,
    confidence: f32,
}

impl Gathered {
    /// Takes in the objects of a frame that are in it: those that a record of a track counts, or those that have rows.
    pub fn see(&mut self, objects: &[Object], moment: Moment, params: &PassParams) {
        let states = if params.of_tracks { &[TRACKED][..] } else { &PRESENT };
        let Moment { frame, pts, .. } = moment;
        let before = self.boxes;
        for object in objects {
            let Some(tracking) = &object.tracking else { continue };
            if !states.contains(&tracking.state.as_str()) {
                continue;
            }
            let confidence = object.detection.as_ref().map(|detection| detection.confidence);
            let sighting = Sighting { frame, rect: tracking.rect, confidence };
            let class = self.class(&object.label);
            let id = self.renamed.get(&tracking.id).copied().unwrap_or(tracking.id);
            let empty = || Labelled { piece: Piece { id, class, seen: Vec::new() }, confidence: 0.0 };
            let labelled = self.pieces.entry(id).or_insert_with(empty);
            // An identity is in a frame once; a model that has no tracker may name two objects the same.
            if labelled.piece.seen.last().is_some_and(|last| last.frame == frame) {
                continue;
            }
            if let Some(confidence) = confidence.filter(|confidence| *confidence > labelled.confidence) {
                (labelled.piece.class, labelled.confidence) = (class, confidence);
            }
            labelled.piece.seen.push(sighting);
            self.boxes += 1;
        }
        if self.boxes > before {
            self.last_seen = frame;
        }
        if !self.pieces.is_empty() && frame.saturating_sub(self.last_seen) <= u64::from(params.fill_gap) {
            self.times.push((frame, pts));
        }
    }

    fn class(&mut self, label: &str) -> u32 {
        let known = self.labels.iter().position(|known| known == label);
        let class = known.unwrap_or_else(|| {
            self.labels.push(label.to_owned());
            self.labels.len() - 1
        });
        u32::try_from(class).unwrap_or(u32::MAX)
    }

    /// Takes in a track that has ended.
    pub fn end(&mut self, track: Track, end: End) {
        self.tracks.push((track, end));
    }

    /// How much is gathered, in boxes; a track that has ended counts as those of its path.
    pub fn size(&self) -> usize {
        self.boxes + self.times.len() + Path::MOST * self.tracks.len()
    }

    /// Makes the pass over what is gathered, which begins anew.
    pub fn pass(&mut self, params: &PassParams, counts: &mut PassCounts) -> Passed {
        let Self { pieces, times, tracks, mut renamed, .. } = std::mem::take(self);
        // A track that goes on after an early pass has its record when it has ended.
        let ended: BTreeSet<_> = tracks.iter().map(|(track, _)| track.id).collect();
        let pieces = pieces.into_values().map(|labelled| labelled.piece);
        let pieces: Vec<_> = pieces.filter(|piece| !params.of_tracks || ended.contains(&piece.id)).collect();
        let firsts = if params.join { joined(&pieces, params.join_gap) } else { (0..pieces.len()).collect() };
        let first_ids: Vec<_> =
            firsts.iter().filter_map(|first| pieces.get(*first)).map(|first| first.id).collect();
        for (piece, first) in pieces.iter().zip(&first_ids) {
            if piece.id != *first {
                counts.joined += 1;
            }
            if piece.id != *first && !params.of_tracks {
                renamed.values_mut().filter(|to| **to == piece.id).for_each(|to| *to = *first);
                renamed.insert(piece.id, *first);
            }
        }
        self.renamed = renamed;
        Passed::of(pieces, &first_ids, params.fill_gap, times, tracks, counts)
    }

    /// Forgets which identities were joined: the stream is another.
    pub fn forget_names(&mut self) {
        self.renamed.clear();
    }
}
