//! Calls of the system: the kernel asks before it makes them.
//!
//! A thread that has installed the filter, and all threads and programs that it starts, stop at each of these calls until the
//! supervisor, a thread without the filter, has answered: make it, or fail with an error (seccomp_unotify(2), Linux 5.5). What cannot
//! be seen by defining functions of the C library again is seen so, too: rustix makes its calls itself, and SQLite is linked.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_long, seccomp_data, seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

use crate::seam::{Answer, Seam, answer, watched};

/// How a call says what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// The path in this argument, from the working folder.
    #[cfg(target_arch = "x86_64")]
    Path(usize),
    /// The path in the argument after this one, which is a folder's descriptor.
    PathAt(usize),
    /// The file of this descriptor, or a socket that is written to.
    File(usize),
    /// The socket of this descriptor, which is connected.
    Connected,
    /// None: every call of this kind is meant.
    Any,
    /// The family of the socket that is made.
    Family,
}

/// The calls that are asked about.
const CALLS: &[(c_long, &str, Seam, Subject)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, "open", Seam::Open, Subject::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, "creat", Seam::Open, Subject::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", Seam::Rename, Subject::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link", Seam::Rename, Subject::Path(1)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", Seam::Remove, Subject::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir", Seam::Remove, Subject::Path(0)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir", Seam::Folder, Subject::Path(0)),
    (libc::SYS_openat, "openat", Seam::Open, Subject::PathAt(0)),
    (libc::SYS_openat2, "openat2", Seam::Open, Subject::PathAt(0)),
    (libc::SYS_renameat, "renameat", Seam::Rename, Subject::PathAt(2)),
    (libc::SYS_renameat2, "renameat2", Seam::Rename, Subject::PathAt(2)),
    (libc::SYS_linkat, "linkat", Seam::Rename, Subject::PathAt(2)),
    (libc::SYS_unlinkat, "unlinkat", Seam::Remove, Subject::PathAt(0)),
    (libc::SYS_mkdirat, "mkdirat", Seam::Folder, Subject::PathAt(0)),
    (libc::SYS_write, "write", Seam::Write, Subject::File(0)),
    (libc::SYS_pwrite64, "pwrite64", Seam::Write, Subject::File(0)),
    (libc::SYS_writev, "writev", Seam::Write, Subject::File(0)),
    (libc::SYS_pwritev, "pwritev", Seam::Write, Subject::File(0)),
    (libc::SYS_ftruncate, "ftruncate", Seam::Write, Subject::File(0)),
    (libc::SYS_fallocate, "fallocate", Seam::Write, Subject::File(0)),
    (libc::SYS_sendto, "sendto", Seam::Send, Subject::File(0)),
    (libc::SYS_sendmsg, "sendmsg", Seam::Send, Subject::File(0)),
    (libc::SYS_fsync, "fsync", Seam::Sync, Subject::File(0)),
    (libc::SYS_fdatasync, "fdatasync", Seam::Sync, Subject::File(0)),
    (libc::SYS_socket, "socket", Seam::Socket, Subject::Family),
    (libc::SYS_connect, "connect", Seam::Connect, Subject::Connected),
    (libc::SYS_accept4, "accept4", Seam::Accept, Subject::Any),
];

/// Codes of the filter's instructions: load a word, compare and jump, return.
const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Has this thread, and what it starts from now on, ask before it makes a call. Returns where it asks.
///
/// # Errors
/// The kernel is too old, or a container forbids it.
pub(crate) fn install_filter() -> io::Result<OwnedFd> {
    let instruction = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    let number = u32::try_from(offset_of!(seccomp_data, nr)).map_err(io::Error::other)?;
    let mut filter = vec![instruction(LOAD, 0, number)];
    for (place, (call, ..)) in CALLS.iter().enumerate() {
        let over = u8::try_from(CALLS.len() - place).map_err(io::Error::other)?;
        filter.push(instruction(JUMP_IF_EQUAL, over, u32::try_from(*call).map_err(io::Error::other)?));
    }
    filter.push(instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    filter.push(instruction(RETURN, 0, libc::SECCOMP_RET_USER_NOTIF));
    let length = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the call takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (mode, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
    // SAFETY: the program lives during the call, and is as long as it says.
    let listener = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
    let listener = i32::try_from(listener).map_err(io::Error::other)?;
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// Answers until nobody can ask any more. The thread must not have the filter.
pub(crate) fn supervise(listener: &OwnedFd) {
    loop {
        // SAFETY: numbers only, which the kernel wants to be 0.
        let mut asked: seccomp_notif = unsafe { zeroed() };
        // SAFETY: the descriptor is a listener's, and the kernel writes what the type says.
        if unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) } != 0 {
            match io::Error::last_os_error().raw_os_error() {
                // The thread that asked has ended.
                Some(libc::EINTR | libc::ENOENT) => continue,
                _ => return,
            }
        }
        let (val, error, flags) = match decide(&asked) {
            Answer::Real => (0, 0, u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1)),
            Answer::Error(error) => (0, -error, 0),
            Answer::Half => (half(&asked), 0, 0),
        };
        let response = seccomp_notif_resp { id: asked.id, val, error, flags };
        // SAFETY: as above; the kernel reads what the type says. It fails where the thread has ended meanwhile.
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
    }
}

fn decide(asked: &seccomp_notif) -> Answer {
    let call = c_long::from(asked.data.nr);
    let Some((_, name, seam, subject)) = CALLS.iter().find(|(number, ..)| *number == call) else {
        return Answer::Real;
    };
    let argument = |place: usize| asked.data.args.get(place).copied().unwrap_or(0);
    let (seam, what) = match subject {
        #[cfg(target_arch = "x86_64")]
        Subject::Path(place) => (*seam, path(asked.pid, libc::AT_FDCWD, argument(*place))),
        Subject::PathAt(place) => (*seam, path(asked.pid, descriptor(argument(*place)), argument(place + 1))),
        Subject::File(place) => {
            let file = file(asked.pid, descriptor(argument(*place)));
            if file.as_ref().is_some_and(|file| connected().contains(file)) {
                return answer(Seam::Send, || (*name).to_owned());
            }
            (*seam, file)
        }
        Subject::Family => {
            let family = descriptor(argument(0));
            if ![libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].contains(&family) {
                return Answer::Real;
            }
            return answer(*seam, || (*name).to_owned());
        }
        Subject::Connected => {
            connected().extend(file(asked.pid, descriptor(argument(0))));
            return answer(*seam, || (*name).to_owned());
        }
        Subject::Any => return answer(*seam, || (*name).to_owned()),
    };
    what.and_then(|path| watched(&path))
        .map_or(Answer::Real, |path| answer(seam, || format!("{name} {path}")))
}

/// The sockets that have been connected, as the names of their descriptors: libraries have others, by which they wake their threads.
fn connected() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static CONNECTED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    CONNECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An argument that is an int.
fn descriptor(argument: u64) -> i32 {
    u32::try_from(argument & u64::from(u32::MAX)).unwrap_or(0).cast_signed()
}

/// The path of a file that a thread has open.
fn file(thread: u32, descriptor: i32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()
}

/// The path that a thread names at an address in its memory, from a folder on.
fn path(thread: u32, folder: i32, address: u64) -> Option<PathBuf> {
    let memory = std::fs::File::open(format!("/proc/{thread}/mem")).ok()?;
    let mut bytes = vec![0; 4096];
    let length = memory.read_at(&mut bytes, address).ok()?;
    bytes.truncate(length);
    let end = bytes.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    let named = PathBuf::from(OsString::from_vec(bytes));
    if named.is_absolute() {
        return Some(named);
    }
    let from = if folder == libc::AT_FDCWD {
        std::fs::read_link(format!("/proc/{thread}/cwd")).ok()?
    } else {
        file(thread, folder)?
    };
    Some(from.join(named))
}

/// Makes half of a write in the place of the thread that asks, which is one of this process. Returns how many bytes are written.
fn half(asked: &seccomp_notif) -> i64 {
    let [file, bytes, count, offset, ..] = asked.data.args;
    let own = Path::new(&format!("/proc/self/task/{}", asked.pid)).exists();
    let (Ok(bytes), Ok(count)) = (usize::try_from(bytes), usize::try_from(count)) else { return 0 };
    let (count, bytes) = (count.div_ceil(2), std::ptr::with_exposed_provenance(bytes));
    let written = match c_long::from(asked.data.nr) {
        // SAFETY: the thread waits for this with these very arguments, which it would have handed to the kernel.
        libc::SYS_write if own => unsafe { libc::write(descriptor(file), bytes, count) },
        libc::SYS_pwrite64 if own => {
            // SAFETY: as above.
            unsafe { libc::pwrite(descriptor(file), bytes, count, i64::try_from(offset).unwrap_or(0)) }
        }
        // One that is not made by half: it fails as a write does that a signal interrupts at its very beginning.
        _ => 0,
    };
    i64::try_from(written).unwrap_or(0)
}
