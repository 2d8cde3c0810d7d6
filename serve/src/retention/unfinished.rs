//! Files that are not complete yet.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// The ending that follows the name of a file that is not complete yet.
pub const UNFINISHED: &str = ".part";

/// The most files of one name, distinguished by a number: this service does not write more within a millisecond.
const MOST_ALIKE: usize = 1000;

/// The path of a file until it is complete.
pub fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// What follows the name of a file in that of a text about it, which is there until the file is complete.
pub const ABOUT: &str = ".about";

/// The path of the text about a file that is not complete yet, which is removed when the file is.
pub fn about(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ABOUT);
    unfinished(Path::new(&name))
}

/// The path that an incomplete file gets when it is complete; `None` if the file is complete.
pub fn finished(file: &Path) -> Option<PathBuf> {
    let name = file.as_os_str().as_bytes().strip_suffix(UNFINISHED.as_bytes())?;
    Some(OsStr::from_bytes(name).into())
}

/// Gives a complete file its name, with a number if another file has that name: names are times of the wall clock, which may be
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
            // Network file systems cannot rename and refuse an existing name in one step.
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
