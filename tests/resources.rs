//! What a test's process holds: memory, threads, open files.

/// What this process holds.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// Memory in use in KiB, by [`memory`].
    pub memory: usize,
    /// Threads.
    pub threads: usize,
    /// Open files.
    pub files: usize,
}

impl Resources {
    /// What it holds now.
    pub fn now() -> Self {
        Self { memory: memory(), threads: entries("/proc/self/task"), files: entries("/proc/self/fd") }
    }
}

/// Memory in use, in KiB: what the allocator has given out and not got back. Resident memory is no measure of a leak: what
/// the allocator keeps of what it got back, in an arena for each thread, goes up and down by megabytes.
pub fn memory() -> usize {
    // SAFETY: the call takes no argument and only reads the allocator's own counts.
    let counts = unsafe { libc::mallinfo2() };
    (counts.uordblks + counts.hblkhd) / 1024
}

/// How many entries a folder has: threads in /proc/self/task, open files in /proc/self/fd.
pub fn entries(folder: &str) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}
