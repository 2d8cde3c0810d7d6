//! What a spool has when it is opened: which segments, how many messages, and what damage has taken.

use std::collections::VecDeque;
use std::io;

use cudainfer_files::Access;

use super::disk::{Disk, DiskFile};
use super::place::Place;
use super::record;
use super::segment::{LONGEST_SEGMENT, Segment, name, number, size};

/// What is added to the name of a file that has no message which can be read.
const DAMAGED: &str = ".damaged";

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those with messages that are not acknowledged, in the order of their messages.
    pub segments: VecDeque<Segment>,
    /// Up to where all is acknowledged.
    pub place: Place,
    /// The largest number that a file has.
    pub last_number: u64,
    pub last_sequence: u64,
    /// Messages that are not acknowledged.
    pub waiting: u64,
    /// Messages that are lost, as far as is known.
    pub lost: u64,
    /// Whether the place could not be right, so that all messages that are kept are sent again.
    pub doubted: bool,
    /// Files that are left alone, each with the reason.
    pub left_alone: Vec<String>,
}

/// A file and its records.
#[derive(Debug, Default)]
struct Scanned {
    number: u64,
    /// Where its last record ends.
    length: u64,
    /// Of each record its sequence, if it has one, and where it ends.
    records: Vec<(Option<u64>, u64)>,
    /// Whether there are bytes before a record that are none.
    has_gaps: bool,
    /// Messages that were lost after the last record.
    lost_at_end: u64,
}

impl Scanned {
    fn sequences(&self) -> impl Iterator<Item = u64> {
        self.records.iter().filter_map(|(sequence, _)| *sequence)
    }

    /// Whether an older version has written it, which numbered no messages.
    fn is_old(&self) -> bool {
        !self.records.is_empty() && self.sequences().next().is_none()
    }

    fn is_damaged(&self) -> bool {
        self.has_gaps || self.lost_at_end > 0
    }
}

/// Reads all segments. `place` is what the file of acknowledgements says, if anything. What is no record after the last one of a
/// segment is cut off, and a segment without any is renamed.
///
/// # Errors
/// Those of reading and writing.
pub(super) fn scan(disk: &dyn Disk, place: Option<Place>) -> io::Result<Found> {
    let mut found = Found::default();
    let mut scanned = Vec::new();
    for name in disk.names()? {
        let Some(number) = number(&name) else { continue };
        found.last_number = found.last_number.max(number);
        match disk.file(&name, Access::Write) {
            Ok(file) => scanned.extend(read(disk, &name, number, &*file)?),
            Err(e)
                if [
                    io::ErrorKind::InvalidInput,
                    io::ErrorKind::PermissionDenied,
                    io::ErrorKind::IsADirectory,
                ]
                .contains(&e.kind()) =>
            {
                found.left_alone.push(format!("'{name}': {e}"));
            }
            Err(e) => return Err(e),
        }
    }
    scanned.sort_by_key(|segment| (segment.sequences().next().unwrap_or(0), segment.number));
    let smallest = scanned.iter().flat_map(Scanned::sequences).min();
    let largest = scanned.iter().flat_map(Scanned::sequences).max().unwrap_or(0);
    let cut_off = cut_off(&scanned);
    found.doubted = place.is_some_and(|place| !fits(place, &scanned, largest + cut_off));
    let before = smallest.map_or(0, |smallest| smallest.saturating_sub(1));
    found.place = match place.filter(|_| !found.doubted) {
        Some(place) => place,
        None => Place { sequence: before, ..Place::default() },
    };
    found.last_sequence = largest.max(found.place.sequence);
    let acknowledged = |segment: u64, (sequence, end): (Option<u64>, u64)| match sequence {
        Some(sequence) => sequence <= found.place.sequence,
        // Those without a sequence are older than those that have one.
        None => found.place.sequence > before || (segment, end) <= (found.place.segment, found.place.offset),
    };
    let mut numbered = 0;
    for segment in &scanned {
        let waiting = segment.records.iter().filter(|record| !acknowledged(segment.number, **record));
        let (mut unread, mut first) = (0, None);
        for (sequence, _) in waiting {
            unread += 1;
            first = first.or(*sequence);
            numbered += u64::from(sequence.is_some());
        }
        found.waiting += unread;
        if unread > 0 {
            found.segments.push_back(Segment { number: segment.number, length: segment.length, unread });
        } else if segment.lost_at_end == 0 || !segment.records.is_empty() {
            disk.remove(&name(segment.number))?;
        }
    }
    // The file of acknowledgements may be older than the removal of what they were for, after a power cut: messages are missed before
    // the first one only where something is damaged.
    let damaged = scanned.iter().any(Scanned::is_damaged);
    let sent = if damaged { found.place.sequence } else { found.place.sequence.max(before) };
    found.lost = (largest + cut_off).saturating_sub(sent).saturating_sub(numbered) + lost_of_old(&scanned);
    Ok(found)
}

/// Whether messages can have been acknowledged up to this place, where this many have ever been numbered.
fn fits(place: Place, scanned: &[Scanned], numbered: u64) -> bool {
    if place.sequence > 0 {
        return scanned.is_empty() || place.sequence <= numbered;
    }
    let mut old = scanned.iter().filter(|segment| segment.is_old());
    let at = |segment: &Scanned| {
        segment.number == place.segment
            && (place.offset == 0 || segment.records.iter().any(|(_, end)| *end == place.offset))
    };
    place == Place::default() || old.clone().all(|segment| segment.number > place.segment) || old.any(at)
}

/// How many messages were lost after the last one that has a number; those before it are missed by their numbers.
fn cut_off(scanned: &[Scanned]) -> u64 {
    let last = scanned.iter().rev().find(|segment| segment.sequences().next().is_some());
    let whole =
        scanned.iter().filter(|segment| !segment.records.is_empty()).map(|segment| segment.number).max();
    let later = scanned.iter().filter(|segment| segment.records.is_empty() && Some(segment.number) > whole);
    last.into_iter().chain(later).map(|segment| segment.lost_at_end).sum()
}

/// How many messages without numbers are lost: one for each segment that has damage between them, and those cut off.
fn lost_of_old(scanned: &[Scanned]) -> u64 {
    let old = scanned.iter().filter(|segment| segment.is_old());
    old.map(|segment| u64::from(segment.has_gaps) + segment.lost_at_end).sum()
}

/// Reads a segment; none, if it has no messages.
fn read(disk: &dyn Disk, name: &str, number: u64, file: &dyn DiskFile) -> io::Result<Option<Scanned>> {
    let bytes = file.read(0, LONGEST_SEGMENT)?;
    let mut segment = Scanned { number, ..Scanned::default() };
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(record::first) {
        segment.has_gaps |= found.skipped > 0;
        at += found.skipped + found.size;
        segment.records.push((found.sequence, size(at)));
    }
    segment.length = size(at);
    let rest = bytes.get(at..).unwrap_or_default();
    if !rest.is_empty() {
        segment.lost_at_end = record::lost(rest);
    }
    match (segment.records.is_empty(), rest.is_empty()) {
        (true, true) => {
            disk.remove(name)?;
            return Ok(None);
        }
        (true, false) => disk.rename(name, &format!("{name}{DAMAGED}"))?,
        // The next start does not count it again.
        (false, false) => file.set_len(segment.length)?,
        (false, true) => (),
    }
    Ok(Some(segment))
}
