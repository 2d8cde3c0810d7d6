//! A regular file, of which every record is whole but one that a kill cuts off. Nobody else of this kind writes it meanwhile.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cudainfer_brokers::Message;
use rustix::fs::OFlags;

use super::layout::Layout;
use super::options::{FileCounts, FileOptions};
use super::rotation::{Limits, Rotation};

/// Records that were written before it failed, from the first, and why it failed.
pub(super) struct Failure {
    pub written: usize,
    pub error: io::Error,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { written: 0, error }
    }
}

/// A file that is written.
#[derive(Debug)]
pub(super) struct RegularFile {
    location: PathBuf,
    file: File,
    layout: Layout,
    limits: Limits,
    rotation: Option<Rotation>,
    /// Bytes of the records that are whole. What the layout puts after the last one follows them.
    size: u64,
    /// There are no records.
    empty: bool,
    /// It has its number, but the next one is not there yet.
    renamed: bool,
    begun: Instant,
    /// It had been cut in the middle of a line.
    pub torn: bool,
}

impl RegularFile {
    /// Opens or makes it.
    ///
    /// # Errors
    /// It cannot be opened or read, or there is no room for its first bytes.
    pub fn open(location: &Path, options: &FileOptions) -> io::Result<Self> {
        let FileOptions { append, limits, layout, .. } = *options;
        let file = open(location, append)?;
        let mut size = if append { file.metadata()?.len() } else { 0 };
        let mut torn = false;
        if let Some(last) = size.checked_sub(1) {
            let mut byte = [0];
            file.read_exact_at(&mut byte, last)?;
            torn = byte != *b"\n";
        }
        if torn {
            file.write_all_at(b"\n", size)?;
            size += 1;
        }
        let rotation = limits.any().then(|| Rotation::of(location)).transpose()?;
        let mut file = Self {
            location: location.to_owned(),
            file,
            layout,
            limits,
            rotation,
            empty: size == 0,
            renamed: false,
            size,
            begun: Instant::now(),
            torn,
        };
        file.begin()?;
        Ok(file)
    }

    /// Writes what the layout has in a file without records.
    fn begin(&mut self) -> io::Result<()> {
        if self.empty {
            let text = [self.layout.head(), self.layout.tail()].concat();
            self.file.write_all_at(&text, 0)?;
            self.size = length(self.layout.head());
        }
        Ok(())
    }

    /// Writes as many records as go into one file, at least one. Returns how many.
    ///
    /// # Errors
    /// Why no more can be written, and how many were. What was written of the next is removed.
    pub fn write(&mut self, messages: &[Arc<Message>], counts: &FileCounts) -> Result<usize, Failure> {
        let more = messages.first().map_or(0, |message| self.bytes(message));
        if !self.empty && self.limits.exceeded(self.size, more, self.begun.elapsed()) {
            self.rotate(counts)?;
        }
        // Where in the text the records end.
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        for message in messages {
            let size = self.size + length(&text);
            if !ends.is_empty() && self.limits.size > 0 && size + self.bytes(message) > self.limits.size {
                break;
            }
            text.extend(self.layout.before(self.empty && ends.is_empty()));
            text.extend(&message.payload);
            text.extend(self.layout.after());
            ends.push(text.len());
        }
        text.extend(self.layout.tail());
        let (mut written, result) = self.write_text(&text);
        if result.is_err() && self.layout == Layout::Array {
            // The records lack what closes the array: only what was there before is valid.
            written = 0;
        }
        let whole = ends.iter().take_while(|end| **end <= written).count();
        if let Some(end) = whole.checked_sub(1).and_then(|last| ends.get(last)) {
            self.size += u64::try_from(*end).unwrap_or(u64::MAX);
            self.empty = false;
        }
        if let Err(error) = result {
            self.mend();
            return Err(Failure { written: whole, error });
        }
        Ok(whole)
    }

    /// Bytes of a record with what stands around it.
    fn bytes(&self, message: &Message) -> u64 {
        length(self.layout.before(false)) + length(&message.payload) + length(self.layout.after())
    }

    /// Writes after the records that are whole. Returns how many bytes it has written.
    fn write_text(&self, text: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while let Some(rest) = text.get(written..).filter(|rest| !rest.is_empty()) {
            let at = self.size + u64::try_from(written).unwrap_or(u64::MAX);
            match self.file.write_at(rest, at) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => (),
                Err(e) => return (written, Err(e)),
            }
        }
        (written, Ok(()))
    }

    /// Removes what was written of a record that is not whole.
    fn mend(&self) {
        // That there is less in a file needs no room, and what closes it lies where there was something already. If it fails all
        // the same, the next record is written over it.
        let _ = self.file.set_len(self.size);
        let _ = self.file.write_all_at(self.layout.tail(), self.size);
    }

    /// Goes on in a new file of the same name.
    fn rotate(&mut self, counts: &FileCounts) -> io::Result<()> {
        let Some(rotation) = &mut self.rotation else { return Ok(()) };
        if !self.renamed {
            rotation.rotate(self.limits.files)?;
            counts.rotated.add(1);
            self.renamed = true;
        }
        self.file = open(&self.location, false)?;
        (self.size, self.empty, self.renamed, self.begun) = (0, true, false, Instant::now());
        self.begin()
    }
}

/// Opens or makes a regular file, and empties it unless records are appended. The user's own links are followed.
fn open(location: &Path, append: bool) -> io::Result<File> {
    // A FIFO may lie there by now, whose reader is not waited for.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut options = OpenOptions::new();
    let file = options.read(append).write(true).create(true).custom_flags(flags).open(location)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file any more"));
    }
    // Two that write at places of their own would write over each other's records. Some network folders have no locks.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        let why = "another inferpublish writes it already: give each a location of its own";
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
    }
    if !append {
        file.set_len(0)?;
    }
    Ok(file)
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
