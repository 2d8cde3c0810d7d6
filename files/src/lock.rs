//! Which process has a folder.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// How long to wait before a lock that another holder has is tried again.
const AGAIN: Duration = Duration::from_millis(10);
/// Bytes that are read of the holder's description.
const LONGEST: u64 = 64;

/// A folder that this process alone works in, until this is dropped or the process ends, however that happens.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a folder is not locked; a sentence's end.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The holder: `another process or element`, or its name.
    #[error("it is in use by {0}")]
    Held(String),
    /// The lock's file cannot be used.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Lock {
    /// Locks `file`, and writes into it which process has it. Waits for at most `most` where another holder has it.
    pub(crate) fn take(mut file: File, most: Duration) -> Result<Self, LockError> {
        let until = Instant::now() + most;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder(&mut file))),
                Err(TryLockError::Error(e)) => return Err(e.into()),
            }
        }
        let name = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
        // Others read the text; the lock holds without it.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{} {}", std::process::id(), name.trim()));
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let _ = file.take(LONGEST).read_to_string(&mut text);
    let known = text.trim().split_once(' ').filter(|(id, _)| id.parse::<u32>().is_ok());
    match known {
        Some((id, _)) if *id == std::process::id().to_string() => "another part of this process".to_owned(),
        Some((id, name)) => format!("process {id} ({})", name.escape_default()),
        None => "another process".to_owned(),
    }
}
