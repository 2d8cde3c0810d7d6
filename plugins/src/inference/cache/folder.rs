//! The directory that the cache works in. It is marked as a cache (CACHEDIR.TAG, see <https://bford.info/cachedir/>), and
//! temporary files in it have random names. Only what the cache has made is ever removed.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cudainfer_files as files;
use tempfile::{NamedTempFile, TempDir};

/// The file that marks a folder as a cache; backup programs leave such folders out.
pub(super) const TAG: &str = "CACHEDIR.TAG";
/// What the file begins with: the line that all caches have, and one that only ours have.
const MARK: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is an engine cache of cudainfer.\n";
/// The rest of the file.
const REST: &str = "# What is in it can be removed at any time, and is made anew.\n\
                    # About cache directory tags see https://bford.info/cachedir/\n";
/// The cache's own folder in one that holds other things.
const BELOW: &str = "cudainfer";

/// The begin and the end of the names of files and folders that are not complete yet.
const PREFIX: &str = ".cudainfer-";
const SUFFIX: &str = ".tmp";
/// Random characters between them: nobody can put something there beforehand.
const RANDOM: usize = 16;
/// Incomplete ones that are older were left by processes that were killed.
pub(super) const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// The folder to work in where the user names `named`: that one, if it is new, empty or marked as a cache of ours, else the
/// one called `cudainfer` in it. Nothing is touched.
///
/// # Errors
/// A sentence: both hold something else, or others could have put engines there, which are code.
pub(super) fn locate(named: &Path) -> Result<PathBuf, String> {
    let below = named.join(BELOW);
    let folders = [named.to_owned(), below];
    let found = folders.iter().find(|folder| is_free(folder) || is_marked(folder)).cloned();
    let found = found.ok_or_else(|| {
        let [named, below] = folders.map(|folder| folder.display().to_string());
        format!(
            "the engine cache is off: '{named}' and '{below}' hold files that are not the cache's. Set engine-cache to a new or an \
             empty folder"
        )
    })?;
    // The owners of its contents show who can write there.
    let inside = found.join(TAG);
    match files::trusted(if inside.exists() { &inside } else { &found }) {
        // A folder that the system refuses is no cache either; the error comes when it is written.
        Err(e) if e.raw_os_error().is_none() => Err(format!(
            "the engine cache is off, because engines are code: {e}. Set engine-cache to a folder where nobody but this user and root can \
             write"
        )),
        _ => Ok(found),
    }
}

/// Whether nobody has put anything there, or nothing could be put there.
fn is_free(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().all(|entry| is_temporary(&entry.file_name().to_string_lossy()))
}

fn is_marked(folder: &Path) -> bool {
    files::text_unlinked(&folder.join(TAG)).is_ok_and(|text| text.starts_with(MARK))
}

fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| random.len() == RANDOM)
}

/// Makes and marks the folder, if it is not yet.
///
/// # Errors
/// It cannot be written, or somebody else has marked it meanwhile.
pub(super) fn claim(root: &Path) -> io::Result<()> {
    if is_marked(root) {
        return Ok(());
    }
    fs::create_dir_all(root)?;
    files::trusted(root)?;
    let mut tag = file(root)?;
    tag.write_all(format!("{MARK}{REST}").as_bytes())?;
    match tag.persist_noclobber(root.join(TAG)) {
        Ok(_) => Ok(()),
        // Another process was quicker.
        Err(_) if is_marked(root) => Ok(()),
        Err(e) => Err(e.error),
    }
}

/// A new folder beside the entries, which goes when this is dropped.
///
/// # Errors
/// The cache's folder cannot be written.
pub(super) fn temporary(root: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    // As open as the user's mask leaves it: a cache may be shared.
    builder.permissions(Permissions::from_mode(0o777)).tempdir_in(root)
}

fn file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}

/// Writes a file in the folder `name` of the cache; it is there as a whole or not at all.
///
/// # Errors
/// The cache's folder cannot be written.
pub(super) fn write(root: &Path, name: &str, file_name: &str, bytes: &[u8]) -> io::Result<()> {
    claim(root)?;
    let folder = root.join(name);
    if let Err(e) = fs::create_dir(&folder)
        && e.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(e);
    }
    if !fs::symlink_metadata(&folder)?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a link or a file, not a folder"));
    }
    let mut aside = file(&folder)?;
    aside.write_all(bytes)?;
    aside.as_file().sync_all()?;
    aside.persist(folder.join(file_name))?;
    Ok(())
}

/// Removes incomplete files that were left in `folder`, a folder of the cache.
pub(super) fn sweep(folder: &Path) {
    for left in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = left.metadata() else { continue };
        let old = metadata.modified().ok().and_then(|time| time.elapsed().ok());
        if !is_temporary(&left.file_name().to_string_lossy()) || old.is_none_or(|age| age <= LEFT_BEHIND) {
            continue;
        }
        // The metadata is that of the directory entry itself: a link is neither a file nor a directory.
        let _ = match metadata.file_type() {
            ty if ty.is_dir() => fs::remove_dir_all(left.path()),
            ty if ty.is_file() => fs::remove_file(left.path()),
            _ => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_folder_where_others_can_write_is_no_cache_since_engines_are_code() {
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let (around, cache) = (root.path().join("around"), root.path().join("around/cache"));
        claim(&cache).unwrap();
        assert_eq!(locate(&cache), Ok(cache.clone()));
        for open in [&around, &cache] {
            mode(open, 0o777);
            let why = locate(&cache).unwrap_err();
            assert!(why.contains(&format!("everybody can write in '{}'", open.display())), "{why}");
            assert!(why.contains("Set engine-cache to") && why.matches(". ").count() < 3, "{why}");
            mode(open, 0o755);
        }
        assert_eq!(locate(&cache), Ok(cache.clone()));
    }

    fn age(path: &Path) {
        File::open(path).unwrap().set_modified(SystemTime::now() - 2 * LEFT_BEHIND).unwrap();
    }

    #[test]
    fn a_new_or_an_empty_folder_is_taken_as_it_is_and_marked_and_one_with_other_things_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        for named in [root.path().join("new"), root.path().join("empty")] {
            if named.ends_with("empty") {
                fs::create_dir(&named).unwrap();
            }
            assert_eq!(locate(&named), Ok(named.clone()));
            claim(&named).unwrap();
            claim(&named).unwrap();
            fs::write(named.join("entry"), "").unwrap();
            assert_eq!(locate(&named), Ok(named.clone()), "it is marked");
            let tag = fs::read_to_string(named.join(TAG)).unwrap();
            assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"), "{tag}");
        }
        let home = root.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("thesis.tex"), "").unwrap();
        assert_eq!(locate(&home), Ok(home.join(BELOW)));
        // Another program's mark is not ours.
        fs::write(home.join(TAG), "Signature: 8a477f597d28d172789f06886806bc55\n").unwrap();
        assert_eq!(locate(&home), Ok(home.join(BELOW)));
        fs::create_dir(home.join(BELOW)).unwrap();
        fs::write(home.join(BELOW).join("README.md"), "").unwrap();
        let why = locate(&home).unwrap_err();
        assert!(why.contains(&home.display().to_string()) && why.contains("empty folder"), "{why}");
    }

    #[test]
    fn of_what_is_old_only_what_the_cache_has_named_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let left = temporary(root.path()).unwrap().keep();
        fs::write(left.join("engine"), "half").unwrap();
        let young = temporary(root.path()).unwrap();
        let file = file(root.path()).unwrap().into_temp_path().keep().unwrap();
        let others = ["thesis.tmp", ".cudainfer-.tmp", ".cudainfer-mine.tmp", ".model.1-0.tmp"];
        for other in others {
            fs::create_dir(root.path().join(other)).unwrap();
            fs::write(root.path().join(other).join("work"), "a year's").unwrap();
            age(&root.path().join(other));
        }
        age(&left);
        age(&file);
        sweep(root.path());
        assert!(!left.exists() && !file.exists() && young.path().exists());
        for other in others {
            assert!(root.path().join(other).join("work").exists(), "{other}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("file"), "precious").unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("models")).unwrap();
        assert!(write(root.path(), "models", "file", b"sum").is_err());
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "precious");
        fs::create_dir(root.path().join("sums")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join("file"), root.path().join("sums/file")).unwrap();
        write(root.path(), "sums", "file", b"sum").unwrap();
        assert_eq!(fs::read_to_string(elsewhere.path().join("file")).unwrap(), "precious");
        assert_eq!(files::text_unlinked(&root.path().join("sums/file")).unwrap(), "sum");
        // A mark that is a link is not accepted either.
        let linked = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.path().join(TAG), linked.path().join(TAG)).unwrap();
        assert_eq!(locate(linked.path()), Ok(linked.path().join(BELOW)));
    }
}
