//! An entry of the cache on disk: a folder that is there as a whole or not at all.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use cudainfer_files as files;
use tempfile::TempDir;

use super::key::{Key, MODELS};
use super::{checksum, folder};

/// The file that states what the entry is for.
const KEY: &str = "key.txt";
/// Checksum, length and name of every other file, one a line.
const SUMS: &str = "checksums.txt";
/// The name of an entry that is being removed.
const DISCARDED: &str = "discarded";

/// A place in the cache, filled or not.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    folder: PathBuf,
    key: String,
}

/// A folder beside the cache's entries that becomes one, or goes when this is dropped.
#[derive(Debug)]
pub(super) struct Work {
    folder: TempDir,
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
        match fs::symlink_metadata(&self.folder) {
            Ok(metadata) if metadata.is_dir() => (),
            Ok(_) => return Err(format!("'{}' is no folder", self.folder.display())),
            Err(_) => return Ok(false),
        }
        match files::trusted(&self.folder.join(SUMS)) {
            Err(e) if e.raw_os_error().is_none() => {
                return bad("", &format!("may have been written by others ({e})"));
            }
            _ => (),
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
        match files::text_unlinked(&self.folder.join(KEY)) {
            Ok(key) if key == self.key => Ok(true),
            _ => bad(KEY, "is of another entry"),
        }
    }

    fn read_sums(&self) -> io::Result<Sums> {
        let text = files::text_unlinked(&self.folder.join(SUMS))?;
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let sum = u64::from_str_radix(words.next()?, 16).ok()?;
            let length = words.next()?.parse().ok()?;
            let name = words.next().filter(|name| !name.contains('/'))?;
            Some((name.to_owned(), (sum, length)))
        };
        text.lines().map(|text| line(text).ok_or_else(|| io::ErrorKind::InvalidData.into())).collect()
    }

    /// A folder to fill the entry from. Removes what killed processes have left there.
    ///
    /// # Errors
    /// The cache's folder cannot be written.
    pub fn work(&self) -> io::Result<Work> {
        let root = self.root();
        folder::claim(root)?;
        folder::sweep(root);
        folder::sweep(&root.join(MODELS));
        Ok(Work { folder: folder::temporary(root)? })
    }

    /// The cache's folder.
    fn root(&self) -> &Path {
        self.folder.parent().unwrap_or(&self.folder)
    }

    /// Whether a file of this name is in it.
    pub fn has(&self, name: &str) -> bool {
        files::open_unlinked(&self.folder.join(name)).is_ok()
    }

    /// What it holds, by name.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn files(&self) -> io::Result<HashMap<String, Vec<u8>>> {
        let mut files = HashMap::new();
        for name in self.read_sums()?.into_keys().filter(|name| name != KEY) {
            let mut bytes = Vec::new();
            files::open_unlinked(&self.folder.join(&name))?.read_to_end(&mut bytes)?;
            files.insert(name, bytes);
        }
        Ok(files)
    }

    /// A folder to work in with copies of the entry's files.
    ///
    /// # Errors
    /// The cache's folder cannot be written, or the entry not be read.
    pub fn copy(&self) -> io::Result<Work> {
        let work = self.work()?;
        for name in self.read_sums()?.keys().filter(|name| *name != KEY) {
            let mut from = files::open_unlinked(&self.folder.join(name))?;
            io::copy(&mut from, &mut File::create_new(work.file(name))?)?;
        }
        Ok(work)
    }

    /// Makes the folder the entry, in place of one that is damaged. Where another process was quicker, its stays.
    ///
    /// # Errors
    /// The cache's folder cannot be written.
    pub fn publish(&self, work: &Work) -> io::Result<()> {
        work.write(KEY, self.key.as_bytes())?;
        let sums = sums(work.folder())?;
        let mut text = String::new();
        for (name, (sum, length)) in &sums {
            text += &format!("{sum:016x} {length} {name}\n");
        }
        work.write(SUMS, text.as_bytes())?;
        for name in sums.keys().map(String::as_str).chain([SUMS]) {
            files::open_unlinked(&work.file(name))?.sync_all()?;
        }
        File::open(work.folder())?.sync_all()?;
        if fs::rename(work.folder(), &self.folder).is_err() {
            if self.check() == Ok(true) {
                return Ok(());
            }
            self.discard();
            fs::rename(work.folder(), &self.folder)?;
        }
        File::open(self.root())?.sync_all()
    }

    /// Whether the folder holds what the entry does.
    pub fn is(&self, work: &Work) -> bool {
        let (Ok(mut written), Ok(found)) = (self.read_sums(), sums(work.folder())) else { return false };
        written.remove(KEY);
        written == found
    }

    /// Removes the entry, at once for all processes that look for it.
    pub fn discard(&self) {
        // The entry is removed with the folder that it is moved into.
        if let Ok(aside) = folder::temporary(self.root()) {
            let _ = fs::rename(&self.folder, aside.path().join(DISCARDED));
        }
    }
}

impl Work {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Puts a new file into it.
    ///
    /// # Errors
    /// It cannot be written, or is there.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        File::create_new(self.file(name))?.write_all(bytes)
    }

    /// Whether nothing was put into it.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(self.folder()).map_or(true, |mut entries| entries.next().is_none())
    }
}

/// The checksums of a folder's files, except for the file that holds them.
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
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
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
        assert_eq!(names(&root), [folder::TAG, "model-0123456789ab"]);
        assert_eq!(fs::read_to_string(entry.folder().join("engine")).unwrap(), "all of it");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn whatever_happens_to_a_file_is_found_and_named() {
        type Change = fn(&Path);
        fn linked(name: &str, target: &str) -> impl Fn(&Path) {
            move |f| {
                fs::remove_file(f.join(name)).unwrap();
                std::os::unix::fs::symlink(target, f.join(name)).unwrap();
            }
        }
        let changes: [(&str, &str, Change); 13] = [
            ("endless", "engine", |f| linked("engine", "/dev/zero")(f)),
            ("sums-endless", SUMS, |f| linked(SUMS, "/dev/zero")(f)),
            ("key-endless", KEY, |f| linked(KEY, "/dev/zero")(f)),
            ("a-fifo", "engine", |f| {
                fs::remove_file(f.join("engine")).unwrap();
                let mode = rustix::fs::Mode::RUSR;
                rustix::fs::mknodat(rustix::fs::CWD, f.join("engine"), rustix::fs::FileType::Fifo, mode, 0)
                    .unwrap();
            }),
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
            let damage = entry.check().unwrap_err();
            let whole = ["a-folder", "endless", "a-fifo", "key-endless"].contains(&name);
            let named = if whole { entry.folder().to_owned() } else { entry.folder().join(file) };
            assert!(damage.contains(&named.display().to_string()), "{name}: {damage}");
            // The damaged entry is repaired.
            let work = entry.work().unwrap();
            fs::write(work.file("engine"), "anew").unwrap();
            entry.publish(&work).unwrap();
            assert_eq!(entry.check(), Ok(true), "{name}");
            assert_eq!(names(&root), [folder::TAG, "model-0123456789ab"], "{name}");
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
        assert_eq!(names(&root), [folder::TAG, "model-0123456789ab"]);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_a_killed_process_has_left_is_removed_after_a_day() {
        let (root, entry) = filled("left");
        let left = folder::temporary(&root).unwrap().keep();
        drop(entry.work().unwrap());
        assert!(left.exists(), "it may be under way");
        let before = std::time::SystemTime::now() - 2 * folder::ABANDONED_AFTER;
        File::open(&left).unwrap().set_modified(before).unwrap();
        drop(entry.work().unwrap());
        assert!(!left.exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn an_entry_that_is_a_link_is_not_used_and_what_it_leads_to_stays() {
        let (root, entry) = filled("link");
        let elsewhere = root.with_extension("elsewhere");
        let _ = fs::remove_dir_all(&elsewhere);
        fs::rename(entry.folder(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, entry.folder()).unwrap();
        assert!(entry.check().unwrap_err().contains("is no folder"));
        let work = entry.work().unwrap();
        fs::write(work.file("engine"), "anew").unwrap();
        entry.publish(&work).unwrap();
        assert_eq!(entry.check(), Ok(true));
        assert_eq!(fs::read_to_string(elsewhere.join("engine")).unwrap(), "all of it");
        fs::remove_dir_all(elsewhere).unwrap();
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

    #[test]
    fn fuzz_checksums() {
        let root = cudainfer_fuzzing::CaseFile::new("unused");
        let key = Key { name: "model-0123456789ab".into(), text: "model: 1\n".into() };
        let entry = Entry::new(root.folder(), key);
        fs::create_dir(entry.folder()).unwrap();
        fs::write(entry.folder().join(KEY), "model: 1\n").unwrap();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "checksums")
            .with_ratio(60) // a line of five bytes is a name and two numbers in a table
            .run(move |bytes| {
                fs::write(entry.folder().join(SUMS), bytes).unwrap();
                let _ = entry.check();
                let _ = entry.files();
            });
    }
}
