//! A segment of a spool: a file of numbered records.

use std::io;

use cudainfer_files::Access;

use super::disk::Disk;

/// Bytes of a segment that are read; what is longer, this program has not written.
pub(super) const LONGEST_SEGMENT: u64 = 1 << 30;
pub(super) const EXTENSION: &str = ".spool";
/// Files with greater numbers are none of a spool, which will never have as many.
pub(super) const LAST_NUMBER: u64 = u64::MAX / 2;

/// A segment that has messages.
#[derive(Debug)]
pub(super) struct Segment {
    pub number: u64,
    /// Bytes up to the end of the last record.
    pub length: u64,
    /// Messages that have not been read ahead.
    pub unread: u64,
}

impl Segment {
    /// What the segment has from `offset` on: less where the disk has lost it since it was written.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_from(&self, disk: &dyn Disk, offset: u64) -> io::Result<Vec<u8>> {
        match disk.file(&name(self.number), Access::Read) {
            Ok(file) => file.read(offset, self.length.saturating_sub(offset)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

/// What a segment's file is called.
pub(super) fn name(number: u64) -> String {
    format!("{number:020}{EXTENSION}")
}

/// The number of a segment's file; none, if it is called otherwise.
pub(super) fn number(called: &str) -> Option<u64> {
    called
        .strip_suffix(EXTENSION)?
        .parse()
        .ok()
        .filter(|number| *number < LAST_NUMBER && name(*number) == called)
}

/// A number of bytes, as files count them.
pub(super) fn size(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}
