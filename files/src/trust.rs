//! Who could have put a file where a path leads to.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Links that are followed, as the kernel's own limit.
const MOST_LINKS: usize = 40;

/// Which paths strangers must not have written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The path was searched for, and what it leads to is run.
    Searched,
    /// The user has named the path: the owners and groups of its folders are trusted with what is in them.
    Named,
}

/// Follows a path that was searched for to its end, and returns where it leads to: a path without links. From then on nobody but
/// this user, root and those whom these allow to write there can put another file there.
///
/// Every folder and link on the way counts. None may be writable for everybody, unless only owners can rename their files there
/// (the sticky bit, as /tmp has it). Where others can write as well, because of that bit, by a group, or as the owner of the
/// folder, the next step of the path must belong to this user or root. The file at the end must belong to one of them in any
/// case.
///
/// # Errors
/// A folder or file on the way is missing or cannot be read; or it is another user's, or everybody can write there:
/// [`io::ErrorKind::PermissionDenied`], with a message that names it.
pub fn trusted(path: &Path) -> io::Result<PathBuf> {
    let end = follow(path, Rule::Searched)?;
    if is_ours(&fs::symlink_metadata(&end)?) { Ok(end) } else { Err(of_others(&end)) }
}

/// Whether something belongs to this process's user or root.
pub(crate) fn is_ours(found: &Metadata) -> bool {
    owns(found.uid())
}

/// Whether this process runs as that user, or the user is root.
pub(crate) fn owns(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

pub(crate) fn follow(path: &Path, rule: Rule) -> io::Result<PathBuf> {
    let root = Path::new("/");
    let mut left = steps(&std::path::absolute(path)?);
    let mut at = root.to_owned();
    let mut links = 0;
    while let Some(step) = left.pop() {
        if step == ".." {
            at.pop();
            continue;
        }
        let folder = fs::symlink_metadata(&at)?;
        let next = at.join(step);
        let found = fs::symlink_metadata(&next)?;
        check(&at, &folder, &next, &found, rule)?;
        if !found.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(rustix::io::Errno::LOOP.into());
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            root.clone_into(&mut at);
        }
        left.extend(steps(&target));
    }
    Ok(at)
}

/// The names of a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let name = |step: Component<'_>| match step {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

/// Whether a stranger could have put `next` into `folder`, which is at `at`.
fn check(at: &Path, folder: &Metadata, next: &Path, found: &Metadata, rule: Rule) -> io::Result<()> {
    let has = |bits| folder.mode() & bits != 0;
    let (everybody, sticky) = (has(0o002), has(0o1000));
    if everybody && !sticky && rule == Rule::Searched {
        let text = format!("everybody can write in '{}'", at.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let own_group = [0, rustix::process::getegid().as_raw()].contains(&folder.gid());
    let others = everybody || (rule == Rule::Searched && ((has(0o020) && !own_group) || !is_ours(folder)));
    if others && !is_ours(found) { Err(of_others(next)) } else { Ok(()) }
}

fn of_others(path: &Path) -> io::Error {
    let owner = fs::symlink_metadata(path)
        .map_or_else(|_| "another user".into(), |found| format!("user {}", found.uid()));
    let own = rustix::process::geteuid().as_raw();
    let text = format!(
        "'{}' belongs to {owner}, and only what belongs to user {own} or root is used there",
        path.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// A folder in which `lib/file` is this user's, and nobody else can write.
    fn tree() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let (folder, file) = (root.path().join("lib"), root.path().join("lib/file"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        (root, folder, file)
    }

    #[test]
    fn links_are_followed_to_where_they_lead() {
        let (root, folder, file) = tree();
        let real = file.canonicalize().unwrap();
        symlink("file", folder.join("near")).unwrap();
        symlink(&folder, root.path().join("far")).unwrap();
        symlink("../lib", folder.join("up")).unwrap();
        for path in ["lib/file", "lib/near", "far/near", "lib/up/../lib/./near", "far/up/file"] {
            assert_eq!(trusted(&root.path().join(path)).unwrap(), real, "{path}");
        }
        assert_eq!(
            trusted(Path::new("/usr/../bin/sh")).unwrap(),
            Path::new("/bin/sh").canonicalize().unwrap()
        );
        symlink("loop", folder.join("loop")).unwrap();
        assert_eq!(
            trusted(&folder.join("loop")).unwrap_err().raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error())
        );
        assert_eq!(trusted(&folder.join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn nothing_below_a_folder_that_everybody_can_write_is_trusted_unless_it_is_sticky() {
        let (root, folder, file) = tree();
        for open in [root.path(), &folder] {
            mode(open, 0o777);
            let error = trusted(&file).unwrap_err();
            assert!(
                error.to_string().contains(&format!("everybody can write in '{}'", open.display())),
                "{error}"
            );
            // The user has named it, and it is the user's.
            assert!(follow(&file, Rule::Named).is_ok());
            mode(open, 0o1777);
            assert!(trusted(&file).is_ok());
            mode(open, 0o755);
        }
        // The folders on the way of a link count, too.
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(&file, elsewhere.path().join("link")).unwrap();
        mode(elsewhere.path(), 0o777);
        assert!(trusted(&elsewhere.path().join("link")).is_err());
    }

    #[test]
    fn where_others_can_write_what_they_have_put_there_is_not_trusted() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root can give files away.
        }
        let (root, folder, file) = tree();
        let stranger = Some(65_534);
        let refused = |path: &Path, what: &Path| {
            let error = trusted(path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            let text = error.to_string();
            assert!(text.contains(&format!("'{}' belongs to user 65534", what.display())), "{text}");
        };
        let link = root.path().join("link");
        symlink(&file, &link).unwrap();
        lchown(&link, stranger, None).unwrap();
        assert!(trusted(&link).is_ok(), "root has let the stranger's link be there");
        for shared in [0o1777, 0o775] {
            chown(root.path(), None, stranger).unwrap();
            mode(root.path(), shared);
            refused(&link, &link);
            assert!(trusted(&file).is_ok());
            chown(&folder, stranger, None).unwrap();
            refused(&file, &folder);
            chown(&folder, Some(0), None).unwrap();
        }
        // A user's own folder, as a home is.
        mode(root.path(), 0o755);
        chown(&folder, stranger, None).unwrap();
        assert!(trusted(&file).is_ok());
        fs::rename(&link, folder.join("link")).unwrap();
        refused(&folder.join("link"), &folder.join("link"));
        chown(&file, stranger, None).unwrap();
        refused(&file, &file);
        assert!(follow(&file, Rule::Named).is_ok());
    }
}
