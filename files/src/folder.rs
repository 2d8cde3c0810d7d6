//! A folder that the program writes its own files into.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::lock::{Lock, LockError};
use crate::named::irregular;
use crate::trust::{self, Rule};

/// What the names of files under way begin and end with, and the random characters between.
const UNDER_WAY: (&str, usize, &str) = (".cudainfer-", 16, ".tmp");
const LOCK: &str = "lock";

/// Who may read what is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// This user alone.
    Owner,
    /// Those whom the process's umask allows.
    Umask,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Reading and writing; the file is made where there is none, and otherwise left as it is.
    Write,
    /// Reading, and writing at its end; the file is made where there is none.
    Append,
    /// Reading and writing; there must be no file of this name.
    New,
}

/// A folder with files of the program's own.
///
/// It stays the folder that was opened, even if another takes its place. Only regular files are opened, no links, and only those
/// of this user, root or the folder's owner. So files that others put into the folder, where they can write there, are refused
/// and never waited for, changed or removed. Names are single steps of a path.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    opened: OwnedFd,
    owner: u32,
    readers: Readers,
}

impl Folder {
    /// Opens the folder, and makes it and its parents where they are missing. The path may have links.
    ///
    /// # Errors
    /// It cannot be made or opened; or it, or a link or folder on the way to it, lies where everybody can write, and belongs to
    /// neither this user nor root.
    pub fn open(path: &Path, readers: Readers) -> io::Result<Self> {
        let mode = match readers {
            Readers::Owner => 0o700,
            Readers::Umask => 0o777,
        };
        DirBuilder::new().recursive(true).mode(mode).create(path)?;
        let real = trust::follow(path, Rule::Named)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&real, flags, Mode::empty())?;
        let owner = rustix::fs::fstat(&opened)?.st_uid;
        Ok(Self { path: path.to_owned(), opened, owner, readers })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of the folder. It is not truncated: use [`File::set_len`].
    ///
    /// # Errors
    /// It cannot be opened, or is something else than a regular file of the right owner, which the error names.
    pub fn file(&self, name: &str, access: Access) -> io::Result<File> {
        let more = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR | OFlags::CREATE,
            Access::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
            Access::New => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
        let mode = match self.readers {
            Readers::Owner => Mode::from_raw_mode(0o600),
            Readers::Umask => Mode::from_raw_mode(0o666),
        };
        let file = match rustix::fs::openat(&self.opened, single(name)?, flags, mode) {
            Ok(opened) => File::from(opened),
            Err(Errno::LOOP) => return Err(irregular("a link")),
            Err(e) => return Err(e.into()),
        };
        let found = file.metadata()?;
        crate::named::check(&found)?;
        self.check_owner(found.uid())?;
        Ok(file)
    }

    /// The text of a file, of at most `most` bytes.
    ///
    /// # Errors
    /// Those of [`Self::file`]; it is longer, or not UTF-8.
    pub fn text(&self, name: &str, most: u64) -> io::Result<String> {
        let mut text = String::new();
        let read = self.file(name, Access::Read)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
        if u64::try_from(read).is_ok_and(|read| read <= most) {
            return Ok(text);
        }
        Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {most} bytes")))
    }

    /// Writes a file: whatever happens, it holds either all of `bytes` or its old contents. When this returns, it is on the disk.
    /// It replaces whatever has this name, be it a link or another user's file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let name = single(name)?;
        let (begin, random, end) = UNDER_WAY;
        let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(random).collect();
        let under_way = format!("{begin}{random}{end}");
        let mut file = self.file(&under_way, Access::New)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(rustix::fs::renameat(&self.opened, &under_way, &self.opened, name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.opened, &under_way, AtFlags::empty());
        }
        written?;
        self.sync()
    }

    /// Waits until the disk has all files that were made, renamed and removed in the folder.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.opened) {
            // Some file systems have nothing to do for folders, and answer with this error.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed, or is something else than a regular file of the right owner, which the error names.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let found = rustix::fs::statat(&self.opened, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(irregular("something else"));
        }
        self.check_owner(found.st_uid)?;
        Ok(rustix::fs::unlinkat(&self.opened, name, AtFlags::empty())?)
    }

    /// Gives a file another name, and replaces a file that has it.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.opened, single(from)?, &self.opened, single(to)?)?)
    }

    /// The names in the folder that are UTF-8, in no order. They may be files of others; opening them checks that.
    ///
    /// # Errors
    /// Those of reading.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let name = |entry: rustix::io::Result<rustix::fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_str().ok().map(str::to_owned)).transpose()
        };
        let names = Dir::read_from(&self.opened)?.filter_map(name).collect::<Result<Vec<_>, _>>()?;
        Ok(names.into_iter().filter(|name| ![".", ".."].contains(&name.as_str())).collect())
    }

    /// Removes unfinished files of [`Self::write`] in processes that were killed, if they are older than `age`; use zero where
    /// the folder is locked. Returns the number of files.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn sweep(&self, age: Duration) -> io::Result<usize> {
        let old = |name: &String| {
            let modified = self.file(name, Access::Read).and_then(|file| file.metadata()?.modified());
            modified.is_ok_and(|time| age.is_zero() || time.elapsed().is_ok_and(|elapsed| elapsed > age))
        };
        let left = self.names()?.into_iter().filter(|name| is_under_way(name)).filter(old);
        Ok(left.filter(|name| self.remove(name).is_ok()).count())
    }

    /// Locks the folder by its file `lock`; waits for at most `most` until another holder releases it. A process that the other
    /// holder is just starting may hold the lock a moment longer: it has all open files until it runs its program.
    ///
    /// # Errors
    /// Another process or another [`Lock`] of this one has it, or its file cannot be used.
    pub fn lock(&self, most: Duration) -> Result<Lock, LockError> {
        Lock::take(self.file(LOCK, Access::Write)?, most)
    }

    /// Locks a file of the folder, which says that something is in work. [`Self::unlock_file`] removes it again:
    /// the process or thread that waited for it then makes a new one.
    ///
    /// # Errors
    /// As [`Self::lock`].
    pub fn lock_file(&self, name: &str, most: Duration) -> Result<Lock, LockError> {
        loop {
            let file = self.file(name, Access::Write)?;
            let own = file.metadata()?;
            let lock = Lock::take(file, most)?;
            // The holder before may have removed the file that was opened.
            match rustix::fs::statat(&self.opened, single(name)?, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if (found.st_dev, found.st_ino) == (own.dev(), own.ino()) => return Ok(lock),
                Ok(_) | Err(Errno::NOENT) => (),
                Err(e) => return Err(LockError::Io(e.into())),
            }
        }
    }

    /// Removes the file of [`Self::lock_file`], and then releases the lock.
    ///
    /// # Errors
    /// The file cannot be removed; the lock is released all the same.
    pub fn unlock_file(&self, name: &str, lock: Lock) -> io::Result<()> {
        let removed = self.remove(name);
        drop(lock);
        removed
    }

    fn check_owner(&self, user: u32) -> io::Result<()> {
        if trust::owns(user) || user == self.owner {
            return Ok(());
        }
        let text = format!(
            "it belongs to user {user}, and only files of this program's user, root or the folder's owner are used"
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }
}

fn is_under_way(name: &str) -> bool {
    let (begin, random, end) = UNDER_WAY;
    let middle = name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    middle.is_some_and(|middle| middle.len() == random && middle.bytes().all(|c| c.is_ascii_alphanumeric()))
}

/// The name, if it is that of a file in the folder itself.
fn single(name: &str) -> io::Result<&str> {
    let single = !["", ".", ".."].contains(&name)
        && !OsStr::new(name).as_bytes().iter().any(|c| [b'/', 0].contains(c));
    single
        .then_some(name)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is no name of a file"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn opened() -> (tempfile::TempDir, Folder) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(&root.path().join("a/b"), Readers::Owner).unwrap();
        (root, folder)
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_private_is_made_so_and_found_again() {
        let (root, folder) = opened();
        folder.write("state", b"one").unwrap();
        folder.write("state", b"two").unwrap();
        folder.file("log", Access::Append).unwrap().write_all(b"a").unwrap();
        folder.file("log", Access::Append).unwrap().write_all(b"b").unwrap();
        assert_eq!(folder.file("log", Access::New).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            (folder.text("state", 3).unwrap(), folder.text("log", 3).unwrap()),
            ("two".into(), "ab".into())
        );
        assert_eq!(folder.text("state", 2).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(folder.text("none", 2).unwrap_err().kind(), io::ErrorKind::NotFound);
        let path = |name: &str| root.path().join(name);
        assert_eq!(
            (mode(&path("a")), mode(&path("a/b")), mode(&path("a/b/state")), mode(&path("a/b/log"))),
            (0o700, 0o700, 0o600, 0o600)
        );
        let mut names = folder.names().unwrap();
        names.sort_unstable();
        assert_eq!(names, ["log", "state"]);
        folder.remove("log").unwrap();
        assert!(!path("a/b/log").exists());
        for name in ["", ".", "..", "a/b", "/etc/passwd", "a\0"] {
            assert!(folder.file(name, Access::Write).is_err() && folder.write(name, b"").is_err(), "{name}");
        }
    }

    #[test]
    fn what_others_have_put_there_is_named_and_stays_as_it_is() {
        let (root, folder) = opened();
        let (path, target) = (|name: &str| folder.path().join(name), root.path().join("target"));
        fs::write(&target, "precious").unwrap();
        symlink(&target, path("link")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        for access in [Access::Read, Access::Write, Access::Append] {
            for (name, what) in [("link", "a link"), ("fifo", "a FIFO"), ("folder", "irectory")] {
                let error = folder.file(name, access).unwrap_err().to_string();
                assert!(error.contains(what), "{name}: {error}");
                assert!(folder.remove(name).is_err());
            }
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        // The file replaces the link, and the link's target stays.
        folder.write("link", b"new").unwrap();
        assert_eq!(
            (fs::read_to_string(&target).unwrap(), folder.text("link", 9).unwrap()),
            ("precious".into(), "new".into())
        );
    }

    #[test]
    fn other_users_files_and_folders_are_refused() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can give files away.
        }
        let (root, folder) = opened();
        let file = folder.path().join("file");
        fs::write(&file, "forged").unwrap();
        chown(&file, Some(65_534), None).unwrap();
        let error = folder.file("file", Access::Read).unwrap_err().to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
        assert!(folder.remove("file").is_err() && file.exists());
        // The administrator has given the folder to that user, so he may write into it.
        chown(folder.path(), Some(65_534), None).unwrap();
        let given = Folder::open(folder.path(), Readers::Owner).unwrap();
        assert_eq!(given.text("file", 9).unwrap(), "forged");
        fs::set_permissions(folder.path().parent().unwrap(), Permissions::from_mode(0o1777)).unwrap();
        let error = Folder::open(folder.path(), Readers::Owner).unwrap_err().to_string();
        assert!(error.contains("belongs to user 65534"), "{error}");
        drop(root);
    }

    #[test]
    fn a_folder_stays_the_one_that_was_opened() {
        let (root, folder) = opened();
        let moved = root.path().join("moved");
        fs::rename(folder.path(), &moved).unwrap();
        symlink("/nowhere", folder.path()).unwrap();
        folder.write("state", b"here").unwrap();
        assert_eq!(fs::read_to_string(moved.join("state")).unwrap(), "here");
    }

    #[test]
    fn only_what_killed_writes_have_left_is_swept() {
        let (_root, folder) = opened();
        let others = ["thesis.tmp", ".cudainfer-.tmp", ".cudainfer-0123456789abcde_.tmp", "state"];
        let left = ".cudainfer-0123456789abcdef.tmp";
        others.iter().chain([&left]).for_each(|name| fs::write(folder.path().join(name), "").unwrap());
        assert_eq!(folder.sweep(Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(folder.sweep(Duration::ZERO).unwrap(), 1);
        let mut names = folder.names().unwrap();
        names.sort_unstable();
        assert_eq!(names, [others[1], others[2], others[3], others[0]]);
    }

    #[test]
    fn a_folder_is_locked_by_one_and_the_others_hear_by_whom() {
        let (_root, folder) = opened();
        let lock = folder.lock(Duration::ZERO).unwrap();
        let error = folder.lock(Duration::ZERO).unwrap_err().to_string();
        assert_eq!(error, "it is in use by another part of this process");
        drop(lock);
        drop(folder.lock(Duration::ZERO).unwrap());
        let mut other = folder.file(LOCK, Access::Write).unwrap();
        other.set_len(0).unwrap();
        // The tests may be process 1 themselves, in a container.
        let another = std::process::id() + 1;
        other.write_all(format!("{another} init\x1b\n").as_bytes()).unwrap();
        other.try_lock().unwrap();
        let error = folder.lock(Duration::ZERO).unwrap_err().to_string();
        assert_eq!(error, format!("it is in use by process {another} (init\\u{{1b}})"));
    }

    #[test]
    fn a_locked_file_that_is_removed_is_in_one_hand_all_the_time() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let (_root, folder) = opened();
        let inside = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let lock = folder.lock_file("a.lock", Duration::from_secs(100)).unwrap();
                        assert_eq!(
                            inside.fetch_add(1, Ordering::SeqCst),
                            0,
                            "another thread has the lock as well"
                        );
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        folder.unlock_file("a.lock", lock).unwrap();
                    }
                });
            }
        });
        assert!(folder.names().unwrap().is_empty());
        let held = folder.lock_file("a.lock", Duration::ZERO).unwrap();
        assert!(matches!(folder.lock_file("a.lock", Duration::ZERO), Err(LockError::Held(_))));
        drop(held);
    }
}
