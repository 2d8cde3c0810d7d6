//! Opening files that a user names. Only regular files are opened: a FIFO would block its reader forever, and a device may
//! never end. Links to regular files are followed, because model stores consist of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Bytes that a text may have: labels, a sidecar, zones. The largest vocabularies of labels have some hundred kB.
pub const LARGEST_TEXT: u64 = 1_000_000;

/// Opens a regular file to read it; never waits for anybody who would write it.
///
/// # Errors
/// It cannot be opened, or is something else, which the error names.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::empty())
}

/// As [`open`], and the file itself must not be a link.
///
/// # Errors
/// As those of [`open`].
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return Err(irregular("a link"));
    }
    open_with(path, OFlags::NOFOLLOW)
}

fn open_with(path: &Path, more: OFlags) -> io::Result<File> {
    // Checked before it is opened, because merely opening some devices has effects.
    check(&std::fs::metadata(path)?)?;
    // Another file may have taken its place by now: with this flag opening a FIFO does not wait, and the open file is checked.
    // Miri has no such flags.
    let flags = if cfg!(miri) { OFlags::empty() } else { OFlags::NONBLOCK | OFlags::NOCTTY | more };
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

pub(crate) fn check(metadata: &std::fs::Metadata) -> io::Result<()> {
    let ty = metadata.file_type();
    if ty.is_file() {
        return Ok(());
    }
    Err(irregular(match () {
        () if ty.is_dir() => "a directory",
        () if ty.is_fifo() => "a FIFO",
        () if ty.is_socket() => "a socket",
        () => "a device",
    }))
}

pub(crate) fn irregular(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and only regular files are read"))
}

/// Reads a text of at most [`LARGEST_TEXT`] bytes.
///
/// # Errors
/// Those of [`open`]; it is larger, or not UTF-8.
pub fn text(path: &Path) -> io::Result<String> {
    read(open(path)?)
}

/// As [`text`], and the file itself must not be a link.
///
/// # Errors
/// Those of [`text`] and [`open_unlinked`].
pub fn text_unlinked(path: &Path) -> io::Result<String> {
    read(open_unlinked(path)?)
}

/// Editors on Windows write this before the first character.
const BYTE_ORDER_MARK: char = '\u{feff}';

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    // A file may grow while it is read, and those of /proc seem empty.
    let read = file.take(LARGEST_TEXT + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= LARGEST_TEXT) {
        if text.starts_with(BYTE_ORDER_MARK) {
            text.remove(0);
        }
        return Ok(text);
    }
    Err(io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("it is larger than 1 MB ({LARGEST_TEXT} bytes), which no such text needs"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_and_whatever_else_lies_there_is_named_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("text"), "all of it").unwrap();
        std::os::unix::fs::symlink(path("text"), path("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("zero")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert_eq!(text(&path("text")).unwrap(), "all of it");
        assert_eq!(text(&path("link")).unwrap(), "all of it");
        assert_eq!(text_unlinked(&path("text")).unwrap(), "all of it");
        let error = |read: io::Result<String>| read.unwrap_err().to_string();
        assert!(error(text_unlinked(&path("link"))).contains("a link"));
        assert!(error(text(&path("zero"))).contains("a device"));
        assert!(error(text(&path("fifo"))).contains("a FIFO"));
        assert!(error(text(folder.path())).contains("a directory"));
        assert_eq!(text(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_text_may_have_a_megabyte_and_no_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let most = usize::try_from(LARGEST_TEXT).unwrap();
        std::fs::write(file.path(), vec![b'a'; most]).unwrap();
        assert_eq!(text(file.path()).unwrap().len(), most);
        std::fs::write(file.path(), vec![b'a'; most + 1]).unwrap();
        assert!(text(file.path()).unwrap_err().to_string().contains("1 MB"));
        std::fs::write(file.path(), [0xfc]).unwrap();
        assert!(text(file.path()).unwrap_err().to_string().contains("UTF-8"));
    }
}
