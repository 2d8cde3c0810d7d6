//! The folder that a spool lies in: files that are read, written and flushed. The simulation has one that is full, fails and loses
//! power.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use cudainfer_files::{Access, Folder};

/// A folder that nobody else writes in.
pub(crate) trait Disk: Debug + Send + Sync {
    /// The names of its files.
    fn names(&self) -> io::Result<Vec<String>>;
    fn file(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Waits until a power cut does not undo which files there are.
    fn sync(&self) -> io::Result<()>;
}

/// An open file.
pub(crate) trait DiskFile: Debug + Send + Sync {
    /// At most `most` bytes from `offset` on; fewer only where the file ends.
    fn read(&self, offset: u64, most: u64) -> io::Result<Vec<u8>>;
    /// Where this fails, some of the bytes may have been written.
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Waits until a power cut does not undo what was written.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        Folder::names(self)
    }

    fn file(&self, name: &str, access: Access) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(Folder::file(self, name, access)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Folder::rename(self, from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Folder::remove(self, name)
    }

    fn sync(&self) -> io::Result<()> {
        Folder::sync(self)
    }
}

impl DiskFile for File {
    fn read(&self, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        At { file: self, offset }.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        File::set_len(self, length)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Reads a file from a place on, and leaves the place that others share alone.
struct At<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for At<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.offset)?;
        self.offset = self.offset.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}
