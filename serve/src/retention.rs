//! How long recordings and pictures are kept, and what happens when the disk is full.

mod ages;
pub(crate) mod restore;
pub(crate) mod unfinished;
mod walk;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::ages::{Age, Ages, Doubt, Moment};
use self::restore::Restored;
use self::unfinished::finished;
use self::walk::{KeptFile, collect};
use crate::config;
use crate::log;
use crate::unpoisoned::lock;

/// How often all files are looked at.
const INTERVAL: Duration = Duration::from_secs(20);
/// An incomplete file that has not changed for this long belongs to a process that is gone.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Which files go: those older than `max_age`, then the oldest while all together are larger than `max_size`.
fn to_remove(mut files: Vec<(KeptFile, Age)>, max_size: u64, max_age: Option<Duration>) -> Vec<KeptFile> {
    files.sort_by(|(one, a), (other, b)| {
        (b.order, one.changed, &one.path).cmp(&(a.order, other.changed, &other.path))
    });
    let mut total: u64 = files.iter().map(|(file, _)| file.size).sum();
    let mut removed = Vec::new();
    for (file, age) in files {
        if max_age.is_some_and(|most| age.age > most) || total > max_size {
            total -= file.size;
            removed.push(file);
        }
    }
    removed
}

/// Whether there is room to write. Clones share their state.
#[derive(Clone, Debug)]
pub struct Room(Arc<RoomState>);

#[derive(Debug)]
struct RoomState {
    folder: PathBuf,
    settings: config::RetentionSettings,
    full: AtomicBool,
    removed: AtomicU64,
    kept_bytes: AtomicU64,
    ages: Mutex<Ages>,
    look: Mutex<Option<SyncSender<()>>>,
}

/// The state of the kept files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Keeping {
    /// Bytes of recordings and pictures.
    pub bytes: u64,
    /// Files that were removed since the start.
    pub removed: u64,
    /// Whether nothing is written, because the disk has less than `min-free`.
    pub disk_full: bool,
}

impl Room {
    /// Whether more may be written.
    pub fn is_there(&self) -> bool {
        !self.0.full.load(Ordering::Relaxed)
    }

    /// Why not.
    pub fn sentence(&self) -> String {
        let free = self.0.settings.min_free.0;
        format!(
            "the disk of {} has less than {free} bytes left (min-free): nothing is recorded until there are more",
            self.0.folder.display()
        )
    }

    /// Has the next look happen now, because a file was completed.
    pub fn look_soon(&self) {
        if let Some(look) = &*lock(&self.0.look) {
            let _ = look.try_send(());
        }
    }

    /// The state at the last look.
    pub fn keeping(&self) -> Keeping {
        Keeping {
            bytes: self.0.kept_bytes.load(Ordering::Relaxed),
            removed: self.0.removed.load(Ordering::Relaxed),
            disk_full: !self.is_there(),
        }
    }

    fn look(&self, now: Moment) {
        let files = self.ages(now);
        let total: u64 = files.iter().map(|(file, _)| file.size).sum();
        let settings = &self.0.settings;
        let max_age = Duration::try_from_secs_f64(settings.max_age).ok();
        let max_age = max_age.filter(|_| lock(&self.0.ages).are_certain());
        let mut freed = 0;
        for file in to_remove(files, settings.max_size.0, max_age) {
            match std::fs::remove_file(&file.path) {
                Ok(()) => {
                    freed += file.size;
                    self.0.removed.fetch_add(1, Ordering::Relaxed);
                    log::info(format_args!("removed {} by [retention]", file.path.display()));
                }
                Err(error) => {
                    log::warning(format_args!("{} cannot be removed: {error}", file.path.display()))
                }
            }
        }
        self.0.kept_bytes.store(total - freed, Ordering::Relaxed);
        self.look_at_disk();
    }

    /// All files but those that are being written, and how old they are. Logs if a clock was set.
    fn ages(&self, now: Moment) -> Vec<(KeptFile, Age)> {
        let mut files = Vec::new();
        collect(&self.0.folder, &mut files);
        let mut ages = lock(&self.0.ages);
        let limit = Duration::try_from_secs_f64(self.0.settings.max_age).ok();
        let changes = files.iter().map(|file| (file.path.as_path(), file.changed));
        if let Some(doubt) = ages.look(changes, limit, now) {
            log::warning(sentence(doubt));
        }
        let with_age = files.into_iter().filter_map(|file| Some((ages.of(&file.path)?, file)));
        let is_left =
            |file: &KeptFile, age: &Age| finished(&file.path).is_none() || age.unchanged > ABANDONED;
        with_age.filter(|(age, file)| is_left(file, age)).map(|(age, file)| (file, age)).collect()
    }

    fn look_at_disk(&self) {
        let Ok(disk) = rustix::fs::statvfs(&self.0.folder) else { return };
        let full = disk.f_bavail.saturating_mul(disk.f_frsize) < self.0.settings.min_free.0;
        if full != self.0.full.swap(full, Ordering::Relaxed) {
            if full {
                log::warning(self.sentence());
            } else {
                log::info(format_args!("the disk of {} has room again", self.0.folder.display()));
            }
        }
    }
}

/// The log's sentence about a doubt: what the clocks did, and what follows for the files.
fn sentence(doubt: Doubt) -> String {
    let hours = |time: Duration| format!("{:.1} hours", time.as_secs_f64() / 3600.0);
    match doubt {
        Doubt::Forward(time) => format!(
            "[retention] the clock was set forward by {}: no file is older for that, so those that are there stay for as long as \
             they would have",
            hours(time)
        ),
        Doubt::Back(time) => format!(
            "[retention] the clock was set back by {}: files that were written before are as old as it says now, and stay longer",
            hours(time)
        ),
        Doubt::AllOld(files) => format!(
            "[retention] all {files} files are older than max-age by the clock, which may be wrong: none is removed for its age in \
             the next hour. Set the clock, or max-age, if they should stay"
        ),
    }
}

/// Looks at all files at intervals, in a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Retention {
    room: Room,
    restored: Vec<Restored>,
    thread: Option<JoinHandle<()>>,
}

impl Retention {
    /// Keeps `folder`, which need not exist yet, within the limits of `settings`. Unfinished files of processes that were killed
    /// get their names or are removed, so no other process may be writing there now.
    ///
    /// # Errors
    /// A sentence, if the folder cannot be made.
    pub fn start(folder: PathBuf, settings: config::RetentionSettings) -> Result<Self, String> {
        std::fs::create_dir_all(&folder).map_err(|error| {
            format!(
                "the folder {} cannot be made: {error}; set state to one that can be written to",
                folder.display()
            )
        })?;
        let restored = restore::restore(&folder);
        let (look, looks) = sync_channel(1);
        let room = Room(Arc::new(RoomState {
            folder,
            settings,
            full: AtomicBool::new(false),
            removed: AtomicU64::new(0),
            kept_bytes: AtomicU64::new(0),
            ages: Mutex::default(),
            look: Mutex::new(Some(look)),
        }));
        room.look(Moment::now());
        let watched = room.clone();
        let watch = move || {
            while let Ok(()) | Err(RecvTimeoutError::Timeout) = looks.recv_timeout(INTERVAL) {
                watched.look(Moment::now());
            }
        };
        let thread = std::thread::Builder::new().name("retention".to_owned()).spawn(watch);
        let thread = thread.map_err(|error| format!("no thread for [retention]: {error}"))?;
        Ok(Self { room, restored, thread: Some(thread) })
    }

    /// The recordings of a process that was killed, which were given their names at the start.
    pub(crate) fn restored(&self) -> &[Restored] {
        &self.restored
    }

    /// The room on the disk.
    pub fn room(&self) -> &Room {
        &self.room
    }
}

impl Drop for Retention {
    fn drop(&mut self) {
        *lock(&self.room.0.look) = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::unfinished::UNFINISHED;
    use super::*;
    use crate::config::Size;

    fn file(name: &str, size: u64, age: u64) -> (KeptFile, Age) {
        let age = Duration::from_secs(age);
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1000) - age;
        (KeptFile { path: name.into(), size, changed }, Age { age, unchanged: age, order: age })
    }

    fn names(files: Vec<(KeptFile, Age)>, max_size: u64, max_age: f64) -> Vec<String> {
        let removed = to_remove(files, max_size, Some(Duration::from_secs_f64(max_age)));
        removed.into_iter().map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn old_files_go_and_then_the_oldest_until_the_rest_fits() {
        let files = || vec![file("b", 30, 20), file("a", 10, 30), file("d", 10, 5), file("c", 10, 10)];
        assert_eq!(names(files(), u64::MAX, 1e9), Vec::<String>::new());
        assert_eq!(names(files(), u64::MAX, 10.0), ["a", "b"]);
        assert_eq!(names(files(), 60, 1e9), Vec::<String>::new());
        assert_eq!(names(files(), 59, 1e9), ["a"]);
        assert_eq!(names(files(), 49, 1e9), ["a", "b"]);
        assert_eq!(names(files(), 20, 25.0), ["a", "b"]);
        assert_eq!(names(files(), 0, 1e9), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_clock_that_jumps_removes_no_recording_and_no_file_that_is_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let config = config::RetentionSettings {
            min_free: Size(0),
            max_age: 3600.0,
            ..config::RetentionSettings::default()
        };
        let retention = Retention::start(folder.path().to_owned(), config).unwrap();
        let [one, two] = ["one.mp4", "two.mp4.part"].map(|name| folder.path().join(name));
        std::fs::write(&one, [0; 100]).unwrap();
        std::fs::write(&two, [0; 100]).unwrap();
        let begin = Moment::now();
        let later = |wall: i64, boottime: u64| Moment {
            wall: begin.wall + Duration::from_secs(u64::try_from(wall).unwrap()),
            boottime: begin.boottime + Duration::from_secs(boottime),
        };
        let there = |now| {
            retention.room().look(now);
            [one.exists(), two.exists()]
        };
        const MONTH: i64 = 30 * 86_400;
        assert_eq!(there(later(0, 0)), [true, true]);
        assert_eq!(there(later(MONTH, 20)), [true, true]);
        assert_eq!(there(later(MONTH + 3500, 3520)), [true, true]);
        assert_eq!(
            there(later(MONTH + 3700, 3720)),
            [false, false],
            "they are an hour old, whatever the clock says"
        );
    }

    #[test]
    fn files_that_are_being_written_stay_and_a_full_disk_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let sub = folder.path().join("recordings/door");
        std::fs::create_dir_all(&sub).unwrap();
        std::fs::write(sub.join("one.mp4"), [0; 100]).unwrap();
        let config = config::RetentionSettings {
            max_size: Size(50),
            min_free: Size(0),
            ..config::RetentionSettings::default()
        };
        let retention = Retention::start(folder.path().to_owned(), config).unwrap();
        std::fs::write(sub.join(format!("two.mp4{UNFINISHED}")), [0; 100]).unwrap();
        retention.room().look(Moment::now());
        assert!(!sub.join("one.mp4").exists() && sub.join(format!("two.mp4{UNFINISHED}")).exists());
        assert_eq!(retention.room().keeping(), Keeping { bytes: 0, removed: 1, disk_full: false });

        let config =
            config::RetentionSettings { min_free: Size(u64::MAX), ..config::RetentionSettings::default() };
        let retention = Retention::start(folder.path().to_owned(), config).unwrap();
        assert!(!retention.room().is_there());
        assert!(retention.room().sentence().contains("min-free"));
    }
}
