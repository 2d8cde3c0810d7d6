//! A FIFO, a device or the standard output, which may be busy for a while and has no place to go back to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use cudainfer_brokers::{CALL_LIMIT, Message};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

/// That many bytes never block when `poll` has said that there is room: `PIPE_BUF`.
const ATOMIC: usize = 4096;
/// Parts of a write; the system allows 1024.
const MOST_SLICES: usize = 256;

/// Where lines are written.
#[derive(Debug)]
pub(super) struct Stream {
    file: File,
    /// Whether it can be full for a while: anything but a regular file.
    waits: bool,
    /// Bytes that one call may write without blocking.
    most_bytes: usize,
    /// Bytes of the first record that is not accepted yet that have been written, the newline included.
    begun: usize,
    /// The last line was cut off, and the next begins with a newline.
    cut: bool,
}

impl Stream {
    /// The standard output.
    ///
    /// # Errors
    /// It is closed.
    pub fn stdout() -> io::Result<Self> {
        // A descriptor of our own, which is closed. It shares its flags with the process's, so it is left blocking.
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Self::of(file, ATOMIC)
    }

    /// A FIFO or device; none, where a FIFO has no reader yet.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        match open_file(path) {
            // Without a reader a FIFO is not opened for writing; the same error of a socket is for good.
            Err(e)
                if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
                    && path.metadata()?.file_type().is_fifo() =>
            {
                Ok(None)
            }
            file => Self::of(file?, usize::MAX).map(Some),
        }
    }

    fn of(file: File, most_bytes: usize) -> io::Result<Self> {
        Ok(Self { waits: !file.metadata()?.is_file(), file, most_bytes, begun: 0, cut: false })
    }

    /// Writes what there is room for. Returns how many records are whole.
    ///
    /// # Errors
    /// Why it cannot be written. A record that was begun is given up.
    pub fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<usize> {
        if self.waits && !has_room(&self.file)? {
            return Ok(0);
        }
        if self.cut {
            self.file.write_all(b"\n")?;
            self.cut = false;
        }
        match self.file.write_vectored(&slices(messages, self.begun, self.most_bytes)) {
            Ok(0) if !messages.is_empty() => Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                let (accepted, begun) = progress(messages, self.begun + written);
                self.begun = begun;
                Ok(accepted)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(e) => {
                self.cut = self.begun > 0;
                self.begun = 0;
                Err(e)
            }
        }
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    // Does not wait for a FIFO's reader, and has no effect on regular files.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    OpenOptions::new().write(true).custom_flags(flags).open(path)
}

/// Whether there is room now, or is soon. A reader that is gone is found out by writing.
fn has_room(file: &File) -> io::Result<bool> {
    let limit = Timespec::try_from(CALL_LIMIT).ok();
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], limit.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// The records and their newlines after the first `begun` bytes, at most `most_bytes`.
fn slices(messages: &[Arc<Message>], begun: usize, most_bytes: usize) -> Vec<IoSlice<'_>> {
    let (mut skip, mut room) = (begun, most_bytes);
    let mut slices = Vec::new();
    for part in messages.iter().flat_map(|message| [message.payload.as_slice(), b"\n"]) {
        let rest = part.get(skip..).unwrap_or_default();
        skip -= skip.min(part.len());
        let rest = rest.get(..room.min(rest.len())).unwrap_or_default();
        room -= rest.len();
        if !rest.is_empty() {
            slices.push(IoSlice::new(rest));
        }
        if room == 0 || slices.len() == MOST_SLICES {
            break;
        }
    }
    slices
}

/// How many records have been written as a whole when `bytes` have been, and how many bytes of the next.
fn progress(messages: &[Arc<Message>], mut bytes: usize) -> (usize, usize) {
    let whole = messages.iter().take_while(|message| {
        let length = message.payload.len();
        let fits = bytes > length;
        bytes -= if fits { length + 1 } else { 0 };
        fits
    });
    (whole.count(), bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::records;
    use super::*;

    #[test]
    fn what_is_left_of_a_write_begins_where_it_ended() {
        let all = records(&["abc", "", "de"]);
        let text = b"abc\n\nde\n";
        for done in 0..=text.len() {
            let (accepted, begun) = progress(&all, done);
            let newlines = text[..done].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(accepted, newlines, "{done}");
            for most in [1, 3, 100] {
                let rest: Vec<u8> =
                    slices(&all[accepted..], begun, most).iter().flat_map(|s| s.to_vec()).collect();
                assert_eq!(rest, text[done..(done + most).min(text.len())], "{done}, {most}");
            }
        }
    }
}
