//! When a file is full or too old, and what it is called then.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

/// How large and old a file may become; 0 for any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Bytes.
    pub size: u64,
    /// Since it was begun.
    pub age: Duration,
    /// Files that are kept besides the one that is written.
    pub files: u32,
}

impl Limits {
    /// Whether there are any.
    pub fn any(&self) -> bool {
        self.size > 0 || !self.age.is_zero()
    }

    /// Whether a file that has records has to end before `more` bytes.
    pub fn exceeded(&self, size: u64, more: u64, age: Duration) -> bool {
        (self.size > 0 && size.saturating_add(more) > self.size) || (!self.age.is_zero() && age >= self.age)
    }
}

/// The files of one location: `out.jsonl` is the one that is written, `out.000001.jsonl` the first that has ended.
#[derive(Debug)]
pub(super) struct Rotation {
    location: PathBuf,
    /// The number of the last one that has ended.
    last: u64,
}

impl Rotation {
    /// Goes on counting after the files that are there.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn of(location: &Path) -> io::Result<Self> {
        let mut rotation = Self { location: location.to_owned(), last: 0 };
        rotation.last = rotation.numbers()?.into_iter().max().unwrap_or(0);
        Ok(rotation)
    }

    /// Gives the file its number, and removes the oldest until there are no more than `keep` (0 for all).
    ///
    /// # Errors
    /// It cannot be renamed, or an old one not be removed.
    pub fn rotate(&mut self, keep: u32) -> io::Result<()> {
        fs::rename(&self.location, self.path(self.last + 1))?;
        self.last += 1;
        if keep > 0 {
            let mut numbers = self.numbers()?;
            numbers.sort_unstable();
            let surplus = numbers.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
            numbers.iter().take(surplus).try_for_each(|number| fs::remove_file(self.path(*number)))?;
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        let [before, after] = self.name();
        let mut name = before;
        name.push(format!(".{number:06}"));
        name.push(after);
        self.location.with_file_name(name)
    }

    /// The name of the location before and after a number.
    fn name(&self) -> [OsString; 2] {
        let stem = self.location.file_stem().unwrap_or_default().to_owned();
        let mut suffix = OsString::new();
        if let Some(extension) = self.location.extension() {
            suffix.push(".");
            suffix.push(extension);
        }
        [stem, suffix]
    }

    /// Of the files that are there.
    fn numbers(&self) -> io::Result<Vec<u64>> {
        let [before, after] = self.name().map(OsString::into_encoded_bytes);
        let number = |name: &[u8]| -> Option<u64> {
            let digits = name.strip_prefix(&before[..])?.strip_prefix(b".")?.strip_suffix(&after[..])?;
            let digits = std::str::from_utf8(digits).ok()?;
            (digits.len() >= 6 && digits.bytes().all(|c| c.is_ascii_digit())).then(|| digits.parse().ok())?
        };
        let folder = self.location.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
            numbers.extend(number(entry?.file_name().as_encoded_bytes()));
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered_on_and_the_oldest_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for location in ["out.jsonl", "out", "a.b.txt"] {
            let path = folder.path().join(location);
            let written = |text: &str| fs::write(&path, text).unwrap();
            // None of ours.
            let strangers =
                ["out.1.jsonl", "out.abcdef.jsonl", "xout.000009.jsonl"].map(|name| folder.path().join(name));
            strangers.iter().for_each(|stranger| fs::write(stranger, "").unwrap());
            let mut rotation = Rotation::of(&path).unwrap();
            assert_eq!(rotation.last, 0);
            for number in 1..=4 {
                written(&number.to_string());
                rotation.rotate(if number < 4 { 0 } else { 2 }).unwrap();
            }
            assert_eq!(rotation.last, 4);
            let mut left = rotation.numbers().unwrap();
            left.sort_unstable();
            assert_eq!(left, [3, 4], "{location}");
            assert_eq!(fs::read_to_string(rotation.path(4)).unwrap(), "4");
            assert!(!path.exists());
            assert_eq!(Rotation::of(&path).unwrap().last, 4, "after a restart");
            assert!(strangers.iter().all(|stranger| stranger.exists()));
            let error = rotation.rotate(0).unwrap_err();
            assert_eq!((error.kind(), rotation.last), (io::ErrorKind::NotFound, 4));
        }
        let named = Rotation { location: "/x/out.tar.gz".into(), last: 0 }.path(12);
        assert_eq!(named, Path::new("/x/out.tar.000012.gz"));
    }

    #[test]
    fn a_file_ends_before_it_becomes_too_large_or_when_it_is_too_old() {
        let second = Duration::from_secs(1);
        let limits = Limits { size: 100, ..Limits::default() };
        assert!(!limits.exceeded(60, 40, 9 * second) && limits.exceeded(60, 41, second));
        let limits = Limits { age: 5 * second, ..Limits::default() };
        assert!(!limits.exceeded(u64::MAX, 9, 4 * second) && limits.exceeded(1, 1, 5 * second));
        assert!(!Limits::default().exceeded(u64::MAX, u64::MAX, Duration::MAX) && !Limits::default().any());
    }
}
