//! Messages that wait on the disk until the broker has acknowledged them.
//!
//! A folder with segments, files of records that are only appended to and are removed when all of their messages are
//! acknowledged; the file `acknowledged`, which says up to where they are; and the file `lock`, which one process holds. What a
//! process has appended stays when it is killed, because the system has it; the last seconds before a power cut may be lost. A
//! place in `acknowledged` that is too old sends messages twice, none too few.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod record;

use record::Next;

use crate::Message;

/// Bytes after which a new segment is begun, if the spool may be that large.
const SEGMENT: u64 = 8 << 20;
/// Segments that a full spool has at least.
const SEGMENTS: u64 = 4;
const EXTENSION: &str = "spool";
/// How long a spool that another has is waited for. One that is just being given back may be held a little longer by a process that
/// the other has begun to start: it has all open files until it runs its program.
const LOCKED: Duration = Duration::from_secs(1);
/// After so long it is tried again.
const AGAIN: Duration = Duration::from_millis(10);

/// Why a spool cannot be used; each a sentence or two.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SpoolError {
    #[error("the spool '{folder}' cannot be used: {reason}. Set spool to a folder that can be written")]
    Folder { folder: String, reason: io::Error },
    #[error("the spool '{0}' is in use by another process or element. Give each element a folder of its own")]
    Locked(String),
}

/// A place in the spool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    segment: u64,
    offset: u64,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    /// Bytes of whole records.
    length: u64,
}

/// The messages of one element, in order.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    /// Held as long as this lives.
    _lock: File,
    acknowledged: File,
    most_bytes: u64,
    /// Never empty while there is a message.
    segments: VecDeque<Segment>,
    /// The last segment, if it was begun by this process.
    writer: Option<File>,
    /// Reads behind the last of `ahead`.
    reader: Option<BufReader<File>>,
    read: Place,
    /// Messages that have been read and are not acknowledged, each with the place behind it.
    ahead: VecDeque<(Message, Place)>,
    /// Messages that are not acknowledged.
    waiting: u64,
    damaged: u64,
}

impl Spool {
    /// Opens the spool in `folder`, which is made where it does not exist, and counts what waits there.
    ///
    /// # Errors
    /// The folder cannot be written, or another element has it.
    pub fn open(folder: &Path, most_bytes: u64) -> Result<Self, SpoolError> {
        let failed = |reason| SpoolError::Folder { folder: folder.display().to_string(), reason };
        let file = |name: &str| {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(folder.join(name))
                .map_err(failed)
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = file("lock")?;
        let until = Instant::now() + LOCKED;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(TryLockError::WouldBlock) => {
                    return Err(SpoolError::Locked(folder.display().to_string()));
                }
                Err(TryLockError::Error(e)) => return Err(failed(e)),
            }
        }
        let acknowledged = file("acknowledged")?;
        let mut spool = Self {
            folder: folder.to_owned(),
            _lock: lock,
            read: read_place(&acknowledged),
            acknowledged,
            most_bytes,
            segments: VecDeque::new(),
            writer: None,
            reader: None,
            ahead: VecDeque::new(),
            waiting: 0,
            damaged: 0,
        };
        spool.scan().map_err(failed)?;
        Ok(spool)
    }

    /// Messages that are not acknowledged.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Damaged places that have been found.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Appends as many of the messages, from the first, as there is room for, and returns how many.
    ///
    /// # Errors
    /// Those of writing. None of the messages has been appended then.
    pub fn append(&mut self, messages: &[Message]) -> io::Result<usize> {
        self.begin_segment()?;
        let (used, mut bytes, mut count) = (self.bytes(), Vec::new(), 0);
        for message in messages {
            let before = bytes.len();
            record::encode(message, &mut bytes)?;
            if used.saturating_add(size(bytes.len())) > self.most_bytes {
                bytes.truncate(before);
                break;
            }
            count += 1;
        }
        let (Some(writer), Some(segment)) = (&self.writer, self.segments.back_mut()) else { return Ok(0) };
        if let Err(e) = writer.write_all_at(&bytes, segment.length) {
            // Part of it may be there; the next record overwrites it.
            let _ = writer.set_len(segment.length);
            return Err(e);
        }
        segment.length += size(bytes.len());
        self.waiting += size(count);
        Ok(count)
    }

    /// The first messages that are not acknowledged, at most `most` and about `most_bytes`, but one if there is one.
    ///
    /// # Errors
    /// Those of reading.
    pub fn first(&mut self, most: usize, most_bytes: usize) -> io::Result<Vec<Message>> {
        while self.ahead.len() < most && self.read_one()? {}
        let mut bytes = 0;
        let fits = self.ahead.iter().take(most).take_while(|(message, _)| {
            let first = bytes == 0;
            bytes += message.payload.len();
            first || bytes <= most_bytes
        });
        Ok(fits.map(|(message, _)| message.clone()).collect())
    }

    /// The first `count` messages that [`Self::first`] returns have arrived.
    ///
    /// # Errors
    /// Those of writing; the messages may come again at the next start.
    pub fn acknowledge(&mut self, count: usize) -> io::Result<()> {
        let Some(place) = self.ahead.drain(..count.min(self.ahead.len())).next_back().map(|(_, place)| place)
        else {
            return Ok(());
        };
        self.waiting = self.waiting.saturating_sub(size(count));
        let written = write_place(&self.acknowledged, place);
        while let Some(first) = self.segments.front() {
            let passed = place.segment > first.number
                || (place.segment == first.number && place.offset >= first.length);
            if !passed || (self.segments.len() == 1 && first.length < self.segment_size() / 2) {
                break;
            }
            let number = first.number;
            if self.segments.len() == 1 {
                self.writer = None;
            }
            if self.read.segment == number {
                self.reader = None;
                self.read = Place { segment: number + 1, offset: 0 };
            }
            std::fs::remove_file(self.path(number))?;
            self.segments.pop_front();
        }
        written
    }

    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    fn segment_size(&self) -> u64 {
        SEGMENT.min(self.most_bytes / SEGMENTS)
    }

    fn path(&self, segment: u64) -> PathBuf {
        self.folder.join(format!("{segment:020}.{EXTENSION}"))
    }

    /// Sees to it that the last segment can be appended to.
    fn begin_segment(&mut self) -> io::Result<()> {
        let full = self.segments.back().is_none_or(|last| last.length >= self.segment_size());
        if self.writer.is_some() && !full {
            return Ok(());
        }
        let number =
            self.segments.back().map_or(self.read.segment, |last| last.number).max(self.read.segment) + 1;
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(self.path(number))?;
        self.segments.push_back(Segment { number, length: 0 });
        self.writer = Some(file);
        Ok(())
    }

    /// Reads one message ahead. Returns whether there was one.
    fn read_one(&mut self) -> io::Result<bool> {
        loop {
            let Some(segment) = self.segments.iter().find(|segment| segment.number >= self.read.segment)
            else {
                return Ok(false);
            };
            let (number, length) = (segment.number, segment.length);
            if number > self.read.segment {
                self.read = Place { segment: number, offset: 0 };
                self.reader = None;
            }
            if self.read.offset >= length {
                if self.segments.back().is_none_or(|last| last.number == number) {
                    return Ok(false);
                }
                self.read = Place { segment: number + 1, offset: 0 };
                self.reader = None;
                continue;
            }
            if self.reader.is_none() {
                let mut file = File::open(self.path(number))?;
                file.seek(SeekFrom::Start(self.read.offset))?;
                self.reader = Some(BufReader::new(file));
            }
            let Some(reader) = &mut self.reader else { return Ok(false) };
            match record::decode(reader) {
                Ok(Next::Record(message, bytes)) => {
                    self.read.offset += bytes;
                    self.ahead.push_back((message, self.read));
                    return Ok(true);
                }
                Err(e) => {
                    self.reader = None;
                    return Err(e);
                }
                // It was whole when the spool was opened, so the disk has lost it since.
                Ok(Next::End | Next::Damaged) => {
                    self.damaged += 1;
                    self.read.offset = length;
                    self.reader = None;
                }
            }
        }
    }

    /// Finds the segments, counts their messages, and cuts off what is no whole record.
    fn scan(&mut self) -> io::Result<()> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                numbers.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
            }
        }
        numbers.sort_unstable();
        for number in numbers {
            let path = self.path(number);
            let file = OpenOptions::new().read(true).write(true).open(&path)?;
            let mut length = 0;
            let mut reader = BufReader::new(&file);
            let whole = loop {
                match record::decode(&mut reader)? {
                    Next::Record(_, bytes) => {
                        length += bytes;
                        let behind = Place { segment: number, offset: length };
                        let passed = self.read.segment > number
                            || (self.read.segment == number && self.read.offset >= behind.offset);
                        self.waiting += u64::from(!passed);
                    }
                    Next::End => break true,
                    Next::Damaged => break false,
                }
            };
            if !whole {
                self.damaged += 1;
                file.set_len(length)?;
            }
            let passed =
                self.read.segment > number || (self.read.segment == number && self.read.offset >= length);
            if passed || length == 0 {
                std::fs::remove_file(&path)?;
            } else {
                self.segments.push_back(Segment { number, length });
            }
        }
        Ok(())
    }
}

fn size(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

/// `segment: u64, offset: u64, crc: u32` of both; anything else means the beginning.
fn read_place(file: &File) -> Place {
    let mut bytes = [0; 20];
    if file.read_exact_at(&mut bytes, 0).is_err() {
        return Place::default();
    }
    let [place, crc] = [&bytes[..16], &bytes[16..]];
    if crc32fast::hash(place).to_le_bytes() != crc {
        return Place::default();
    }
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
    Place { segment: number(&place[..8]), offset: number(&place[8..]) }
}

fn write_place(file: &File, place: Place) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(20);
    bytes.extend(place.segment.to_le_bytes());
    bytes.extend(place.offset.to_le_bytes());
    let crc = crc32fast::hash(&bytes);
    bytes.write_all(&crc.to_le_bytes())?;
    file.write_all_at(&bytes, 0)
}

#[cfg(test)]
mod tests;
