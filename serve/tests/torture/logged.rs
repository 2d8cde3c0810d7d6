//! The log of the service, which is the standard error.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, OnceLock};

use cudainfer_tests::scratch;

/// The file that is the standard error now, and how much of it has been read.
static LOG: OnceLock<(File, Mutex<u64>)> = OnceLock::new();

/// The lines that are new since the last call. The first one makes the standard error a file.
pub fn new_lines() -> Vec<String> {
    let (file, read) = LOG.get_or_init(|| {
        let path = scratch("torture-log").join("log");
        let file = File::options().read(true).append(true).create(true).open(path).unwrap();
        rustix::stdio::dup2_stderr(&file).unwrap();
        (file, Mutex::new(0))
    });
    let mut read = read.lock().unwrap();
    let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().len() - *read).unwrap()];
    file.read_exact_at(&mut bytes, *read).unwrap();
    *read += bytes.len() as u64;
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}
