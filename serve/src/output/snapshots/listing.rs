//! The pictures that a stream has on the disk.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The most pictures that are listed.
const MOST: usize = 1000;
/// The most bytes that are read of a file about a picture.
const LARGEST: u64 = 16 << 10;

/// A picture, as `/v1/streams/{name}/snapshots` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Snapshot {
    /// Name of the file in the stream's folder.
    pub file: String,
    /// When it was made, RFC 3339.
    pub time: String,
    /// Class of the object.
    pub class: String,
    /// Identity of the object.
    pub track: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What the file about a picture says.
#[derive(Deserialize)]
struct About {
    id: u64,
    class: String,
    time: String,
}

/// The newest pictures of a folder, the newest first.
pub fn list(folder: &Path) -> Vec<Snapshot> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".jpg")).collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    names.into_iter().filter_map(|name| snapshot(folder, name)).take(MOST).collect()
}

/// A picture with the file about it; `[retention]` may have removed one of them.
fn snapshot(folder: &Path, file: String) -> Option<Snapshot> {
    // Links are not followed, because they are not served.
    let bytes = folder.join(&file).symlink_metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let about = cudainfer_files::open_unlinked(&folder.join(&file).with_extension("json")).ok()?;
    let mut text = String::new();
    about.take(LARGEST).read_to_string(&mut text).ok()?;
    let About { id, class, time } = serde_json::from_str(&text).ok()?;
    Some(Snapshot { file, time, class, track: id, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_listed_with_what_they_show_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        for (time, id) in [("1", 7), ("2", 8)] {
            write(&format!("{time}-person-{id}.jpg"), "jpeg");
            let about = serde_json::json!({"id": id, "class": "\"</b>\r\n", "time": time, "confidence": 0.5});
            write(&format!("{time}-person-{id}.json"), &about.to_string());
        }
        write("3-without-9.jpg", "jpeg");
        write("4-broken-9.jpg", "jpeg");
        write("4-broken-9.json", "{");
        std::os::unix::fs::symlink(
            folder.path().join("1-person-7.jpg"),
            folder.path().join("5-person-7.jpg"),
        )
        .unwrap();
        write("5-person-7.json", "{}");
        let listed = list(folder.path());
        let [new, old] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((new.file.as_str(), new.track, new.bytes), ("2-person-8.jpg", 8, 4));
        assert_eq!((old.class.as_str(), old.time.as_str()), ("\"</b>\r\n", "1"));
        assert_eq!(list(&folder.path().join("none")), []);
    }
}
