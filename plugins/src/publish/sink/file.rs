//! A file, a FIFO or the standard output, with one line for each record.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::{CALL_LIMIT_MS, Sink};
use crate::publish::Message;

/// The location that means the standard output.
pub(crate) const STDOUT: &str = "-";
/// The same, as a path. Opened by this path, a file would be cut off under others that write to it, and a socket refuses.
const STDOUT_PATH: &str = "/dev/stdout";
/// So many bytes never block when `poll` has said that there is room: `PIPE_BUF`.
const ATOMIC: usize = 4096;
/// Parts of a write; the system allows 1024.
const MOST_SLICES: usize = 256;

/// Writes lines to a file, which is emptied when it is opened.
#[derive(Debug)]
pub(crate) struct FileSink {
    location: PathBuf,
    target: Option<Target>,
    /// Bytes of the first record that is not accepted yet that have been written, the newline included.
    begun: usize,
}

#[derive(Debug)]
struct Target {
    file: File,
    /// Whether it can be full for a while: anything but a regular file.
    waits: bool,
    /// Bytes that one call may write without blocking.
    most_bytes: usize,
}

impl FileSink {
    pub fn new(location: &Path) -> Self {
        Self { location: location.to_owned(), target: None, begun: 0 }
    }
}

impl Sink for FileSink {
    fn open(&mut self) -> io::Result<bool> {
        let target = if [STDOUT, STDOUT_PATH].iter().any(|name| self.location == Path::new(name)) {
            // A descriptor of our own, which is closed. It shares its flags with the process's, so it is left blocking.
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            Target { waits: !file.metadata()?.is_file(), file, most_bytes: ATOMIC }
        } else {
            let file = match open_file(&self.location) {
                // Without a reader a FIFO is not opened for writing; the same error of a socket is for good.
                Err(e)
                    if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
                        && self.location.metadata()?.file_type().is_fifo() =>
                {
                    return Ok(false);
                }
                file => file?,
            };
            Target { waits: !file.metadata()?.is_file(), file, most_bytes: usize::MAX }
        };
        self.target = Some(target);
        self.begun = 0;
        Ok(true)
    }

    fn write(&mut self, messages: &[Message]) -> io::Result<usize> {
        let Some(Target { file, waits, most_bytes }) = &mut self.target else { return Ok(0) };
        if *waits && !has_room(file)? {
            return Ok(0);
        }
        match file.write_vectored(&slices(messages, self.begun, *most_bytes)) {
            Ok(0) if !messages.is_empty() => Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                let (accepted, begun) = progress(messages, self.begun + written);
                self.begun = begun;
                Ok(accepted)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(e) => Err(e),
        }
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    // Does not wait for a FIFO's reader, and has no effect on regular files.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)
}

/// Whether there is room now, or is soon. A reader that is gone is found out by writing.
fn has_room(file: &File) -> io::Result<bool> {
    let limit = Timespec { tv_sec: 0, tv_nsec: CALL_LIMIT_MS * 1_000_000 };
    match poll(&mut [PollFd::new(file, PollFlags::OUT)], Some(&limit)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// The records and their newlines behind the first `begun` bytes, at most `most_bytes`.
fn slices(messages: &[Message], begun: usize, most_bytes: usize) -> Vec<IoSlice<'_>> {
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
fn progress(messages: &[Message], mut bytes: usize) -> (usize, usize) {
    let whole = messages.iter().take_while(|Message { payload, .. }| {
        let fits = bytes > payload.len();
        bytes -= if fits { payload.len() + 1 } else { 0 };
        fits
    });
    (whole.count(), bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("cudainfer-sink-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn fifo(name: &str) -> PathBuf {
        let path = scratch(name);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        path
    }

    fn message(payload: Vec<u8>) -> Message {
        Message { topic: String::new(), id: String::new(), payload }
    }

    fn messages(of: &[&str]) -> Vec<Message> {
        of.iter().map(|text| message(text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_is_left_of_a_write_begins_where_it_ended() {
        let all = messages(&["abc", "", "de"]);
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

    #[test]
    fn a_file_is_written_anew_a_record_a_line() {
        let path = scratch("anew");
        std::fs::write(&path, "what was there before, which is longer").unwrap();
        let mut sink = FileSink::new(&path);
        assert!(sink.open().unwrap());
        assert_eq!(sink.write(&messages(&["one", "two"])).unwrap(), 2);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n", "at once, without a flush");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_fifo_is_opened_when_its_reader_is_there_and_never_blocks() {
        let path = fifo("reader");
        let mut sink = FileSink::new(&path);
        assert!(!sink.open().unwrap(), "there is no reader");
        let nonblock = OFlags::NONBLOCK.bits() as i32;
        let mut reader = OpenOptions::new().read(true).custom_flags(nonblock).open(&path).unwrap();
        assert!(sink.open().unwrap());
        // More than a pipe holds, in records of which none fits as a whole at the end.
        let all: Vec<_> = (0..40u8).map(|i| message(vec![b'a' + i % 26; 5000])).collect();
        let (mut accepted, mut read) = (0, Vec::new());
        let mut full = false;
        while accepted < all.len() {
            let now = sink.write(&all[accepted..]).unwrap();
            accepted += now;
            if now == 0 {
                full = true;
                let mut some = vec![0; 60_000];
                let n = reader.read(&mut some).unwrap();
                read.extend_from_slice(&some[..n]);
            }
        }
        assert!(full, "the pipe held it all, which proves nothing");
        drop(sink);
        reader.read_to_end(&mut read).unwrap();
        let lines: Vec<&[u8]> = read.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, all.iter().map(|message| message.payload.as_slice()).collect::<Vec<_>>());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        assert!(FileSink::new(Path::new("/nowhere/out.jsonl")).open().is_err());
        assert!(FileSink::new(&std::env::temp_dir()).open().is_err());
        let mut full = FileSink::new(Path::new("/dev/full"));
        assert!(full.open().unwrap());
        assert_eq!(full.write(&messages(&["one"])).unwrap_err().kind(), ErrorKind::StorageFull);
        let path = fifo("gone");
        let nonblock = OFlags::NONBLOCK.bits() as i32;
        let reader = OpenOptions::new().read(true).custom_flags(nonblock).open(&path).unwrap();
        let mut sink = FileSink::new(&path);
        assert!(sink.open().unwrap());
        drop(reader);
        assert_eq!(sink.write(&messages(&["one"])).unwrap_err().kind(), ErrorKind::BrokenPipe);
        std::fs::remove_file(path).unwrap();
    }
}
