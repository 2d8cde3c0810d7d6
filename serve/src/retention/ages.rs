//! How old files are, whatever happens to the wall clock.
//!
//! Files of the first look have the age that the wall clock gives them; files that appear later are new. From then on their age
//! grows with CLOCK_BOOTTIME, which cannot be set. If the wall clock makes a file younger, its age is the smaller one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// If the clocks differ by more than this between two looks, the wall clock has jumped.
const JUMP: Duration = Duration::from_secs(60);
/// How long no file is removed for its age if all were too old at the first look.
const DOUBT: Duration = Duration::from_secs(3600);

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The wall clock.
    pub wall: SystemTime,
    /// CLOCK_BOOTTIME: the time since the machine was started, with suspended time.
    pub boottime: Duration,
}

impl Moment {
    /// The clocks now.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Boottime);
        let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        let boottime = Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default());
        Self { wall: SystemTime::now(), boottime }
    }
}

/// How old a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age {
    /// At most the age at the first look plus the time that has really passed since then.
    pub age: Duration,
    /// How long the service has seen the file without a change.
    pub unchanged: Duration,
    /// Orders files, the greatest first: the age without changes of the wall clock since the first look.
    pub order: Duration,
}

/// A doubt about the clocks that users should know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The wall clock was set forward by this time since the last look.
    Forward(Duration),
    /// The wall clock was set back by this time.
    Back(Duration),
    /// At the first look, all files, which are this many, were too old.
    AllOld(usize),
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The time of its last change, as the file system gave it at that look.
    changed: SystemTime,
    /// Its age at that look.
    age: Duration,
    boottime: Duration,
}

/// What stands for a file's path: some hundred thousand paths would take more memory than all else, and two that stand for the same are not
/// to be expected among 2^60.
type Key = [u64; 2];

/// The files and clocks of the last look.
#[derive(Debug, Default)]
pub struct Ages {
    seen: HashMap<Key, Seen>,
    hasher: RandomState,
    last: Option<Moment>,
    /// No file is removed for its age before this time.
    doubted_until: Option<Duration>,
}

impl Ages {
    /// Looks at all files, which are given by path and time of their last change; other files are forgotten. `limit` is the age
    /// from which on a file is too old.
    pub fn look<'a>(
        &mut self,
        files: impl Iterator<Item = (&'a Path, SystemTime)>,
        limit: Option<Duration>,
        now: Moment,
    ) -> Option<Doubt> {
        let mut before = std::mem::take(&mut self.seen);
        // A file that was not there at the last look has been written since, whatever the wall clock says.
        let since_last = self.last.map_or(Duration::MAX, |last| now.boottime.saturating_sub(last.boottime));
        for (path, changed) in files {
            let key = self.key(path);
            let known = before.remove(&key).filter(|seen| seen.changed == changed);
            let age = now.wall.duration_since(changed).unwrap_or_default().min(since_last);
            let seen = known.unwrap_or(Seen { changed, age, boottime: now.boottime });
            self.seen.insert(key, seen);
        }
        let last = self.last.replace(now);
        let Some(last) = last else {
            let is_old = |seen: &Seen| limit.is_some_and(|limit| seen.age > limit);
            let all_old = !self.seen.is_empty() && self.seen.values().all(is_old);
            self.doubted_until = all_old.then(|| now.boottime.saturating_add(DOUBT));
            return all_old.then_some(Doubt::AllOld(self.seen.len()));
        };
        let passed = now.boottime.saturating_sub(last.boottime);
        match now.wall.duration_since(last.wall) {
            Ok(by_wall) if by_wall > passed.saturating_add(JUMP) => Some(Doubt::Forward(by_wall - passed)),
            Ok(by_wall) if passed > by_wall.saturating_add(JUMP) => Some(Doubt::Back(passed - by_wall)),
            Ok(_) => None,
            Err(back) => {
                let back = back.duration().saturating_add(passed);
                (back > JUMP).then_some(Doubt::Back(back))
            }
        }
    }

    fn key(&self, path: &Path) -> Key {
        [0_u8, 1].map(|part| self.hasher.hash_one((part, path)))
    }

    /// Whether files may be removed for their age.
    pub fn are_certain(&self) -> bool {
        let now = self.last.map(|last| last.boottime);
        self.doubted_until.is_none_or(|until| now.is_some_and(|now| now >= until))
    }

    /// The age of a file of the last look.
    pub fn of(&self, path: &Path) -> Option<Age> {
        let (seen, now) = (self.seen.get(&self.key(path))?, self.last?);
        let unchanged = now.boottime.saturating_sub(seen.boottime);
        let order = seen.age.saturating_add(unchanged);
        let by_wall = now.wall.duration_since(seen.changed).unwrap_or_default();
        Some(Age { age: order.min(by_wall), unchanged, order })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 86_400;

    fn moment(wall: u64, boottime: u64) -> Moment {
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(wall);
        Moment { wall, boottime: Duration::from_secs(boottime) }
    }

    fn look(ages: &mut Ages, files: &[(&str, u64)], now: Moment) -> Option<Doubt> {
        let files = files.iter().map(|(name, changed)| (Path::new(*name), moment(*changed, 0).wall));
        ages.look(files, Some(Duration::from_secs(7 * DAY)), now)
    }

    fn age(ages: &Ages, name: &str) -> u64 {
        ages.of(Path::new(name)).unwrap().age.as_secs()
    }

    #[test]
    fn a_clock_that_jumps_makes_no_file_older_and_is_reported_once() {
        let (mut ages, files) = (Ages::default(), [("old", 93 * DAY), ("new", 99 * DAY)]);
        assert_eq!(look(&mut ages, &files, moment(100 * DAY, 1000)), None);
        assert!(ages.are_certain());
        assert_eq!((age(&ages, "old"), age(&ages, "new")), (7 * DAY, DAY));
        let forward = look(&mut ages, &files, moment(130 * DAY + 20, 1020));
        assert_eq!(forward, Some(Doubt::Forward(Duration::from_secs(30 * DAY))));
        assert_eq!((age(&ages, "old"), age(&ages, "new")), (7 * DAY + 20, DAY + 20));
        assert_eq!(look(&mut ages, &files, moment(130 * DAY + 40, 1040)), None);
        // A file that is written now is new, and grows older like the others.
        let files = [("new", 99 * DAY), ("newest", 130 * DAY + 50)];
        assert_eq!(look(&mut ages, &files, moment(130 * DAY + 60, 1060)), None);
        assert_eq!((age(&ages, "newest"), ages.of(Path::new("old"))), (10, None));
        let back = look(&mut ages, &files, moment(100 * DAY + 80, 1080));
        assert_eq!(back, Some(Doubt::Back(Duration::from_secs(30 * DAY))));
        assert_eq!((age(&ages, "new"), age(&ages, "newest")), (DAY + 80, 0));
        let order = |name| ages.of(Path::new(name)).unwrap().order;
        assert!(order("newest") < order("new"), "the order is that in which they were written");
    }

    #[test]
    fn nothing_is_certain_for_an_hour_if_all_is_too_old_at_the_start() {
        let (mut ages, files) = (Ages::default(), [("a", 10 * DAY), ("b", 20 * DAY)]);
        assert_eq!(look(&mut ages, &files, moment(100 * DAY, 50)), Some(Doubt::AllOld(2)));
        assert!(!ages.are_certain());
        assert_eq!(look(&mut ages, &files, moment(100 * DAY + 3599, 3649)), None);
        assert!(!ages.are_certain());
        assert_eq!(look(&mut ages, &files, moment(100 * DAY + 3600, 3650)), None);
        assert!(ages.are_certain());
        let mut ages = Ages::default();
        assert_eq!(look(&mut ages, &[("a", 10 * DAY), ("b", 99 * DAY)], moment(100 * DAY, 50)), None);
        assert!(ages.are_certain());
        assert_eq!(look(&mut Ages::default(), &[], moment(100 * DAY, 50)), None);
    }

    #[test]
    fn a_file_that_changes_is_new_also_if_the_clock_has_jumped_since() {
        let mut ages = Ages::default();
        look(&mut ages, &[("a", 100 * DAY)], moment(100 * DAY, 0));
        look(&mut ages, &[("a", 100 * DAY)], moment(100 * DAY + 4000, 4000));
        assert_eq!(ages.of(Path::new("a")).unwrap().unchanged, Duration::from_secs(4000));
        look(&mut ages, &[("a", 100 * DAY + 4010), ("b", 100 * DAY + 4005)], moment(130 * DAY, 4020));
        assert_eq!(ages.of(Path::new("a")).unwrap().unchanged, Duration::ZERO);
        assert_eq!((age(&ages, "a"), age(&ages, "b")), (20, 20), "both were written since the look before");
    }

    proptest! {
        #[test]
        fn no_file_is_older_than_at_the_first_look_and_by_what_has_passed_since(
            jumps in proptest::collection::vec((-40_000_000i64..40_000_000, 0u64..100_000), 1..20),
            first in 0u64..10_000_000,
        ) {
            let (mut ages, begin) = (Ages::default(), 1_000_000_000u64);
            let files = [("a", begin - first)];
            look(&mut ages, &files, moment(begin, 0));
            let (mut wall, mut boottime) = (begin, 0);
            let mut written = vec![];
            for (n, (jump, passed)) in jumps.into_iter().enumerate() {
                // A file with the time of the last look, or with that of the clock before it jumps.
                written.push((format!("{n}"), wall, boottime));
                boottime += passed;
                wall = (wall + passed).saturating_add_signed(jump).max(1);
                let all: Vec<_> =
                    files.iter().copied().chain(written.iter().map(|(name, wall, _)| (name.as_str(), *wall))).collect();
                look(&mut ages, &all, moment(wall, boottime));
                prop_assert!(age(&ages, "a") <= first + boottime);
                for (name, _, at) in &written {
                    prop_assert!(age(&ages, name) <= boottime - at);
                }
            }
        }
    }
}
