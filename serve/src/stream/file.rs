//! The file of a source: a regular file, which is below the folder for clients if a client has named it. The file that was
//! checked is the one that is read.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags};

use super::{StreamSpec, permission};
use crate::config::SourceKind;

/// A file that was checked. Its descriptor was not opened for reading, which would hang with a FIFO and may have effects on a
/// device.
#[derive(Clone, Debug)]
pub struct SourceFile(Arc<OwnedFd>);

impl SourceFile {
    /// A path that leads to this file while this value exists, whatever becomes of the file's name.
    pub(super) fn location(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}

impl StreamSpec {
    /// Checks the source's file; `None` if the source is no file.
    ///
    /// # Errors
    /// A sentence: there is no such file, it is no regular file, or a client may not read it.
    pub(super) fn file(&self) -> Result<Option<SourceFile>, String> {
        if self.kind != SourceKind::File {
            return Ok(None);
        }
        let path = gst::glib::filename_from_uri(self.source.uri.whole())
            .map_err(|e| format!("'{}' is no URI of a file: {e}", self.source.uri))?
            .0;
        look(&path, self.files.as_deref()).map(Some)
    }

    /// Whether the source's file is not there, and could be read if it were.
    pub(super) fn lacks_its_source(&self) -> bool {
        let path =
            (self.kind == SourceKind::File).then(|| gst::glib::filename_from_uri(self.source.uri.whole()));
        let Some(Ok((path, _))) = path else { return false };
        match &self.files {
            Some(folder) => permission::is_missing_below(folder, &path),
            None => path.metadata().is_err(),
        }
    }
}

fn look(path: &Path, folder: Option<&Path>) -> Result<SourceFile, String> {
    let shown = path.display();
    // A client learns nothing about files elsewhere, not even whether they are there.
    let refused = |sentence: String| match folder {
        None => sentence,
        Some(folder) => {
            format!("'{shown}' is no regular file below '{}', the folder files of [server]", folder.display())
        }
    };
    // GStreamer's messages about it must be UTF-8.
    if folder.is_some() && path.to_str().is_none() {
        return Err(refused(String::new()));
    }
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let file = SourceFile(Arc::new(file.map_err(|e| {
        refused(match e {
            rustix::io::Errno::NOENT => format!("there is no file '{shown}'"),
            e => format!("the file '{shown}' cannot be opened: {e}"),
        })
    })?));
    let kind = rustix::fs::fstat(&file.0).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind != Ok(FileType::RegularFile) {
        return Err(refused(format!("'{shown}' is no regular file: it is a folder, a FIFO or a device")));
    }
    if let Some(folder) = folder {
        let real = std::fs::read_link(file.location());
        let below = real.and_then(|real| Ok(real.starts_with(folder.canonicalize()?)));
        if !below.unwrap_or(false) {
            return Err(refused(String::new()));
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_taken_and_of_clients_only_those_below_the_folder() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("files");
        std::fs::create_dir(&folder).unwrap();
        let video = folder.join("a.mp4");
        for file in [&video, &outside.path().join("secret")] {
            std::fs::write(file, "x").unwrap();
        }
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.join("link")).unwrap();
        std::os::unix::fs::symlink(&video, outside.path().join("in")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("fifo"), Mode::RUSR).unwrap();
        let of_client = |name: &str| look(&outside.path().join(name), Some(&folder)).map(drop);
        let of_operator = |name: &str| look(&outside.path().join(name), None).map(drop);
        for good in ["files/a.mp4", "in", "files/../files/a.mp4"] {
            assert_eq!((of_client(good), of_operator(good)), (Ok(()), Ok(())), "{good}");
        }
        for elsewhere in ["secret", "files/link", "files/../secret", "none", "files/none"] {
            let refused = of_client(elsewhere).unwrap_err();
            assert!(refused.contains("is no regular file below"), "{refused}");
        }
        assert_eq!(of_operator("files/link"), Ok(()));
        for odd in ["files/fifo", "files"] {
            assert!(of_client(odd).is_err());
            assert!(of_operator(odd).unwrap_err().contains("no regular file"), "{odd}");
        }
        let bytes: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"\xff.mp4");
        std::fs::write(folder.join(bytes), "x").unwrap();
        assert!(look(&folder.join(bytes), Some(&folder)).is_err() && look(&folder.join(bytes), None).is_ok());
        // Another file that has got its name since is not read.
        let seen = look(&video, Some(&folder)).unwrap();
        std::fs::remove_file(&video).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &video).unwrap();
        assert_eq!(std::fs::read_to_string(seen.location()).unwrap(), "x");
    }
}
