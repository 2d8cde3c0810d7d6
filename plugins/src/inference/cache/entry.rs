//! An entry of the cache on disk: a folder that is there as a whole or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::checksum;
use super::key::Key;

/// Says what the entry is for.
const KEY: &str = "key.txt";
/// Checksum, length and name of every other file, one a line.
const SUMS: &str = "checksums.txt";
/// What folders under way end in; their names begin with a dot.
const TEMPORARY: &str = ".tmp";
/// Folders under way that are older were left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// A place in the cache, filled or not.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    folder: PathBuf,
    key: String,
}

/// A folder beside the cache's entries that becomes one, or goes when this is dropped.
#[derive(Debug)]
pub(super) struct Work {
    folder: PathBuf,
}

/// A file's checksum and length.
type Sums = BTreeMap<String, (u64, u64)>;

impl Entry {
    pub fn new(root: &Path, key: Key) -> Self {
        Self { folder: root.join(key.name), key: key.text }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is filled, and all of it as it was written.
    ///
    /// # Errors
    /// A sentence's begin, which names the file that is not.
    pub fn check(&self) -> Result<bool, String> {
        let bad = |name: &str, why: &str| Err(format!("'{}' {why}", self.folder.join(name).display()));
        if !self.folder.exists() {
            return Ok(false);
        }
        let written = match self.read_sums() {
            Ok(sums) => sums,
            Err(e) => return bad(SUMS, &format!("cannot be read ({e})")),
        };
        let found = match sums(&self.folder) {
            Ok(sums) => sums,
            Err(e) => return bad("", &format!("cannot be read ({e})")),
        };
        let names = written.keys().chain(found.keys());
        if let Some(name) = names.into_iter().find(|name| written.get(*name) != found.get(*name)) {
            return bad(name, "is not as it was written");
        }
        match fs::read_to_string(self.folder.join(KEY)) {
            Ok(key) if key == self.key => Ok(true),
            _ => bad(KEY, "is of another entry"),
        }
    }

    fn read_sums(&self) -> io::Result<Sums> {
        let text = fs::read_to_string(self.folder.join(SUMS))?;
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let sum = u64::from_str_radix(words.next()?, 16).ok()?;
            let length = words.next()?.parse().ok()?;
            Some((words.next()?.to_owned(), (sum, length)))
        };
        text.lines().map(|text| line(text).ok_or_else(|| io::ErrorKind::InvalidData.into())).collect()
    }

    /// A folder to fill the entry from. What processes that were killed have left behind goes.
    ///
    /// # Errors
    /// The cache's folder cannot be written.
    pub fn work(&self) -> io::Result<Work> {
        let root = self.folder.parent().unwrap_or(&self.folder);
        fs::create_dir_all(root)?;
        for left in fs::read_dir(root)?.flatten() {
            let old = || left.metadata()?.modified()?.elapsed().map_err(io::Error::other);
            if left.file_name().to_string_lossy().ends_with(TEMPORARY)
                && old().is_ok_and(|age| age > LEFT_BEHIND)
            {
                remove(&left.path());
            }
        }
        let folder = temporary(&self.folder);
        fs::create_dir(&folder)?;
        Ok(Work { folder })
    }

    /// A folder to work in with copies of the entry's files.
    ///
    /// # Errors
    /// The cache's folder cannot be written, or the entry not be read.
    pub fn copy(&self) -> io::Result<Work> {
        let work = self.work()?;
        for name in self.read_sums()?.keys().filter(|name| *name != KEY) {
            fs::copy(self.folder.join(name), work.file(name))?;
        }
        Ok(work)
    }

    /// Makes the folder the entry, in place of one that is damaged. Where another process was quicker, its stays.
    ///
    /// # Errors
    /// The cache's folder cannot be written.
    pub fn publish(&self, work: &Work) -> io::Result<()> {
        fs::write(work.file(KEY), &self.key)?;
        let sums = sums(&work.folder)?;
        let mut text = String::new();
        for (name, (sum, length)) in &sums {
            text += &format!("{sum:016x} {length} {name}\n");
        }
        fs::write(work.file(SUMS), text)?;
        for name in sums.keys().map(String::as_str).chain([SUMS]) {
            File::open(work.file(name))?.sync_all()?;
        }
        File::open(&work.folder)?.sync_all()?;
        if fs::rename(&work.folder, &self.folder).is_err() {
            if self.check() == Ok(true) {
                return Ok(());
            }
            self.discard();
            fs::rename(&work.folder, &self.folder)?;
        }
        File::open(self.folder.parent().unwrap_or(&self.folder))?.sync_all()
    }

    /// Whether the folder holds what the entry does.
    pub fn is(&self, work: &Work) -> bool {
        let (Ok(mut written), Ok(found)) = (self.read_sums(), sums(&work.folder)) else { return false };
        written.remove(KEY);
        written == found
    }

    /// Takes the entry away, at once for everybody who looks.
    pub fn discard(&self) {
        let aside = temporary(&self.folder);
        if fs::rename(&self.folder, &aside).is_ok() {
            remove(&aside);
        }
    }
}

impl Work {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether nothing was put into it.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(&self.folder).map_or(true, |mut entries| entries.next().is_none())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Writes a file that is there as a whole or not at all; its folder is made.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let aside = temporary(path);
    let write = || {
        let mut file = File::create(&aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    write().inspect_err(|_| remove(&aside))
}

/// A name beside `path` that nobody else uses.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}-{number}{TEMPORARY}", std::process::id()))
}

fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// The checksums of a folder's files but the one that holds them.
fn sums(folder: &Path) -> io::Result<Sums> {
    let mut found = Sums::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != SUMS {
            found.insert(name, checksum::of_content(&entry.path())?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> (PathBuf, Entry) {
        let root = std::env::temp_dir().join(format!("cudainfer-entry-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let key = Key { name: "model-0123456789ab".into(), text: "model: 1\n".into() };
        (root.clone(), Entry::new(&root, key))
    }

    fn filled(name: &str) -> (PathBuf, Entry) {
        let (root, entry) = entry(name);
        let work = entry.work().unwrap();
        fs::write(work.file("engine"), "all of it").unwrap();
        entry.publish(&work).unwrap();
        assert_eq!(entry.check(), Ok(true));
        (root, entry)
    }

    fn names(root: &Path) -> Vec<String> {
        let names =
            fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
        names.collect()
    }

    #[test]
    fn an_entry_is_there_when_it_is_published_and_a_folder_under_way_goes_when_it_is_dropped() {
        let (root, entry) = entry("published");
        assert_eq!(entry.check(), Ok(false));
        let work = entry.work().unwrap();
        fs::write(work.file("engine"), "all of it").unwrap();
        assert_eq!(entry.check(), Ok(false));
        entry.publish(&work).unwrap();
        drop(work);
        drop(entry.work().unwrap());
        assert_eq!(entry.check(), Ok(true));
        assert_eq!(names(&root), ["model-0123456789ab"]);
        assert_eq!(fs::read_to_string(entry.folder().join("engine")).unwrap(), "all of it");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn whatever_happens_to_a_file_is_found_and_named() {
        type Change = fn(&Path);
        let changes: [(&str, &str, Change); 9] = [
            ("flipped", "engine", |f| fs::write(f.join("engine"), "all of iT").unwrap()),
            ("truncated", "engine", |f| fs::write(f.join("engine"), "all").unwrap()),
            ("emptied", "engine", |f| fs::write(f.join("engine"), "").unwrap()),
            ("gone", "engine", |f| fs::remove_file(f.join("engine")).unwrap()),
            ("a-folder", "engine", |f| {
                fs::remove_file(f.join("engine")).unwrap();
                fs::create_dir(f.join("engine")).unwrap();
            }),
            ("one-more", "other", |f| fs::write(f.join("other"), "").unwrap()),
            ("sums-emptied", "engine", |f| fs::write(f.join(SUMS), "").unwrap()),
            ("sums-gone", SUMS, |f| fs::remove_file(f.join(SUMS)).unwrap()),
            ("sums-noise", SUMS, |f| fs::write(f.join(SUMS), "all\n").unwrap()),
        ];
        for (name, file, change) in changes {
            let (root, entry) = filled(name);
            change(entry.folder());
            let said = entry.check().unwrap_err();
            let named =
                if name == "a-folder" { entry.folder().to_owned() } else { entry.folder().join(file) };
            assert!(said.contains(&named.display().to_string()), "{name}: {said}");
            // It is put in order.
            let work = entry.work().unwrap();
            fs::write(work.file("engine"), "anew").unwrap();
            entry.publish(&work).unwrap();
            assert_eq!(entry.check(), Ok(true), "{name}");
            assert_eq!(names(&root), ["model-0123456789ab"], "{name}");
            fs::remove_dir_all(root).unwrap();
        }
    }

    #[test]
    fn an_entry_of_another_key_under_the_same_name_is_not_taken() {
        let (root, _) = filled("collision");
        let key = Key { name: "model-0123456789ab".into(), text: "model: 2\n".into() };
        assert!(Entry::new(&root, key).check().unwrap_err().contains("of another entry"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn of_two_at_once_one_stays_whole() {
        let (root, entry) = entry("two");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let work = entry.work().unwrap();
                    fs::write(work.file("engine"), "all of it").unwrap();
                    entry.publish(&work).unwrap();
                    assert_eq!(entry.check(), Ok(true));
                });
            }
        });
        assert_eq!(names(&root), ["model-0123456789ab"]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_a_killed_process_has_left_behind_goes_after_a_day() {
        let (root, entry) = filled("left");
        let left = root.join(".model-0123456789ab.1-0.tmp");
        fs::create_dir(&left).unwrap();
        drop(entry.work().unwrap());
        assert!(left.exists(), "it may be under way");
        let before = std::time::SystemTime::now() - 2 * LEFT_BEHIND;
        File::open(&left).unwrap().set_modified(before).unwrap();
        drop(entry.work().unwrap());
        assert!(!left.exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_copy_shows_whether_it_was_changed() {
        let (root, entry) = filled("copy");
        let copy = entry.copy().unwrap();
        assert!(entry.is(&copy));
        fs::write(copy.file("engine"), "for another size").unwrap();
        assert!(!entry.is(&copy));
        assert_eq!(entry.check(), Ok(true), "the entry itself is as it was");
        entry.discard();
        assert_eq!(entry.check(), Ok(false));
        entry.publish(&copy).unwrap();
        assert_eq!(fs::read_to_string(entry.folder().join("engine")).unwrap(), "for another size");
        fs::remove_dir_all(root).unwrap();
    }
}
