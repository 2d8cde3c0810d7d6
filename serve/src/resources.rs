//! What this process has of the system: file descriptors and threads that it still gets, without which GStreamer and GLib abort, so both
//! are checked before GStreamer needs them; and memory.

use std::fs::read_dir;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::log;

/// The most file descriptors to which the limit is raised: a hard limit may be a billion, and some programs close all of them one
/// by one.
const ENOUGH: u64 = 65_536;

/// The most file descriptors that a pipeline takes until its first frame.
const OF_A_PIPELINE: u64 = 32;

/// The most threads that a pipeline takes.
const THREADS: usize = 16;

/// Has threads share the areas of memory that glibc's allocator gives out (arenas), of which it makes eight for each core. A stream that
/// is started again has new threads, and what those before have left in areas of their own is memory that nobody uses. An
/// operator's `MALLOC_ARENA_MAX` counts.
pub fn limit_arenas() {
    #[cfg(target_env = "gnu")]
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let arenas = libc::c_int::try_from(cores.clamp(4, 16)).unwrap_or(4);
        // SAFETY: it takes two numbers, and may be called at any time.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, arenas) };
    }
}

/// Gives the system back what a pipeline that is gone has left free in the allocator's areas, between what others still use.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Raises the limit on file descriptors as far as that is allowed and useful, and logs it.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => log::info(format_args!("file descriptors: at most {wanted}")),
        Err(e) => {
            log::warning(format_args!("the limit on file descriptors cannot be raised to {wanted}: {e}"))
        }
    }
}

/// How many file descriptors this process may have.
pub fn most_descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// How many of `most` file descriptors are kept for HTTP, the state, logs and recordings.
fn reserve(most: u64) -> u64 {
    (most / 8).min(128)
}

/// How many of `most` file descriptors are left.
fn descriptors_left(most: u64) -> u64 {
    match read_dir("/proc/self/fd") {
        // The folder that is being listed has a descriptor as well.
        Ok(open) => most.saturating_sub(u64::try_from(open.count()).unwrap_or(u64::MAX)),
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::MFILE | Errno::NFILE)) => 0,
        // Without /proc that cannot be known.
        Err(_) => u64::MAX,
    }
}

/// Checks that there are enough for another stream's pipeline, besides what HTTP, the state, logs and recordings need.
///
/// # Errors
/// A sentence: what is missing, and what to set.
pub fn for_a_stream() -> Result<(), String> {
    let most = most_descriptors();
    enough_descriptors(descriptors_left(most), most, reserve(most) + OF_A_PIPELINE)?;
    enough_threads(THREADS)
}

/// The same for a small pipeline of a stream that runs, as for a picture or a recording: it may use the reserve.
///
/// # Errors
/// As [`for_a_stream`].
pub fn for_an_output() -> Result<(), String> {
    let most = most_descriptors();
    enough_descriptors(descriptors_left(most), most, reserve(most) / 2)?;
    enough_threads(THREADS / 4)
}

fn enough_descriptors(left: u64, most: u64, needed: u64) -> Result<(), String> {
    if left > needed {
        return Ok(());
    }
    Err(format!(
        "the process has {left} of {most} file descriptors left: expected more than {needed} before another pipeline is started. \
         Set LimitNOFILE= in the service's unit, or ulimit -n"
    ))
}

fn enough_threads(count: usize) -> Result<(), String> {
    threads(count).map_err(|e| {
        format!(
            "the process cannot start {count} more threads, which a pipeline may take: {e}. Set TasksMax= in the service's unit, \
             ulimit -u, or the limit of processes of the container"
        )
    })
}

/// Starts `count` threads, which end as soon as all have started.
fn threads(count: usize) -> io::Result<()> {
    let start = |_| -> io::Result<(Sender<()>, JoinHandle<_>)> {
        let (end, wait) = channel::<()>();
        let thread =
            Builder::new().name("probe".into()).stack_size(64 << 10).spawn(move || wait.recv().err())?;
        Ok((end, thread))
    };
    let started: Vec<_> = (0..count).map(start).collect();
    let mut result = Ok(());
    for one in started {
        match one {
            Ok((end, thread)) => {
                drop(end);
                let _ = thread.join();
            }
            Err(e) => result = Err(e),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_leaves_what_http_and_the_state_need_and_an_output_takes_of_it() {
        let refused = enough_descriptors(160, 1024, reserve(1024) + OF_A_PIPELINE).unwrap_err();
        let begin = "the process has 160 of 1024 file descriptors left: expected more than 160 before";
        assert!(refused.starts_with(begin), "{refused}");
        for (left, most, stream, output) in [
            (161, 1024, true, true),
            (65, 1024, false, true),
            (64, 1024, false, false),
            (65, 256, true, true),
            (0, 0, false, false),
            (u64::MAX, u64::MAX, true, true),
        ] {
            let enough = |needed| enough_descriptors(left, most, needed).is_ok();
            assert_eq!(enough(reserve(most) + OF_A_PIPELINE), stream, "{left} of {most}");
            assert_eq!(enough(reserve(most) / 2), output, "{left} of {most}");
        }
    }

    #[test]
    fn what_is_left_can_be_asked() {
        let most = most_descriptors();
        let left = descriptors_left(most);
        assert!(left > 0 && left < most, "{left} of {most}");
        assert_eq!((for_a_stream(), for_an_output()), (Ok(()), Ok(())));
    }
}
