//! The folder of results: which videos are complete, who has one in work, and how results come into place.
//!
//! | name | what it is |
//! |---|---|
//! | `configuration.json` | what all results here depend on |
//! | `.cudainfer-folder.lock` | locked while the configuration is compared and written |
//! | `.NAME.lock` | locked by the process that has the video in work |
//! | `.NAME.part/` | its results and its summary until they are complete |
//! | `NAME.*` | its results |
//! | `NAME.summary.json` | written last: says that they are complete |
//! | `NAME.error.json` | why it has none |
//!
//! A process that is killed may leave any of the hidden ones. The next that opens the folder, or does the video, removes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cudainfer_files::{Folder, Lock, LockError, Readers};
use rustix::fs::Access;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::plan::Configuration;
use crate::summary::{Failed, Origin, Summary};

/// The name of the configuration's file.
const CONFIGURATION: &str = "configuration.json";

/// The name of the lock while the configuration is compared and written.
const FOLDER_LOCK: &str = ".cudainfer-folder.lock";

/// How long another process may take for that.
const COMPARING: Duration = Duration::from_secs(60);

/// Bytes that a file of this program may have.
const LARGEST: u64 = 16 << 20;

/// The folder of results.
#[derive(Debug)]
pub struct ResultFolder {
    folder: Folder,
    path: PathBuf,
    /// The videos of which hidden files were there when it was opened.
    left: BTreeSet<String>,
}

/// How far a video is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Its results are complete.
    Complete,
    /// It has failed, and would again.
    Failed(String),
    /// It has not been done, or with another configuration, or was another video.
    Open,
}

/// A video in work, by this process alone.
#[derive(Debug)]
pub struct InWork<'a> {
    all: &'a ResultFolder,
    name: String,
    lock: Option<Lock>,
    /// The folder for its results.
    pub part: PathBuf,
}

impl ResultFolder {
    /// Opens the folder, and makes it if it is missing.
    ///
    /// # Errors
    /// A sentence: it cannot be used, has other files, or results of another configuration.
    pub fn open(path: &Path, configuration: &Configuration, overwrite: bool) -> Result<Self, String> {
        let shown = path.display();
        let unusable = |e: io::Error| format!("the folder '{shown}' cannot be used: {e}");
        let folder = Folder::open(path, Readers::Umask).map_err(unusable)?;
        let path = path.canonicalize().map_err(unusable)?;
        let lock = folder
            .lock_file(FOLDER_LOCK, COMPARING)
            .map_err(|e| unusable(io::Error::other(e.to_string())))?;
        let mut opened = Self { folder, path, left: BTreeSet::new() };
        let prepared = opened.prepare(configuration, overwrite);
        let unlocked = opened.folder.unlock_file(FOLDER_LOCK, lock).map_err(unusable);
        prepared.and(unlocked).map(|()| opened)
    }

    /// Writes the configuration if it is another one, removes what a killed process has left of it, and looks which videos
    /// have hidden files. No other process writes in the folder itself meanwhile.
    fn prepare(&mut self, configuration: &Configuration, overwrite: bool) -> Result<(), String> {
        let differs = self.differs(configuration, overwrite)?;
        let written = if differs { self.write(CONFIGURATION, configuration) } else { Ok(()) };
        let names =
            written.and_then(|()| self.folder.sweep(Duration::ZERO)).and_then(|_| self.folder.names());
        let names = names.map_err(|e| format!("the folder '{}' cannot be used: {e}", self.path.display()))?;
        self.left = names.iter().filter_map(|name| hidden_of(name)).map(str::to_owned).collect();
        Ok(())
    }

    /// Checks the same without making or writing anything.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn check(path: &Path, configuration: &Configuration, overwrite: bool) -> Result<(), String> {
        let shown = path.display();
        let unusable = |e: io::Error| format!("the folder '{shown}' cannot be used: {e}");
        if path.exists() {
            let folder = Folder::open(path, Readers::Umask).map_err(unusable)?;
            let writable = rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK);
            writable.map_err(|e| unusable(e.into()))?;
            let opened = Self { folder, path: path.to_owned(), left: BTreeSet::new() };
            return opened.differs(configuration, overwrite).map(drop);
        }
        let whole = std::path::absolute(path).map_err(unusable)?;
        let parent = whole.ancestors().find(|parent| parent.exists()).unwrap_or(Path::new("/"));
        let fits = parent.is_dir() && rustix::fs::access(parent, Access::WRITE_OK | Access::EXEC_OK).is_ok();
        if fits {
            Ok(())
        } else {
            Err(format!("the folder '{shown}' cannot be made in '{}'", parent.display()))
        }
    }

    /// Whether the configuration is not the one of the results that are there.
    fn differs(&self, configuration: &Configuration, overwrite: bool) -> Result<bool, String> {
        let shown = self.path.display();
        match self.read::<Configuration>(CONFIGURATION) {
            Some(found) if found.digest == configuration.digest => Ok(false),
            Some(found) if !overwrite => Err(format!(
                "the folder '{shown}' has results of another configuration ({} differ): choose another folder, or --overwrite replaces \
                 them",
                found.differences(configuration).join(", ")
            )),
            Some(_) => Ok(true),
            None => {
                let names =
                    self.folder.names().map_err(|e| format!("the folder '{shown}' cannot be read: {e}"))?;
                let other =
                    names.iter().find(|name| *name != "lost+found" && !name.starts_with(".cudainfer-"));
                match other.filter(|_| !overwrite) {
                    None => Ok(true),
                    Some(other) => Err(format!(
                        "the folder '{shown}' has other files, such as '{other}', and no {CONFIGURATION}: choose an empty folder, or \
                         --overwrite lets results replace files of their names"
                    )),
                }
            }
        }
    }

    /// How far a video is.
    pub fn progress(&self, name: &str, origin: &Origin) -> Progress {
        let complete = self.read::<Summary>(&summary(name)).is_some_and(|found| {
            let size = |name: &String| std::fs::metadata(self.path.join(name)).ok().map(|file| file.len());
            found.origin.is_same(origin)
                && found.results.iter().all(|(name, bytes)| size(name) == Some(*bytes))
        });
        if complete {
            return Progress::Complete;
        }
        match self.read::<Failed>(&error(name)) {
            Some(found) if found.permanent && found.origin.is_same(origin) => Progress::Failed(found.error),
            _ => Progress::Open,
        }
    }

    /// Takes a video into work: `None` if another process has it.
    ///
    /// # Errors
    /// Those of files.
    pub fn take(&self, name: &str) -> io::Result<Option<InWork<'_>>> {
        let lock = match self.folder.lock_file(&lock(name), Duration::ZERO) {
            Ok(lock) => lock,
            Err(LockError::Held(_)) => return Ok(None),
            Err(LockError::Io(e)) => return Err(e),
        };
        let part = self.path.join(part(name));
        remove_part(&part)?;
        std::fs::create_dir(&part)?;
        Ok(Some(InWork { all: self, name: name.to_owned(), lock: Some(lock), part }))
    }

    /// Removes hidden files of a video that is not to be done, if a killed process has left some.
    ///
    /// # Errors
    /// Those of files.
    pub fn tidy(&self, name: &str) -> io::Result<()> {
        match self.left.contains(name).then(|| self.take(name)).transpose()?.flatten() {
            Some(mut left) => left.release(),
            None => Ok(()),
        }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = self.folder.text(name, LARGEST).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn write(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.folder.write(name, text_of(value)?.as_bytes())
    }
}

impl InWork<'_> {
    /// The results that lie in [`Self::part`], on the disk, with their sizes.
    ///
    /// # Errors
    /// Those of files; one has a name that is not the video's.
    pub fn results(&self) -> io::Result<BTreeMap<String, u64>> {
        let mut results = BTreeMap::new();
        for entry in std::fs::read_dir(&self.part)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let end = name.strip_prefix(self.name.as_str());
            let reserved = [summary(&self.name), error(&self.name)].contains(&name);
            if reserved
                || !entry.file_type()?.is_file()
                || !end.is_some_and(|end| end.starts_with(['.', '-', '_']))
            {
                let text = format!(
                    "the pipeline wrote '{name}', expected files whose names begin with '{}.'",
                    self.name
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let file = File::open(entry.path())?;
            file.sync_all()?;
            results.insert(name, file.metadata()?.len());
        }
        Ok(results)
    }

    /// Puts the results in place, and the summary last.
    ///
    /// # Errors
    /// Those of files.
    pub fn complete(mut self, found: &Summary) -> io::Result<()> {
        let before = self.all.read::<Summary>(&summary(&self.name));
        self.remove(&[summary(&self.name), error(&self.name)])?;
        self.all.folder.sync()?;
        for name in found.results.keys() {
            std::fs::rename(self.part.join(name), self.all.path.join(name))?;
        }
        let old = before.map(|before| before.results).unwrap_or_default();
        self.remove(&old.into_keys().filter(|name| !found.results.contains_key(name)).collect::<Vec<_>>())?;
        self.all.folder.sync()?;
        self.write(&summary(&self.name), found)?;
        self.release()
    }

    /// Writes down why there are no results. What was there of another configuration stays.
    ///
    /// # Errors
    /// Those of files.
    pub fn fail(mut self, failed: &Failed) -> io::Result<()> {
        self.write(&error(&self.name), failed)?;
        self.release()
    }

    /// Writes a file in [`Self::part`], and puts it in place. When this returns, it is on the disk.
    fn write(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        let whole = self.part.join(name);
        let mut file = File::create(&whole)?;
        file.write_all(text_of(value)?.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(whole, self.all.path.join(name))?;
        self.all.folder.sync()
    }

    fn remove(&self, names: &[String]) -> io::Result<()> {
        let removed = names.iter().map(|name| match self.all.folder.remove(name) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        });
        removed.collect()
    }

    fn release(&mut self) -> io::Result<()> {
        remove_part(&self.part)?;
        match self.lock.take() {
            Some(own) => self.all.folder.unlock_file(&lock(&self.name), own),
            None => Ok(()),
        }
    }
}

/// Drops what is not complete.
impl Drop for InWork<'_> {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // What cannot be removed now is removed by the process that takes the video next.
            let _ = self.release();
        }
    }
}

fn remove_part(part: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(part) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn text_of(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn summary(name: &str) -> String {
    format!("{name}.summary.json")
}

fn error(name: &str) -> String {
    format!("{name}.error.json")
}

fn lock(name: &str) -> String {
    format!(".{name}.lock")
}

fn part(name: &str) -> String {
    format!(".{name}.part")
}

/// The video that a hidden file or folder is of.
fn hidden_of(name: &str) -> Option<&str> {
    let name = name.strip_prefix('.')?;
    name.strip_suffix(".lock").or_else(|| name.strip_suffix(".part"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Frames, GpuShare};

    fn configuration(classes: &str) -> Configuration {
        Configuration {
            digest: classes.to_owned(),
            pipeline: "p".into(),
            elements: String::new(),
            settings: [("classes".to_owned(), classes.to_owned())].into(),
            overrides: BTreeMap::new(),
            files: BTreeMap::new(),
        }
    }

    fn origin(size: u64) -> Origin {
        Origin {
            video: "/v/a.mp4".into(),
            size: Some(size),
            modified: Some(1),
            configuration: "a".into(),
            files: BTreeMap::new(),
        }
    }

    fn complete(work: InWork<'_>, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, text)| std::fs::write(work.part.join(name), text).unwrap());
        let summary = Summary {
            version: 1,
            program: "p".into(),
            origin: origin(1),
            results: work.results().unwrap(),
            frames: Frames::default(),
            gpu: GpuShare::default(),
            models: BTreeMap::new(),
            warnings: vec![],
        };
        work.complete(&summary).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn results_with_companions_come_into_place_and_old_ones_go() {
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("a/out");
        let folder = ResultFolder::open(&out, &configuration("a"), false).unwrap();
        assert_eq!(folder.progress("a", &origin(1)), Progress::Open);
        complete(folder.take("a").unwrap().unwrap(), &[("a.csv", "x"), ("a.json", "y")]);
        assert_eq!(names(&out), ["a.csv", "a.json", "a.summary.json", CONFIGURATION]);
        assert_eq!(folder.progress("a", &origin(1)), Progress::Complete);
        assert_eq!(folder.progress("a", &origin(2)), Progress::Open, "the video is another one");
        complete(folder.take("a").unwrap().unwrap(), &[("a.jsonl", "x")]);
        assert_eq!(names(&out), ["a.jsonl", "a.summary.json", CONFIGURATION]);
        std::fs::write(out.join("a.jsonl"), "").unwrap();
        assert_eq!(folder.progress("a", &origin(1)), Progress::Open, "a result was cut off");
    }

    #[test]
    fn a_video_is_in_work_once_and_what_is_dropped_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = ResultFolder::open(root.path(), &configuration("a"), false).unwrap();
        let work = folder.take("a").unwrap().unwrap();
        assert!(folder.take("a").unwrap().is_none());
        std::fs::write(work.part.join("a.csv"), "half").unwrap();
        drop(work);
        assert_eq!(names(root.path()), [CONFIGURATION]);
        // A process that was killed leaves these.
        std::fs::create_dir(root.path().join(".a.part")).unwrap();
        std::fs::write(root.path().join(".a.part/a.csv"), "half").unwrap();
        std::fs::write(root.path().join(".a.lock"), "").unwrap();
        let work = folder.take("a").unwrap().unwrap();
        assert!(work.results().unwrap().is_empty());
        let failed = Failed {
            version: 1,
            program: "p".into(),
            origin: origin(1),
            error: "broken".into(),
            permanent: true,
            frames: 3,
        };
        work.fail(&failed).unwrap();
        assert_eq!(folder.progress("a", &origin(1)), Progress::Failed("broken".into()));
        assert_eq!(folder.progress("a", &origin(2)), Progress::Open);
        folder.take("a").unwrap().unwrap().fail(&Failed { permanent: false, ..failed }).unwrap();
        assert_eq!(folder.progress("a", &origin(1)), Progress::Open);
        assert_eq!(names(root.path()), ["a.error.json", CONFIGURATION]);
    }

    #[test]
    fn what_killed_processes_leave_is_removed_by_the_next_and_what_is_in_work_stays() {
        let root = tempfile::tempdir().unwrap();
        let open = || ResultFolder::open(root.path(), &configuration("a"), false).unwrap();
        let folder = open();
        complete(folder.take("a").unwrap().unwrap(), &[("a.csv", "x")]);
        // Killed after the summary came into place, or while the configuration was written.
        for name in [FOLDER_LOCK, ".a.lock", ".cudainfer-0123456789abcdef.tmp"] {
            std::fs::write(root.path().join(name), "").unwrap();
        }
        std::fs::create_dir(root.path().join(".a.part")).unwrap();
        let work = folder.take("b").unwrap().unwrap();
        let next = open();
        assert_eq!(next.progress("a", &origin(1)), Progress::Complete);
        next.tidy("a").unwrap();
        next.tidy("b").unwrap();
        assert_eq!(names(root.path()), [".b.lock", ".b.part", "a.csv", "a.summary.json", CONFIGURATION]);
        complete(work, &[("b.csv", "x")]);
        assert_eq!(names(root.path()), ["a.csv", "a.summary.json", "b.csv", "b.summary.json", CONFIGURATION]);
    }

    #[test]
    fn a_folder_of_others_and_of_another_configuration_is_refused() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("mine.csv"), "").unwrap();
        let open = |path: &Path, classes: &str, overwrite| {
            ResultFolder::open(path, &configuration(classes), overwrite).map(drop)
        };
        assert!(open(root.path(), "a", false).unwrap_err().contains("has other files, such as 'mine.csv'"));
        let out = root.path().join("out");
        assert_eq!(ResultFolder::check(&out, &configuration("a"), false), Ok(()));
        assert!(!out.exists());
        open(&out, "a", false).unwrap();
        open(&out, "a", false).unwrap();
        let error = open(&out, "b", false).unwrap_err();
        assert!(error.contains("another configuration (classes differ)"), "{error}");
        assert_eq!(ResultFolder::check(&out, &configuration("b"), false).unwrap_err(), error);
        open(&out, "b", true).unwrap();
        assert!(open(&out, "a", false).is_err());
        std::fs::write(root.path().join("file"), "").unwrap();
        assert!(open(&root.path().join("file"), "a", false).unwrap_err().contains("cannot be used"));
        assert!(ResultFolder::check(&root.path().join("file/out"), &configuration("a"), false).is_err());
    }
}
