//! Files that are not complete yet.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// What a file that is not complete yet is called behind its name.
pub const UNFINISHED: &str = ".part";

/// Files of one name that are told apart by a number: more within a millisecond are none of ours.
const MOST_ALIKE: usize = 1000;

/// Where a file is until it is complete.
pub fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// The name that an incomplete file gets; none of a file that is complete.
pub fn finished(file: &Path) -> Option<PathBuf> {
    let name = file.as_os_str().as_bytes().strip_suffix(UNFINISHED.as_bytes())?;
    Some(OsStr::from_bytes(name).into())
}

/// Gives a complete file its name, or that with a number where another file has it: the wall clock, after which files are called, may be
/// set back.
///
/// # Errors
/// It cannot be renamed.
pub fn name_free(file: &Path, wanted: &Path) -> io::Result<PathBuf> {
    let mut name = wanted.to_owned();
    for number in 2..MOST_ALIKE {
        match renameat_with(CWD, file, CWD, &name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => name = numbered(wanted, number),
            // Network file systems cannot do it at once.
            Err(Errno::INVAL | Errno::NOSYS) if name.symlink_metadata().is_err() => {
                return std::fs::rename(file, &name).map(|()| name);
            }
            Err(Errno::INVAL | Errno::NOSYS) => name = numbered(wanted, number),
            Err(e) => return Err(e.into()),
        }
    }
    Err(Errno::EXIST.into())
}

fn numbered(wanted: &Path, number: usize) -> PathBuf {
    let stem = wanted.file_stem().unwrap_or_default().to_string_lossy();
    let kind = wanted.extension().unwrap_or_default().to_string_lossy();
    wanted.with_file_name(format!("{stem}-{number}.{kind}"))
}
