//! Messages that wait on the disk until the broker has acknowledged them.
//!
//! A folder with segments, files of numbered records that are only appended to and are removed when all of their messages are
//! acknowledged; the file `acknowledged`, which says up to where they are; and the file `lock`, which one process holds. What a
//! process has appended stays when it is killed, because the system has it; a power cut may take what was appended since the last
//! [`Unsynced`] was written to the disk.
//!
//! Damage costs the messages whose bytes it touches, and no others: records are found again after it (`record`), and the numbers
//! tell how many are lost (`scan`). A place in `acknowledged` that is too old sends messages twice, none too few; one that cannot be
//! right is not followed, and all that is kept is sent again. Whatever else lies in the folder is left alone.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cudainfer_files::{Access, Folder, Lock, LockError, Readers, is_full};

mod disk;
mod place;
mod record;
mod scan;
mod segment;

pub(crate) use disk::{Disk, DiskFile};
use place::Place;
use segment::{LAST_NUMBER, Segment, name, size};

use crate::Message;

/// Bytes after which a new segment is begun, if the spool may be that large.
const SEGMENT: u64 = 8 << 20;
/// Segments that a full spool has at least.
const SEGMENTS: u64 = 4;
const ACKNOWLEDGED: &str = "acknowledged";
/// How long a spool that another has is waited for. One that is just being given back may be held a little longer by a process that
/// the other has begun to start: it has all open files until it runs its program.
const LOCKED: Duration = Duration::from_secs(1);

/// Why a spool cannot be used; each a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SpoolError {
    #[error(
        "the spool '{folder}' cannot be used: {reason}. Set spool to a folder of this user's that can be written"
    )]
    Folder { folder: String, reason: io::Error },
    #[error("the spool '{folder}' is in use by {by}. Give each element a folder of its own")]
    Locked { folder: String, by: String },
}

/// A message that has been read and is not acknowledged.
#[derive(Debug)]
struct Ahead {
    message: Arc<Message>,
    place: Place,
}

/// The messages of one element, in order.
#[derive(Debug)]
pub(crate) struct Spool {
    disk: Arc<dyn Disk>,
    /// Held as long as this lives.
    _lock: Option<Lock>,
    acknowledged: Arc<dyn DiskFile>,
    most_bytes: u64,
    /// Never empty while there is a message.
    segments: VecDeque<Segment>,
    /// The last segment, if it was begun by this process.
    writer: Option<Arc<dyn DiskFile>>,
    unsynced: Unsynced,
    last_number: u64,
    last_sequence: u64,
    /// Up to where all was acknowledged when this was opened.
    sent_before: Place,
    reader: Reader,
    ahead: VecDeque<Ahead>,
    /// Messages that are not acknowledged.
    waiting: u64,
    lost: u64,
    warnings: Vec<String>,
}

/// What became of messages that a spool was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// That many, from the first, are in the spool.
    Stored(usize),
    /// There is no room before messages are acknowledged.
    Full,
    /// The first will never have room.
    TooLong,
}

/// What a power cut would undo.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    /// Segments that were appended to.
    files: Vec<Arc<dyn DiskFile>>,
    /// The folder in which segments were begun.
    folder: Option<Arc<dyn Disk>>,
}

impl Unsynced {
    /// Waits until the disk has it.
    ///
    /// # Errors
    /// Those of the disk, which may then never have it.
    pub fn sync(self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.sync())?;
        self.folder.map_or(Ok(()), |folder| folder.sync())
    }
}

/// Reads the segments in order.
#[derive(Debug, Default)]
struct Reader {
    /// The number of the segment that is read.
    segment: u64,
    /// Where it is in the segment.
    offset: u64,
    /// What comes there, after the first `used` bytes.
    bytes: Vec<u8>,
    used: usize,
}

impl Spool {
    /// Opens the spool in `folder`, which is made where it does not exist, and counts what waits there.
    ///
    /// # Errors
    /// The folder cannot be written, or another element has it.
    pub fn open(folder: &Path, most_bytes: u64) -> Result<Self, SpoolError> {
        let name = folder.display().to_string();
        let failed = |reason| SpoolError::Folder { folder: name.clone(), reason };
        let folder = Folder::open(folder, Readers::Owner).map_err(failed)?;
        let lock = folder.lock(LOCKED).map_err(|e| match e {
            LockError::Held(by) => SpoolError::Locked { folder: name.clone(), by },
            LockError::Io(e) => failed(named("lock", &e)),
        })?;
        Self::read(Arc::new(folder), Some(lock), most_bytes).map_err(failed)
    }

    /// Counts what waits on the disk, which `lock` keeps others from.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(disk: Arc<dyn Disk>, lock: Option<Lock>, most_bytes: u64) -> io::Result<Self> {
        let acknowledged = disk.file(ACKNOWLEDGED, Access::Write).map_err(|e| named(ACKNOWLEDGED, &e))?;
        let kept = place::read(&*acknowledged)?;
        let damaged = kept == place::Read::Damaged;
        let place = if let place::Read::Place(place) = kept { Some(place) } else { None };
        let found = scan::scan(&*disk, place)?;
        if damaged {
            acknowledged.set_len(0)?;
        }
        if Some(found.place) != place {
            place::write(&*acknowledged, found.place)?;
        }
        // A process that was killed may have left them in the system's memory.
        let mut unsynced = Unsynced { files: Vec::new(), folder: Some(Arc::clone(&disk)) };
        for segment in &found.segments {
            unsynced.files.push(disk.file(&name(segment.number), Access::Read)?);
        }
        let mut warnings = Vec::new();
        if found.lost > 0 {
            warnings.push(format!(
                "the spool is damaged, as a process that is killed while it writes or a failing disk leaves it: all messages are sent but \
                 for those that are lost, of which there are {}",
                found.lost
            ));
        }
        if (found.doubted || damaged) && found.waiting > 0 {
            warnings.push(format!(
                "what the spool has of acknowledgements cannot be right, so all {} messages that it has are sent, those that have \
                 arrived already once more",
                found.waiting
            ));
        }
        if !found.left_alone.is_empty() {
            let files = found.left_alone.join("; ");
            warnings.push(format!(
                "in the spool are files that it has not written, which are left alone: {files}"
            ));
        }
        Ok(Self {
            disk,
            _lock: lock,
            acknowledged,
            most_bytes,
            reader: Reader {
                segment: found.segments.front().map_or(0, |first| first.number),
                ..Reader::default()
            },
            segments: found.segments,
            writer: None,
            unsynced,
            last_number: found.last_number,
            last_sequence: found.last_sequence,
            sent_before: found.place,
            ahead: VecDeque::new(),
            waiting: found.waiting,
            lost: found.lost,
            warnings,
        })
    }

    /// Messages that are not acknowledged.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Messages that damage has taken, as far as is known.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What the user should know of what was found when this was opened, a sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Appends as many of the messages, from the first, as there is room for.
    ///
    /// # Errors
    /// Those of writing. None of the messages has been appended then.
    pub fn append(&mut self, messages: &[Arc<Message>]) -> io::Result<Appended> {
        match (self.write(messages), messages) {
            (Err(e), [first, others @ ..]) if is_full(&e) && (self.waiting == 0 || !others.is_empty()) => {
                // On a full disk, what is left of acknowledged messages may take the room that this one needs.
                if self.waiting == 0 {
                    self.remove_all()?;
                }
                // There may be room for one where there is none for all.
                self.write(std::slice::from_ref(first))
            }
            (appended, _) => appended,
        }
    }

    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Appended> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (sequence, message) in (self.last_sequence.saturating_add(1)..).zip(messages) {
            if record::encode(message, sequence, &mut bytes).is_err() || size(bytes.len()) > self.most_bytes {
                break;
            }
            ends.push(bytes.len());
        }
        let Some(first) = ends.first() else {
            return Ok(if messages.is_empty() { Appended::Stored(0) } else { Appended::TooLong });
        };
        if self.waiting == 0 && self.bytes().saturating_add(size(*first)) > self.most_bytes {
            self.remove_all()?;
        }
        let used = self.bytes();
        ends.retain(|end| used.saturating_add(size(*end)) <= self.most_bytes);
        let Some(end) = ends.last() else { return Ok(Appended::Full) };
        bytes.truncate(*end);
        self.begin_segment()?;
        let (Some(writer), Some(segment)) = (&self.writer, self.segments.back_mut()) else {
            return Ok(Appended::Full);
        };
        if let Err(e) = writer.write(&bytes, segment.length) {
            // Part of it may be there; the next record overwrites it.
            let _ = writer.set_len(segment.length);
            return Err(e);
        }
        if !self.unsynced.files.iter().any(|file| Arc::ptr_eq(file, writer)) {
            self.unsynced.files.push(Arc::clone(writer));
        }
        segment.length += size(bytes.len());
        let count = size(ends.len());
        segment.unread += count;
        self.last_sequence += count;
        self.waiting += count;
        Ok(Appended::Stored(ends.len()))
    }

    /// Whether messages were appended since [`Self::take_unsynced`].
    pub fn has_unsynced(&self) -> bool {
        !self.unsynced.files.is_empty()
    }

    /// What was appended since this was last called; none, if the broker has acknowledged all of it.
    pub fn take_unsynced(&mut self) -> Option<Unsynced> {
        if self.waiting == 0 {
            self.unsynced.files.clear();
        }
        self.has_unsynced().then(|| std::mem::take(&mut self.unsynced))
    }

    /// The first messages that are not acknowledged, at most `most` and about `most_bytes`, but one if there is one.
    ///
    /// # Errors
    /// Those of reading.
    pub fn first(&mut self, most: usize, most_bytes: usize) -> io::Result<Vec<Arc<Message>>> {
        while self.ahead.len() < most && self.read_one()? {}
        let mut bytes = 0;
        let fits = self.ahead.iter().take(most).take_while(|Ahead { message, .. }| {
            let first = bytes == 0;
            bytes += message.payload.len();
            first || bytes <= most_bytes
        });
        Ok(fits.map(|ahead| Arc::clone(&ahead.message)).collect())
    }

    /// The first `count` messages that [`Self::first`] returns have arrived.
    ///
    /// # Errors
    /// Those of writing; the messages may come again at the next start.
    pub fn acknowledge(&mut self, count: usize) -> io::Result<()> {
        let Some(place) =
            self.ahead.drain(..count.min(self.ahead.len())).next_back().map(|ahead| ahead.place)
        else {
            return Ok(());
        };
        self.waiting = self.waiting.saturating_sub(size(count));
        let written = place::write(&*self.acknowledged, place);
        while let Some(first) = self.segments.front() {
            let passed = match self.segments.iter().position(|segment| segment.number == place.segment) {
                Some(0) => place.offset >= first.length,
                position => position.is_some(),
            };
            if !passed || (self.segments.len() == 1 && first.length < self.segment_size() / 2) {
                break;
            }
            self.remove_first()?;
        }
        written
    }

    /// Removes the first segment, all of whose messages are acknowledged.
    fn remove_first(&mut self) -> io::Result<()> {
        let Some(first) = self.segments.front() else { return Ok(()) };
        match self.disk.remove(&name(first.number)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => (),
        }
        self.segments.pop_front();
        if self.segments.is_empty() {
            self.writer = None;
        }
        Ok(())
    }

    /// Removes what is left of messages that are all acknowledged.
    fn remove_all(&mut self) -> io::Result<()> {
        while !self.segments.is_empty() {
            self.remove_first()?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    fn segment_size(&self) -> u64 {
        SEGMENT.min(self.most_bytes / SEGMENTS)
    }

    /// Sees to it that the last segment can be appended to.
    fn begin_segment(&mut self) -> io::Result<()> {
        let full = self.segments.back().is_none_or(|last| last.length >= self.segment_size());
        if self.writer.is_some() && !full {
            return Ok(());
        }
        let number = self.last_number + 1;
        if number >= LAST_NUMBER {
            return Err(io::Error::other("no number is left for another segment"));
        }
        // What has been put there meanwhile is not ours; the next try takes another number.
        self.last_number = number;
        let file = self.disk.file(&name(number), Access::New)?;
        self.unsynced.folder = Some(Arc::clone(&self.disk));
        self.segments.push_back(Segment { number, length: 0, unread: 0 });
        self.writer = Some(file);
        Ok(())
    }

    /// Reads one message ahead. Returns whether there was one.
    fn read_one(&mut self) -> io::Result<bool> {
        loop {
            let at = self.segments.iter().position(|segment| segment.number == self.reader.segment);
            // The one that was read is gone: all that is there comes after it.
            let Some(segment) = self.segments.get_mut(at.unwrap_or(0)) else { return Ok(false) };
            if at.is_none() {
                self.reader = Reader { segment: segment.number, ..Reader::default() };
            }
            if self.reader.used == self.reader.bytes.len() && self.reader.offset < segment.length {
                self.reader.used = 0;
                self.reader.bytes = segment.read_from(&*self.disk, self.reader.offset)?;
            }
            if let Some(found) = self.reader.bytes.get(self.reader.used..).and_then(record::first) {
                let taken = found.skipped + found.size;
                self.reader.used += taken;
                self.reader.offset += size(taken);
                let place = Place {
                    segment: segment.number,
                    offset: self.reader.offset,
                    sequence: found.sequence.unwrap_or(self.sent_before.sequence),
                };
                let sent = match found.sequence {
                    Some(sequence) => sequence <= self.sent_before.sequence,
                    None => {
                        (place.segment, place.offset) <= (self.sent_before.segment, self.sent_before.offset)
                    }
                };
                if sent {
                    continue;
                }
                segment.unread = segment.unread.saturating_sub(1);
                self.ahead.push_back(Ahead { message: Arc::new(found.message), place });
                return Ok(true);
            }
            // They were whole when the spool was opened or they were written: the disk has lost them since.
            let lost = std::mem::take(&mut segment.unread);
            self.lost += lost;
            self.waiting = self.waiting.saturating_sub(lost);
            self.reader = Reader { segment: segment.number, offset: segment.length, ..Reader::default() };
            let Some(next) = self.segments.get(at.unwrap_or(0) + 1) else { return Ok(false) };
            self.reader = Reader { segment: next.number, ..Reader::default() };
        }
    }
}

fn named(file: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("its file '{file}': {error}"))
}

#[cfg(test)]
mod tests;
