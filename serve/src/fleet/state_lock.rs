//! Taking the folder `state` for this service alone.

use std::path::Path;
use std::time::Duration;

use cudainfer_files::{Folder, Lock, LockError, Readers};

use crate::log;

/// How long a service that starts waits for the lock of an earlier one, which may still be ending its streams.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Locks the folder, and removes what killed services have left in it.
///
/// # Errors
/// A sentence: another service has it, or the folder cannot be used.
pub(super) fn lock_state(state: &Path) -> Result<Lock, String> {
    let folder = Folder::open(state, Readers::Umask).map_err(|e| unusable(state, &e))?;
    let lock = folder.lock(LOCK_WAIT).map_err(|e| match e {
        LockError::Held(holder) => format!(
            "the folder '{}' is in use by {holder}. Each service needs a folder of its own: set state in [server]",
            state.display()
        ),
        LockError::Io(e) => unusable(state, &e),
    })?;
    match sweep(&folder) {
        Ok(0) => (),
        Ok(count) => log::info(format_args!(
            "files that were being written when a service was killed: {count} removed"
        )),
        Err(e) => log::warning(unusable(state, &e)),
    }
    Ok(lock)
}

/// Removes unfinished files of services that were killed: no other process writes here. Returns how many files.
fn sweep(folder: &Folder) -> std::io::Result<usize> {
    let swept = folder.sweep(Duration::ZERO)?;
    let left = folder.names()?.into_iter().filter(|name| is_of_before(name));
    Ok(swept + left.filter(|name| folder.remove(name).is_ok()).count())
}

/// Whether a name is one that earlier versions gave to unfinished files, by the crate tempfile.
fn is_of_before(name: &str) -> bool {
    name.strip_prefix(".tmp")
        .is_some_and(|end| end.len() == 6 && end.bytes().all(|c| c.is_ascii_alphanumeric()))
}

fn unusable(state: &Path, why: &std::io::Error) -> String {
    format!("the folder '{}' (state in [server]) cannot be used: {why}", state.display())
}
