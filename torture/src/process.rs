//! What a process has: threads, open files, memory, panics.

use std::fs::{read_dir, read_link, read_to_string};
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

/// Threads that libraries keep for later: GStreamer's and GLib's pools, and their main loops.
const KEPT: [&str; 6] = ["pool-", "gmain", "gdbus", "dconf", "typefind", "cuda-Evt"];

/// What may be left over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    threads: Vec<String>,
    files: Vec<String>,
}

impl Holdings {
    /// What this process has now, but for what libraries keep for later.
    pub fn now() -> Self {
        let entries = |folder: &str| read_dir(folder).into_iter().flatten().flatten();
        let name = |path: &Path| read_to_string(path.join("comm")).map(|name| name.trim().to_owned()).ok();
        let mut threads: Vec<String> =
            entries("/proc/self/task").filter_map(|entry| name(&entry.path())).collect();
        threads.retain(|name| !KEPT.iter().any(|kept| name.starts_with(kept)));
        let mut files: Vec<String> = entries("/proc/self/fd")
            .filter_map(|entry| Some(read_link(entry.path()).ok()?.display().to_string()))
            .collect();
        // The numbers of sockets and pipes are other ones each time; the folder that is read is open, too.
        files.iter_mut().for_each(|file| file.truncate(file.find(":[").unwrap_or(file.len())));
        files.retain(|file| !file.starts_with("/proc/"));
        threads.sort();
        files.sort();
        Self { threads, files }
    }

    /// What this has more than another, a thread or file each; nothing where it has no more.
    pub fn beyond(&self, other: &Self) -> Vec<String> {
        [(&self.threads, &other.threads, "thread"), (&self.files, &other.files, "file")]
            .into_iter()
            .flat_map(|(these, others, kind)| {
                let mut others = others.clone();
                these.iter().filter_map(move |one| match others.iter().position(|other| other == one) {
                    Some(place) => {
                        others.remove(place);
                        None
                    }
                    None => Some(format!("{kind} '{one}'")),
                })
            })
            .collect()
    }
}

/// What the allocator has given out and not got back, in KiB.
pub(crate) fn memory_in_use() -> usize {
    // SAFETY: the call takes no argument and only reads the allocator's own counts.
    let counts = unsafe { libc::mallinfo2() };
    (counts.uordblks + counts.hblkhd) / 1024
}

/// What tokio panics with where it has no thread to look up the name of a host: it has no other way, and the task that asked is another one.
const CAUGHT: &str = "OS can't spawn worker thread";

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes panics of all threads from now on.
pub(crate) fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = panic.to_string();
            if !text.contains(CAUGHT) {
                PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
            before(panic);
        }));
    });
}

/// Takes the panics that were noted.
pub(crate) fn take_panics() -> Vec<String> {
    std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// What each thread does in the kernel, for the reader of a hang.
pub(crate) fn threads() -> String {
    let entries = read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read =
        |path: &Path, name: &str| read_to_string(path.join(name)).unwrap_or_default().trim().to_owned();
    let lines = entries.map(|entry| {
        let path = entry.path();
        format!("{}: {} {}\n", read(&path, "comm"), read(&path, "wchan"), read(&path, "syscall"))
    });
    lines.collect()
}
